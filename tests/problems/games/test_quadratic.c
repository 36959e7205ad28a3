/* Random quadratic problems: their constants by LAPACK, their solutions by the residual. */
#include "check.h"

#include <lapacke.h>

/* Smallest eigenvalue of the symmetric part of A. */
static double smallest(const double *A, size_t n) {
  double *S = doubles(n * n), *w = doubles(n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) S[i * n + j] = 0.5 * (A[i * n + j] + A[j * n + i]);
  assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', (lapack_int)n, S, (lapack_int)n, w),
                   0);
  double value = w[0];
  free(S);
  free(w);
  return value;
}

static double norm(const double *A, size_t n) {
  double *S = doubles(n * n), *s = doubles(n), *super = doubles(n), unused[1];
  memcpy(S, A, n * n * sizeof *S);
  lapack_int size = (lapack_int)n;
  assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', size, size, S, size, s, unused, 1,
                                  unused, 1, super),
                   0);
  double value = s[0];
  free(S);
  free(s);
  free(super);
  return value;
}

static void constants_are_as_asked(void **state) {
  (void)state;
  static const char *const cases[][4] = {
      {"8", "1", "5", "0.5"},   {"3", "0.1", "2", "0"},   {"7", "2", "2", "1"},
      {"20", "0.01", "9", "1"}, {"4", "1", "100", "0.9"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    hvi_option options[] = {
        {"n", cases[c][0]}, {"mu", cases[c][1]}, {"L", cases[c][2]}, {"rotation", cases[c][3]}};
    hvi_problem *p = make("quadratic", options, 4, 5, c);
    size_t n = p->model->out;
    double *A = doubles(n * n), *b = doubles(n), L = atof(cases[c][2]);
    p->ops->affine(p, A, b);
    assert_true(fabs(smallest(A, n) - atof(cases[c][1])) < 1e-10 * fmax(1, L));
    assert_true(fabs(norm(A, n) - L) < 1e-10 * fmax(1, L));
    check_affine(p);
    free(A);
    free(b);
    hvi_problem_free(p);
  }
}

static void rotation_zero_is_symmetric(void **state) {
  (void)state;
  hvi_option options[] = {{"rotation", "0"}};
  hvi_problem *p = make("quadratic", options, 1, 0, 0), *q = make("quadratic", NULL, 0, 0, 0);
  double A[64], B[64], b[8], skew = 0.0;
  p->ops->affine(p, A, b);
  q->ops->affine(q, B, b);
  for (size_t i = 0; i < 8; i++)
    for (size_t j = 0; j < 8; j++) {
      assert_true(fabs(A[i * 8 + j] - A[j * 8 + i]) < 1e-13);
      skew = fmax(skew, fabs(B[i * 8 + j] - B[j * 8 + i]));
    }
  assert_true(skew > 0.1);
  hvi_problem_free(p);
  hvi_problem_free(q);
}

static void solution_is_one_for_every_model(void **state) {
  (void)state;
  static const char *const models[] = {"linear", "celu", "tanh", "softplus", "identity"};
  for (size_t g = 0; g < 5; g++)
    for (size_t wide = 0; wide < 2; wide++) {
      if (wide && g == 4) continue;
      hvi_option options[] = {{"g", models[g]}, {"d", wide ? "13" : "8"}};
      hvi_problem *p = make("quadratic", options, 2, 1, g);
      assert_true(residual_at_solution(p) < 1e-12);
      assert_non_null(p->ops->affine);
      double z[8];
      hvi_problem_project(p, p->solution, z);
      for (size_t i = 0; i < 8; i++) assert_true(fabs(z[i] - p->solution[i]) < 1e-15);
      hvi_problem_free(p);
    }
}

/* A free Z is claimed for celu: z far out in any direction can be reached. Newton's method on
 * g(theta) = z along a ray finds theta, which shows it. */
static void celu_reaches_everything(void **state) {
  (void)state;
  hvi_option options[] = {{"g", "celu"}, {"n", "3"}};
  hvi_problem *p = make("quadratic", options, 2, 4, 0);
  assert_int_equal(p->sets[0].kind, HVI_SET_FREE);
  double *cache = doubles(p->model->cache);
  for (size_t corner = 0; corner < 8; corner++) {
    double target[3], theta[3] = {0}, z[3], J[9], scratch[6];
    for (size_t i = 0; i < 3; i++) target[i] = corner >> i & 1 ? 50.0 : -50.0;
    for (int iteration = 0; iteration < 100; iteration++) {
      p->model->ops->eval(p->model, cache, theta, z);
      hvi_model_jacobian(p->model, cache, theta, 0, J, scratch);
      lapack_int pivots[3];
      for (size_t i = 0; i < 3; i++) z[i] = target[i] - z[i];
      assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, 3, 1, J, 3, pivots, z, 1), 0);
      for (size_t i = 0; i < 3; i++) theta[i] += z[i];
    }
    p->model->ops->eval(p->model, cache, theta, z);
    for (size_t i = 0; i < 3; i++) assert_true(fabs(z[i] - target[i]) < 1e-9);
  }
  free(cache);
  hvi_problem_free(p);
}

/* With d < n only a subspace is reached: the model stays in it, F(z*) is normal to it and, when
 * asked for, not zero; the residual is zero all the same. */
static void narrow_models_reach_a_subspace(void **state) {
  (void)state;
  static const char *const lengths[] = {"0", "3"};
  for (size_t c = 0; c < 2; c++) {
    hvi_option options[] = {{"d", "5"}, {"normal", lengths[c]}};
    hvi_problem *p = make("quadratic", options, 2, 2, 0);
    assert_int_equal(p->sets[0].kind, HVI_SET_SUBSPACE);
    assert_int_equal(p->sets[0].rank, 5);
    double *cache = doubles(p->model->cache), z[8], out[8], f[8], length = 0;
    p->model->ops->eval(p->model, cache, p->theta0, z);
    hvi_problem_project(p, z, out);
    for (size_t i = 0; i < 8; i++) assert_true(fabs(out[i] - z[i]) < 1e-13);
    operate(p, p->solution, f);
    for (size_t i = 0; i < 8; i++) length += f[i] * f[i];
    assert_true(fabs(sqrt(length) - atof(lengths[c])) < 1e-12);
    assert_true(residual_at_solution(p) < 1e-12);
    free(cache);
    hvi_problem_free(p);
  }
}

static void refuse(const hvi_option *options, size_t count, const char *words) {
  hvi_problem *p = (hvi_problem *)&words;
  hvi_error err = {HVI_OK, ""};
  assert_int_equal(hvi_builtin_new(&p, "quadratic", options, count, 0, 0, &err), HVI_ERROR_INPUT);
  assert_null(p);
  check_text(&err, words);
}

static void refuses_what_cannot_be(void **state) {
  (void)state;
  refuse((hvi_option[]){{"mu", "6"}}, 1, "L = 5 must be at least mu = 6");
  refuse((hvi_option[]){{"g", "tanh"}, {"d", "4"}}, 2, "d = 4 is below n = 8");
  refuse((hvi_option[]){{"g", "identity"}, {"d", "9"}}, 2, "needs d = n = 8");
  refuse((hvi_option[]){{"normal", "1"}}, 1, "normal = 1 needs d < n = 8");
  refuse((hvi_option[]){{"n", "2"}}, 1, "n: must be a whole number from 3 to 1000, not '");
  refuse((hvi_option[]){{"n", "3.5"}}, 1, "n: must be a whole number from 3 to 1000, not '");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_are_as_asked),
      cmocka_unit_test(rotation_zero_is_symmetric),
      cmocka_unit_test(solution_is_one_for_every_model),
      cmocka_unit_test(celu_reaches_everything),
      cmocka_unit_test(narrow_models_reach_a_subspace),
      cmocka_unit_test(refuses_what_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

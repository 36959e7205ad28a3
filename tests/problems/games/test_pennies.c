/* Hidden matching pennies against its formulas. */
#include "check.h"

static void operator_is_the_formula(void **state) {
  (void)state;
  hvi_problem *p = make("pennies", NULL, 0, 0, 0);
  const double points[][2] = {{0.5, 0.5}, {0.3, 0.8}, {0.9, 0.1}, {0, 1}};
  for (size_t i = 0; i < 4; i++) {
    const double *z = points[i];
    double f[2];
    operate(p, z, f);
    assert_true(fabs(f[0] - (-2 * (2 * z[1] - 1) + 0.75 * (z[0] - 0.5))) < 1e-15);
    assert_true(fabs(f[1] - (2 * (2 * z[0] - 1) + 0.75 * (z[1] - 0.5))) < 1e-15);
  }
  check_affine(p);
  assert_true(residual_at_solution(p) == 0.0);
  hvi_problem_free(p);
}

static double player(double a1, double a2, double theta) {
  double x = a1 * theta, celu = x > 0 ? x : expm1(x);
  return 1 / (1 + exp(-a2 * celu));
}

static void model_is_the_formula(void **state) {
  (void)state;
  hvi_problem *p = make("pennies", NULL, 0, 0, 0);
  assert_true(p->theta0[0] == 1.25);
  assert_true(p->theta0[1] == 2.25);
  double *cache = doubles(p->model->cache), z[2];
  const double thetas[][2] = {{1.25, 2.25}, {-3, 0.5}, {0, 0}};
  for (size_t i = 0; i < 3; i++) {
    p->model->ops->eval(p->model, cache, thetas[i], z);
    assert_true(fabs(z[0] - player(0.5, 1, thetas[i][0])) < 1e-15);
    assert_true(fabs(z[1] - player(0.7, 1, thetas[i][1])) < 1e-15);
  }
  assert_true(z[0] == 0.5);
  assert_true(z[1] == 0.5);
  free(cache);
  hvi_problem_free(p);
}

static void constants_are_the_known_ones(void **state) {
  (void)state;
  hvi_problem *p = make("pennies", NULL, 0, 0, 0);
  hvi_constants c;
  assert_int_equal(hvi_problem_constants(&c, p, NULL), HVI_OK);
  assert_true(c.exact);
  assert_true(fabs(c.mu - 0.75) < 1e-14);
  assert_true(fabs(c.lipschitz * c.lipschitz - 16.5625) < 1e-12);
  hvi_problem_free(p);
}

/* With the signs as printed the symmetric part is diag(.75, -.75): F is not monotone, and pairs of
 * points show it. */
static void printed_signs_are_not_monotone(void **state) {
  (void)state;
  hvi_option printed = {"signs", "printed"};
  hvi_problem *p = make("pennies", &printed, 1, 0, 0);
  double A[4], b[2];
  p->ops->affine(p, A, b);
  assert_true(A[0] == 0.75);
  assert_true(A[3] == -0.75);
  assert_true(A[1] + A[2] == 0.0);
  hvi_constants c;
  assert_int_equal(hvi_problem_constants(&c, p, NULL), HVI_OK);
  assert_true(fabs(c.mu + 0.75) < 1e-14);
  const double x[] = {0.5, 0.9}, y[] = {0.5, 0.3};
  double fx[2], fy[2];
  operate(p, x, fx);
  operate(p, y, fy);
  assert_true((fx[1] - fy[1]) * (x[1] - y[1]) < -0.2);
  assert_true(residual_at_solution(p) == 0.0);
  hvi_problem_free(p);
}

/* The box is what the model reaches: far thetas come close to its ends, and none leaves it. */
static void box_is_what_the_model_reaches(void **state) {
  (void)state;
  for (uint64_t instance = 0; instance < 20; instance++) {
    hvi_problem *p = make("pennies", NULL, 0, 3, instance);
    double *cache = doubles(p->model->cache);
    double low[2] = {1, 1}, high[2] = {0, 0};
    for (int i = -1000; i <= 1000; i++) {
      double x = i * fabs((double)i) * 0.02, theta[2] = {x, x}, z[2];
      p->model->ops->eval(p->model, cache, theta, z);
      for (size_t k = 0; k < 2; k++) {
        low[k] = fmin(low[k], z[k]);
        high[k] = fmax(high[k], z[k]);
      }
    }
    for (size_t k = 0; k < 2; k++) {
      assert_int_equal(p->sets[k].kind, HVI_SET_BOX);
      assert_true(low[k] >= p->sets[k].lower[0]);
      assert_true(low[k] < p->sets[k].lower[0] + 1e-3);
      assert_true(high[k] <= p->sets[k].upper[0]);
      assert_true(high[k] > p->sets[k].upper[0] - 1e-3);
      assert_true(p->sets[k].lower[0] < 0.5);
      assert_true(p->sets[k].upper[0] > 0.5);
    }
    free(cache);
    hvi_problem_free(p);
  }
}

static void zero_constant_reaches_a_point(void **state) {
  (void)state;
  hvi_option options[] = {{"a1", "0"}, {"b2", "0"}};
  hvi_problem *p = make("pennies", options, 2, 0, 0);
  for (size_t k = 0; k < 2; k++) {
    assert_true(p->sets[k].lower[0] == 0.5);
    assert_true(p->sets[k].upper[0] == 0.5);
  }
  hvi_problem_free(p);
}

/* theta0 ~ N(0, 4^2): mean and spread over 2,000 draws, each within five standard errors. */
static void random_starts_have_their_law(void **state) {
  (void)state;
  double sum = 0, square = 0;
  enum { COUNT = 2000 };
  for (uint64_t i = 1; i <= COUNT / 2; i++) {
    hvi_problem *p = make("pennies", NULL, 0, 7, i);
    for (size_t k = 0; k < 2; k++) {
      sum += p->theta0[k];
      square += p->theta0[k] * p->theta0[k];
    }
    hvi_problem_free(p);
  }
  assert_true(fabs(sum / COUNT) < 5 * 4 / sqrt(COUNT));
  assert_true(fabs(square / COUNT - 16) < 5 * 16 * sqrt(2.0 / COUNT));
}

static void a_constant_that_is_set_is_not_drawn(void **state) {
  (void)state;
  hvi_option option = {"a2", "0.25"};
  hvi_problem *p = make("pennies", NULL, 0, 1, 5), *q = make("pennies", &option, 1, 1, 5);
  assert_true(q->sets[0].lower[0] == 1 / (1 + exp(0.25)));
  check_same_bits(p->theta0, q->theta0, 2);
  check_same_bits(p->sets[1].lower, q->sets[1].lower, 1);
  hvi_problem_free(p);
  hvi_problem_free(q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operator_is_the_formula),
      cmocka_unit_test(model_is_the_formula),
      cmocka_unit_test(constants_are_the_known_ones),
      cmocka_unit_test(printed_signs_are_not_monotone),
      cmocka_unit_test(box_is_what_the_model_reaches),
      cmocka_unit_test(zero_constant_reaches_a_point),
      cmocka_unit_test(random_starts_have_their_law),
      cmocka_unit_test(a_constant_that_is_set_is_not_drawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Hidden rock-paper-scissors against its formulas, and the shipped file. */
#include "check.h"

#include "problems/games/game.h"

static void check_operator(const hvi_problem *p, double weight) {
  static const double A[3][3] = {{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}};
  const double z[6] = {0.2, 0.5, 0.3, 0.6, 0.3, 0.1};
  double f[6];
  operate(p, z, f);
  for (size_t i = 0; i < 3; i++) {
    double first = weight * (z[i] - 1.0 / 3), second = weight * (z[3 + i] - 1.0 / 3);
    for (size_t j = 0; j < 3; j++) {
      first += A[i][j] * z[3 + j];
      second -= A[j][i] * z[j];
    }
    assert_true(fabs(f[i] - first) < 1e-15);
    assert_true(fabs(f[3 + i] - second) < 1e-15);
  }
}

static void operator_is_the_formula(void **state) {
  (void)state;
  hvi_option heavier = {"weight", "0.5"};
  for (uint64_t instance = 0; instance < 3; instance++) {
    hvi_problem *p = make("rps", NULL, 0, 1, instance);
    hvi_problem *q = make("rps", &heavier, 1, 1, instance);
    check_operator(p, 0.2);
    check_operator(q, 0.5);
    check_affine(p);
    assert_true(residual_at_solution(p) < 1e-15);
    assert_true(residual_at_solution(q) < 1e-15);
    hvi_problem_free(p);
    hvi_problem_free(q);
  }
}

static void constants_are_the_known_ones(void **state) {
  (void)state;
  hvi_problem *p = make("rps", NULL, 0, 0, 0);
  hvi_constants c;
  assert_int_equal(hvi_problem_constants(&c, p, NULL), HVI_OK);
  assert_true(c.exact);
  assert_true(fabs(c.mu - 0.2) < 1e-14);
  assert_true(fabs(c.lipschitz * c.lipschitz - 3.04) < 1e-13);
  hvi_problem_free(p);
}

/* theta = 0 is a solution of every instance: CELU(0) = 0 and softmax(0) is uniform. */
static void zero_plays_the_solution(void **state) {
  (void)state;
  for (uint64_t instance = 0; instance < 5; instance++) {
    hvi_problem *p = make("rps", NULL, 0, 2, instance);
    assert_int_equal(p->model->dim, 10);
    double *cache = doubles(p->model->cache), theta[10] = {0}, z[6];
    p->model->ops->eval(p->model, cache, theta, z);
    for (size_t i = 0; i < 6; i++) assert_true(fabs(z[i] - 1.0 / 3) < 1e-15);
    assert_int_equal(p->set_count, 2);
    assert_int_equal(p->sets[1].kind, HVI_SET_SIMPLEX);
    free(cache);
    hvi_problem_free(p);
  }
}

static void shipped_file_is_instance_zero(void **state) {
  (void)state;
  hvi_problem *p = make("rps", NULL, 0, 0, 0), *q = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_problem_load(&q, HVI_SOURCE_DIR "/problems/rps.yaml", 0, 0, &err))
    fail_msg("%s", err.text);
  check_same_problem(p, q);
  assert_non_null(hvi_game_of(p));
  hvi_problem_free(p);
  hvi_problem_free(q);
}

/* The one that experiments/rps.yaml chooses. */
static void shipped_game_is_draw_53_of_seed_1(void **state) {
  (void)state;
  hvi_problem *p = make("rps", NULL, 0, 0, 0), *q = make("rps", NULL, 0, 1, 53);
  assert_int_equal(p->model->dim, q->model->dim);
  for (size_t i = 0; i < p->model->dim; i++) check_near(p->theta0[i], q->theta0[i], 0.0);
  hvi_problem_free(p);
  hvi_problem_free(q);
}

/* A weight of 1 in the file's place must not change more than the regulariser. */
static void weight_of_the_file_can_be_set(void **state) {
  (void)state;
  hvi_option same = {"weight", "0.2"};
  hvi_problem *p = make("rps", NULL, 0, 0, 0), *q = make("rps", &same, 1, 0, 0);
  check_same_problem(p, q);
  hvi_problem_free(p);
  hvi_problem_free(q);
}

/* As printed player 2's regulariser has the other sign, and F is not monotone: mu = -0.2. */
static void printed_signs_are_not_monotone(void **state) {
  (void)state;
  const hvi_option printed[] = {{"signs", "printed"}, {"weight", "0.2"}};
  const double z[6] = {0.2, 0.5, 0.3, 0.6, 0.3, 0.1};
  for (uint64_t instance = 0; instance < 2; instance++) {
    hvi_problem *p = make("rps", NULL, 0, 1, instance);
    hvi_problem *q = make("rps", printed, instance ? 2 : 1, 1, instance);
    double f[6], g[6];
    operate(p, z, f);
    operate(q, z, g);
    for (size_t i = 0; i < 6; i++)
      check_near(f[i] - g[i], i < 3 ? 0.0 : 0.4 * (z[i] - 1.0 / 3), 1e-15);
    hvi_constants k;
    hvi_error err;
    check_ok(hvi_problem_constants(&k, q, &err), &err);
    check_near(k.mu, -0.2, 1e-12);
    assert_true(residual_at_solution(q) < 1e-15);
    hvi_problem_free(p);
    hvi_problem_free(q);
  }
}

/* A softmax sums to one, so J'(1, 1, 1) = 0: the singular values of J' have no lower bound. */
static void softmax_has_no_lower_bound(void **state) {
  (void)state;
  for (uint64_t instance = 0; instance < 5; instance++) {
    hvi_problem *p = make("rps", NULL, 0, 2, instance);
    const hvi_model *m = p->model;
    double *cache = doubles(m->cache), z[6], pulled[10], largest = 0.0;
    m->ops->eval(m, cache, p->theta0, z);
    for (size_t k = 0; k < 2; k++) {
      double u[6] = {0};
      for (size_t i = 0; i < 3; i++) u[3 * k + i] = 1.0;
      m->ops->vjp(m, cache, p->theta0, u, pulled);
      for (size_t j = 0; j < 10; j++) assert_true(fabs(pulled[j]) < 1e-15);
      u[3 * k] = -1.0;
      m->ops->vjp(m, cache, p->theta0, u, pulled);
      for (size_t j = 0; j < 10; j++) largest = fmax(largest, fabs(pulled[j]));
    }
    assert_true(largest > 1e-3);
    free(cache);
    hvi_problem_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operator_is_the_formula),
      cmocka_unit_test(constants_are_the_known_ones),
      cmocka_unit_test(zero_plays_the_solution),
      cmocka_unit_test(shipped_file_is_instance_zero),
      cmocka_unit_test(shipped_game_is_draw_53_of_seed_1),
      cmocka_unit_test(weight_of_the_file_can_be_set),
      cmocka_unit_test(printed_signs_are_not_monotone),
      cmocka_unit_test(softmax_has_no_lower_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

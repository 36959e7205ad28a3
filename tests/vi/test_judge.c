/* The judge: its figures by hand, its agreement with the solver, and what it does not let pass. */
#include "support/toy.h"

#include <hvi/builtin.h>
#include <hvi/solver.h>

static hvi_problem *builtin(const char *name, uint64_t instance) {
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, name, NULL, 0, 1, instance, &err), &err);
  return p;
}

static hvi_certificate judge(const hvi_problem *p, const double *theta) {
  hvi_certificate c;
  hvi_error err;
  check_ok(hvi_problem_judge(&c, p, theta, &err), &err);
  return c;
}

static void a_solution_is_seen_as_one(void **state) {
  (void)state;
  static const double zero[10];
  hvi_problem *pennies = builtin("pennies", 0), *rps = builtin("rps", 1);
  hvi_certificate c = judge(pennies, zero);
  assert_true(c.finite);
  check_near(c.residual, 0.0, 1e-15);
  check_near(c.dist2, 0.0, 1e-30);
  check_near(c.gap, 0.0, 1e-15);
  c = judge(rps, zero);
  check_near(c.residual, 0.0, 1e-15);
  check_near(c.dist2, 0.0, 1e-30);
  check_near(c.gap, 0.0, 1e-15);
  hvi_problem_free(pennies);
  hvi_problem_free(rps);
}

/* The start of pennies, every figure by its formula. */
static void the_start_of_pennies_by_hand(void **state) {
  (void)state;
  const double x = 1.0 / (1.0 + exp(-0.625)), y = 1.0 / (1.0 + exp(-1.575));
  const double fx = -2 * (2 * y - 1) + 0.75 * (x - 0.5), fy = 2 * (2 * x - 1) + 0.75 * (y - 0.5);
  const double low = 1.0 / (1.0 + exp(1.0));
  const double px = fmin(fmax(x - fx, low), 1.0), py = fmin(fmax(y - fy, low), 1.0);
  hvi_problem *p = builtin("pennies", 0);
  const hvi_certificate c = judge(p, (double[]){1.25, 2.25});
  check_near(c.dist2, (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5), 1e-15);
  check_near(c.residual, hypot(x - px, y - py), 1e-15);
  /* fx < 0: the best answer is 1; fy > 0: it is the lower end */
  check_near(c.gap, fx * (x - 1.0) + fy * (y - low), 1e-15);
  hvi_problem_free(p);
}

/* <F, z - y> over the corners of the simplices is the gap; it is never negative, and by the
 * projection's inequality never below the residual's square. */
static void the_gap_is_the_best_answer(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 200; round++) {
    hvi_problem *p = builtin("rps", 1 + round % 7);
    double theta[10], z[6], f[6], best = 0.0;
    double *cache = calloc(p->model->cache, sizeof *cache);
    fill_normal(theta, 10, round);
    p->model->ops->eval(p->model, cache, theta, z);
    p->ops->operate(p, NULL, theta, z, f);
    for (size_t k = 0; k < 6; k += 3) {
      double corner = -INFINITY;
      for (size_t j = 0; j < 3; j++)
        corner = fmax(corner, f[k] * z[k] + f[k + 1] * z[k + 1] + f[k + 2] * z[k + 2] - f[k + j]);
      best += corner;
    }
    const hvi_certificate c = judge(p, theta);
    check_near(c.gap, best, 1e-14);
    assert_true(c.gap >= c.residual * c.residual - 1e-14);
    assert_true(c.residual > 0.0 || c.gap < 1e-14);
    free(cache);
    hvi_problem_free(p);
  }
}

static void the_judge_agrees_with_the_solver(void **state) {
  (void)state;
  static const char *const names[] = {"gd", "phgd", "lm", "extragradient"};
  for (size_t i = 0; i < 8; i++) {
    hvi_problem *p = i < 4 ? builtin("pennies", 0) : builtin("rps", 2);
    hvi_settings s = hvi_method_settings("gd");
    hvi_solver *solver;
    hvi_error err;
    s.eta = 0.03;
    s.max_outer = 300;
    hvi_method_apply(&s, names[i % 4], NULL);
    check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
    hvi_solver_run(solver);
    const hvi_info info = hvi_solver_info(solver);
    hvi_certificate c = judge(p, info.last.theta);
    check_near(info.last.residual, c.residual, 1e-14);
    check_near(info.last.dist2, c.dist2, 1e-15);
    c = judge(p, info.best_theta);
    check_near(info.best_residual, c.residual, 1e-14);
    check_near(info.best_dist2, c.dist2, 1e-15);
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
}

/* A solver that watches a wrong F thinks it is done; the judge, who asks the right one, does not.
 */
static void a_wrong_residual_is_found_out(void **state) {
  (void)state;
  static const double A[] = {1, 0, 0, 1}, wrong_b[] = {-1, -1}, b[] = {-1, -2}, theta0[] = {0, 0};
  toy t;
  toy_init(&t, identity_model(2), A, wrong_b, theta0);
  hvi_settings s = hvi_method_settings("gd");
  hvi_solver *solver;
  hvi_error err;
  s.eta = 0.5;
  s.tol = 1e-10;
  hvi_method_apply(&s, "projected", NULL);
  check_ok(hvi_solver_new(&solver, &t.base, &s, &err), &err);
  assert_int_equal(hvi_solver_run(solver), HVI_CONVERGED);
  t.b = b;
  const hvi_certificate c = judge(&t.base, hvi_solver_info(solver).last.theta);
  check_near(c.residual, 1.0, 1e-9);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void weights_are_respected(void **state) {
  (void)state;
  static const double A[] = {2, 0, 0, 3}, b[] = {0, 0}, w[] = {4.0, 0.25};
  toy t;
  toy_init(&t, identity_model(2), A, b, b);
  t.base.weights = w;
  const hvi_certificate c = judge(&t.base, (double[]){1.0, 1.0});
  /* |F / Xi|_Xi^2 = 2^2 / 4 + 3^2 / .25 */
  check_near(c.residual, sqrt(1.0 + 36.0), 1e-14);
  assert_true(isnan(c.dist2));
  assert_true(isinf(c.gap));
  assert_true(c.gap > 0.0);
  hvi_problem_free(&t.base);
}

static void gaps_on_unbounded_sets_are_infinite(void **state) {
  (void)state;
  static const double A[] = {1, 0, 0, 1}, b[] = {0, 0}, basis[] = {1, 0};
  static const double lower[] = {-INFINITY, 0}, upper[] = {1, 1};
  toy t;
  toy_init(&t, identity_model(2), A, b, b);
  check_near(judge(&t.base, b).gap, 0.0, 0.0);
  t.sets[0] = (hvi_set){.kind = HVI_SET_SUBSPACE, .len = 2, .basis = basis, .rank = 1};
  assert_true(isinf(judge(&t.base, (double[]){1.0, 0.0}).gap));
  check_near(judge(&t.base, (double[]){0.0, 1.0}).gap, 0.0, 0.0);
  t.sets[0] = (hvi_set){.kind = HVI_SET_BOX, .len = 2, .lower = lower, .upper = upper};
  assert_true(isinf(judge(&t.base, (double[]){0.5, 0.5}).gap));
  check_near(judge(&t.base, (double[]){-0.5, 0.5}).gap, -0.5 * -1.5 + 0.5 * 0.5, 1e-15);
  hvi_problem_free(&t.base);
}

static void values_that_are_not_finite_never_pass(void **state) {
  (void)state;
  static const double A[] = {1, 0, 0, 1}, b[] = {0, 0};
  static const hvi_set_kind kinds[] = {HVI_SET_FREE, HVI_SET_SIMPLEX};
  for (size_t k = 0; k < 2; k++) {
    size_t calls = 0;
    toy t;
    toy_init(&t, identity_model(2), A, b, b);
    t.sets[0].kind = kinds[k];
    const double bad[][2] = {{NAN, 0.0}, {0.0, INFINITY}};
    for (size_t i = 0; i < 2; i++) {
      const hvi_certificate c = judge(&t.base, bad[i]);
      assert_false(c.finite);
      assert_true(isnan(c.residual));
    }
    t.calls = &calls, t.spoil_at = 1, t.spoiled = NAN;
    const hvi_certificate c = judge(&t.base, (double[]){0.5, 0.5});
    assert_false(c.finite);
    assert_true(isnan(c.residual));
    hvi_problem_free(&t.base);
  }
}

static void freeing_nothing_is_fine(void **state) {
  (void)state;
  hvi_problem_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_solution_is_seen_as_one),
      cmocka_unit_test(the_start_of_pennies_by_hand),
      cmocka_unit_test(the_gap_is_the_best_answer),
      cmocka_unit_test(the_judge_agrees_with_the_solver),
      cmocka_unit_test(a_wrong_residual_is_found_out),
      cmocka_unit_test(weights_are_respected),
      cmocka_unit_test(gaps_on_unbounded_sets_are_infinite),
      cmocka_unit_test(values_that_are_not_finite_never_pass),
      cmocka_unit_test(freeing_nothing_is_fine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Settings: defaults, step rules, every refusal in its words, no memory, and freeing nothing. */
#include "base/memory.h"
#include "support/solve.h"
#include "support/starve.h"
#include "support/toy.h"

static void refused(const hvi_problem *p, const hvi_settings *s, hvi_status status,
                    const char *words) {
  hvi_solver *solver = (hvi_solver *)(void *)&solver;
  hvi_error err;
  check_error(hvi_solver_new(&solver, p, s, &err), status, &err, words);
  assert_null(solver);
  assert_int_equal(hvi_solver_new(&solver, p, s, NULL), status);
}

/* One field of the defaults changed to a value that must not be. */
#define REFUSED(field, value, words)                                                               \
  do {                                                                                             \
    hvi_settings s_ = hvi_method_settings("gd");                                                   \
    s_.field = (value);                                                                            \
    refused(p, &s_, HVI_ERROR_ARGUMENT, (words));                                                  \
  } while (0)

static void numbers_out_of_range_are_refused(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  REFUSED(optimizer, NULL, "the settings name no inner optimizer");
  REFUSED(eta, 0.0, "eta: must be a number above 0, theorem, best or adaptive, not '0'");
  REFUSED(eta, -0.5, "eta: must be a number above 0, theorem, best or adaptive, not '-0.5'");
  REFUSED(eta, NAN, "eta: must be a number above 0, theorem, best or adaptive, not 'nan'");
  REFUSED(eta, INFINITY, "eta: must be a number above 0, theorem, best or adaptive, not 'inf'");
  REFUSED(alpha, 1.0, "alpha: must be a number above 0 and below 1, or none, not '1'");
  REFUSED(alpha, -0.1, "alpha: must be a number above 0 and below 1, or none, not '-0.1'");
  REFUSED(alpha, NAN, "alpha: must be a number above 0 and below 1, or none, not 'nan'");
  REFUSED(inner_steps, 0, "inner: must be a whole number from 1 to 1e12, not '0'");
  REFUSED(inner_growth, -1.0, "inner_growth: must be a number from 0 to 1e12, not '-1'");
  REFUSED(inner_growth, NAN, "inner_growth: must be a number from 0 to 1e12, not 'nan'");
  REFUSED(tol, -1e-9, "tol: must be a number at least 0, or none, not '-1e-09'");
  REFUSED(tol, NAN, "tol: must be a number at least 0, or none, not 'nan'");
  REFUSED(max_seconds, -1.0, "max_seconds: must be a number at least 0, or none, not '-1'");
  REFUSED(growth_bound, NAN, "growth_bound: must be a number at least 0, or none, not 'nan'");
  REFUSED(max_outer, 0, "nothing ends this solve: set a limit, a tolerance or an observer");
  hvi_problem_free(p);
}

static void inner_numbers_out_of_range_are_refused(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  REFUSED(inner.lr, 0.0, "inner_lr: must be a number above 0, not '0'");
  REFUSED(inner.momentum, 1.0, "momentum: must be a number at least 0 and below 1, not '1'");
  REFUSED(inner.beta1, -0.1, "beta1: must be a number at least 0 and below 1, not '-0.1'");
  REFUSED(inner.beta2, 1.5, "beta2: must be a number at least 0 and below 1, not '1.5'");
  REFUSED(inner.epsilon, 0.0, "epsilon: must be a number above 0, not '0'");
  REFUSED(inner.damping, -1.0, "damping: must be a number above 0, not '-1'");
  REFUSED(inner.factor, 0.0, "factor: must be a number above 0, not '0'");
  REFUSED(inner.rank_tol, NAN, "rank_tol: must be a number at least 0 and below 1, not 'nan'");
  REFUSED(inner.weight_decay, -1.0, "weight_decay: must be a number at least 0, not '-1'");
  hvi_problem_free(p);
}

static void averages_have_a_size(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = hvi_method_settings("gd");
  s.target = HVI_TARGET_AVERAGED;
  s.average = 0;
  refused(p, &s, HVI_ERROR_ARGUMENT, "average: must be a whole number from 1 to 1e6, not '0'");
  /* an amount whose product with the outputs wraps around to nothing */
  hvi_solver *solver = NULL;
  s.average = SIZE_MAX / 2 + 1;
  assert_int_not_equal(hvi_solver_new(&solver, p, &s, NULL), HVI_OK);
  assert_null(solver);
  s.average = SIZE_MAX / 32;
  assert_int_not_equal(hvi_solver_new(&solver, p, &s, NULL), HVI_OK);
  assert_null(solver);
  hvi_problem_free(p);
}

static void what_the_problem_lacks_is_said(void **state) {
  (void)state;
  static const double one[] = {1, 0, 0, 1}, zero[2], holed[] = {0.0, NAN};
  static const double skew[] = {0, 1, -1, 0};
  hvi_settings s = hvi_method_settings("gd");
  toy t;
  toy_init(&t, identity_model(2), one, zero, zero);
  s.alternating = true;
  refused(&t.base, &s, HVI_ERROR_UNSUPPORTED, "toy has one player: alternating needs at least two");
  s.alternating = false;
  s.baseline = HVI_BASELINE_ALTERNATING_GDA;
  refused(&t.base, &s, HVI_ERROR_UNSUPPORTED, "toy has one player: alternating needs at least two");
  s.baseline = HVI_BASELINE_NONE;
  s.theta0 = holed;
  refused(&t.base, &s, HVI_ERROR_INPUT, "theta0 holds a number that is not finite");
  s.theta0 = NULL;
  t.base.theta0 = NULL;
  refused(&t.base, &s, HVI_ERROR_ARGUMENT, "there is no start: give theta0");
  t.base.theta0 = zero;
  t.base.ops = &toy_noisy_ops;
  t.base.sample_bytes = sizeof(double);
  s.tol = 1e-6;
  refused(&t.base, &s, HVI_ERROR_UNSUPPORTED, "toy is stochastic and has no residual to test");
  t.base.ops = &toy_affine_ops;
  t.base.sample_bytes = 0;
  t.A = skew;
  s.tol = 0.0;
  s.step_rule = HVI_STEP_THEOREM;
  refused(&t.base, &s, HVI_ERROR_UNSUPPORTED, "toy is not strongly monotone");
  refused(NULL, &s, HVI_ERROR_ARGUMENT, "a solver needs a problem and settings");
  refused(&t.base, NULL, HVI_ERROR_ARGUMENT, "a solver needs a problem and settings");
  hvi_problem_free(&t.base);
}

/* Outputs that belong to no set have no residual, and a residual of nothing is no success. */
static void sets_must_cover_the_outputs(void **state) {
  (void)state;
  static const double one[] = {1, 0, 0, 1}, zero[2], start[] = {1.0, 1.0};
  const hvi_settings s = hvi_method_settings("gd");
  hvi_solver *solver = NULL;
  toy t;
  toy_init(&t, identity_model(2), one, zero, start);
  t.base.set_count = 0;
  assert_int_not_equal(hvi_solver_new(&solver, &t.base, &s, NULL), HVI_OK);
  t.base.set_count = 1;
  t.sets[0].len = 1;
  assert_int_not_equal(hvi_solver_new(&solver, &t.base, &s, NULL), HVI_OK);
  assert_null(solver);
  hvi_problem_free(&t.base);
}

static void defaults_are_as_documented(void **state) {
  (void)state;
  const hvi_settings s = hvi_method_settings("gd");
  assert_ptr_equal(s.optimizer, hvi_optimizer_find("gd"));
  assert_true(s.eta == 0.1);
  assert_true(s.inner_steps == 1);
  assert_true(s.max_outer == 1000);
  assert_true(s.tol == 0.0);
  assert_true(s.alpha == 0.0);
  assert_true(s.baseline == HVI_BASELINE_NONE);
  assert_true(!s.alternating);
  assert_true(s.step_rule == HVI_STEP_FIXED);
  assert_true(s.target == HVI_TARGET_PLAIN);
}

static double eta_of(const hvi_problem *p, const hvi_settings *s) {
  hvi_solver *solver = solver_for(p, s);
  const double eta = hvi_solver_info(solver).eta;
  hvi_solver_free(solver);
  return eta;
}

static void step_rules_are_their_formulas(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = hvi_method_settings("gd");
  s.eta = 0.3;
  check_near(eta_of(p, &s), 0.3, 0.0);
  s.step_rule = HVI_STEP_BEST;
  check_near(eta_of(p, &s), 0.75 / 16.5625, 1e-15);
  s.step_rule = HVI_STEP_THEOREM;
  check_near(eta_of(p, &s), 2 * 0.75 / (5 * 16.5625), 1e-15);
  s.eta = NAN; /* the rule replaces it */
  check_near(eta_of(p, &s), 2 * 0.75 / (5 * 16.5625), 1e-15);
  hvi_problem_free(p);
}

/* Every player takes the rule's step. */
static void a_step_rule_serves_every_player(void **state) {
  (void)state;
  static trace rows, fixed;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.3, 20);
  s.step_rule = HVI_STEP_BEST;
  hvi_solver_free(solve_traced(p, s, &rows));
  s.step_rule = HVI_STEP_FIXED;
  s.eta = 0.75 / 16.5625;
  hvi_solver_free(solve_traced(p, s, &fixed));
  check_close(rows.theta[20], fixed.theta[20], 2, 1e-13);
  hvi_problem_free(p);
}

static void theta0_replaces_the_problems(void **state) {
  (void)state;
  const double start[] = {-0.5, 0.25};
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.1, 1);
  static trace rows;
  s.theta0 = start;
  hvi_solver_free(solve_traced(p, s, &rows));
  check_close(rows.theta[0], start, 2, 0.0);
  hvi_problem_free(p);
}

/* Every allocation fails once, for every method and option that takes memory. */
static void no_memory_is_an_error_and_no_leak(void **state) {
  (void)state;
  hvi_problem *p = builtin("rps", 1);
  for (const hvi_method *method = hvi_method_list(); method->name; method++) {
    solver_order o = {p, settings_for(method->name, 0.1, 1)};
    o.settings.floor = HVI_FLOOR_ESTIMATED;
    o.settings.target = HVI_TARGET_AVERAGED;
    o.settings.alternating = o.settings.baseline == HVI_BASELINE_NONE;
    o.settings.step_rule = HVI_STEP_BEST;
    assert_true(starve(make_solver, &o) >= 3);
  }
  hvi_problem_free(p);
}

static void freeing_nothing_is_fine(void **state) {
  (void)state;
  hvi_solver_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_out_of_range_are_refused),
      cmocka_unit_test(inner_numbers_out_of_range_are_refused),
      cmocka_unit_test(averages_have_a_size),
      cmocka_unit_test(what_the_problem_lacks_is_said),
      cmocka_unit_test(sets_must_cover_the_outputs),
      cmocka_unit_test(defaults_are_as_documented),
      cmocka_unit_test(step_rules_are_their_formulas),
      cmocka_unit_test(a_step_rule_serves_every_player),
      cmocka_unit_test(theta0_replaces_the_problems),
      cmocka_unit_test(no_memory_is_an_error_and_no_leak),
      cmocka_unit_test(freeing_nothing_is_fine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

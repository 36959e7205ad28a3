/* Inspections whose verdict is known, and rates that have a closed form. */
#include "support/solve.h"
#include "theory/steps.h"

#include <hvi/game.h>
#include <hvi/theory.h>

#include <stdio.h>

static hvi_inspection inspect(const hvi_problem *p, const hvi_settings *s, size_t steps) {
  hvi_inspection i;
  hvi_error err;
  check_ok(hvi_theory_inspect(&i, p, s, steps, &err), &err);
  return i;
}

static void says(const char *text, const char *words) {
  if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
}

static hvi_problem *with_option(const char *name, const char *key, const char *value) {
  hvi_problem *p;
  hvi_error err;
  const hvi_option option = {key, value};
  check_ok(hvi_builtin_new(&p, name, &option, 1, 1, 0, &err), &err);
  return p;
}

static void check_verdict(const hvi_inspection *i, hvi_verdict v, hvi_obstacle o) {
  assert_string_equal(hvi_verdict_name(i->verdict), hvi_verdict_name(v));
  assert_string_equal(hvi_obstacle_name(i->obstacle), hvi_obstacle_name(o));
}

/* Near theta = 0 gradient descent with rate 1 leaves (1 - (a/4)^2)^M of each player's loss, so
 * player k takes eta_k = eta (1 - that) of its step, and |z - z*|^2 shrinks by the determinant of
 * [[1 - .75 eta_1, 4 eta_1], [-4 eta_2, 1 - .75 eta_2]], whose eigenvalues are a complex pair. */
static double pennies_rate(double eta, double inner) {
  const double one = eta * (1.0 - pow(1.0 - 0.125 * 0.125, inner));
  const double two = eta * (1.0 - pow(1.0 - 0.175 * 0.175, inner));
  return (1.0 - 0.75 * one) * (1.0 - 0.75 * two) + 16.0 * one * two;
}

static void ten_inner_steps_beat_a_hundred(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.1, 1000);
  s.inner_steps = 10;
  hvi_inspection i = inspect(p, &s, 1000);
  check_near(i.constants.mu, 0.75, 1e-12);
  check_near(i.constants.lipschitz, sqrt(16.5625), 1e-12);
  check_verdict(&i, HVI_NOT_COVERED, HVI_OBSTACLE_ETA);
  check_near(i.rates.kappa2, 1.015625, 1e-12);
  check_near(i.rate_exact, 1.015625, 1e-9);
  check_near(i.rate_observed, pennies_rate(0.1, 10), 1e-4);
  assert_int_equal(i.variant_count, 2);
  assert_true(i.variants[0].inner == 1);
  assert_true(i.variants[1].inner == 100);
  says(i.explanation, "10 inner steps beat 100");
  says(i.explanation, "expand");
  says(i.advice, "eta below 0.09057");
  s.inner_steps = 100;
  i = inspect(p, &s, 1000);
  says(i.explanation, "10 inner steps beat 100");
  assert_true(i.rate_observed > i.variants[0].rate);
  assert_true(i.step_share > 0.8);
  assert_true(i.variants[0].step_share < 0.3);
  hvi_problem_free(p);
}

/* From near the solution on, all three rates are those of the linearised loop. */
static void rates_near_the_solution_are_known(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  const double near[] = {1e-3, 2e-3};
  hvi_settings s = settings_for("gd", 0.1, 1000);
  s.theta0 = near;
  s.inner_steps = 10;
  const hvi_inspection i = inspect(p, &s, 4000);
  check_near(i.rate_observed, pennies_rate(0.1, 10), 1e-4);
  check_near(i.variants[0].rate, pennies_rate(0.1, 1), 2e-4);
  check_near(i.variants[1].rate, pennies_rate(0.1, 100), 1e-4);
  hvi_problem_free(p);
}

static void covered_settings_are_safe(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("phgd", 0.01, 1000);
  hvi_inspection i = inspect(p, &s, 1000);
  check_verdict(&i, HVI_SAFE, HVI_OBSTACLE_NONE);
  check_near(i.rate_observed, 1.0 - 2.0 * 0.01 * 0.75 + 1e-4 * 16.5625, 1e-4);
  assert_true(i.rate_observed <= i.rates.rho);
  assert_true(i.rates.rho < 1.0);
  says(i.explanation, "measured in the run, not asked for");
  assert_string_equal(i.advice, "");
  s = settings_for("lm", 0.1, 1000);
  s.step_rule = HVI_STEP_THEOREM;
  s.alpha = 0.09;
  s.inner_steps = 200;
  s.inner.damping = 1e-4;
  i = inspect(p, &s, 500);
  check_verdict(&i, HVI_SAFE, HVI_OBSTACLE_NONE);
  check_near(i.eta, 0.4 * 0.75 / 16.5625, 1e-12);
  assert_true(i.alpha == 0.09);
  assert_true(i.alpha_worst <= 0.09 + 1e-9);
  assert_null(strstr(i.explanation, "not asked for"));
  hvi_problem_free(p);
}

static void rps_constants_are_those_of_the_tangent_space(void **state) {
  (void)state;
  hvi_problem *p = builtin("rps", 0);
  const hvi_settings s = settings_for("lm", 0.05, 1000);
  const hvi_inspection i = inspect(p, &s, 200);
  check_near(i.constants.mu, 0.2, 1e-12);
  check_near(i.constants.lipschitz, sqrt(3.04), 1e-12);
  check_near(i.rates.eta_max, 0.4 / 3.04, 1e-12);
  assert_true(i.constants.exact);
  hvi_problem_free(p);
}

static void printed_signs_are_not_monotone(void **state) {
  (void)state;
  hvi_problem *p = with_option("pennies", "signs", "printed");
  const hvi_settings s = settings_for("lm", 0.05, 1000);
  const hvi_inspection i = inspect(p, &s, 2000);
  check_verdict(&i, HVI_UNSAFE, HVI_OBSTACLE_NOT_MONOTONE);
  check_near(i.constants.mu, -0.75, 1e-12);
  assert_true(i.rate_exact > 1.0);
  says(i.explanation, "not strongly monotone");
  says(i.advice, "regulariser");
  hvi_problem_free(p);
}

static void a_stuck_run_is_unsafe(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gn", 0.01, 1000);
  s.inner_steps = 5;
  const hvi_inspection i = inspect(p, &s, 1000);
  assert_int_equal(i.verdict, HVI_UNSAFE);
  says(i.explanation, "stuck");
  says(i.explanation, "flat part of g");
  says(i.advice, "damping");
  hvi_problem_free(p);
}

static void a_diverging_run_is_unsafe(void **state) {
  (void)state;
  hvi_problem *p = builtin("quadratic", 0);
  hvi_settings s = settings_for("gn", 1.0, 1000);
  s.growth_bound = 1e6;
  const hvi_inspection i = inspect(p, &s, 1000);
  check_verdict(&i, HVI_UNSAFE, HVI_OBSTACLE_ETA);
  assert_int_equal(i.outcome, HVI_DIVERGED);
  says(i.explanation, "diverged");
  assert_true(i.rate_observed > 1.0);
  assert_true(i.rate_exact > 1.0);
  hvi_problem_free(p);
}

static void the_counterexample_is_unsafe(void **state) {
  (void)state;
  hvi_problem *p = builtin("counterexample", 0);
  hvi_settings s = settings_for("adversary", 0.1, 1000);
  hvi_inspection i = inspect(p, &s, 300);
  check_verdict(&i, HVI_UNSAFE, HVI_OBSTACLE_ALPHA_MAX);
  check_near(i.rate_observed, 1.01, 1e-9);
  check_near(i.alpha_worst, sqrt(0.5), 1e-9);
  check_near(i.rates.alpha_max, sqrt(0.5), 1e-12);
  /* a small enough alpha, but too much for a large eta */
  s.inner.error_alpha = 0.3;
  s.eta = 0.9;
  i = inspect(p, &s, 300);
  assert_int_equal(i.obstacle, HVI_OBSTACLE_ALPHA);
  s.eta = 0.2;
  i = inspect(p, &s, 300);
  check_verdict(&i, HVI_SAFE, HVI_OBSTACLE_NONE);
  hvi_problem_free(p);
}

/* A linear F and tanh(z - z*), which its problem does not say anything about. */
static void operate_bent(const hvi_problem *p, const void *sample, const double *theta,
                         const double *z, double *f) {
  (void)sample, (void)theta;
  for (size_t i = 0; i < p->model->out; i++) {
    const double x = z[i] - p->solution[i];
    f[i] = x + tanh(x);
  }
}

static void sampled_constants_do_not_promise(void **state) {
  (void)state;
  hvi_problem *p = builtin("quadratic", 0);
  const hvi_problem_ops *own = p->ops;
  const hvi_problem_ops bent = {.name = "bent", .operate = operate_bent, .free = own->free};
  p->ops = &bent;
  const hvi_settings s = settings_for("gn", 0.02, 1000);
  const hvi_inspection i = inspect(p, &s, 500);
  check_verdict(&i, HVI_NOT_COVERED, HVI_OBSTACLE_SAMPLED);
  assert_true(!i.constants.exact);
  assert_true(i.constants.pairs > 0);
  says(i.explanation, "sampled");
  p->ops = own;
  hvi_problem_free(p);
}

static void other_loops_are_not_covered(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("extragradient", 0.1, 1000);
  hvi_inspection i = inspect(p, &s, 300);
  assert_int_equal(i.obstacle, HVI_OBSTACLE_BASELINE);
  assert_true(isnan(i.alpha));
  assert_true(isnan(i.alpha_worst));
  assert_true(isnan(i.rates.rho));
  s = settings_for("lm", 0.05, 1000);
  s.target = HVI_TARGET_OPTIMISTIC;
  i = inspect(p, &s, 300);
  check_verdict(&i, HVI_NOT_COVERED, HVI_OBSTACLE_VARIANT);
  hvi_problem_free(p);
}

static void without_a_solution_the_residual_tells(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  const double *solution = p->solution;
  p->solution = NULL;
  const hvi_settings s = settings_for("phgd", 0.01, 1000);
  const hvi_inspection i = inspect(p, &s, 1000);
  check_verdict(&i, HVI_SAFE, HVI_OBSTACLE_NONE);
  assert_true(i.by_residual);
  assert_true(isnan(i.dist2));
  check_near(i.rate_observed, 0.98666, 1e-3);
  check_near(i.rate_exact, 0.98666, 1e-3);
  says(i.explanation, "for granted");
  p->solution = solution;
  hvi_problem_free(p);
}

/* F(z) = z + 1/2 on [0, 1]: the solution is 0, on the boundary. */
static void a_solution_on_the_boundary_is_not_covered(void **state) {
  (void)state;
  const double one = 1.0, zero = 0.0, half = 0.5;
  hvi_player player = {.theta0 = &half,
                       .set = HVI_SET_BOX,
                       .lower = &zero,
                       .upper = &one,
                       .weight = 1.0,
                       .linear = &half};
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_affine_new(&player.model, 1, 1, &one, NULL, &err), &err);
  const hvi_game_spec spec = {1, &player, 0, NULL, &zero};
  check_ok(hvi_game_new(&p, &spec, &err), &err);
  const hvi_settings s = settings_for("gn", 0.1, 100);
  assert_int_equal(inspect(p, &s, 20).obstacle, HVI_OBSTACLE_BOUNDARY);
  hvi_problem_free(p);
}

#define GOLDEN HVI_SOURCE_DIR "/tests/golden/alpha"

static hvi_problem *three_players(uint64_t seed) {
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_problem_load(&p, GOLDEN ".yaml", seed, 0, &err), &err);
  return p;
}

typedef struct measured {
  const double *alpha;
  size_t count, compared;
} measured;

static bool compare(void *context, const hvi_step *step, const hvi_record *row) {
  measured *m = context;
  if (!step || isnan(step->reached) || row->outer > m->count) return true;
  check_near(step->reached, m->alpha[row->outer - 1], 1e-5);
  m->compared++;
  return true;
}

/* tests/golden/alpha.py made the numbers, with 60 digits. F has a component normal to the simplex, so
 * that losses above their floor are small differences. */
static void alpha_is_that_of_exact_arithmetic(void **state) {
  (void)state;
  FILE *f = fopen(GOLDEN ".csv", "r");
  unsigned long long seed;
  char name[8];
  size_t count, seeds = 0;
  double theta[16], alpha[300], worst[2] = {0.0, 0.0};
  assert_non_null(f);
  while (fscanf(f, "%llu,%7[^,],%zu", &seed, name, &count) == 3) {
    const bool start = strcmp(name, "theta") == 0;
    assert_int_equal(count, start ? 16 : 300);
    for (size_t i = 0; i < count; i++)
      assert_int_equal(fscanf(f, ",%lf", start ? &theta[i] : &alpha[i]), 1);
    if (start) continue;
    for (size_t i = 0; i < count; i++) worst[seeds] = fmax(worst[seeds], alpha[i]);
    hvi_problem *p = three_players(seed);
    check_close(p->theta0, theta, 16, 0.0);
    const hvi_settings s = settings_for("lm", 0.1, 1000);
    const hvi_inspection i = inspect(p, &s, 1000);
    check_near(i.alpha_worst, worst[seeds++], 1e-7);
    measured m = {alpha, count, 0};
    hvi_info info;
    hvi_error err;
    check_ok(hvi_steps_run(&info, p, &s, true, compare, &m, &err), &err);
    assert_true(m.compared > 250);
    hvi_problem_free(p);
  }
  fclose(f);
  assert_int_equal(seeds, 2);
  check_near(worst[1], 0.454, 5e-4);
}

/* Inner solves to rounding: alpha stays small however long the run is, and so does the verdict. */
static void rounding_is_not_taken_for_alpha(void **state) {
  (void)state;
  hvi_problem *p = three_players(1);
  hvi_settings s = settings_for("lm", 0.0218, 1000);
  s.inner.damping = 1e-9;
  s.inner_steps = 5;
  for (size_t steps = 700; steps <= 3100; steps += 300) {
    const hvi_inspection i = inspect(p, &s, steps);
    check_verdict(&i, HVI_SAFE, HVI_OBSTACLE_NONE);
    assert_true(i.alpha_worst < 1e-4);
  }
  hvi_problem_free(p);
}

/* A verdict is what the run does: inspected for `steps`, and run on for twenty times as many. */
static void a_verdict_rests_on_the_run(void **state) {
  (void)state;
  static const char *const methods[] = {"gd", "lm", "phgd", "adam", "ogda"};
  size_t closer = 0, not_closer = 0, wrong = 0;
  for (size_t k = 0; k < 60; k++) {
    hvi_problem *p = k == 0 ? with_option("pennies", "signs", "printed")
                            : builtin(k % 2 ? "pennies" : "rps", k / 2);
    hvi_settings s = settings_for(methods[k % 5], k % 3 ? 0.1 : 0.4, 1000);
    s.inner_steps = k % 4 ? 10 : 1;
    const hvi_inspection i = inspect(p, &s, 1500);
    assert_false(i.converging && !i.arrived && !(i.rate_observed < 1.0));
    s.max_outer = 30000;
    s.stall_window = 0;
    hvi_solver *solver = solver_for(p, &s);
    hvi_solver_run(solver);
    const double residual = hvi_solver_info(solver).last.residual;
    if (i.converging && !(residual < 0.05 * i.residual + 1e-9))
      fail_msg("%s %d, %s: said to converge at %g, and is at %g", p->ops->name, (int)k,
               methods[k % 5], i.residual, residual);
    if (i.verdict == HVI_UNSAFE && residual < 1e-9) wrong++;
    closer += i.converging;
    not_closer += i.verdict == HVI_UNSAFE;
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
  assert_true(closer > 10 && not_closer > 10);
  assert_true(5 * wrong < not_closer); /* a few turn round later */
}

static void adaptive_steps_are_judged_by_the_run(void **state) {
  (void)state;
  static const double nowhere[] = {4000.0, 3000.0};
  const hvi_settings s = hvi_settings_defaults();
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings chosen = s;
  hvi_settings_choose(&chosen, p);
  hvi_inspection i = inspect(p, &chosen, 1000);
  check_verdict(&i, HVI_SOLVED, HVI_OBSTACLE_ADAPTIVE);
  assert_true(i.arrived && isinf(i.rates.eta_max) && isnan(i.rates.rho) && isnan(i.rate_exact));
  check_near(i.rates.kappa2, pow(1.0 + 0.75 * i.eta, -2.0), 1e-15);
  says(i.explanation, "1 / (1 + eta mu), for every eta");
  assert_string_equal(i.advice, "");
  i = inspect(p, &s, 1000); /* as they are: hvi_solver_new chooses */
  check_verdict(&i, HVI_SOLVED, HVI_OBSTACLE_ADAPTIVE);
  chosen.theta0 = nowhere;
  i = inspect(p, &chosen, 500);
  check_verdict(&i, HVI_UNSAFE, HVI_OBSTACLE_ADAPTIVE);
  assert_true(i.restarts > 0);
  says(i.explanation, "started anew");
  says(i.advice, "another start");
  hvi_problem_free(p);
  p = with_option("pennies", "signs", "printed");
  hvi_settings_choose(&chosen, p);
  chosen.theta0 = NULL;
  i = inspect(p, &chosen, 1000);
  says(i.explanation, "F is not monotone on Z (mu = -0.75)");
  assert_true(isnan(i.rates.kappa2));
  hvi_problem_free(p);
}

static void estimated_floors_are_said_to_be_so(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("lm", 0.02, 100);
  assert_null(strstr(inspect(p, &s, 50).explanation, "estimated"));
  s.floor = HVI_FLOOR_ESTIMATED;
  says(inspect(p, &s, 50).explanation, "may lie above l*");
  hvi_problem_free(p);
}

static void bad_calls(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = hvi_method_settings("gd");
  hvi_inspection i;
  hvi_error err;
  check_error(hvi_theory_inspect(&i, p, &s, 0, &err), HVI_ERROR_ARGUMENT, &err, "steps = 0");
  check_error(hvi_theory_inspect(&i, NULL, &s, 10, &err), HVI_ERROR_ARGUMENT, &err, "problem");
  s.eta = -1.0;
  check_error(hvi_theory_inspect(&i, p, &s, 10, &err), HVI_ERROR_ARGUMENT, &err, "eta");
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ten_inner_steps_beat_a_hundred),
      cmocka_unit_test(rates_near_the_solution_are_known),
      cmocka_unit_test(covered_settings_are_safe),
      cmocka_unit_test(rps_constants_are_those_of_the_tangent_space),
      cmocka_unit_test(printed_signs_are_not_monotone),
      cmocka_unit_test(a_stuck_run_is_unsafe),
      cmocka_unit_test(a_diverging_run_is_unsafe),
      cmocka_unit_test(the_counterexample_is_unsafe),
      cmocka_unit_test(sampled_constants_do_not_promise),
      cmocka_unit_test(other_loops_are_not_covered),
      cmocka_unit_test(without_a_solution_the_residual_tells),
      cmocka_unit_test(a_solution_on_the_boundary_is_not_covered),
      cmocka_unit_test(alpha_is_that_of_exact_arithmetic),
      cmocka_unit_test(rounding_is_not_taken_for_alpha),
      cmocka_unit_test(a_verdict_rests_on_the_run),
      cmocka_unit_test(adaptive_steps_are_judged_by_the_run),
      cmocka_unit_test(estimated_floors_are_said_to_be_so),
      cmocka_unit_test(bad_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

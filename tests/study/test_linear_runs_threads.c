/* The runs of the linear experiment against the ordinary solver: the same seed sees the same
 * transitions, and every learner ends where the solver's method does. */
#include "problems/mdp/chains.h"

#include "base/memory.h"
#include "num/vec.h"
#include "problems/mdp/trajectory.h"
#include "study/linear.h"

enum { STEPS = 400, ROWS = 4, RUNS = 21, MOST = 7 };

static const size_t times[ROWS] = {10, 40, 150, STEPS};

static hvi_linear_settings run_settings(void) {
  return (hvi_linear_settings){.runs = RUNS,
                               .steps = STEPS,
                               .rows = ROWS,
                               .time = times,
                               .seed = 70,
                               .threads = 1,
                               .rate = 0.1,
                               .decay = 0.01,
                               .second_rate = 0.5};
}

/* The solver's settings for a learner, or for LSTD, which is last. */
static hvi_settings settings_of(size_t learner) {
  static const char *const rules[] = {"td0", "tdc", "gtd2", "residual-gradient", "lstd"};
  hvi_settings s = settings_for(learner == HVI_LEARNER_LSPE ? "gn" : "gd", 1.0, STEPS);
  s.inner.rank_tol = 0.0;
  if (learner < HVI_SURR_COUNT) s.inner_steps = hvi_linear_inner[learner];
  if (learner <= HVI_LEARNER_LSPE) return s;
  const hvi_rule *const *rule = hvi_trajectory_rules();
  while (strcmp((*rule)->name, rules[learner - HVI_LEARNER_TD0]) != 0) rule++;
  s.baseline = HVI_BASELINE_RULE;
  s.rule = *rule;
  s.rule_settings.second_rate = 0.5;
  s.eta = 0.1;
  s.eta_decay = 0.01;
  return s;
}

static double value_norm(const hvi_mdp *m, const double *x) {
  static double z[200];
  double sum = 0.0;
  hvi_mdp_values(m, x, z);
  for (size_t s = 0; s < hvi_mdp_states(m); s++) sum += hvi_mdp_law(m)[s] * z[s] * z[s];
  return sqrt(sum);
}

/* theta of one method on one run at the recorded times. */
static void solve(double theta[ROWS][MOST], const hvi_problem *p, size_t learner, size_t number) {
  hvi_settings s = settings_of(learner);
  s.seed = 70 + number;
  hvi_solver *solver = solver_for(p, &s);
  for (size_t t = 1, row = 0; t <= STEPS; t++) {
    hvi_solver_step(solver);
    if (t == times[row])
      hvi_vec_copy(theta[row++], hvi_solver_info(solver).last.theta, p->model->dim);
  }
  hvi_solver_free(solver);
}

static void check_run(const hvi_linear_result *r, const hvi_problem *p, size_t run) {
  static double theta[HVI_LEARNER_COUNT + 1][ROWS][MOST];
  const hvi_mdp *m = hvi_mdp_of(p);
  const size_t d = p->model->dim;
  double goal[MOST], x[MOST];
  memcpy(goal, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  for (size_t k = 0; k <= HVI_LEARNER_COUNT; k++) solve(theta[k], p, k, run);
  for (size_t row = 0; row < ROWS; row++) {
    for (size_t k = 0; k < HVI_SURR_COUNT; k++) {
      for (size_t i = 0; i < d; i++) x[i] = theta[k][row][i] - theta[HVI_LEARNER_LSPE][row][i];
      check_near(hvi_linear_values(r, row, HVI_LINEAR_THETA + k)[run], hvi_vec_norm(x, d), 1e-9);
      check_near(hvi_linear_values(r, row, HVI_LINEAR_VALUE + k)[run], value_norm(m, x), 1e-9);
    }
    for (size_t k = 0; k <= HVI_LEARNER_COUNT; k++) {
      for (size_t i = 0; i < d; i++) x[i] = theta[k][row][i] - goal[i];
      const double seen = hvi_linear_values(r, row, HVI_LINEAR_GOAL + k)[run];
      check_near(seen, value_norm(m, x), 1e-9 * (1.0 + seen));
    }
  }
}

static void check_runs(hvi_mdp *m) {
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_linear_settings s = run_settings();
  hvi_linear_result r;
  hvi_error err;
  check_ok(hvi_linear_simulate(&r, p, &s, &err), &err);
  for (size_t run = 0; run < RUNS; run += 10) check_run(&r, p, run);
  hvi_linear_result_free(&r);
  hvi_problem_free(p);
}

static void runs_are_the_solver(void **state) {
  (void)state;
  static const size_t features[] = {1, 2, 4, 5, MOST};
  check_runs(walk_mdp(20, 0.9));
  for (size_t k = 0; k < sizeof features / sizeof *features; k++)
    check_runs(random_mdp(30, features[k], 0.9, 5));
}

/* Neither threads nor the number of runs beside it change a run. */
static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  hvi_mdp *m = walk_mdp(20, 0.9);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_linear_settings s = run_settings();
  hvi_linear_result one, many, fewer;
  hvi_error err;
  s.runs = 60;
  check_ok(hvi_linear_simulate(&one, p, &s, &err), &err);
  s.threads = 4;
  check_ok(hvi_linear_simulate(&many, p, &s, &err), &err);
  s.runs = 5;
  check_ok(hvi_linear_simulate(&fewer, p, &s, &err), &err);
  check_same_bits(one.value, many.value, ROWS * HVI_LINEAR_CURVES * 60);
  for (size_t curve = 0; curve < HVI_LINEAR_CURVES; curve++)
    check_same_bits(hvi_linear_values(&one, 2, curve), hvi_linear_values(&fewer, 2, curve), 5);
  hvi_linear_result_free(&one);
  hvi_linear_result_free(&many);
  hvi_linear_result_free(&fewer);
  hvi_problem_free(p);
}

static bool stop_at_once(void *context, size_t done) {
  size_t *calls = context;
  ++*calls;
  return done < 2;
}

static void progress_can_stop_it(void **state) {
  (void)state;
  hvi_mdp *m = walk_mdp(20, 0.9);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_linear_settings s = run_settings();
  hvi_linear_result r;
  hvi_error err;
  size_t calls = 0;
  s.runs = 1000;
  s.progress = stop_at_once;
  s.context = &calls;
  check_ok(hvi_linear_simulate(&r, p, &s, &err), &err);
  assert_true(r.stopped);
  assert_int_equal(calls, 2);
  hvi_linear_result_free(&r);
  hvi_problem_free(p);
}

static void other_problems_are_refused(void **state) {
  (void)state;
  const hvi_trajectory_settings refused[] = {{.ridge = 1e-6, .scale = HVI_TRAJECTORY_SCALE_NONE},
                                             {.ridge = 1e-6, .scale = HVI_TRAJECTORY_SCALE_LAMBDA},
                                             {.ridge = 0.0, .scale = HVI_TRAJECTORY_SCALE_TRACE}};
  hvi_linear_settings s = run_settings();
  hvi_linear_result r;
  hvi_error err;
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
    hvi_problem *p = along_trajectory(random_mdp(6, 4, 0.9, 1), refused[k]);
    assert_int_equal(hvi_linear_simulate(&r, p, &s, &err), HVI_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "scale=trace and a ridge above 0"));
    hvi_problem_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_the_solver),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test(progress_can_stop_it),
      cmocka_unit_test(other_problems_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

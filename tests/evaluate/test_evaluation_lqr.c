/* The whole chain on lqr, whose value is known: transitions, targets, inner steps, measures. */
#include "rl/rollout_folder.h"
#include "support/check.h"

#include <hvi/evaluate.h>

/* At gamma 0.9 the values' mean is small against their spread, and it is the shape of V that
 * counts: the mean squared error against the closed form falls to a tenth of their variance within
 * a few seconds. What the defaults reach at gamma 0.99 is tested by
 * cli_evaluate_defaults.sh. */
static void test_closed_form_is_reached(void **state) {
  (void)state;
  enum { BATCH = 1000, STEPS = 100 };
  hvi_env *env = NULL;
  hvi_policy *policy = NULL;
  hvi_testset *set = NULL;
  hvi_probe *exact = NULL, *sampled = NULL;
  hvi_collector *c = NULL;
  hvi_evaluation *e = NULL;
  hvi_scales scales;
  hvi_score score, noisy;
  hvi_error err;
  hvi_testset_settings t = hvi_testset_defaults();
  t.run.threads = 1;
  t.states = 1000;
  t.rollouts = 4;
  t.horizon = 60;
  t.gamma = 0.9;
  check_ok(hvi_env_new(&env, "lqr", &err), &err);
  check_ok(hvi_policy_of_env(&policy, env, &err), &err);
  check_ok(hvi_testset_make(here.file, env, policy, &t, NULL, &err), &err);
  check_ok(hvi_testset_load(&set, here.file, &err), &err);
  check_ok(hvi_probe_exact(&exact, set, env, policy, &err), &err);
  check_ok(hvi_probe_of_testset(&sampled, set, &err), &err);
  check_ok(hvi_collector_new(&c, env, policy, 1, 1, (STEPS + 1) * BATCH, &err), &err);
  check_ok(hvi_collector_need(c, BATCH, &err), &err);
  check_ok(hvi_scales_new(&scales, hvi_collector_data(c), BATCH, 0.9, &err), &err);
  hvi_settings settings = hvi_evaluation_settings();
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  s.settings = &settings;
  s.value.data = hvi_collector_data(c);
  s.value.gamma = 0.9;
  s.value.batch = BATCH;
  s.value.hidden[0] = 32, s.value.hidden[1] = 32;
  s.value.hidden_count = 2;
  s.normalise = HVI_NORMALISE_NONE;
  s.value.center = scales.center;
  s.value.spread = scales.spread;
  s.value.shift = scales.shift;
  s.value.scale = scales.scale;
  s.stream = hvi_stream_of_collector(c);
  settings.max_outer = STEPS;
  s.probe = exact;
  check_ok(hvi_evaluation_new(&e, &s, &err), &err);
  while (!hvi_evaluation_state(e).done) check_ok(hvi_evaluation_step(e, &err), &err);
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  const double *theta = hvi_evaluation_theta(e);
  const hvi_problem *value = hvi_evaluation_problem(e);
  check_ok(hvi_probe_score(&score, exact, value, theta, NULL, &err), &err);
  check_ok(hvi_probe_score(&noisy, sampled, value, theta, NULL, &err), &err);
  print_message("error %.3g %% of the variance\n", 100.0 * score.relative);
  assert_true(rows[0].error > score.variance);
  assert_true(rows[count - 1].error == score.error);
  assert_true(score.relative <= 0.1);
  assert_true(score.correlation > 0.95);
  /* the first states of episodes lie far out, and are few: the network falls behind there */
  assert_true(fabs(score.slope - 1.0) < 0.35);
  /* Monte Carlo agrees once its noise is taken off */
  check_near(noisy.clean, score.error, 2.0 * noisy.interval);
  hvi_scales_free(&scales);
  hvi_evaluation_free(e);
  hvi_collector_free(c);
  hvi_probe_free(exact);
  hvi_probe_free(sampled);
  hvi_testset_free(set);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

/* The closed form at a state, by hand from P and c; and what has none. */
static void test_exact_probe(void **state) {
  (void)state;
  hvi_env *env = NULL, *other = NULL;
  hvi_policy *policy = NULL;
  hvi_probe *probe = NULL;
  hvi_error err;
  double P[16], c, x[4] = {0.5, -1.0, 0.25, 2.0}, sum = 0.0, zero = 0.0;
  check_ok(hvi_env_new(&env, "lqr", &err), &err);
  check_ok(hvi_env_new(&other, "pendulum", &err), &err);
  check_ok(hvi_policy_of_env(&policy, env, &err), &err);
  const hvi_lqr *lqr = hvi_env_lqr(env);
  check_ok(hvi_lqr_value(lqr, lqr->K, lqr->std, 0.95, P, &c, &err), &err);
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 4; j++) sum += x[i] * P[4 * i + j] * x[j];
  hvi_testset set = {.count = 1,
                     .obs = 4,
                     .gamma = 0.95,
                     .observation = x,
                     .value = &zero,
                     .standard_error = &zero};
  check_ok(hvi_probe_exact(&probe, &set, env, policy, &err), &err);
  check_near(probe->value[0], -(sum + c), 1e-12 * (sum + c));
  assert_true(probe->standard_error[0] == 0.0);
  hvi_probe_free(probe);
  check_error(hvi_probe_exact(&probe, &set, other, policy, &err), HVI_ERROR_UNSUPPORTED, &err,
              "on lqr alone");
  assert_null(probe);
  set.obs = 3;
  check_error(hvi_probe_exact(&probe, &set, env, policy, &err), HVI_ERROR_INPUT, &err,
              "length 3, and lqr of 4");
  hvi_policy_free(policy);
  hvi_env_free(env);
  hvi_env_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_closed_form_is_reached, enter, leave),
      cmocka_unit_test(test_exact_probe)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

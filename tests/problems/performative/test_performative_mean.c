/* performative-mean: draws, the stable point within its sampling error, greedy against lazy. */
#include "num/stats.h"
#include "problems/performative/problems.h"

enum { SEEDS = 100 };

/* theta after so many deployments, for each seed. */
static void run_seeds(double *theta, bool lazy, const char *eps, size_t deployments) {
  const hvi_option options[] = {{"eps", eps}, {"batch", "10"}, {"growth", "1"}};
  hvi_problem *p = make_problem("performative-mean", options, lazy ? 3 : 1, 1);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    hvi_settings s = settings_for("gd", 1.0, deployments);
    if (!lazy) s.eta_decay = 0.5 * (1.0 - strtod(eps, NULL));
    s.seed = seed;
    solve_to_theta(p, &s, &theta[seed]);
  }
  hvi_problem_free(p);
}

static double rms(const double *theta, double stable) {
  double sum = 0.0;
  for (size_t i = 0; i < SEEDS; i++) sum += (theta[i] - stable) * (theta[i] - stable);
  return sqrt(sum / SEEDS);
}

/* One draw: N(mean + eps theta, sigma^2 / batch), the k-th batch growing as k^growth. */
static void draws_have_their_law(void **state) {
  (void)state;
  const hvi_option options[] = {
      {"mean", "3"}, {"eps", "0.5"}, {"sigma", "2"}, {"batch", "4"}, {"growth", "1"}};
  enum { DRAWS = 4000 };
  static double first[DRAWS], fourth[DRAWS];
  hvi_problem *p = make_problem("performative-mean", options, 5, 1);
  hvi_rng rng = hvi_rng_new(5, "law", 0);
  const double theta = 8.0, zero = 0.0;
  for (size_t i = 0; i < DRAWS; i++) {
    double sample[8] = {0.0};
    assert_true(p->sample_bytes <= sizeof sample);
    for (int k = 1; k <= 4; k++) {
      p->ops->draw(p, &theta, sample, &rng);
      double f;
      p->ops->operate(p, sample, &theta, &zero, &f);
      if (k == 1) first[i] = -f;
      if (k == 4) fourth[i] = -f;
    }
  }
  /* means within 5 standard errors of 7; variances 4/4 and 4/16 within 5 of theirs */
  check_near(hvi_stats_mean(first, DRAWS), 7.0, 5.0 * 1.0 / sqrt(DRAWS));
  check_near(hvi_stats_mean(fourth, DRAWS), 7.0, 5.0 * 0.5 / sqrt(DRAWS));
  check_near(hvi_stats_variance(first, DRAWS), 1.0, 5.0 * sqrt(2.0 / DRAWS));
  check_near(hvi_stats_variance(fourth, DRAWS), 0.25, 0.25 * 5.0 * sqrt(2.0 / DRAWS));
  hvi_problem_free(p);
}

/* Without noise each lazy deployment is theta <- mean + eps theta. */
static void repeated_minimisation_without_noise(void **state) {
  (void)state;
  const hvi_option options[] = {{"sigma", "0"}};
  hvi_problem *p = make_problem("performative-mean", options, 1, 1);
  double theta = 0.0, expected = 0.0;
  assert_true(p->eta == 1.0);
  check_near(p->solution[0], 100.0, 1e-12);
  hvi_settings s = settings_for("gd", p->eta, 50);
  solve_to_theta(p, &s, &theta);
  for (int k = 0; k < 50; k++) expected = 10.0 + 0.9 * expected;
  check_near(theta, expected, 1e-12);
  hvi_problem_free(p);
}

static void reaches_the_stable_point(void **state) {
  (void)state;
  static double greedy[SEEDS], lazy[SEEDS];
  run_seeds(greedy, false, "0.9", 5000);
  run_seeds(lazy, true, "0.9", 150);
  /* greedy: sigma^2 / (1 - eps)^2 * 4/3 / t = 0.0163^2; lazy: sigma^2 / (10 k (1 - eps^2)) */
  assert_true(rms(greedy, 100.0) < 1.5 * 0.0163);
  assert_true(rms(greedy, 100.0) > 0.0163 / 1.5);
  assert_true(rms(lazy, 100.0) < 1.5 * 0.0059);
  assert_true(rms(lazy, 100.0) > 0.0059 / 1.5);
  check_near(hvi_stats_mean(greedy, SEEDS), 100.0, 5.0 * 0.0163 / sqrt(SEEDS) + 0.002);
  check_near(hvi_stats_mean(lazy, SEEDS), 100.0, 5.0 * 0.0059 / sqrt(SEEDS) + 0.0001);
}

/* Mendler-Duenner et al.: lazy wins per deployment, greedy per observation. */
static void greedy_and_lazy_differ(void **state) {
  (void)state;
  static double theta[SEEDS];
  static const char *const eps[] = {"0.3", "0.9"};
  static const double stable[] = {10.0 / 0.7, 100.0};
  for (int k = 0; k < 2; k++) {
    const size_t deployments = k ? 80 : 12;
    run_seeds(theta, true, eps[k], deployments);
    const double lazy = rms(theta, stable[k]);
    run_seeds(theta, false, eps[k], deployments);
    assert_true(rms(theta, stable[k]) > 1.5 * lazy);
    /* the observations that the lazy one used, all given to the greedy one */
    run_seeds(theta, false, eps[k], 10 * deployments * (deployments + 1) / 2);
    assert_true(rms(theta, stable[k]) < lazy);
  }
}

static void beyond_one_runs_away(void **state) {
  (void)state;
  const hvi_option options[] = {{"eps", "1.1"}};
  hvi_problem *p = make_problem("performative-mean", options, 1, 1);
  hvi_settings s = settings_for("gd", 1.0, 200);
  double theta;
  solve_to_theta(p, &s, &theta);
  assert_true(fabs(theta) > 1e8);
  const hvi_performative_coverage c = coverage_of(p);
  assert_true(c.beta / c.mu > 1.0);
  assert_true(c.limit == 1.0);
  hvi_problem_free(p);
}

static void measures(void **state) {
  (void)state;
  hvi_problem *p = make_problem("performative-mean", NULL, 0, 1);
  const double theta = 20.0;
  const hvi_performative_measures m = measure_at(p, &theta);
  check_near(m.loss_before, 0.5 * 100.0 + 0.005, 1e-12);
  check_near(m.loss_after, 0.5 * 64.0 + 0.005, 1e-12);
  check_near(m.gap, 32.0, 1e-12);
  hvi_problem_free(p);
}

static void same_seed_same_bits(void **state) {
  (void)state;
  hvi_problem *p = make_problem("performative-mean", NULL, 0, 1);
  hvi_settings s = settings_for("gd", 0.5, 100);
  double a, b, c;
  s.seed = 4;
  solve_to_theta(p, &s, &a);
  solve_to_theta(p, &s, &b);
  s.seed = 5;
  solve_to_theta(p, &s, &c);
  check_same_bits(&a, &b, 1);
  assert_true(a != c);
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_have_their_law),
      cmocka_unit_test(repeated_minimisation_without_noise),
      cmocka_unit_test(reaches_the_stable_point),
      cmocka_unit_test(greedy_and_lazy_differ),
      cmocka_unit_test(beyond_one_runs_away),
      cmocka_unit_test(measures),
      cmocka_unit_test(same_seed_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

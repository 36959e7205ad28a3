/* Scores of values whose errors were planted, and of values that are random by construction. */
#include "support/check.h"

#include <hvi/evaluate.h>

#include <math.h>

enum { MANY = 20000, FEW = 5 };

static void test_by_hand(void **state) {
  (void)state;
  const double y[FEW] = {1, 2, 3, 4, 10}, d[FEW] = {1, -1, 2, 0, -3}, e[FEW] = {1, 0, 1, 0, 2};
  double p[FEW];
  hvi_score s;
  hvi_error err;
  for (size_t i = 0; i < FEW; i++) p[i] = y[i] + d[i];
  check_ok(hvi_score_values(&s, FEW, p, y, e, &err), &err);
  check_near(s.error, 15.0 / 5.0, 1e-14);
  /* squares 1 1 4 0 9: variance (4 + 4 + 1 + 9 + 36) / 4 = 13.5; t(4, .975) = 2.7764451051978 */
  check_near(s.interval, 2.7764451051978 * sqrt(13.5 / 5.0), 1e-9);
  check_near(s.noise, 6.0 / 5.0, 1e-14);
  check_near(s.clean, 9.0 / 5.0, 1e-14);
  check_near(s.variance, 12.5, 1e-13);
  check_near(s.relative, 3.0 / 12.5, 1e-14);
  check_near(s.relative_clean, 1.8 / 11.3, 1e-14);
  check_near(s.mean, 4.0, 1e-14);
  check_near(s.size, sqrt(26.0), 1e-14);
  assert_int_equal(s.states, FEW);
  /* squares less e^2 are 0 1 3 0 5: variance (3.24 + 0.64 + 1.44 + 3.24 + 10.24) / 4 = 4.7 */
  check_near(s.clean_interval, 2.7764451051978 * sqrt(4.7 / 5.0), 1e-9);
  check_near(s.noise_share, 1.2 / 12.5, 1e-14);
  assert_false(s.too_noisy);
  for (size_t i = 0; i < FEW; i++) p[i] = 1.6;
  check_ok(hvi_score_values(&s, FEW, y, y, p, &err), &err);
  check_near(s.noise_share, 2.56 / 12.5, 1e-14);
  assert_true(s.too_noisy);
  for (size_t i = 0; i < FEW; i++) p[i] = 7.0;
  check_ok(hvi_score_values(&s, FEW, y, p, NULL, &err), &err);
  assert_true(isnan(s.noise_share) && !s.too_noisy);
}

/* y = 3 - 2 p exactly. */
static void test_calibration(void **state) {
  (void)state;
  double p[100], y[100];
  hvi_score s;
  hvi_error err;
  fill_normal(p, 100, 1);
  for (size_t i = 0; i < 100; i++) y[i] = 3.0 - 2.0 * p[i];
  check_ok(hvi_score_values(&s, 100, p, y, NULL, &err), &err);
  check_near(s.intercept, 3.0, 1e-13);
  check_near(s.slope, -2.0, 1e-13);
  check_near(s.correlation, -1.0, 1e-13);
  assert_true(s.noise == 0.0);
  assert_true(s.clean == s.error);
  check_ok(hvi_score_values(&s, 100, y, y, NULL, &err), &err);
  assert_true(s.error == 0.0);
  check_near(s.slope, 1.0, 1e-13);
  for (size_t i = 0; i < 100; i++) p[i] = 1.0;
  check_ok(hvi_score_values(&s, 100, p, y, NULL, &err), &err);
  assert_true(isnan(s.slope));
  assert_true(isnan(s.correlation));
}

/* True values of variance 4, noise of 1, an error of 0.25: what is left without the noise. */
static void test_noise_is_subtracted(void **state) {
  (void)state;
  static double truth[MANY], noise[MANY], off[MANY], p[MANY], y[MANY], e[MANY];
  hvi_score s;
  hvi_error err;
  fill_normal(truth, MANY, 2);
  fill_normal(noise, MANY, 3);
  fill_normal(off, MANY, 4);
  for (size_t i = 0; i < MANY; i++) {
    p[i] = 2.0 * truth[i] + 0.5 * off[i];
    y[i] = 2.0 * truth[i] + noise[i];
    e[i] = 1.0;
  }
  check_ok(hvi_score_values(&s, MANY, p, y, e, &err), &err);
  check_near(s.error, 1.25, 4.0 * s.interval / 2.0);
  check_near(s.clean, 0.25, 4.0 * s.interval / 2.0);
  check_near(s.relative, 1.25 / 5.0, 0.02);
  check_near(s.relative_clean, 0.25 / 4.0, 0.02);
  /* the predictions themselves score 0 against true values, and the noise against y */
  for (size_t i = 0; i < MANY; i++) p[i] = 2.0 * truth[i];
  check_ok(hvi_score_values(&s, MANY, p, y, e, &err), &err);
  check_near(s.clean, 0.0, 4.0 * s.interval / 2.0);
}

/* Episodes of unlike size, in each of which all errors are the same; two classes. */
static void test_episodes_and_classes(void **state) {
  (void)state;
  enum { EPISODES = 300, STATES = 5 * EPISODES };
  static double p[STATES], y[STATES], e[STATES], offset[EPISODES];
  static double episode[STATES], rare[STATES];
  const hvi_probe probe = {
      .states = STATES, .value = y, .standard_error = e, .episode = episode, .label = rare};
  hvi_score s, plain;
  hvi_error err;
  double sum[EPISODES] = {0}, count[EPISODES] = {0}, squares = 0.0, less = 0.0, by[2] = {0};
  size_t states[2] = {0};
  fill_normal(offset, EPISODES, 7);
  fill_normal(y, STATES, 8);
  for (size_t i = 0; i < STATES; i++) {
    const size_t k = i % 3 ? i % EPISODES : i % 30;
    const bool odd = k % 10 == 0;
    episode[i] = (double)(7 * k); /* with gaps */
    rare[i] = odd ? (double)(1 + i % 2) : 0.0;
    e[i] = odd ? 0.5 : 0.1;
    p[i] = y[i] + offset[k] * (odd ? 3.0 : 1.0);
    sum[k] += pow(p[i] - y[i], 2.0);
    count[k] += 1.0;
    by[odd] += pow(p[i] - y[i], 2.0);
    states[odd]++;
  }
  check_ok(hvi_probe_compare(&s, &probe, p, &err), &err);
  check_ok(hvi_score_values(&plain, STATES, p, y, e, &err), &err);
  check_near(s.error, (by[0] + by[1]) / STATES, 1e-12);
  size_t seen = 0;
  for (size_t k = 0; k < EPISODES; k++) {
    seen += count[k] > 0.0;
    squares += pow(sum[k] - s.error * count[k], 2.0);
    less += pow(sum[k] - count[k] * (s.clean + pow(k % 10 == 0 ? 0.5 : 0.1, 2.0)), 2.0);
  }
  assert_true(seen < EPISODES);
  assert_int_equal(s.episodes, seen);
  /* the linearised variance of a ratio of sums; of a few heavy episodes, so not symmetric */
  check_near(s.interval, 1.96 * sqrt(squares) / STATES, 0.15 * s.interval);
  check_near(s.clean_interval, 1.96 * sqrt(less) / STATES, 0.02 * s.clean_interval);
  check_near(s.error_high - s.error_low, 2.0 * s.interval, 1e-12);
  assert_true(s.error_low < s.error && s.error < s.error_high);
  assert_true(s.interval > 2.0 * plain.interval); /* states are not independent */
  assert_true(plain.error_low == plain.error - plain.interval && plain.episodes == 0);
  assert_true(isnan(plain.usual.error) && isnan(plain.rare.error) && plain.rare.states == 0);
  assert_true(s.usual.states == states[0] && s.rare.states == states[1]);
  check_near(s.usual.error, by[0] / (double)states[0], 1e-12);
  check_near(s.rare.error, by[1] / (double)states[1], 1e-12);
  check_near(s.usual.noise, 0.01, 1e-12);
  check_near(s.rare.noise, 0.25, 1e-12);
  /* one episode says nothing about others */
  const hvi_probe one = {.states = 2, .value = y, .standard_error = e, .episode = (double[]){3, 3}};
  check_ok(hvi_probe_compare(&s, &one, p, &err), &err);
  assert_true(isnan(s.error_low) && isnan(s.interval) && s.episodes == 1 && isfinite(s.error));
}

static void test_refusals(void **state) {
  (void)state;
  const double good[2] = {1, 2}, bad[2] = {1, NAN};
  hvi_score s;
  hvi_error err;
  check_error(hvi_score_values(&s, 0, good, good, NULL, &err), HVI_ERROR_INPUT, &err, "no states");
  check_error(hvi_score_values(&s, 2, bad, good, NULL, &err), HVI_ERROR_INPUT, &err, "not finite");
  check_error(hvi_score_values(&s, 2, good, bad, NULL, &err), HVI_ERROR_INPUT, &err, "not finite");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_hand), cmocka_unit_test(test_calibration),
      cmocka_unit_test(test_noise_is_subtracted), cmocka_unit_test(test_episodes_and_classes),
      cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

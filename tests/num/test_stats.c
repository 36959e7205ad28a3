#include "num/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%.17g is not within %g of %.17g", value, tolerance, expected);
}

static void mean_and_variance(void **state) {
  (void)state;
  const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
  assert_near(hvi_stats_mean(x, 8), 5.0, 1e-15);
  assert_near(hvi_stats_variance(x, 8), 32.0 / 7.0, 1e-15);
  assert_true(hvi_stats_variance(x, 1) == 0.0);
  assert_true(hvi_stats_variance(x, 0) == 0.0);
  assert_true(isnan(hvi_stats_mean(x, 0)));
}

static void variance_survives_a_large_mean(void **state) {
  (void)state;
  const double x[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  assert_near(hvi_stats_variance(x, 4), 30.0, 1e-6);
}

static void quantiles_interpolate(void **state) {
  (void)state;
  double x[] = {9.0, 1.0, 4.0, 2.0};
  assert_true(hvi_stats_quantile(x, 4, 0.0) == 1.0);
  assert_true(hvi_stats_quantile(x, 4, 1.0) == 9.0);
  assert_near(hvi_stats_quantile(x, 4, 0.5), 3.0, 1e-15);
  assert_near(hvi_stats_quantile(x, 4, 0.1), 1.3, 1e-15);
  assert_near(hvi_stats_quantile(x, 4, 0.9), 7.5, 1e-14);
  assert_true(x[0] == 1.0);
  assert_true(x[1] == 2.0);
  assert_true(x[2] == 4.0);
  assert_true(x[3] == 9.0);
  assert_true(hvi_stats_quantile(x, 1, 0.7) == 1.0);
  assert_true(isnan(hvi_stats_quantile(x, 0, 0.5)));
  assert_true(isnan(hvi_stats_quantile(x, 4, 1.5)));
}

/* A sample of n numbers with mean 0 and sample variance n, so that the half width is t itself. */
static double quantile_of(size_t n) {
  static double x[200001];
  double size = (double)n, sum = 0.0;
  for (size_t i = 0; i < n; i++) x[i] = i % 2 ? -1.0 : 1.0;
  if (n % 2) x[n - 1] = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
  for (size_t i = 0; i < n; i++) x[i] *= sqrt(size * (size - 1.0) / sum);
  return hvi_stats_interval95(x, n);
}

/* Published tables of t(0.975). */
static void the_interval_uses_student_t(void **state) {
  (void)state;
  static const struct {
    size_t degrees;
    double t;
  } table[] = {
      {1, 12.706204736},  {2, 4.302652730},    {3, 3.182446305},   {4, 2.776445105},
      {5, 2.570581836},   {9, 2.262157163},    {10, 2.228138852},  {19, 2.093024054},
      {29, 2.045229642},  {99, 1.984216952},   {100, 1.983971519}, {200, 1.971896224},
      {500, 1.964719837}, {1000, 1.962339081},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    assert_near(quantile_of(table[i].degrees + 1), table[i].t, 2e-9);
  assert_true(isnan(quantile_of(1)));
  assert_near(quantile_of(200001), 1.959963985 + 2.3722712 / 200000.0, 1e-8);
}

/* Both ways of finding t meet where one takes over from the other. */
static void the_two_methods_agree(void **state) {
  (void)state;
  double before = quantile_of(200), here = quantile_of(201), after = quantile_of(202);
  assert_true(before > here);
  assert_true(here > after);
  assert_near(before - here, here - after, 1e-6);
}

/* Bin(10, 0.3): P(0) = 0.0282, P(<= 5) = 0.9527, P(<= 6) = 0.9894. Bin(1000, 0.5) by SciPy. */
static void shares_have_binomial_intervals(void **state) {
  (void)state;
  hvi_stats_range r = hvi_stats_share95(0.3, 10);
  assert_near(r.low, 0.0, 0.0);
  assert_near(r.high, 0.6, 0.0);
  r = hvi_stats_share95(0.5, 1000);
  assert_near(r.low, 0.469, 1e-15);
  assert_near(r.high, 0.531, 1e-15);
  for (int end = 0; end < 2; end++) {
    r = hvi_stats_share95(end, 20);
    assert_near(r.low, end, 0.0);
    assert_near(r.high, end, 0.0);
  }
  assert_true(isnan(hvi_stats_share95(NAN, 10).low));
  r = hvi_stats_share95(0.999, 100000); /* the first terms are below the least double */
  assert_near(r.low, 0.999 - 1.96 * sqrt(0.999e-3 / 1e5), 1.5e-5);
  assert_near(r.high, 0.999 + 1.96 * sqrt(0.999e-3 / 1e5), 1.5e-5);
}

static void the_slope_of_a_line(void **state) {
  (void)state;
  double y[50];
  for (int i = 0; i < 50; i++) y[i] = 3.0 - 0.25 * i;
  assert_near(hvi_stats_slope(y, 50), -0.25, 1e-15);
  const double z[] = {0.0, 1.0, 1.0, 4.0};
  assert_near(hvi_stats_slope(z, 4), 1.2, 1e-15);
  assert_true(isnan(hvi_stats_slope(z, 1)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mean_and_variance),
      cmocka_unit_test(variance_survives_a_large_mean),
      cmocka_unit_test(quantiles_interpolate),
      cmocka_unit_test(the_interval_uses_student_t),
      cmocka_unit_test(the_two_methods_agree),
      cmocka_unit_test(the_slope_of_a_line),
      cmocka_unit_test(shares_have_binomial_intervals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

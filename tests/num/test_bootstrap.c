/* Intervals by the bootstrap against closed forms: large samples, clusters. */
#include "num/stats.h"
#include "support/check.h"
#include "support/starve.h"

#include <hvi/rng.h>

enum { MANY = 2000 };
static const double z = 1.959963984540054;

static void check_range(hvi_stats_range r, double center, double half, double share) {
  check_near(r.high - center, half, share * half);
  check_near(center - r.low, half, share * half);
}

/* Clusters of one member: their mean. */
static hvi_status bootstrap_mean(hvi_stats_range *range, const double *x, size_t n,
                                 hvi_error *err) {
  static double ones[MANY];
  for (size_t i = 0; i < n; i++) ones[i] = 1.0;
  return hvi_stats_bootstrap_ratio(range, x, ones, n, err);
}

/* The mean of many: z times the standard error. */
static void means_and_shares(void **state) {
  (void)state;
  static double x[MANY], hit[MANY];
  hvi_stats_range r, again;
  hvi_error err;
  fill_normal(x, MANY, 1);
  for (size_t i = 0; i < MANY; i++) hit[i] = x[i] > 0.8;
  check_ok(bootstrap_mean(&r, x, MANY, &err), &err);
  check_range(r, hvi_stats_mean(x, MANY), z * sqrt(hvi_stats_variance(x, MANY) / MANY), 0.1);
  check_ok(bootstrap_mean(&again, x, MANY, &err), &err);
  assert_true(again.low == r.low && again.high == r.high);
  const double share = hvi_stats_mean(hit, MANY);
  check_ok(bootstrap_mean(&r, hit, MANY, &err), &err);
  check_range(r, share, z * sqrt(share * (1.0 - share) / MANY), 0.1);
}

/* Clusters of unequal size whose members share an offset. The linearised variance of the ratio is
 * sum (above - R below)^2 / (sum below)^2; members taken for independent would have another. */
static void ratios_over_clusters(void **state) {
  (void)state;
  enum { CLUSTERS = 500 };
  static double above[CLUSTERS], below[CLUSTERS];
  hvi_rng rng = hvi_rng_new(3, "clusters", 0);
  double a = 0.0, b = 0.0, squares = 0.0, members = 0.0;
  for (size_t i = 0; i < CLUSTERS; i++) {
    const double offset = hvi_rng_normal(&rng);
    below[i] = (double)(1 + i % 7);
    for (double k = 0.0; k < below[i]; k++) {
      const double x = 5.0 + offset + 0.1 * hvi_rng_normal(&rng);
      above[i] += x;
      members += (x - 5.0) * (x - 5.0);
    }
    a += above[i];
    b += below[i];
  }
  for (size_t i = 0; i < CLUSTERS; i++) squares += pow(above[i] - a / b * below[i], 2.0);
  const double naive = z * sqrt(members) / b, half = z * sqrt(squares) / b;
  hvi_stats_range r;
  hvi_error err;
  check_ok(hvi_stats_bootstrap_ratio(&r, above, below, CLUSTERS, &err), &err);
  check_range(r, a / b, half, 0.1);
  assert_true(r.high - r.low > 1.8 * 2.0 * naive);
}

/* The interval of a mean of 60 covers the true mean in about 95 of 100 experiments. */
static void coverage(void **state) {
  (void)state;
  double x[60];
  size_t covered = 0;
  hvi_error err;
  for (uint64_t k = 0; k < 400; k++) {
    hvi_stats_range r;
    hvi_rng rng = hvi_rng_new(4, "coverage", k);
    hvi_rng_fill_normal(&rng, 1.0, 2.0, 60, x);
    check_ok(bootstrap_mean(&r, x, 60, &err), &err);
    covered += r.low <= 1.0 && 1.0 <= r.high;
  }
  assert_in_range(covered, 364, 396);
}

static void what_cannot_be(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0}, below[] = {0.0, 3.0};
  hvi_stats_range r;
  hvi_error err;
  for (size_t n = 0; n < 2; n++) {
    check_ok(bootstrap_mean(&r, x, n, &err), &err);
    assert_true(isnan(r.low) && isnan(r.high));
  }
  /* samples of the first cluster alone have 0 members; 0/0 is left out */
  check_ok(hvi_stats_bootstrap_ratio(&r, below, below, 2, &err), &err);
  assert_true(r.low == 1.0 && r.high == 1.0);
  allocations_left = 0;
  const hvi_status status = hvi_stats_bootstrap_ratio(&r, x, x, 2, &err);
  allocations_left = (size_t)-1;
  check_error(status, HVI_ERROR_MEMORY, &err, "memory");
}

static void distinct_values(void **state) {
  (void)state;
  double x[] = {3.0, 1.0, 3.0, -2.0, 1.0};
  assert_int_equal(hvi_stats_distinct(x, 5), 3);
  check_close(x, (double[]){-2.0, 1.0, 3.0}, 3, 0.0);
  assert_int_equal(hvi_stats_distinct(x, 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(means_and_shares), cmocka_unit_test(ratios_over_clusters),
      cmocka_unit_test(coverage),         cmocka_unit_test(what_cannot_be),
      cmocka_unit_test(distinct_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

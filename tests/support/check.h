/* What the tests share: cmocka with its needs, comparisons that say what differs, random vectors.
 */
#pragma once

#include <hvi/error.h>
#include <hvi/rng.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* |x - y| <= tolerance, elementwise; NaN never passes. */
static inline void check_close(const double *x, const double *y, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= tolerance))
      fail_msg("element %zu: %.17g is not within %g of %.17g", i, x[i], tolerance, y[i]);
}

static inline void check_near(double x, double y, double tolerance) {
  check_close(&x, &y, 1, tolerance);
}

/* The difference is small against the larger of the two vectors' norms. */
static inline void check_relative(const double *x, const double *y, size_t n, double tolerance) {
  double difference = 0.0, size_x = 0.0, size_y = 0.0;
  for (size_t i = 0; i < n; i++) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    size_x += x[i] * x[i];
    size_y += y[i] * y[i];
  }
  const double size = sqrt(fmax(size_x, size_y));
  if (!(sqrt(difference) <= tolerance * size)) {
    fail_msg("the vectors differ by %g of %g: more than a share of %g", sqrt(difference), size,
             tolerance);
  }
}

static inline void check_same_bits(const double *x, const double *y, size_t n) {
  if (memcmp(x, y, n * sizeof *x) == 0) return;
  size_t i = 0;
  while (memcmp(x + i, y + i, sizeof *x) == 0) i++;
  fail_msg("element %zu: %.17g and %.17g are not the same bits", i, x[i], y[i]);
}

static inline void check_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) fail_msg("element %zu is %g", i, x[i]);
}

/* x[n] standard normal, from a stream of the tests' own. */
static inline void fill_normal(double *x, size_t n, uint64_t index) {
  hvi_rng rng = hvi_rng_new(7, "tests", index);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, x);
}

/* A call failed as it should: this status, and a line with these words in it. */
static inline void check_error(hvi_status got, hvi_status expected, const hvi_error *err,
                               const char *words) {
  assert_int_equal(got, expected);
  assert_int_equal(err->status, expected);
  if (!strstr(err->text, words)) fail_msg("'%s' does not say '%s'", err->text, words);
  assert_null(strchr(err->text, '\n'));
}

static inline void check_ok(hvi_status status, const hvi_error *err) {
  if (status != HVI_OK) fail_msg("%s", err->text);
}

static inline double dot(const double *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

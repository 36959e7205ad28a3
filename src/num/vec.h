/* Vectors of doubles: the handful of operations the solver is made of. Results come first. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline void hvi_vec_copy(double *restrict out, const double *restrict x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = x[i];
}

static inline void hvi_vec_zero(double *out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = 0.0;
}

/* out = out + a x */
static inline void hvi_vec_add(double *restrict out, double a, const double *restrict x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] += a * x[i];
}

static inline void hvi_vec_scale(double *out, double a, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] *= a;
}

static inline double hvi_vec_dot(const double *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static inline double hvi_vec_norm2(const double *x, size_t n) { return hvi_vec_dot(x, x, n); }

/* |x - y|^2 */
static inline double hvi_vec_dist2(const double *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

/* sqrt(sum x^2) that neither overflows nor underflows. The plain sum is exact enough while no square leaves the range of doubles; otherwise
 * the vector is scaled by its largest element. */
static inline double hvi_vec_norm(const double *x, size_t n) {
  double sum = hvi_vec_norm2(x, n);
  if (sum > 1e-280 && sum <= DBL_MAX) return sqrt(sum);
  if (isnan(sum)) return sum;
  double largest = 0.0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  if (largest == 0.0 || isinf(largest)) return largest;
  sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (x[i] / largest) * (x[i] / largest);
  return largest * sqrt(sum);
}

/* True when every element is finite; without a branch, 0 x being NaN for the others. */
static inline bool hvi_vec_finite(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += 0.0 * x[i];
  return sum == 0.0;
}

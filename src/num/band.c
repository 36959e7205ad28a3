/*
 * Stationary law: states leave from the last to the first. Without state k the chain goes from i
 * to j directly or through k,
 *
 *   p_ij <- p_ij + p_ik p_kj / s_k,   s_k = sum_{j < k} p_kj     (i, j < k),
 *
 * and p_ik / s_k stays behind for the way back: x_k = sum_{i < k} x_i p_ik / s_k.
 */
#include "num/band.h"

#include "base/base.h"
#include "num/vec.h"

/* Takes out state k; false when it has no way back to the states below. */
static bool censor(hvi_band *A, size_t k) {
  const size_t low = k > A->width ? k - A->width : 0, count = k - low;
  const double *leaving = hvi_band_row(A, k) - count;
  double out = 0.0;
  for (size_t j = 0; j < count; j++) out += leaving[j];
  if (!(out > 0.0)) return false;
  for (size_t i = low; i < k; i++) {
    double *row = hvi_band_row(A, i), *to_k = row + (k - i);
    if (*to_k == 0.0) continue;
    *to_k /= out;
    hvi_vec_add(row - (i - low), *to_k, leaving, count);
  }
  return true;
}

static bool normalise(double *x, size_t n) {
  double sum = 0.0;
  bool positive = true;
  for (size_t i = 0; i < n; i++) sum += x[i];
  for (size_t i = 0; i < n; i++) {
    x[i] /= sum;
    positive &= x[i] > 0.0;
  }
  return positive && isfinite(sum);
}

bool hvi_band_stationary(double *x, hvi_band *A) {
  for (size_t k = A->n; k-- > 1;)
    if (!censor(A, k)) return false;
  x[0] = 1.0;
  for (size_t k = 1; k < A->n; k++) {
    x[k] = 0.0;
    for (size_t i = k > A->width ? k - A->width : 0; i < k; i++)
      x[k] += x[i] * hvi_band_row(A, i)[k - i];
    /* a drift to one side multiplies up: stay clear of overflow */
    if (x[k] > 1e150) hvi_vec_scale(x, 1e-150, k + 1);
  }
  return normalise(x, A->n);
}

void hvi_band_factor(hvi_band *A) {
  for (size_t k = 0; k + 1 < A->n; k++) {
    const double *pivot = hvi_band_row(A, k);
    const size_t left = A->n - 1 - k, reach = left < A->width ? left : A->width;
    for (size_t i = k + 1; i <= k + reach; i++) {
      double *row = hvi_band_row(A, i) - (i - k);
      if (row[0] == 0.0) continue;
      row[0] /= pivot[0];
      hvi_vec_add(row + 1, -row[0], pivot + 1, reach);
    }
  }
}

void hvi_band_solve(double *x, const hvi_band *LU) {
  for (size_t i = 1; i < LU->n; i++) {
    const size_t reach = i < LU->width ? i : LU->width;
    x[i] -= hvi_vec_dot(hvi_band_row(LU, i) - reach, x + i - reach, reach);
  }
  for (size_t i = LU->n; i-- > 0;) {
    const double *row = hvi_band_row(LU, i);
    const size_t left = LU->n - 1 - i, reach = left < LU->width ? left : LU->width;
    x[i] = (x[i] - hvi_vec_dot(row + 1, x + i + 1, reach)) / row[0];
  }
}

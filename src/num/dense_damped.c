/*
 * Damped least squares x = argmin |J x - b|^2 + lambda |x|^2 through the smaller of two systems,
 *
 *   x = J' (J J' + lambda I)^-1 b     (m <= n)
 *   x = (J'J + lambda I)^-1 J' b      (m > n).
 *
 * The matrix M in brackets is factored as L D L', which needs no square roots. A pivot that has
 * lost all its digits to cancellation, d_i <= k eps M_ii, is not told from zero.
 */
#include "num/dense.h"

#include "base/blas.h"
#include "num/vec.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

enum { LAPACK_SIZE = 32, BLAS_FLOPS = 8192 };

static size_t smaller(size_t m, size_t n) { return m < n ? m : n; }

size_t hvi_dense_damped_work(size_t m, size_t n) {
  size_t k = smaller(m, n);
  return k * k + 2 * k;
}

/* One row or one column: M is a number. */
static bool solve_scalar(double *x, const double *J, const double *b, double lambda, size_t m,
                         size_t n) {
  size_t length = m * n;
  double scale = 1.0 / (hvi_vec_norm2(J, length) + lambda);
  double factor = scale * (m == 1 ? b[0] : hvi_vec_dot(J, b, m));
  if (!(scale > 0.0) || !isfinite(factor)) return false;
  if (m == 1) {
    for (size_t j = 0; j < n; j++) x[j] = factor * J[j];
  } else {
    x[0] = factor;
  }
  return true;
}

/* The lower triangle of M[k][k]. */
static void gram(double *M, const double *J, double lambda, size_t m, size_t n) {
  size_t k = smaller(m, n);
  if (m * n * k > BLAS_FLOPS && m <= INT_MAX && n <= INT_MAX) {
    CBLAS_TRANSPOSE trans = m <= n ? CblasNoTrans : CblasTrans;
    int inner = (int)(m <= n ? n : m);
    const bool held = hvi_blas_hold();
    cblas_dsyrk(CblasRowMajor, CblasLower, trans, (int)k, inner, 1.0, J, (int)n, 0.0, M, (int)k);
    hvi_blas_release(held);
  } else if (m <= n) {
    for (size_t i = 0; i < k; i++) {
      for (size_t j = 0; j <= i; j++) M[i * k + j] = hvi_vec_dot(J + i * n, J + j * n, n);
    }
  } else {
    hvi_vec_zero(M, k * k);
    for (size_t r = 0; r < m; r++) {
      for (size_t i = 0; i < k; i++) hvi_vec_add(M + i * k, J[r * n + i], J + r * n, i + 1);
    }
  }
  for (size_t i = 0; i < k; i++) M[i * k + i] += lambda;
}

/* NaN fails the comparison too. */
static bool pivot_good(double pivot, double diagonal, size_t k) {
  return pivot > (double)k * DBL_EPSILON * diagonal && pivot <= DBL_MAX;
}

/* M = L D L' in place: L below the diagonal, 1/D on it. */
static bool factor_small(double *M, size_t k) {
  for (size_t j = 0; j < k; j++) {
    double *row = M + j * k, diagonal = row[j], pivot = diagonal;
    for (size_t p = 0; p < j; p++) {
      /* row holds L D up to here; divide it out as it is used */
      double scaled = row[p] * M[p * k + p];
      pivot -= scaled * row[p];
      row[p] = scaled;
    }
    if (!pivot_good(pivot, diagonal, k)) return false;
    row[j] = 1.0 / pivot;
    for (size_t i = j + 1; i < k; i++) M[i * k + j] -= hvi_vec_dot(M + i * k, row, j);
  }
  return true;
}

static void solve_small(double *y, const double *M, size_t k) {
  for (size_t i = 0; i < k; i++) y[i] -= hvi_vec_dot(M + i * k, y, i);
  for (size_t i = 0; i < k; i++) y[i] *= M[i * k + i];
  for (size_t i = k; i-- > 0;) {
    for (size_t j = 0; j < i; j++) y[j] -= M[i * k + j] * y[i];
  }
}

/* Row-major lower is column-major upper. */
static bool solve_large(double *y, double *M, double *diagonal, size_t k) {
  lapack_int size = (lapack_int)k;
  for (size_t i = 0; i < k; i++) diagonal[i] = M[i * k + i];
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, M, size) != 0) return false;
  for (size_t i = 0; i < k; i++) {
    if (!pivot_good(M[i * k + i] * M[i * k + i], diagonal[i], k)) return false;
  }
  return LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', size, 1, M, size, y, size) == 0;
}

/* y = M^-1 y */
static bool solve_gram(double *y, double *M, double *diagonal, size_t k) {
  if (k > LAPACK_SIZE) {
    const bool held = hvi_blas_hold(), good = solve_large(y, M, diagonal, k);
    hvi_blas_release(held);
    return good;
  }
  if (!factor_small(M, k)) return false;
  solve_small(y, M, k);
  return true;
}

bool hvi_dense_cholesky_solve(double *y, double *M, size_t n, double *work) {
  return n <= INT_MAX && solve_gram(y, M, work, n) && hvi_vec_finite(y, n);
}

static bool solve_general(double *x, const double *J, const double *b, double lambda, size_t m,
                          size_t n, double *work) {
  size_t k = smaller(m, n);
  double *M = work, *diagonal = M + k * k, *y = diagonal + k;
  gram(M, J, lambda, m, n);
  if (m <= n) {
    hvi_vec_copy(y, b, k);
    if (!solve_gram(y, M, diagonal, k)) return false;
    hvi_dense_mul_t(x, J, y, m, n);
  } else {
    hvi_dense_mul_t(x, J, b, m, n);
    if (!solve_gram(x, M, diagonal, k)) return false;
  }
  return hvi_vec_finite(x, n);
}

bool hvi_dense_damped_solve(double *x, const double *J, const double *b, double lambda, size_t m,
                            size_t n, double *work) {
  bool good;
  if (m == 0 || n == 0) {
    hvi_vec_zero(x, n);
    return true;
  }
  if (m == 1 || n == 1) {
    good = solve_scalar(x, J, b, lambda, m, n);
  } else {
    good = solve_general(x, J, b, lambda, m, n, work);
  }
  if (!good) hvi_vec_zero(x, n);
  return good;
}

/*
 * Products, Cholesky factors, eigenvalues and linear systems. For small matrices the call of a BLAS
 * routine costs more than the loop; the switches are where the two were measured equal. LAPACKE's
 * own allocation is avoided, because it prints when it fails.
 */
#include "num/dense.h"

#include "base/base.h"
#include "base/blas.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <limits.h>

enum { GEMV_ELEMENTS = 192, GEMM_PRODUCTS = 2048 };
/* Below these OpenBLAS never shares a product between threads. */
enum { SHARED_ELEMENTS = 2304, SHARED_PRODUCTS = 65536 };

/* Ends the hold of BLAS to one thread with the block that began it. */
static void release(const bool *held) { hvi_blas_release(*held); }

/* BLAS counts in int. */
static bool use_gemv(size_t m, size_t n) {
  return m * n > GEMV_ELEMENTS && m <= INT_MAX && n <= INT_MAX;
}

static void gemv_add(double *y, CBLAS_TRANSPOSE trans, const double *A, const double *x, size_t m,
                     size_t n) {
  HVI_OWN_BY(release) const bool held = m * n >= SHARED_ELEMENTS && hvi_blas_hold();
  cblas_dgemv(CblasRowMajor, trans, (int)m, (int)n, 1.0, A, (int)n, x, 1, 1.0, y, 1);
}

double hvi_dense_quadratic(const double *A, const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * hvi_vec_dot(A + i * n, x, n);
  return sum;
}

void hvi_dense_transpose(double *A, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      const double kept = A[i * n + j];
      A[i * n + j] = A[j * n + i];
      A[j * n + i] = kept;
    }
}

void hvi_dense_mul(double *y, const double *A, const double *x, size_t m, size_t n) {
  hvi_vec_zero(y, m);
  hvi_dense_mul_add(y, A, x, m, n);
}

void hvi_dense_mul_t(double *y, const double *A, const double *x, size_t m, size_t n) {
  hvi_vec_zero(y, n);
  hvi_dense_mul_t_add(y, A, x, m, n);
}

void hvi_dense_mul_add(double *y, const double *A, const double *x, size_t m, size_t n) {
  if (use_gemv(m, n))
    gemv_add(y, CblasNoTrans, A, x, m, n);
  else
    for (size_t i = 0; i < m; i++) y[i] += hvi_vec_dot(A + i * n, x, n);
}

void hvi_dense_mul_t_add(double *y, const double *A, const double *x, size_t m, size_t n) {
  if (use_gemv(m, n))
    gemv_add(y, CblasTrans, A, x, m, n);
  else
    for (size_t i = 0; i < m; i++) hvi_vec_add(y, x[i], A + i * n, n);
}

static bool use_gemm(size_t m, size_t k, size_t n) {
  return m * k * n > GEMM_PRODUCTS && m <= INT_MAX && k <= INT_MAX && n <= INT_MAX;
}

/* C = A B, or C += A' B */
static void gemm(double *C, const double *A, bool transposed, const double *B, size_t m, size_t k,
                 size_t n) {
  HVI_OWN_BY(release) const bool held = m * k * n >= SHARED_PRODUCTS && hvi_blas_hold();
  cblas_dgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
              (int)(transposed ? k : m), (int)n, (int)(transposed ? m : k), 1.0, A, (int)k, B,
              (int)n, transposed ? 1.0 : 0.0, C, (int)n);
}

void hvi_dense_matmul(double *C, const double *A, const double *B, size_t m, size_t k, size_t n) {
  if (use_gemm(m, k, n))
    gemm(C, A, false, B, m, k, n);
  else
    for (size_t i = 0; i < m; i++) hvi_dense_mul_t(C + i * n, B, A + i * k, k, n);
}

void hvi_dense_matmul_t_add(double *C, const double *A, const double *B, size_t m, size_t k,
                            size_t n) {
  if (use_gemm(m, k, n))
    gemm(C, A, true, B, m, k, n);
  else
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < k; j++) hvi_vec_add(C + j * n, A[i * k + j], B + i * n, n);
}

/*
 * Damped least squares x = argmin |J x - b|^2 + lambda |x|^2 through the smaller of two systems,
 *
 *   x = J' (J J' + lambda I)^-1 b     (m <= n)
 *   x = (J'J + lambda I)^-1 J' b      (m > n).
 *
 * The matrix M in brackets is factored as L D L', which needs no square roots. A pivot that has
 * lost all its digits to cancellation, d_i <= k eps M_ii, is not told from zero.
 */
enum { LAPACK_SIZE = 32, BLAS_FLOPS = 8192 };

static size_t smaller(size_t m, size_t n) { return m < n ? m : n; }

size_t hvi_dense_damped_work(size_t m, size_t n) {
  size_t k = smaller(m, n);
  return k * k + 2 * k;
}

/* One row or one column: M is a number. */
static bool solve_scalar(double *x, const double *J, const double *b, double lambda, size_t m,
                         size_t n) {
  double scale = 1.0 / (hvi_vec_norm2(J, m * n) + lambda);
  double factor = scale * (m == 1 ? b[0] : hvi_vec_dot(J, b, m));
  if (!(scale > 0.0) || !isfinite(factor)) return false;
  if (m == 1)
    for (size_t j = 0; j < n; j++) x[j] = factor * J[j];
  else
    x[0] = factor;
  return true;
}

/* The lower triangle of M[k][k]. */
static void gram(double *M, const double *J, double lambda, size_t m, size_t n) {
  size_t k = smaller(m, n);
  if (m * n * k > BLAS_FLOPS && m <= INT_MAX && n <= INT_MAX) {
    CBLAS_TRANSPOSE trans = m <= n ? CblasNoTrans : CblasTrans;
    int inner = (int)(m <= n ? n : m);
    HVI_OWN_BY(release) const bool held = hvi_blas_hold();
    cblas_dsyrk(CblasRowMajor, CblasLower, trans, (int)k, inner, 1.0, J, (int)n, 0.0, M, (int)k);
  } else if (m <= n) {
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j <= i; j++) M[i * k + j] = hvi_vec_dot(J + i * n, J + j * n, n);
  } else {
    hvi_vec_zero(M, k * k);
    for (size_t r = 0; r < m; r++)
      for (size_t i = 0; i < k; i++) hvi_vec_add(M + i * k, J[r * n + i], J + r * n, i + 1);
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
  for (size_t i = k; i-- > 0;)
    for (size_t j = 0; j < i; j++) y[j] -= M[i * k + j] * y[i];
}

/* y = M^-1 y; to LAPACK, row-major lower is column-major upper */
static bool solve_gram(double *y, double *M, double *diagonal, size_t k) {
  if (k <= LAPACK_SIZE) {
    if (!factor_small(M, k)) return false;
    solve_small(y, M, k);
    return true;
  }
  HVI_OWN_BY(release) const bool held = hvi_blas_hold();
  const lapack_int size = (lapack_int)k;
  for (size_t i = 0; i < k; i++) diagonal[i] = M[i * k + i];
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, M, size) != 0) return false;
  for (size_t i = 0; i < k; i++)
    if (!pivot_good(M[i * k + i] * M[i * k + i], diagonal[i], k)) return false;
  return LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', size, 1, M, size, y, size) == 0;
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
  const bool empty = m == 0 || n == 0, scalar = m == 1 || n == 1;
  const bool good = empty || (scalar ? solve_scalar(x, J, b, lambda, m, n)
                                     : solve_general(x, J, b, lambda, m, n, work));
  if (empty || !good) hvi_vec_zero(x, n);
  return good;
}

/* A copy of finite A[n][n], or room for one without A, with `extra` doubles after it. */
static hvi_status copy_square(double **copy, const double *A, size_t n, size_t extra,
                              hvi_error *err) {
  size_t size = 0;
  if (n > INT_MAX || !hvi_multiply_sizes(n, n, &size) || size + extra < size)
    return hvi_error_memory(err, "a copy of a matrix");
  HVI_TRY(hvi_new(copy, size + extra, "a copy of a matrix", err));
  if (A && !hvi_vec_finite(A, size))
    return hvi_error_input(err, "the matrix (%zu by %zu) is not finite", n, n);
  if (A) hvi_vec_copy(*copy, A, size);
  return HVI_OK;
}

hvi_status hvi_dense_eigenvalues(double *w, const double *A, size_t n, hvi_error *err) {
  if (n == 0) return HVI_OK;
  HVI_OWN double *copy = NULL;
  size_t extra = 64 * n; /* room for LAPACK's blocks; 3 n - 1 is the least */
  HVI_TRY(copy_square(&copy, A, n, extra, err));
  lapack_int size = (lapack_int)n, room = (lapack_int)(extra < INT_MAX ? extra : INT_MAX);
  HVI_OWN_BY(release) const bool held = hvi_blas_hold();
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', size, copy, size, w, copy + n * n, room) == 0)
    return HVI_OK;
  return hvi_error_input(err, "the eigenvalues of a matrix (%zu by %zu) do not settle", n, n);
}

/* Row-major A is column-major A', so the transposed system is solved. False when A is singular to
 * working precision. */
bool hvi_dense_solve_in(double *x, double *LU, size_t n, double *work) {
  const lapack_int size = (lapack_int)n;
  lapack_int *pivots = (lapack_int *)(void *)(work + 4 * n);
  HVI_OWN_BY(release) const bool held = hvi_blas_hold();
  const double norm = LAPACKE_dlange_work(LAPACK_COL_MAJOR, '1', size, size, LU, size, work);
  double rcond = 0.0;
  return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, LU, size, pivots) == 0 &&
         LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', size, LU, size, norm, &rcond, work,
                             pivots + n) == 0 &&
         rcond > DBL_EPSILON &&
         LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', size, 1, LU, size, pivots, x, size) == 0;
}

hvi_status hvi_dense_solve(double *x, const double *A, const double *b, size_t n, hvi_error *err) {
  if (n == 0) return HVI_OK;
  HVI_OWN double *copy = NULL;
  HVI_TRY(copy_square(&copy, A, n, 6 * n, err));
  if (x != b) hvi_vec_copy(x, b, n);
  if (hvi_dense_solve_in(x, copy, n, copy + n * n)) return HVI_OK;
  return hvi_error_input(err, "the matrix (%zu by %zu) is singular", n, n);
}

/* With R's diagonal made positive the decomposition is unique, and Q distributed as it should. */
hvi_status hvi_dense_random_orthogonal(double *Q, size_t n, hvi_rng *rng, hvi_error *err) {
  if (n == 0) return HVI_OK;
  HVI_OWN double *copy = NULL;
  size_t room = 64 * n;
  HVI_TRY(copy_square(&copy, NULL, n, 2 * n + room, err));
  double *tau = copy + n * n, *sign = tau + n, *scratch = sign + n;
  lapack_int size = (lapack_int)n, work_size = (lapack_int)(room < INT_MAX ? room : INT_MAX);
  hvi_rng_fill_normal(rng, 0.0, 1.0, n * n, copy);
  HVI_OWN_BY(release) const bool held = hvi_blas_hold();
  LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, size, size, copy, size, tau, scratch, work_size);
  for (size_t j = 0; j < n; j++) sign[j] = copysign(1.0, copy[j * n + j]);
  LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, size, size, size, copy, size, tau, scratch, work_size);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++) Q[i * n + j] = sign[j] * copy[j * n + i];
  return HVI_OK;
}

/* LAPACK's dsyevd wants 1 + 6 n + 2 n^2 doubles and 3 + 5 n integers. */
size_t hvi_dense_eigen_work(size_t n) {
  const size_t integers = (3 + 5 * n) * sizeof(lapack_int);
  return 1 + 6 * n + 2 * n * n + (integers + sizeof(double) - 1) / sizeof(double);
}

bool hvi_dense_eigen(double *w, double *A, size_t n, double *work) {
  if (n == 0 || n > INT_MAX / 4 || !hvi_vec_finite(A, n * n)) return false;
  const size_t doubles = 1 + 6 * n + 2 * n * n;
  lapack_int *integers = (lapack_int *)(void *)(work + doubles), size = (lapack_int)n;
  if (doubles > INT_MAX) return false;
  /* columns in LAPACK's eyes are rows in ours */
  HVI_OWN_BY(release) const bool held = hvi_blas_hold();
  return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', size, A, size, w, work,
                             (lapack_int)doubles, integers, 3 + 5 * size) == 0;
}

/* Eigenvalues, linear systems and random orthogonal matrices: thin layers over LAPACK's routines.
 * LAPACKE's own allocation is avoided, because it prints when it fails. */
#include "num/dense.h"

#include "base/blas.h"
#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"

#include <float.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

/* A copy of finite A[n][n] with `extra` doubles after it; free it. */
static hvi_status copy_square(double **copy, const double *A, size_t n, size_t extra,
                              hvi_error *err) {
  size_t size = 0;
  *copy = NULL;
  if (n <= INT_MAX && hvi_multiply_sizes(n, n, &size) && size + extra > size) {
    *copy = hvi_alloc_doubles(size + extra);
  }
  if (!*copy) return hvi_error_memory(err, "a copy of a matrix");
  if (A && !hvi_vec_finite(A, size)) {
    hvi_free(*copy);
    return hvi_error_set(err, HVI_ERROR_INPUT, "the matrix (%zu by %zu) is not finite", n, n);
  }
  if (A) hvi_vec_copy(*copy, A, size);
  return HVI_OK;
}

hvi_status hvi_dense_eigenvalues(double *w, const double *A, size_t n, hvi_error *err) {
  if (n == 0) return HVI_OK;
  double *copy;
  size_t extra = 64 * n; /* room for LAPACK's blocks; 3 n - 1 is the least */
  hvi_status status = copy_square(&copy, A, n, extra, err);
  if (status != HVI_OK) return status;
  lapack_int size = (lapack_int)n, room = (lapack_int)(extra < INT_MAX ? extra : INT_MAX);
  const bool held = hvi_blas_hold();
  lapack_int info =
      LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', size, copy, size, w, copy + n * n, room);
  hvi_blas_release(held);
  hvi_free(copy);
  if (info == 0) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "the eigenvalues of a matrix (%zu by %zu) do not settle", n, n);
}

static double one_norm(const double *A, size_t n) {
  double largest = 0.0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) sum += fabs(A[i * n + j]);
    largest = fmax(largest, sum);
  }
  return largest;
}

/* Row-major A is column-major A', so the transposed system is solved. False when A is singular to
 * working precision. */
static bool solve_lu(double *x, double *LU, double *scratch, lapack_int *pivots, size_t n) {
  lapack_int size = (lapack_int)n;
  double norm = one_norm(LU, n), rcond = 0.0;
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, LU, size, pivots) != 0) return false;
  lapack_int *integers = pivots + n;
  if (LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', size, LU, size, norm, &rcond, scratch, integers)) {
    return false;
  }
  if (!(rcond > DBL_EPSILON)) return false;
  return LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', size, 1, LU, size, pivots, x, size) == 0;
}

hvi_status hvi_dense_solve(double *x, const double *A, const double *b, size_t n, hvi_error *err) {
  if (n == 0) return HVI_OK;
  double *copy;
  hvi_status status = copy_square(&copy, A, n, 4 * n, err);
  if (status != HVI_OK) return status;
  lapack_int *pivots = hvi_alloc(2 * n, sizeof *pivots);
  if (!pivots) {
    hvi_free(copy);
    return hvi_error_memory(err, "a copy of a matrix");
  }
  if (x != b) hvi_vec_copy(x, b, n);
  const bool held = hvi_blas_hold(), solved = solve_lu(x, copy, copy + n * n, pivots, n);
  hvi_blas_release(held);
  if (!solved) {
    status = hvi_error_set(err, HVI_ERROR_INPUT, "the matrix (%zu by %zu) is singular", n, n);
  }
  hvi_free(pivots);
  hvi_free(copy);
  return status;
}

/* With R's diagonal made positive the decomposition is unique, and Q is distributed as it should.
 */
hvi_status hvi_dense_random_orthogonal(double *Q, size_t n, hvi_rng *rng, hvi_error *err) {
  if (n == 0) return HVI_OK;
  double *copy;
  size_t room = 64 * n;
  hvi_status status = copy_square(&copy, NULL, n, 2 * n + room, err);
  if (status != HVI_OK) return status;
  double *tau = copy + n * n, *sign = tau + n, *scratch = sign + n;
  lapack_int size = (lapack_int)n, work_size = (lapack_int)(room < INT_MAX ? room : INT_MAX);
  hvi_rng_fill_normal(rng, 0.0, 1.0, n * n, copy);
  const bool held = hvi_blas_hold();
  LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, size, size, copy, size, tau, scratch, work_size);
  for (size_t j = 0; j < n; j++) sign[j] = copysign(1.0, copy[j * n + j]);
  LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, size, size, size, copy, size, tau, scratch, work_size);
  hvi_blas_release(held);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < n; i++) Q[i * n + j] = sign[j] * copy[j * n + i];
  }
  hvi_free(copy);
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
  const bool held = hvi_blas_hold();
  const lapack_int info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', size, A, size, w, work,
                                              (lapack_int)doubles, integers, 3 + 5 * size);
  hvi_blas_release(held);
  return info == 0;
}

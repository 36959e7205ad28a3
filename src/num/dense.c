/* Products. For small matrices the call of a BLAS routine costs more than the loop; the switches
 * are where the two were measured equal. */
#include "num/dense.h"

#include "base/blas.h"
#include "num/vec.h"

#include <cblas.h>
#include <limits.h>

enum { GEMV_ELEMENTS = 192, GEMM_PRODUCTS = 2048 };
/* Below these OpenBLAS never shares a product between threads. */
enum { SHARED_ELEMENTS = 2304, SHARED_PRODUCTS = 65536 };

/* BLAS counts in int. */
static bool use_gemv(size_t m, size_t n) {
  return m * n > GEMV_ELEMENTS && m <= INT_MAX && n <= INT_MAX;
}

static void gemv_add(double *y, CBLAS_TRANSPOSE trans, const double *A, const double *x, size_t m,
                     size_t n) {
  const bool held = m * n >= SHARED_ELEMENTS && hvi_blas_hold();
  cblas_dgemv(CblasRowMajor, trans, (int)m, (int)n, 1.0, A, (int)n, x, 1, 1.0, y, 1);
  hvi_blas_release(held);
}

void hvi_dense_mul(double *y, const double *A, const double *x, size_t m, size_t n) {
  if (use_gemv(m, n)) {
    hvi_vec_zero(y, m);
    gemv_add(y, CblasNoTrans, A, x, m, n);
    return;
  }
  for (size_t i = 0; i < m; i++) y[i] = hvi_vec_dot(A + i * n, x, n);
}

void hvi_dense_mul_t(double *y, const double *A, const double *x, size_t m, size_t n) {
  hvi_vec_zero(y, n);
  hvi_dense_mul_t_add(y, A, x, m, n);
}

void hvi_dense_mul_add(double *y, const double *A, const double *x, size_t m, size_t n) {
  if (use_gemv(m, n)) {
    gemv_add(y, CblasNoTrans, A, x, m, n);
    return;
  }
  for (size_t i = 0; i < m; i++) y[i] += hvi_vec_dot(A + i * n, x, n);
}

void hvi_dense_mul_t_add(double *y, const double *A, const double *x, size_t m, size_t n) {
  if (use_gemv(m, n)) {
    gemv_add(y, CblasTrans, A, x, m, n);
    return;
  }
  for (size_t i = 0; i < m; i++) hvi_vec_add(y, x[i], A + i * n, n);
}

static bool use_gemm(size_t m, size_t k, size_t n) {
  return m * k * n > GEMM_PRODUCTS && m <= INT_MAX && k <= INT_MAX && n <= INT_MAX;
}

void hvi_dense_matmul(double *C, const double *A, const double *B, size_t m, size_t k, size_t n) {
  if (use_gemm(m, k, n)) {
    const bool held = m * k * n >= SHARED_PRODUCTS && hvi_blas_hold();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0, A, (int)k,
                B, (int)n, 0.0, C, (int)n);
    hvi_blas_release(held);
    return;
  }
  for (size_t i = 0; i < m; i++) hvi_dense_mul_t(C + i * n, B, A + i * k, k, n);
}

void hvi_dense_matmul_t_add(double *C, const double *A, const double *B, size_t m, size_t k,
                            size_t n) {
  if (use_gemm(m, k, n)) {
    const bool held = m * k * n >= SHARED_PRODUCTS && hvi_blas_hold();
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)k, (int)n, (int)m, 1.0, A, (int)k, B,
                (int)n, 1.0, C, (int)n);
    hvi_blas_release(held);
    return;
  }
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < k; j++) hvi_vec_add(C + j * n, A[i * k + j], B + i * n, n);
  }
}

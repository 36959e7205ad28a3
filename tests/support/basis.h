/* An orthonormal basis of the columns of A, which are independent, by Gram and Schmidt, twice. */
#pragma once

#include "support/check.h"

/* Q[m][n] from A[m][n], m >= n */
static inline void fill_basis(double *Q, const double *A, size_t m, size_t n) {
  memcpy(Q, A, m * n * sizeof *Q);
  for (size_t j = 0; j < n; j++) {
    for (size_t k = 0; k < 2 * j; k++) {
      double dot = 0.0;
      for (size_t i = 0; i < m; i++) dot += Q[i * n + k % j] * Q[i * n + j];
      for (size_t i = 0; i < m; i++) Q[i * n + j] -= dot * Q[i * n + k % j];
    }
    double norm2 = 0.0;
    for (size_t i = 0; i < m; i++) norm2 += Q[i * n + j] * Q[i * n + j];
    assert_true(norm2 > 1e-20);
    for (size_t i = 0; i < m; i++) Q[i * n + j] /= sqrt(norm2);
  }
}

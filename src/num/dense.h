/*
 * Dense linear algebra on row-major matrices.
 *
 * Small sizes run in plain loops, large ones in BLAS and LAPACK; the switches are in dense*.c. None
 * of these allocates unless its comment says so: the least-squares solvers take a workspace.
 */
#pragma once

#include "num/vec.h"

#include <hvi/error.h>
#include <hvi/rng.h>

/* x' A x with A[n][n]. */
double hvi_dense_quadratic(const double *A, const double *x, size_t n);
/* A[n][n] <- A' */
void hvi_dense_transpose(double *A, size_t n);
/* y = A x with A[m][n];  y = A' x (y[n], x[m]);  both overwrite y. */
void hvi_dense_mul(double *y, const double *A, const double *x, size_t m, size_t n);
void hvi_dense_mul_t(double *y, const double *A, const double *x, size_t m, size_t n);
/* y += A x;  y += A' x */
void hvi_dense_mul_add(double *y, const double *A, const double *x, size_t m, size_t n);
void hvi_dense_mul_t_add(double *y, const double *A, const double *x, size_t m, size_t n);
/* C[m][n] = A[m][k] B[k][n] */
void hvi_dense_matmul(double *C, const double *A, const double *B, size_t m, size_t k, size_t n);
/* C[k][n] += A' B with A[m][k], B[m][n] */
void hvi_dense_matmul_t_add(double *C, const double *A, const double *B, size_t m, size_t k,
                            size_t n);

/*
 * Damped least squares: the minimiser of |J x - b|^2 + lambda |x|^2 for J[m][n] and lambda > 0, by
 * a Cholesky factor of J'J + lambda I or J J' + lambda I, whichever is smaller. False when the
 * matrix is not numerically positive definite or not finite (x is then zero).
 */
bool hvi_dense_damped_solve(double *x, const double *J, const double *b, double lambda, size_t m,
                            size_t n, double *work);
size_t hvi_dense_damped_work(size_t m, size_t n); /* doubles in work */
/* y <- M^-1 y for symmetric positive definite M[n][n], of which the lower triangle is read and
 * lost. False when M is not, numerically. work: n doubles. */
bool hvi_dense_cholesky_solve(double *y, double *M, size_t n, double *work);

/*
 * Pseudo-inverse step x = J^+ b for J[m][n], in two parts, because the cut-off may be relative to
 * something larger than this J (the other players' blocks): factor, then solve with singular
 * values at or below `cutoff` treated as zero. Small J by one-sided Jacobi, large by LAPACK. The
 * factors live in `work`. factor returns the largest singular value, NaN when J is not finite.
 */
double hvi_dense_svd_factor(const double *J, size_t m, size_t n, double *work);
void hvi_dense_svd_solve(double *x, const double *b, double cutoff, size_t m, size_t n,
                         const double *work);
size_t hvi_dense_svd_work(size_t m, size_t n); /* doubles in work */

/* Singular values of A[m][n], largest first, into s[min(m,n)]; allocates. */
hvi_status hvi_dense_singular_values(double *s, const double *A, size_t m, size_t n,
                                     hvi_error *err);
/* Eigenvalues of symmetric A[n][n], smallest first, into w[n]; allocates. */
hvi_status hvi_dense_eigenvalues(double *w, const double *A, size_t n, hvi_error *err);
/* Decomposes symmetric A[n][n] in place: on return row k is the unit eigenvector of w[k], smallest
 * first. False when A is not finite. Allocates nothing: work has hvi_dense_eigen_work(n) doubles.
 */
bool hvi_dense_eigen(double *w, double *A, size_t n, double *work);
size_t hvi_dense_eigen_work(size_t n);
/* Solves A x = b for square A[n][n]; HVI_ERROR_INPUT when A is singular. Allocates. */
hvi_status hvi_dense_solve(double *x, const double *A, const double *b, size_t n, hvi_error *err);
/* The same in place: x is b before, A is lost, work has 6 n doubles. False when A is singular. */
bool hvi_dense_solve_in(double *x, double *A, size_t n, double *work);
/* A random orthogonal matrix Q[n][n] (Haar, by QR of a normal matrix). Allocates. */
hvi_status hvi_dense_random_orthogonal(double *Q, size_t n, hvi_rng *rng, hvi_error *err);

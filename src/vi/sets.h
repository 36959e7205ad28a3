/* Projections onto the factors of Z, and the constants of matrices. */
#pragma once

#include <hvi/problem.h>

/* The part of hvi_problem_check that always runs. */
hvi_status hvi_problem_structure(const hvi_problem *p, hvi_error *err);

/* out[len] = projection of z[len] onto one factor, in the norm of weights[len]; out is not z. */
void hvi_set_project(const hvi_set *set, const double *weights, const double *z, double *out);

/* Directions within Z, orthonormal in the inner product of the weights: B[n][*rank] with leading
 * dimension *rank (at most n) and B' Xi B = I. A subspace's own basis must be of that kind. */
void hvi_problem_tangent(const hvi_problem *p, double *B, size_t *rank);

/* A[n][n] and b[n]: the problem's where F is affine, and otherwise F's derivative at z by differences,
 * f being F(z). Returns how many evaluations of F that took. work: 2 n doubles. */
size_t hvi_problem_linearise(const hvi_problem *p, double *A, double *b, const double *theta,
                             const double *z, const double *f, double *work);
/* C[k][k] = B' A B for A[n][n] and B[n][k]; work: 2 n^2 doubles. */
void hvi_matrix_restrict(double *C, const double *A, const double *B, size_t n, size_t k,
                         double *work);
/* Counts the pair of x = {z, F(z)}, which is lost, and y among the sampled ones; B[n][k] as above, or
 * NULL. True when it is the least monotone so far. */
bool hvi_constants_add(hvi_constants *c, const hvi_problem *p, const double *B, size_t k,
                       double *const x[2], const double *const y[2]);
/* mu and L of z -> C z, C[k][k]. */
hvi_status hvi_matrix_constants(hvi_constants *c, const double *C, size_t k, hvi_error *err);
/* x[k] <- L^-1 x for lower triangular L[k][k]; A[k][k] <- L^-1 A L^-T. */
void hvi_lower_solve(const double *L, double *x, size_t k);
void hvi_matrix_whiten(double *A, const double *L, size_t k);

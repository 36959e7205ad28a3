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

/* mu and L of z -> C z, C[k][k]. */
hvi_status hvi_matrix_constants(hvi_constants *c, const double *C, size_t k, hvi_error *err);
/* x[k] <- L^-1 x for lower triangular L[k][k]; A[k][k] <- L^-1 A L^-T. */
void hvi_lower_solve(const double *L, double *x, size_t k);
void hvi_matrix_whiten(double *A, const double *L, size_t k);

/* Projections onto the factors of Z. */
#ifndef HVI_PROBLEM_SETS_H
#define HVI_PROBLEM_SETS_H

#include <hvi/problem.h>

/* out[len] = projection of z[len] onto one factor; out is not z. With weights[len], in their norm.
 */
void hvi_set_project(const hvi_set *set, const double *weights, const double *z, double *out);

/* Orthonormal directions within Z: B[n][*rank], leading dimension *rank (at most n). With weights,
 * orthonormal in their inner product for a subspace only. */
void hvi_problem_tangent(const hvi_problem *p, double *B, size_t *rank);

#endif

/*
 * Where the residual gradient ends: minimisers of two squared Bellman errors, and how far their
 * values are from those of the projected fixed point.
 *
 *   single    E (r(s) + gamma <phi', x> - <phi, x>)^2 over transitions: what the single-sample
 *             method descends. With G = (D - C) / gamma its normal equations are
 *             ((1 + gamma^2) D - gamma (G + G')) x = Phi' (I - gamma P') Xi r
 *   Bellman   |Phi x - T Phi x|^2_Xi: with B = Phi - gamma P Phi,   B' Xi B x = B' Xi r
 *
 * They differ by gamma^2 times the variance of <phi', x> given s: the double-sampling problem.
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/trajectory.h"
#include "study/linear.h"

/* B[n][d] = Phi - gamma P Phi, column by column; z and Tz are [n] */
static void differences(double *B, const hvi_trajectory *t, double *z, double *Tz) {
  for (size_t j = 0; j < t->d; j++) {
    for (size_t s = 0; s < t->states; s++) z[s] = hvi_trajectory_row(t, s)[j];
    hvi_mdp_bellman(t->mdp, z, Tz);
    for (size_t s = 0; s < t->states; s++) B[s * t->d + j] = z[s] - (Tz[s] - t->reward[s]);
  }
}

/* b = B' Xi r; A = B' Xi B */
static void bellman_equations(double *A, double *b, const double *B, const hvi_trajectory *t) {
  const double *xi = hvi_mdp_law(t->mdp);
  for (size_t s = 0; s < t->states; s++) {
    const double *row = B + s * t->d;
    hvi_vec_add(b, xi[s] * t->reward[s], row, t->d);
    for (size_t i = 0; i < t->d; i++) hvi_vec_add(A + i * t->d, xi[s] * row[i], row, t->d);
  }
}

/* (1 + gamma^2) D - gamma (G + G') = C + C' - (1 - gamma^2) D; the right-hand side is the same. */
static void single_equations(double *A, const hvi_trajectory *t) {
  const double *D = hvi_sample_D(t->mean), *C = hvi_sample_C(t->mean, t->d);
  for (size_t i = 0; i < t->d; i++)
    for (size_t j = 0; j < t->d; j++)
      A[i * t->d + j] =
          C[i * t->d + j] + C[j * t->d + i] - (1.0 - t->gamma * t->gamma) * D[i * t->d + j];
}

hvi_status hvi_linear_limits(double *single, double *bellman, const hvi_problem *p,
                             hvi_error *err) {
  const hvi_trajectory *t = hvi_trajectory_of(p);
  const size_t n = t->states, d = t->d;
  double *B = hvi_alloc_doubles(n * d + 2 * n + d * d + 2 * d);
  if (!B) return hvi_error_memory(err, "the residual gradient's limit");
  double *z = B + n * d, *A = z + 2 * n, *b = A + d * d, *x = b + d;
  differences(B, t, z, z + n);
  bellman_equations(A, b, B, t);
  hvi_status status = hvi_dense_solve(x, A, b, d, err);
  if (!status) *bellman = sqrt(p->ops->dist2(p, x));
  single_equations(A, t);
  if (!status) status = hvi_dense_solve(x, A, b, d, err);
  if (!status) *single = sqrt(p->ops->dist2(p, x));
  hvi_free(B);
  return status;
}

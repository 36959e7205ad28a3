/*
 * Kernels, part 2: the damped least-squares problem of one player on lanes.
 *
 * J[out][dim] has no more rows than columns. (J'J + lambda I)^-1 J' r = J' (J J' + lambda I)^-1 r
 * through L D L', as num/dense.c has it for one instance.
 */
#pragma once

#include "ensemble/kernel_model.h"

#include <float.h>

/* The lower triangle of J J' + lambda I. */
static inline void gram(hvi_lane *M, const hvi_lane *J, size_t k, size_t length, double lambda) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j <= i; j++)
      product(&M[i * k + j], J + i * length, 1, J + j * length, length, NULL);
    for (int l = 0; l < HVI_LANES; l++) M[i * k + i].at[l] += lambda;
  }
}

/* M = L D L': L below the diagonal, 1/D on it; good falls to 0 at a pivot not told from zero. */
static inline void ldl_factor(hvi_lane *M, hvi_lane *restrict good, size_t k) {
  for (size_t j = 0; j < k; j++) {
    hvi_lane *row = M + j * k, least;
    for (int l = 0; l < HVI_LANES; l++) least.at[l] = (double)k * DBL_EPSILON * row[j].at[l];
    for (size_t q = 0; q < j; q++) {
      const hvi_lane *restrict inverse = &M[q * k + q];
      hvi_lane *restrict entry = row + q, *restrict pivot = row + j;
      for (int l = 0; l < HVI_LANES; l++) {
        const double scaled = entry->at[l] * inverse->at[l];
        pivot->at[l] -= scaled * entry->at[l];
        entry->at[l] = scaled;
      }
    }
    for (int l = 0; l < HVI_LANES; l++) {
      const double pivot = row[j].at[l];
      const bool fine = (pivot > least.at[l]) & (pivot <= DBL_MAX);
      good->at[l] = fine ? good->at[l] : 0.0;
      row[j].at[l] = 1.0 / pivot;
    }
    for (size_t i = j + 1; i < k && j > 0; i++) {
      hvi_lane sum;
      product(&sum, M + i * k, 1, row, j, NULL);
      for (int l = 0; l < HVI_LANES; l++) M[i * k + j].at[l] -= sum.at[l];
    }
  }
}

/* y = (L D L')^-1 y */
static inline void ldl_solve(hvi_lane *y, const hvi_lane *M, size_t k) {
  for (size_t i = 1; i < k; i++) {
    hvi_lane sum;
    product(&sum, M + i * k, 1, y, i, NULL);
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] -= sum.at[l];
  }
  for (size_t i = 0; i < k; i++)
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] *= M[i * k + i].at[l];
  for (size_t i = k - 1; i-- > 0;) {
    hvi_lane sum;
    product(&sum, M + (i + 1) * k + i, k, y + i + 1, k - 1 - i, NULL);
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] -= sum.at[l];
  }
}

/* x = argmin |J x - r|^2 + lambda |x|^2 of one player */
static inline void damped_solve(const hvi_lanes_plan *plan, const hvi_lanes_player *p, hvi_lane *s,
                                hvi_lane *x, hvi_lane *good) {
  const hvi_lane *J = s + p->jacobian;
  hvi_lane *M = s + plan->scratch, *y = M + p->out * p->out;
  gram(M, J, p->out, p->dim, plan->method->inner.damping);
  ldl_factor(M, good, p->out);
  lane_copy(y, s + plan->r + p->z, p->out);
  ldl_solve(y, M, p->out);
  for (size_t j = 0; j < p->dim; j++) product(x + j, J + j, p->dim, y, p->out, NULL);
}

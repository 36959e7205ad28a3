/*
 * Kernels, part 2: the linear least-squares problem of one player on lanes.
 *
 * J[out][dim] has no more rows than columns. Pseudo-inverse: let B be J scaled to a largest element
 * of 1. One-sided Jacobi: rotations Q from the left make the rows of B orthogonal,
 *
 *   Q B = diag(s) W,    J^+ r = B' Q' S^-2 Q r
 *
 * so besides the turned rows Q B only Q r is kept. A lane whose rows are orthogonal is not turned any
 * more: what a lane computes does not depend on its neighbours. Sweeps end when no lane turned.
 *
 * Damping. (J'J + lambda I)^-1 J' r = J' (J J' + lambda I)^-1 r through L D L'.
 *
 * num/dense_svd.c and num/dense.c do the same for one instance, with the same thresholds.
 */
#pragma once

#include "ensemble/kernel_model.h"

#include <float.h>

enum { MAX_SWEEPS = 40 };

/* good = 0 where an element of x[n] is not finite, and the largest magnitude of the others */
static inline void find_largest(hvi_lane *restrict largest, hvi_lane *restrict good,
                                const hvi_lane *restrict x, size_t n) {
  lane_fill(largest, 0.0);
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) {
      const double v = fabs(x[i].at[l]), top = largest->at[l];
      largest->at[l] = v > top ? v : top;
      good->at[l] = v <= DBL_MAX ? good->at[l] : 0.0;
    }
}

/* J divided by its largest element, and r: what rotations act on. */
static inline void load_rows(const hvi_lanes_player *p, hvi_lane *s, const hvi_lane *r,
                             const hvi_lane *restrict inverse) {
  const hvi_lane *restrict J = s + p->jacobian;
  hvi_lane *restrict B = s + p->rows;
  for (size_t i = 0; i < p->out * p->dim; i++)
    for (int l = 0; l < HVI_LANES; l++) B[i].at[l] = J[i].at[l] * inverse->at[l];
  lane_copy(s + p->turned, r, p->out);
}

/* (p, q) <- (c p - s q, s p + c q) */
static inline void rotate(hvi_lane *restrict p, hvi_lane *restrict q, const hvi_lane *restrict c,
                          const hvi_lane *restrict s, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) {
      const double old = p[i].at[l];
      p[i].at[l] = c->at[l] * old - s->at[l] * q[i].at[l];
      q[i].at[l] = s->at[l] * old + c->at[l] * q[i].at[l];
    }
}

/* Cosine and sine that make two rows orthogonal: a and b their squared lengths, which follow, g
 * their product. Nonzero when some lane turned. */
static inline uint64_t find_angle(hvi_lane *restrict c, hvi_lane *restrict s, hvi_lane *restrict a,
                                  hvi_lane *restrict b, const hvi_lane *restrict g,
                                  const hvi_lane *restrict negligible, double tiny) {
  uint64_t turned = 0;
  for (int l = 0; l < HVI_LANES; l++) {
    const double aa = a->at[l], bb = b->at[l], gg = g->at[l], least = negligible->at[l];
    const double lower = aa < bb ? aa : bb;
    const bool turn = (gg * gg > tiny * aa * bb) & (lower > least);
    const double z = (bb - aa) / (2.0 * gg), size = 1.0 / (fabs(z) + sqrt(1.0 + z * z));
    const double tangent = turn ? (z < 0.0 ? -size : size) : 0.0;
    const double cosine = 1.0 / sqrt(1.0 + tangent * tangent);
    c->at[l] = cosine;
    s->at[l] = cosine * tangent;
    const double change = turn ? tangent * gg : 0.0;
    a->at[l] = aa - change;
    b->at[l] = bb + change;
    turned |= turn ? 1U : 0U;
  }
  return turned;
}

static inline uint64_t sweep(hvi_lane *B, hvi_lane *Q, hvi_lane *squares, hvi_lane *restrict room,
                             size_t k, size_t length) {
  const double tiny = (double)length * DBL_EPSILON * DBL_EPSILON;
  hvi_lane *negligible = room, *g = room + 1, *c = room + 2, *s = room + 3;
  uint64_t turned = 0;
  lane_fill(negligible, 0.0);
  for (size_t i = 0; i < k; i++) {
    product(&squares[i], B + i * length, 1, B + i * length, length);
    for (int l = 0; l < HVI_LANES; l++)
      negligible->at[l] += 16.0 * DBL_EPSILON * DBL_EPSILON * squares[i].at[l];
  }
  for (size_t p = 0; p + 1 < k; p++)
    for (size_t q = p + 1; q < k; q++) {
      hvi_lane *row_p = B + p * length, *row_q = B + q * length;
      product(g, row_p, 1, row_q, length);
      const uint64_t any = find_angle(c, s, squares + p, squares + q, g, negligible, tiny);
      turned |= any;
      if (!any) continue;
      rotate(row_p, row_q, c, s, length);
      rotate(Q + p, Q + q, c, s, 1);
    }
  return turned;
}

/* Decomposes one player's J; `top` rises to its largest singular value, `good` falls to 0 where J
 * is not finite. */
static inline void svd_factor(const hvi_lanes_plan *plan, const hvi_lanes_player *p, hvi_lane *s,
                              hvi_lane *restrict top, hvi_lane *restrict good) {
  const size_t k = p->out, length = p->dim;
  hvi_lane *restrict inverse = s + p->scale, *squares = s + p->squares;
  const double least = 0x1p-1023; /* has a finite inverse */
  hvi_lane size;
  find_largest(&size, good, s + p->jacobian, p->out * p->dim);
  for (int l = 0; l < HVI_LANES; l++) {
    size.at[l] = size.at[l] > least ? size.at[l] : least;
    inverse->at[l] = 1.0 / size.at[l];
  }
  load_rows(p, s, s + plan->r + p->z, inverse);
  for (int i = 0; i < MAX_SWEEPS && k > 1; i++)
    if (!sweep(s + p->rows, s + p->turned, squares, s + plan->scratch, k, length)) break;
  for (size_t i = 0; i < k; i++) {
    const hvi_lane *row = s + p->rows + i * length;
    product(&squares[i], row, 1, row, length);
    for (int l = 0; l < HVI_LANES; l++) {
      const double value = sqrt(squares[i].at[l]) * size.at[l], old = top->at[l];
      top->at[l] = value > old ? value : old;
    }
  }
}

/* x = J^+ r of one player, singular values at or below `cut` being zero */
static inline void svd_solve(const hvi_lanes_plan *plan, const hvi_lanes_player *p, hvi_lane *s,
                             hvi_lane *x, const hvi_lane *restrict cut) {
  const hvi_lane *restrict squares = s + p->squares, *restrict inverse = s + p->scale;
  hvi_lane *restrict c = s + plan->scratch;
  for (size_t i = 0; i < p->out; i++) {
    c[i] = s[p->turned + i];
    for (int l = 0; l < HVI_LANES; l++) {
      const double square = squares[i].at[l], value = sqrt(square), least = cut->at[l];
      const double share = c[i].at[l] * inverse->at[l] / square;
      c[i].at[l] = value > least * inverse->at[l] ? share : 0.0;
    }
  }
  for (size_t j = 0; j < p->dim; j++) product(x + j, s + p->rows + j, p->dim, c, p->out);
}

/* The lower triangle of J J' + lambda I. */
static inline void gram(hvi_lane *M, const hvi_lane *J, size_t k, size_t length, double lambda) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j <= i; j++)
      product(&M[i * k + j], J + i * length, 1, J + j * length, length);
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
      product(&sum, M + i * k, 1, row, j);
      for (int l = 0; l < HVI_LANES; l++) M[i * k + j].at[l] -= sum.at[l];
    }
  }
}

/* y = (L D L')^-1 y */
static inline void ldl_solve(hvi_lane *y, const hvi_lane *M, size_t k) {
  for (size_t i = 1; i < k; i++) {
    hvi_lane sum;
    product(&sum, M + i * k, 1, y, i);
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] -= sum.at[l];
  }
  for (size_t i = 0; i < k; i++)
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] *= M[i * k + i].at[l];
  for (size_t i = k - 1; i-- > 0;) {
    hvi_lane sum;
    product(&sum, M + (i + 1) * k + i, k, y + i + 1, k - 1 - i);
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
  for (size_t j = 0; j < p->dim; j++) product(x + j, J + j, p->dim, y, p->out);
}

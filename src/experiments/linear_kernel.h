/*
 * One step of every mover on a chunk of trajectories; included once per instruction set.
 *
 * With D = D_hat + ridge I, s = 1 / trace D, A = I - s D and b = C_hat theta - r_hat, M gradient
 * steps on the surrogate from theta are
 *
 *   theta - s T_M b,   T_M = I + A + ... + A^(M-1)
 *
 * and powers of A serve all M at once (A^k and T_k are symmetric and commute, so that only half of
 * a product is computed):
 *
 *   T_5 = I + A + A^2 + A^3 + A^4,   T_10 = (I + A^5) T_5,
 *   T_50 = T_10 X with X = I + A^10 + A^20 + A^30 + A^40,   T_100 = (I + A^50) T_50
 *
 * The last two are applied factor by factor. LSPE solves with a Cholesky factor of D.
 *
 * The number of features is a constant in every instance of the functions below, for the compiler
 * to unroll the small loops and to vectorise those over lanes.
 */
#ifndef HVI_EXPERIMENTS_LINEAR_KERNEL_H
#define HVI_EXPERIMENTS_LINEAR_KERNEL_H

#include "experiments/linear_lanes.h"

#include <math.h>

#define INLINE       static inline __attribute__((always_inline))
#define EACH_LANE(l) for (size_t l = 0; l < HVI_LINEAR_LANES; l++)
/* Loops over features, unrolled before the loops over lanes inside them are vectorised. */
#define UNROLLED _Pragma("GCC unroll 8")

typedef hvi_linear_lane lane;

INLINE size_t half(size_t i, size_t j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

/* out = A B, all symmetric and commuting; out is neither. */
INLINE void product(size_t d, lane *restrict out, const lane *A, const lane *B) {
  UNROLLED
  for (size_t i = 0; i < d; i++) UNROLLED
  for (size_t j = 0; j <= i; j++) EACH_LANE(l) {
      double sum = 0.0;
      UNROLLED
      for (size_t k = 0; k < d; k++) sum += A[half(i, k)].at[l] * B[half(k, j)].at[l];
      out[half(i, j)].at[l] = sum;
    }
}

/* out = A x, A symmetric; out is not x */
INLINE void apply(size_t d, lane *restrict out, const lane *A, const lane *x) {
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l) {
      double sum = 0.0;
      UNROLLED
      for (size_t k = 0; k < d; k++) sum += A[half(i, k)].at[l] * x[k].at[l];
      out[i].at[l] = sum;
    }
}

INLINE void dot(size_t d, lane *restrict out, const lane *x, const lane *y) {
  EACH_LANE(l) {
    double sum = 0.0;
    UNROLLED
    for (size_t k = 0; k < d; k++) sum += x[k].at[l] * y[k].at[l];
    out->at[l] = sum;
  }
}

/* The running means with the last transition in. */
INLINE void absorb(size_t d, hvi_linear_chunk *c) {
  const double share = 1.0 / (double)c->count, gamma = c->gamma;
  UNROLLED
  for (size_t i = 0; i < d; i++) {
    UNROLLED
    for (size_t j = 0; j < d; j++) EACH_LANE(l) {
        const double now = c->now[j].at[l];
        double *C = &c->C[i * d + j].at[l];
        *C += share * (c->now[i].at[l] * (now - gamma * c->next[j].at[l]) - *C);
      }
    UNROLLED
    for (size_t j = 0; j <= i; j++) EACH_LANE(l) {
        double *D = &c->D[half(i, j)].at[l];
        *D += share * (c->now[i].at[l] * c->now[j].at[l] - *D);
      }
    EACH_LANE(l) c->r[i].at[l] += share * (c->now[i].at[l] * c->reward.at[l] - c->r[i].at[l]);
  }
}

/* b = C_hat theta - r_hat */
INLINE void gradient(size_t d, lane *restrict b, const hvi_linear_chunk *c, const lane *theta) {
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l) {
      double sum = -c->r[i].at[l];
      UNROLLED
      for (size_t k = 0; k < d; k++) sum += c->C[i * d + k].at[l] * theta[k].at[l];
      b[i].at[l] = sum;
    }
}

/* theta -= s x */
INLINE void move(size_t d, lane *theta, const lane *s, const lane *x) {
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l) theta[i].at[l] -= s->at[l] * x[i].at[l];
}

/* Powers and sums of powers of A. */
typedef struct powers {
  lane step; /* s */
  lane a10[HVI_LINEAR_PACKED], a40[HVI_LINEAR_PACKED];
  lane t5[HVI_LINEAR_PACKED], t10[HVI_LINEAR_PACKED], x[HVI_LINEAR_PACKED];
} powers;

/* A = I - s D */
INLINE void contraction(size_t d, lane *restrict A, powers *p, const hvi_linear_chunk *c) {
  EACH_LANE(l) {
    double trace = 0.0;
    UNROLLED
    for (size_t i = 0; i < d; i++) trace += c->D[half(i, i)].at[l] + c->ridge;
    p->step.at[l] = 1.0 / trace;
  }
  UNROLLED
  for (size_t i = 0; i < d; i++) UNROLLED
  for (size_t j = 0; j <= i; j++) EACH_LANE(l) {
      const double entry = c->D[half(i, j)].at[l] + (i == j ? c->ridge : 0.0);
      A[half(i, j)].at[l] = (i == j ? 1.0 : 0.0) - p->step.at[l] * entry;
    }
}

/* out = I + w + x + y + z */
INLINE void add_up(size_t d, lane *restrict out, const lane *w, const lane *x, const lane *y,
                   const lane *z) {
  UNROLLED
  for (size_t i = 0; i < d; i++) UNROLLED
  for (size_t j = 0; j <= i; j++) {
    const size_t k = half(i, j);
    EACH_LANE(l)
    out[k].at[l] = (i == j ? 1.0 : 0.0) + ((w[k].at[l] + x[k].at[l]) + (y[k].at[l] + z[k].at[l]));
  }
}

INLINE void raise(size_t d, powers *p, const hvi_linear_chunk *c) {
  lane a1[HVI_LINEAR_PACKED], a2[HVI_LINEAR_PACKED], a3[HVI_LINEAR_PACKED], a4[HVI_LINEAR_PACKED];
  contraction(d, a1, p, c);
  product(d, a2, a1, a1);
  product(d, a3, a1, a2);
  product(d, a4, a2, a2);
  add_up(d, p->t5, a1, a2, a3, a4);
  product(d, a3, a1, a4); /* A^5 */
  product(d, p->t10, a3, p->t5);
  UNROLLED
  for (size_t k = 0; k < d * (d + 1) / 2; k++) EACH_LANE(l) p->t10[k].at[l] += p->t5[k].at[l];
  product(d, p->a10, a3, a3);
  product(d, a2, p->a10, p->a10); /* A^20 */
  product(d, a3, p->a10, a2);     /* A^30 */
  product(d, p->a40, a2, a2);
  add_up(d, p->x, p->a10, a2, a3, p->a40);
}

INLINE void surrogate_steps(size_t d, hvi_linear_chunk *c) {
  powers p;
  lane b[HVI_LINEAR_MOST], u[HVI_LINEAR_MOST], v[HVI_LINEAR_MOST];
  raise(d, &p, c);
  gradient(d, b, c, c->theta[HVI_MOVER_SURR_1]);
  move(d, c->theta[HVI_MOVER_SURR_1], &p.step, b);
  gradient(d, b, c, c->theta[HVI_MOVER_SURR_5]);
  apply(d, u, p.t5, b);
  move(d, c->theta[HVI_MOVER_SURR_5], &p.step, u);
  gradient(d, b, c, c->theta[HVI_MOVER_SURR_10]);
  apply(d, u, p.t10, b);
  move(d, c->theta[HVI_MOVER_SURR_10], &p.step, u);
  gradient(d, b, c, c->theta[HVI_MOVER_SURR_50]);
  apply(d, u, p.x, b);
  apply(d, v, p.t10, u);
  move(d, c->theta[HVI_MOVER_SURR_50], &p.step, v);
  gradient(d, b, c, c->theta[HVI_MOVER_SURR_100]);
  apply(d, u, p.x, b);
  apply(d, v, p.t10, u);
  move(d, c->theta[HVI_MOVER_SURR_100], &p.step, v);
  apply(d, u, p.a40, v);
  apply(d, v, p.a10, u);
  move(d, c->theta[HVI_MOVER_SURR_100], &p.step, v);
}

/* D = L L', with the diagonal of L inverted */
INLINE void factor(size_t d, lane *restrict L, const hvi_linear_chunk *c) {
  UNROLLED
  for (size_t j = 0; j < d; j++) UNROLLED
  for (size_t i = j; i < d; i++) EACH_LANE(l) {
      double sum = c->D[half(i, j)].at[l] + (i == j ? c->ridge : 0.0);
      UNROLLED
      for (size_t k = 0; k < j; k++) sum -= L[half(i, k)].at[l] * L[half(j, k)].at[l];
      L[half(i, j)].at[l] = i == j ? 1.0 / sqrt(sum) : sum * L[half(j, j)].at[l];
    }
}

INLINE void lspe_step(size_t d, hvi_linear_chunk *c) {
  lane L[HVI_LINEAR_PACKED], x[HVI_LINEAR_MOST];
  factor(d, L, c);
  gradient(d, x, c, c->theta[HVI_MOVER_LSPE]);
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l) {
      double sum = x[i].at[l];
      UNROLLED
      for (size_t k = 0; k < i; k++) sum -= L[half(i, k)].at[l] * x[k].at[l];
      x[i].at[l] = sum * L[half(i, i)].at[l];
    }
  UNROLLED
  for (size_t i = d; i-- > 0;) EACH_LANE(l) {
      double sum = x[i].at[l];
      UNROLLED
      for (size_t k = i + 1; k < d; k++) sum -= L[half(k, i)].at[l] * x[k].at[l];
      x[i].at[l] = sum * L[half(i, i)].at[l];
    }
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l) c->theta[HVI_MOVER_LSPE][i].at[l] -= x[i].at[l];
}

/* delta = r + gamma <phi', theta> - <phi, theta> */
INLINE void difference(size_t d, lane *delta, const hvi_linear_chunk *c, const lane *theta) {
  lane now, next;
  dot(d, &now, c->now, theta);
  dot(d, &next, c->next, theta);
  EACH_LANE(l) delta->at[l] = c->reward.at[l] + c->gamma * next.at[l] - now.at[l];
}

/* w += h (delta - <phi, w>) phi */
INLINE void follow_error(size_t d, hvi_linear_chunk *c, lane *w, double h, const lane *delta,
                         const lane *guess) {
  UNROLLED
  for (size_t i = 0; i < d; i++)
    EACH_LANE(l) w[i].at[l] += h * (delta->at[l] - guess->at[l]) * c->now[i].at[l];
}

/* As src/problems/bellman/rules.c. */
INLINE void learners(size_t d, hvi_linear_chunk *c) {
  const double h = c->rate / (1.0 + c->decay * (double)(c->count - 1)), g = c->gamma;
  const double h2 = h * c->second_rate;
  lane delta, guess;
  lane *theta = c->theta[HVI_MOVER_TD0];
  difference(d, &delta, c, theta);
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l) theta[i].at[l] += h * delta.at[l] * c->now[i].at[l];
  theta = c->theta[HVI_MOVER_RESIDUAL];
  difference(d, &delta, c, theta);
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l)
  theta[i].at[l] += h * delta.at[l] * (c->now[i].at[l] - g * c->next[i].at[l]);
  theta = c->theta[HVI_MOVER_TDC];
  difference(d, &delta, c, theta);
  dot(d, &guess, c->now, c->second[0]);
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l)
  theta[i].at[l] += h * (delta.at[l] * c->now[i].at[l] - g * guess.at[l] * c->next[i].at[l]);
  follow_error(d, c, c->second[0], h2, &delta, &guess);
  theta = c->theta[HVI_MOVER_GTD2];
  difference(d, &delta, c, theta);
  dot(d, &guess, c->now, c->second[1]);
  UNROLLED
  for (size_t i = 0; i < d; i++) EACH_LANE(l)
  theta[i].at[l] += h * guess.at[l] * (c->now[i].at[l] - g * c->next[i].at[l]);
  follow_error(d, c, c->second[1], h2, &delta, &guess);
}

INLINE void step_of(size_t d, hvi_linear_chunk *c) {
  absorb(d, c);
  learners(d, c);
  if (c->count < c->wait) return;
  surrogate_steps(d, c);
  lspe_step(d, c);
}

static void step_3(hvi_linear_chunk *c) { step_of(3, c); }
static void step_5(hvi_linear_chunk *c) { step_of(5, c); }
static void step_any(hvi_linear_chunk *c) { step_of(c->d, c); }

static void step(hvi_linear_chunk *c) {
  if (c->d == 3)
    step_3(c);
  else if (c->d == 5)
    step_5(c);
  else
    step_any(c);
}

/* Philox4x32-10 as in num/philox.h, with 32-bit words in 64-bit lanes. */
static void uniforms(hvi_linear_chunk *c, uint64_t number) {
  const uint64_t low = UINT32_MAX;
  EACH_LANE(l) {
    uint64_t c0 = number & low, c1 = number >> 32, c2 = 0, c3 = 0;
    uint64_t k0 = c->key[0][l], k1 = c->key[1][l];
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
      const uint64_t p0 = UINT64_C(0xD2511F53) * c0, p1 = UINT64_C(0xCD9E8D57) * c2;
      c0 = (p1 >> 32) ^ c1 ^ k0;
      c2 = (p0 >> 32) ^ c3 ^ k1;
      c1 = p1 & low;
      c3 = p0 & low;
      k0 = (k0 + UINT32_C(0x9E3779B9)) & low;
      k1 = (k1 + UINT32_C(0xBB67AE85)) & low;
    }
    c->uniform[0].at[l] = (double)(int64_t)((c0 | c1 << 32) >> 11) * 0x1p-53;
    c->uniform[1].at[l] = (double)(int64_t)((c2 | c3 << 32) >> 11) * 0x1p-53;
  }
}

#endif

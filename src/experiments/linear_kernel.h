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
/* Over features; unrolled before the loop over lanes inside is vectorised. */
#define EACH(i, from, to) _Pragma("GCC unroll 8") for (size_t i = from; i < to; i++)

typedef hvi_linear_lane lane;

/* Place of (i, j) in the lower half of a symmetric matrix. */
INLINE size_t half(size_t i, size_t j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

/* A function for each number of features: called, not copied, where it is used many times. */
#define BY_FEATURES(name, parameters, arguments3, arguments5)                                      \
  static __attribute__((noinline)) void name##_3 parameters { name##_of arguments3; }              \
  static __attribute__((noinline)) void name##_5 parameters { name##_of arguments5; }

/* out = A B, all symmetric and commuting; out is neither. */
INLINE void product_of(size_t d, lane *restrict out, const lane *A, const lane *B) {
  EACH(i, 0, d) {
    EACH(j, 0, i + 1) {
      EACH_LANE(l) {
        double sum = 0.0;
        EACH(k, 0, d) sum += A[half(i, k)].at[l] * B[half(k, j)].at[l];
        out[half(i, j)].at[l] = sum;
      }
    }
  }
}

BY_FEATURES(product, (lane * out, const lane *A, const lane *B), (3, out, A, B), (5, out, A, B))

INLINE void product(size_t d, lane *out, const lane *A, const lane *B) {
  if (d == 3)
    product_3(out, A, B);
  else
    product_5(out, A, B);
}

/* out = A x, A symmetric; out is not x */
INLINE void apply_of(size_t d, lane *restrict out, const lane *A, const lane *x) {
  EACH(i, 0, d) {
    EACH_LANE(l) {
      double sum = 0.0;
      EACH(k, 0, d) sum += A[half(i, k)].at[l] * x[k].at[l];
      out[i].at[l] = sum;
    }
  }
}

BY_FEATURES(apply, (lane * out, const lane *A, const lane *x), (3, out, A, x), (5, out, A, x))

INLINE void apply(size_t d, lane *out, const lane *A, const lane *x) {
  if (d == 3)
    apply_3(out, A, x);
  else
    apply_5(out, A, x);
}

INLINE void dot(size_t d, lane *restrict out, const lane *x, const lane *y) {
  EACH_LANE(l) {
    double sum = 0.0;
    EACH(k, 0, d) sum += x[k].at[l] * y[k].at[l];
    out->at[l] = sum;
  }
}

/* mean += share (x - mean) */
INLINE void average(lane *mean, double share, const lane *x) {
  EACH_LANE(l) mean->at[l] += share * (x->at[l] - mean->at[l]);
}

/* The running means with the last transition in. */
INLINE void absorb(size_t d, hvi_linear_chunk *c) {
  const double share = 1.0 / (double)c->count, gamma = c->gamma;
  lane x;
  EACH(i, 0, d) {
    EACH(j, 0, d) {
      EACH_LANE(l) x.at[l] = c->now[i].at[l] * (c->now[j].at[l] - gamma * c->next[j].at[l]);
      average(&c->C[i * d + j], share, &x);
    }
    EACH(j, 0, i + 1) {
      EACH_LANE(l) x.at[l] = c->now[i].at[l] * c->now[j].at[l];
      average(&c->D[half(i, j)], share, &x);
    }
    EACH_LANE(l) x.at[l] = c->now[i].at[l] * c->reward.at[l];
    average(&c->r[i], share, &x);
  }
}

/* b = C_hat theta - r_hat */
INLINE void gradient_of(size_t d, lane *restrict b, const hvi_linear_chunk *c, const lane *theta) {
  EACH(i, 0, d) {
    EACH_LANE(l) {
      double sum = -c->r[i].at[l];
      EACH(k, 0, d) sum += c->C[i * d + k].at[l] * theta[k].at[l];
      b[i].at[l] = sum;
    }
  }
}

BY_FEATURES(gradient, (lane * b, const hvi_linear_chunk *c, const lane *theta), (3, b, c, theta),
            (5, b, c, theta))

INLINE void gradient(size_t d, lane *b, const hvi_linear_chunk *c, const lane *theta) {
  if (d == 3)
    gradient_3(b, c, theta);
  else
    gradient_5(b, c, theta);
}

/* theta -= s x */
INLINE void move(size_t d, lane *restrict theta, const lane *s, const lane *x) {
  EACH(i, 0, d) { EACH_LANE(l) theta[i].at[l] -= s->at[l] * x[i].at[l]; }
}

/* theta += h error x */
INLINE void learn(size_t d, lane *restrict theta, double h, const lane *error, const lane *x) {
  EACH(i, 0, d) { EACH_LANE(l) theta[i].at[l] += h * error->at[l] * x[i].at[l]; }
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
    EACH(i, 0, d) trace += c->D[half(i, i)].at[l] + c->ridge;
    p->step.at[l] = 1.0 / trace;
  }
  EACH(i, 0, d) {
    EACH(j, 0, i + 1) {
      const double ridge = i == j ? c->ridge : 0.0, one = i == j ? 1.0 : 0.0;
      EACH_LANE(l)
      A[half(i, j)].at[l] = one - p->step.at[l] * (c->D[half(i, j)].at[l] + ridge);
    }
  }
}

/* out = I + w + x + y + z */
INLINE void add_up(size_t d, lane *restrict out, const lane *w, const lane *x, const lane *y,
                   const lane *z) {
  EACH(i, 0, d) {
    EACH(j, 0, i + 1) {
      const size_t k = half(i, j);
      const double one = i == j ? 1.0 : 0.0;
      EACH_LANE(l)
      out[k].at[l] = one + ((w[k].at[l] + x[k].at[l]) + (y[k].at[l] + z[k].at[l]));
    }
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
  EACH(k, 0, d * (d + 1) / 2) { EACH_LANE(l) p->t10[k].at[l] += p->t5[k].at[l]; }
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
  EACH(j, 0, d) {
    EACH(i, j, d) {
      const double ridge = i == j ? c->ridge : 0.0;
      EACH_LANE(l) {
        double sum = c->D[half(i, j)].at[l] + ridge;
        EACH(k, 0, j) sum -= L[half(i, k)].at[l] * L[half(j, k)].at[l];
        L[half(i, j)].at[l] = i == j ? 1.0 / sqrt(sum) : sum * L[half(j, j)].at[l];
      }
    }
  }
}

INLINE void lspe_step(size_t d, hvi_linear_chunk *c) {
  lane L[HVI_LINEAR_PACKED], x[HVI_LINEAR_MOST], *theta = c->theta[HVI_MOVER_LSPE];
  factor(d, L, c);
  gradient(d, x, c, theta);
  EACH(i, 0, d) {
    EACH_LANE(l) {
      double sum = x[i].at[l];
      EACH(k, 0, i) sum -= L[half(i, k)].at[l] * x[k].at[l];
      x[i].at[l] = sum * L[half(i, i)].at[l];
    }
  }
  EACH(from_last, 0, d) {
    const size_t i = d - 1 - from_last;
    EACH_LANE(l) {
      double sum = x[i].at[l];
      EACH(k, i + 1, d) sum -= L[half(k, i)].at[l] * x[k].at[l];
      x[i].at[l] = sum * L[half(i, i)].at[l];
    }
  }
  EACH(i, 0, d) { EACH_LANE(l) theta[i].at[l] -= x[i].at[l]; }
}

/* delta = r + gamma <phi', theta> - <phi, theta> */
INLINE void difference(size_t d, lane *delta, const hvi_linear_chunk *c, const lane *theta) {
  lane now, next;
  dot(d, &now, c->now, theta);
  dot(d, &next, c->next, theta);
  EACH_LANE(l) delta->at[l] = c->reward.at[l] + c->gamma * next.at[l] - now.at[l];
}

/* w += h (delta - <phi, w>) phi, with <phi, w> given */
INLINE void follow_error(size_t d, hvi_linear_chunk *c, lane *w, double h, const lane *delta,
                         const lane *guess) {
  lane error;
  EACH_LANE(l) error.at[l] = delta->at[l] - guess->at[l];
  learn(d, w, h, &error, c->now);
}

/* As src/problems/bellman/rules.c. */
INLINE void learners(size_t d, hvi_linear_chunk *c) {
  const double h = c->rate / (1.0 + c->decay * (double)(c->count - 1));
  const double h2 = h * c->second_rate, gamma = c->gamma;
  lane delta, guess, slope[HVI_LINEAR_MOST]; /* phi - gamma phi' */
  EACH(i, 0, d) { EACH_LANE(l) slope[i].at[l] = c->now[i].at[l] - gamma * c->next[i].at[l]; }
  difference(d, &delta, c, c->theta[HVI_MOVER_TD0]);
  learn(d, c->theta[HVI_MOVER_TD0], h, &delta, c->now);
  difference(d, &delta, c, c->theta[HVI_MOVER_RESIDUAL]);
  learn(d, c->theta[HVI_MOVER_RESIDUAL], h, &delta, slope);
  difference(d, &delta, c, c->theta[HVI_MOVER_TDC]);
  dot(d, &guess, c->now, c->second[0]);
  learn(d, c->theta[HVI_MOVER_TDC], h, &delta, c->now);
  learn(d, c->theta[HVI_MOVER_TDC], -h * gamma, &guess, c->next);
  follow_error(d, c, c->second[0], h2, &delta, &guess);
  difference(d, &delta, c, c->theta[HVI_MOVER_GTD2]);
  dot(d, &guess, c->now, c->second[1]);
  learn(d, c->theta[HVI_MOVER_GTD2], h, &guess, slope);
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

/* Philox4x32-10 as in num/philox.h, with 32-bit words in 64-bit lanes. */
static void uniforms(hvi_linear_chunk *c, uint64_t number) {
  const uint64_t low = UINT32_MAX;
  EACH_LANE(l) {
    uint64_t c0 = number & low, c1 = number >> 32, c2 = 0, c3 = 0;
    uint64_t k0 = c->key[0][l], k1 = c->key[1][l];
    _Pragma("GCC unroll 10") for (int round = 0; round < 10; round++) {
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

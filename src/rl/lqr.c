/*
 * The linear-quadratic environment and the value of a linear-Gaussian policy in it.
 *
 * Two masses, the second twice as heavy, on an inverted slope (which drives them away from 0), with
 * a spring between them: x = (p1, p2, v1, v2) and forces u = (u1, u2), the second of which pulls a
 * little at the first mass too. A has an eigenvalue outside the unit circle; the environment's own
 * gain brings all of them inside.
 *
 * The value's matrix is a discounted Lyapunov sum, P = sum_k (T^k)' C T^k with T = sqrt(gamma) (A +
 * B K) and C = Q + K'R K. Doubling takes twice as many terms each time:
 *   P <- P + T' P T,   T <- T T,
 * from P = C, so that 60 rounds stand for 2^60 terms. The sum is infinite unless T vanishes.
 */
#include "base/base.h"
#include "rl/env_kinds.h"

#include "num/dense.h"

enum { STATES = 4, ACTIONS = 2, ROUNDS = 60 };

/* clang-format off */
static const double A[] = { 1.00,  0.00, 0.10, 0.00,
                            0.00,  1.00, 0.00, 0.10,
                           -0.05,  0.10, 0.98, 0.00,
                            0.04, -0.01, 0.00, 0.99};
static const double B[] = {0.0, 0.00,
                           0.0, 0.00,
                           0.2, 0.02,
                           0.0, 0.10};
static const double Q[] = {1.0, 0.2, 0.0, 0.0,
                           0.2, 1.0, 0.0, 0.0,
                           0.0, 0.0, 0.1, 0.0,
                           0.0, 0.0, 0.0, 0.1};
static const double R[] = {0.10, 0.02,
                           0.02, 0.10};
static const double W[] = {0.02, 0.02, 0.1, 0.1};
static const double K[] = {-1.6, -0.6, -2.0, -0.4,
                           -0.4, -2.4, -0.4, -2.4};
static const double NOISE[] = {0.3, 0.3};
/* clang-format on */

static const hvi_lqr own = {
    .n = STATES, .m = ACTIONS, .A = A, .B = B, .Q = Q, .R = R, .W = W, .K = K, .std = NOISE};

typedef struct lqr {
  hvi_env env;
  double x[STATES];
} lqr;

static void reset(hvi_env *env, hvi_rng *rng) {
  lqr *l = (lqr *)env;
  for (size_t i = 0; i < STATES; i++) l->x[i] = rng ? hvi_rng_normal(rng) : 0.0;
}

static hvi_transition step(hvi_env *env, const double *u, hvi_rng *rng) {
  lqr *l = (lqr *)env;
  const double cost = hvi_dense_quadratic(Q, l->x, STATES) + hvi_dense_quadratic(R, u, ACTIONS);
  double next[STATES];
  hvi_dense_mul(next, A, l->x, STATES, STATES);
  hvi_dense_mul_add(next, B, u, STATES, ACTIONS);
  if (rng)
    for (size_t i = 0; i < STATES; i++) next[i] += W[i] * hvi_rng_normal(rng);
  if (!isfinite(cost) || !hvi_vec_finite(next, STATES)) return hvi_env_broken(env);
  hvi_vec_copy(l->x, next, STATES);
  return (hvi_transition){.reward = -cost};
}

/* The state is what is observed. */
static void observe(const hvi_env *env, double *x) {
  hvi_vec_copy(x, ((const lqr *)env)->x, STATES);
}

static const hvi_env_ops ops = {
    .name = "lqr", .size = sizeof(lqr), .reset = reset, .step = step, .observe = observe};

hvi_status hvi_env_new_lqr(hvi_env **env, const char *name, hvi_error *err) {
  const lqr l = {.env = {.ops = &ops,
                         .name = name,
                         .obs = STATES,
                         .act = ACTIONS,
                         .state = 1 + STATES,
                         .time_limit = 1000,
                         .noisy = true,
                         .low = -INFINITY,
                         .high = INFINITY,
                         .reward_bound = INFINITY}};
  return hvi_env_clone(&l.env, env, err);
}

const hvi_lqr *hvi_env_lqr(const hvi_env *env) { return env->ops == &ops ? &own : NULL; }

/* The doubling above; work[n][n]. False when the sum is infinite. */
static bool sum_up(double *P, double *T, size_t n, double *work) {
  for (size_t round = 0; round < ROUNDS; round++) {
    hvi_dense_matmul(work, P, T, n, n, n);
    hvi_dense_matmul_t_add(P, T, work, n, n, n);
    hvi_dense_matmul(work, T, T, n, n, n);
    hvi_vec_copy(T, work, n * n);
    if (!hvi_vec_finite(P, n * n)) return false;
  }
  return hvi_vec_norm(T, n * n) < 1e-9;
}

/* (tr(R S) + gamma tr(P (W + B S B'))) / (1 - gamma). */
static double constant(const double *P, const hvi_lqr *l, const double *std, double gamma) {
  double now = 0.0, later = 0.0;
  for (size_t i = 0; i < l->n; i++) later += P[i * l->n + i] * l->W[i] * l->W[i];
  for (size_t j = 0; j < l->m; j++) {
    double pull = 0.0;
    for (size_t i = 0; i < l->n; i++)
      for (size_t k = 0; k < l->n; k++)
        pull += l->B[i * l->m + j] * P[i * l->n + k] * l->B[k * l->m + j];
    now += l->R[j * l->m + j] * std[j] * std[j];
    later += pull * std[j] * std[j];
  }
  return (now + gamma * later) / (1.0 - gamma);
}

hvi_status hvi_lqr_value(const hvi_lqr *l, const double *gain, const double *std, double gamma,
                         double *P, double *c, hvi_error *err) {
  if (!(gamma >= 0.0 && gamma < 1.0))
    return hvi_error_argument(err, "gamma is %g, should be in [0, 1)", gamma);
  if (!hvi_vec_finite(gain, l->m * l->n) || !hvi_vec_finite(std, l->m))
    return hvi_error_input(err, "the policy's gain or noise is not finite");
  const size_t largest = l->n * (l->n > l->m ? l->n : l->m);
  HVI_NEW(double, work, l->n * l->n + largest, "the value of a linear policy", err);
  double *T = work + largest;
  hvi_dense_matmul(T, l->B, gain, l->n, l->m, l->n);
  for (size_t i = 0; i < l->n * l->n; i++) T[i] = sqrt(gamma) * (T[i] + l->A[i]);
  hvi_vec_copy(P, l->Q, l->n * l->n);
  hvi_dense_matmul(work, l->R, gain, l->m, l->m, l->n);
  hvi_dense_matmul_t_add(P, gain, work, l->m, l->n, l->n);
  *c = INFINITY;
  if (!sum_up(P, T, l->n, work))
    return hvi_error_input(
        err, "the policy's value is infinite: sqrt(gamma) (A + B K) does not contract");
  *c = constant(P, l, std, gamma);
  return HVI_OK;
}

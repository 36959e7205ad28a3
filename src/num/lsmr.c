/*
 * LSMR is MINRES on the normal equations (A'A + damp^2 I) x = A'b, computed stably.
 *
 * Golub-Kahan bidiagonalisation, started from beta u = b and alpha v = A'u,
 *
 *   beta u  <- A v  - alpha u,      alpha v <- A'u - beta v,
 *
 * makes A V = U B with B lower bidiagonal. Two chains of plane rotations turn B into an upper
 * bidiagonal R and R' into an upper bidiagonal R-bar; `damp` enters by one more rotation in front.
 * x then moves along hbar by zeta / (rho rhobar). |A'r| = |zetabar| comes for free and decreases
 * in every step; |r| follows from a third chain of rotations that works one step behind (symbols
 * with a tilde in the article).
 */
#include "num/lsmr.h"

#include "base/base.h"
#include "num/vec.h"

#include <float.h>

/* A plane rotation: c a + s b = r, c b - s a = 0. */
typedef struct rotation {
  double c, s, r;
} rotation;

static rotation rotate(double a, double b) {
  double r = hypot(a, b);
  if (r == 0.0) return (rotation){1.0, 0.0, 0.0};
  return (rotation){a / r, b / r, r};
}

typedef struct bidiagonal {
  const hvi_linear_map *A;
  double *u, *v, *scratch;
  double alpha, beta;
} bidiagonal;

typedef struct iterate {
  double *x, *h, *hbar;
  double alphabar, zeta, zetabar;
  rotation q, qbar; /* of the last step: rho and rhobar are what they leave */
} iterate;

/* What the estimate of |r| remembers from step to step. */
typedef struct residual {
  double betadd, betad, rhod, tau, theta, damped2;
} residual;

/* Divides x by its norm (not by zero) and returns the norm. */
static double normalise(double *x, size_t n) {
  double norm = hvi_vec_norm(x, n);
  if (norm > 0.0)
    for (size_t i = 0; i < n; i++) x[i] /= norm;
  return norm;
}

static void bidiagonal_step(bidiagonal *g) {
  size_t rows = g->A->rows, columns = g->A->columns;
  g->A->apply(g->A->context, g->v, g->scratch);
  for (size_t i = 0; i < rows; i++) g->u[i] = g->scratch[i] - g->alpha * g->u[i];
  g->beta = normalise(g->u, rows);
  g->A->apply_t(g->A->context, g->u, g->scratch);
  for (size_t i = 0; i < columns; i++) g->v[i] = g->scratch[i] - g->beta * g->v[i];
  g->alpha = normalise(g->v, columns);
}

/* |r| after this step, from the damping rotation, the rotation of R, and the old and new zeta. */
static double residual_step(residual *e, rotation damping, rotation q, double thetabar,
                            double rhobar, double zeta_old, double zeta) {
  double acute = damping.c * e->betadd, check = -damping.s * e->betadd;
  double betahat = q.c * acute;
  e->betadd = -q.s * acute;
  rotation tilde = rotate(e->rhod, thetabar);
  double theta_old = e->theta;
  e->theta = tilde.s * rhobar;
  e->rhod = tilde.c * rhobar;
  e->betad = -tilde.s * e->betad + tilde.c * betahat;
  e->tau = (zeta_old - theta_old * e->tau) / tilde.r;
  double tau = (zeta - e->theta * e->tau) / e->rhod;
  e->damped2 += check * check;
  double last = e->betad - tau;
  return sqrt(e->damped2 + last * last + e->betadd * e->betadd);
}

/* Moves x by one step; returns the new |r|. */
static double iterate_step(iterate *it, residual *e, const bidiagonal *g, double damp) {
  size_t n = g->A->columns;
  rotation damping = rotate(it->alphabar, damp);
  rotation q = rotate(damping.r, g->beta);
  double theta = q.s * g->alpha, thetabar = it->qbar.s * q.r;
  it->alphabar = q.c * g->alpha;
  rotation qbar = rotate(it->qbar.c * q.r, theta);
  double zeta_old = it->zeta;
  it->zeta = qbar.c * it->zetabar;
  it->zetabar = -qbar.s * it->zetabar;

  double back = thetabar * q.r / (it->q.r * it->qbar.r), step = it->zeta / (q.r * qbar.r);
  for (size_t i = 0; i < n; i++) {
    it->hbar[i] = it->h[i] - back * it->hbar[i];
    it->x[i] += step * it->hbar[i];
    it->h[i] = g->v[i] - theta / q.r * it->h[i];
  }
  it->q = q;
  it->qbar = qbar;
  return residual_step(e, damping, q, thetabar, qbar.r, zeta_old, it->zeta);
}

size_t hvi_lsmr_solve(double *x, const hvi_linear_map *A, const double *b, double damp, double tol,
                      size_t max_iterations, double *work) {
  size_t rows = A->rows, n = A->columns;
  bidiagonal g = {.A = A, .u = work, .v = work + rows, .scratch = work + rows + 3 * n};
  iterate it = {.x = x, .h = g.v + n, .hbar = g.v + 2 * n, .q.r = 1, .qbar = {1, 0, 1}};
  hvi_vec_zero(x, n);
  hvi_vec_copy(g.u, b, rows);
  g.beta = normalise(g.u, rows);
  A->apply_t(A->context, g.u, g.v);
  g.alpha = normalise(g.v, n);
  double norm_b = g.beta, norm_A2 = g.alpha * g.alpha;
  it.alphabar = g.alpha;
  it.zetabar = g.alpha * g.beta;
  hvi_vec_copy(it.h, g.v, n);
  hvi_vec_zero(it.hbar, n);
  residual e = {.betadd = g.beta, .rhod = 1.0};
  if (!(it.zetabar > 0.0)) return 0; /* b is orthogonal to the range of A, or not a number */

  /* below the rounding error of 1 there is nothing left to gain, whatever tol says */
  const double limit = fmax(tol, 0.5 * DBL_EPSILON);
  for (size_t count = 1; count <= max_iterations; count++) {
    bidiagonal_step(&g);
    const double r = iterate_step(&it, &e, &g, damp), normal = fabs(it.zetabar);
    norm_A2 += g.beta * g.beta;
    if (!isfinite(normal) || normal == 0.0) return count;
    if (normal <= limit * sqrt(norm_A2) * r || r <= limit * norm_b) return count;
    norm_A2 += g.alpha * g.alpha;
  }
  return max_iterations;
}

size_t hvi_lsmr_work(size_t rows, size_t columns) {
  return rows + 3 * columns + (rows > columns ? rows : columns);
}

/*
 * Several slow modes taken off at once, before an outer step: LSTD on the last layer.
 *
 * The outputs depend linearly on the last k parameters w of theta: V(s) = x(s)'w, x(s) being the
 * last layer's features and the constant. With all other parameters as they are, LSTD(lambda) asks
 * for the change c of w at which TD errors are orthogonal to the traces z_t = x_t + gamma lambda
 * z_{t-1} along trajectories:
 *
 *   A c = b,   A = sum z_t (x_t - gamma f_t x_{t+1})',   b = sum z_t delta_t.
 *
 * For k = 1, the constant, this is the correction of accelerate.c. At a solution b = 0 on exact data
 * and the correction is zero, whatever A is.
 *
 * On samples delta_t at the true values is noise that the past does not tell, so that b has the
 * covariance S = sum delta_t^2 z_t z_t'. How much of the solution is to be believed? Let the change
 * that is wanted be drawn from N(0, h D^-1) before the data are seen, D the mean squares of the
 * features: each is as likely as the others to add sqrt(h) to the values. Then
 *
 *   b = A c + noise,   cov b = C = h A D^-1 A' + S,   c = h D^-1 A' C^-1 b
 *
 * is the mean of c after the data: Kalman's gain, as for one mode, for k of them. h is not known. It
 * is the one at which b'C^-1 b is what it has to be on average, its number of terms k. Where b'S^-1 b
 * is below k already, b is no more than noise: h = 0, and nothing is corrected. So the ridge is
 * chosen by the noise, and what is asked for again and again from the same data is not fitted to
 * them any closer.
 *
 * The statistics are of all the data so far and of the features as they are now. The problem works
 * them out anew at each step from rows that it has kept, so that features may drift while the network
 * learns and nothing is left to be saved. Solving costs some 20 factorisations of k x k matrices.
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/vec.h"
#include "outer/solver.h"
#include <stdio.h>
#include <stdlib.h>

size_t hvi_modes_count(const hvi_problem *p) {
  size_t work;
  return p->ops->modes(p, &work);
}

void hvi_modes_place(hvi_solver *s, hvi_arena *arena) {
  hvi_accelerator *a = &s->accelerator;
  size_t work;
  const size_t k = s->problem->ops->modes(s->problem, &work);
  for (size_t half = 0; half < 2; half++) {
    a->modes.half[half].A = hvi_arena_take(arena, k * k);
    a->modes.half[half].b = hvi_arena_take(arena, k);
  }
  a->modes.G = hvi_arena_take(arena, k * k);
  a->modes.R = hvi_arena_take(arena, k * k);
  a->trial = hvi_arena_take(arena, k * k);
  a->modes.work = hvi_arena_take(arena, work);
  a->solution = hvi_arena_take(arena, 8 * k);
}

/* c = (A + r R)^-1 b for one half, which has half of R; c: 7 k doubles. */
static bool solve_for(hvi_accelerator *a, size_t half, double r, size_t k, double *c) {
  const hvi_equations *e = &a->modes.half[half];
  for (size_t i = 0; i < k * k; i++) a->trial[i] = e->A[i] + r * a->modes.R[i];
  hvi_vec_copy(c, e->b, k);
  return hvi_dense_solve_in(c, a->trial, k, c + k) && hvi_vec_finite(c, k);
}

/* Sums over halves of <b, b>, <b, A c> and <A c, A c>, c being the other half's correction. */
typedef struct trial {
  double all, along, taken;
} trial;

static bool try_ridge(hvi_accelerator *a, double r, size_t k, trial *t) {
  double *c = a->solution, *y = c + k, *Gy = y + k;
  *t = (trial){0};
  for (size_t half = 0; half < 2; half++) {
    const hvi_equations *other = &a->modes.half[1 - half];
    if (!solve_for(a, half, 0.5 * r, k, c)) return false;
    hvi_dense_mul(y, other->A, c, k, k);
    hvi_vec_copy(Gy, y, k);
    hvi_vec_copy(a->trial, a->modes.G, k * k);
    if (!hvi_dense_cholesky_solve(Gy, a->trial, k, Gy + k)) return false;
    t->along += hvi_vec_dot(other->b, Gy, k);
    t->taken += hvi_vec_dot(y, Gy, k);
  }
  return true;
}

/* The correction by all of the data, with the ridge and the share of it that serve each half best by
 * the other's. False when none is better than no correction. */
static bool believe(hvi_accelerator *a, size_t k, double *c) {
  enum { STEPS = 9 };
  static const double least = 1e-6;
  hvi_modes *m = &a->modes;
  double mean = 0.0; for (size_t j = 0; j < k; j++) mean += m->G[j * k + j] / (double)k;
  mean *= getenv("KAPPA") ? atof(getenv("KAPPA")) : 1e-4;
  for (size_t j = 0; j < k; j++) m->R[j * k + j] += mean;
  for (size_t j = 0; j < k; j++) {
    double *g = &m->G[j * k + j], *R = &m->R[j * k + j];
    *R += *g > 0.0 ? least * *g : 1.0;
    *g += *g > 0.0 ? 1e-3 * *g : 1.0;
  }
  double ridge = 0.0, share = 0.0, most = 0.0, r = 1e-3;
  for (size_t j = 0; j < STEPS; j++, r *= sqrt(10.0)) {
    trial t;
    if (!try_ridge(a, r, k, &t) || !(t.along > 0.0)) continue;
    const double part = fmin(t.along / t.taken, 1.0), gain = part * (2.0 * t.along - part * t.taken);
    if (gain > most) most = gain, share = part, ridge = r;
  }
  if (getenv("LSTD")) fprintf(stderr, "ridge %g share %g gain %g\n", ridge, share, most);
  if (!(share > 0.0)) return false;
  hvi_vec_add(m->half[0].A, 1.0, m->half[1].A, k * k);
  hvi_vec_add(m->half[0].b, 1.0, m->half[1].b, k);
  if (!solve_for(a, 0, ridge, k, c)) return false;
  hvi_vec_scale(c, share, k);
  return true;
}

void hvi_solver_correct_modes(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  hvi_accelerator *a = &s->accelerator;
  hvi_surrogate *l = &s->parts[0].l;
  const size_t k = hvi_modes_count(p), n = p->model->out;
  const size_t rows =
      p->ops->equations(p, s->sample, l->now->theta, &s->settings.modes, &a->modes);
  s->row.counts.model_passes += (rows + n - 1) / n;
  double *c = a->solution;
  if (!s->sample) hvi_vec_copy(c, a->modes.half[0].b, k);
  if (s->sample ? !believe(a, k, c) : !hvi_dense_solve_in(c, a->modes.half[0].A, k, c + k)) return;
  if (getenv("LSTD")) fprintf(stderr, "%zu %g\n", s->row.outer, sqrt(hvi_vec_norm2(c,k)));
  hvi_vec_add(l->now->theta + p->model->dim - k, 1.0, c, k);
  hvi_surrogate_start(l, NULL, NULL);
  hvi_solver_gather(s, &s->parts[0]);
  hvi_solver_operate(s);
  s->origin = (hvi_origin){.z = s->z, .f = s->f};
}

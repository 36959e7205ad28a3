/*
 * Several slow modes taken off at once, before an outer step: LSTD on the last layer.
 *
 * The outputs depend linearly on the last k parameters w of theta: V(s) = x(s)'w, x(s) being the
 * last layer's features and the constant. With all else as it is, LSTD(lambda) asks for the change c
 * of w at which TD errors are orthogonal to the traces z_t = x_t + gamma lambda z_{t-1} along
 * trajectories:
 *
 *   A c = b,   A = sum z_t (x_t - gamma f_t x_{t+1})',   b = sum z_t delta_t.
 *
 * For k = 1, the constant, that is the correction of accelerate.c. Where b = 0, as at a solution on
 * exact data, the correction is zero whatever A is; where nothing is sampled A c = b is solved as it
 * stands.
 *
 * On samples b is noisy, and hundreds of features fit any noise. A ridge that holds all of them back
 * alike would hold back the slow modes most: along a mode that the process shrinks by nu, A is to the
 * square of the features as a = (1 - gamma nu) to (1 - gamma lambda nu), which is small for just
 * those that the outer loop cannot lift. So the ridge is on what is not slow,
 *
 *   (A + r R) c = b,   R = G - gamma B + k^2 I,
 *
 * with G = sum x_t x_t' and B the same of x's means over chunks of some 250 steps, longer than 1 /
 * (1 - gamma). A function that keeps its value within a chunk (the constant; one value for each class
 * of states that is not left) has c'R c = (1 - gamma) c'G c, one that varies within chunks all of
 * c'G c: its errors are the inner loop's business. The last term, small, keeps weights of features
 * that are hardly seen from becoming huge.
 *
 * How much is taken is decided by trying. The data are in two halves. The correction c_1 of one, for
 * a ridge r, ought to be that of the other: of the other's b the part A_2 c_1 was foretold. Over both
 * halves and in the norm of G^-1, the share s of it that leaves least of b,
 *
 *   s = sum <b_2, A_2 c_1> / sum <A_2 c_1, A_2 c_1>,   at most 1,
 *
 * and the r with the least left are taken; where no r has s > 0 nothing is. This plays the part of
 * Kalman's gain for one mode: noise in one half does not foretell the other. What all data have asked
 * for and was given is not asked for again: the halves then differ by noise of opposite signs, and s
 * is not above 0.
 *
 * The statistics are those of all data so far, and of the features as they are now. The problem works
 * them out anew at each step from rows that it has kept. So features may drift while the network
 * learns, and there is no state to save. A step costs a pass over these rows, 4 k^2 operations a row
 * and some 25 factorisations of k x k matrices.
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/vec.h"
#include "outer/solver.h"

static size_t count_of(const hvi_problem *p) {
  size_t work;
  return p->ops->modes(p, &work);
}

bool hvi_modes_fit(const hvi_problem *p) {
  enum { MOST = 4096 };
  return p->ops->modes && p->ops->equations && count_of(p) <= MOST;
}

void hvi_modes_place(hvi_solver *s, hvi_arena *arena) {
  hvi_accelerator *a = &s->accelerator;
  hvi_modes *m = &a->modes;
  size_t work;
  const size_t k = s->problem->ops->modes(s->problem, &work);
  double **const squares[] = {&m->half[0].A, &m->half[1].A, &m->G, &m->R, &a->trial};
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
    *squares[i] = hvi_arena_take(arena, k * k);
  m->half[0].b = hvi_arena_take(arena, k);
  m->half[1].b = hvi_arena_take(arena, k);
  m->work = hvi_arena_take(arena, work);
  a->change = hvi_arena_take(arena, 8 * k);
}

/* change = (A + r R)^-1 b */
static bool solve_half(hvi_accelerator *a, size_t half, double r, size_t k) {
  const hvi_equations *e = &a->modes.half[half];
  for (size_t i = 0; i < k * k; i++) a->trial[i] = e->A[i] + r * a->modes.R[i];
  hvi_vec_copy(a->change, e->b, k);
  return hvi_dense_solve_in(a->change, a->trial, k, a->change + k) && hvi_vec_finite(a->change, k);
}

/* How much less is left of the halves' b when each is corrected by the share of the other's change
 * that serves best; 0 when none does. Each half has half of R. */
static double gain_of(hvi_accelerator *a, double r, size_t k, double *share) {
  double *c = a->change, *foretold = c + k, *y = foretold + k, along = 0.0, square = 0.0;
  for (size_t half = 0; half < 2; half++) {
    const hvi_equations *other = &a->modes.half[1 - half];
    if (!solve_half(a, half, 0.5 * r, k)) return 0.0;
    hvi_dense_mul(foretold, other->A, c, k, k);
    hvi_vec_copy(y, foretold, k);
    hvi_vec_copy(a->trial, a->modes.G, k * k);
    if (!hvi_dense_cholesky_solve(y, a->trial, k, y + k)) return 0.0;
    along += hvi_vec_dot(other->b, y, k);
    square += hvi_vec_dot(foretold, y, k);
  }
  *share = along > 0.0 ? fmin(along / square, 1.0) : 0.0;
  return *share * (2.0 * along - *share * square);
}

/* Keeps G and R away from zero, in directions that no row shows too. */
static void strengthen(hvi_modes *m, size_t k) {
  static const double of_norm = 1e-3, of_ridge = 1e-4;
  double mean = 0.0;
  for (size_t j = 0; j < k; j++) mean += m->G[j * k + j] / (double)k;
  for (size_t j = 0; j < k; j++) {
    double *g = &m->G[j * k + j];
    m->R[j * k + j] += of_ridge * mean;
    *g += *g > 0.0 ? of_norm * *g : 1.0;
  }
}

static void join_halves(hvi_modes *m, size_t k) {
  hvi_vec_add(m->half[0].A, 1.0, m->half[1].A, k * k);
  hvi_vec_add(m->half[0].b, 1.0, m->half[1].b, k);
}

/* The change by all of the data, with the best ridge and share. */
static bool find_change(hvi_accelerator *a, size_t k) {
  enum { RIDGES = 6 };
  static const double first = 0.03, factor = 3.0;
  double ridge = 0.0, share = 0.0, most = 0.0, r = first, of_r;
  strengthen(&a->modes, k);
  for (size_t j = 0; j < RIDGES; j++, r *= factor) {
    const double gain = gain_of(a, r, k, &of_r);
    if (gain > most) most = gain, ridge = r, share = of_r;
  }
  if (!(most > 0.0)) return false;
  join_halves(&a->modes, k);
  if (!solve_half(a, 0, ridge, k)) return false;
  hvi_vec_scale(a->change, share, k);
  return true;
}

/* Without noise; a parameter without effect, as of a unit that is never active, stays. */
static bool solve_exactly(hvi_accelerator *a, size_t k, bool halves) {
  static const double rounding = 1e-12;
  hvi_modes *m = &a->modes;
  if (halves) join_halves(m, k);
  hvi_vec_copy(m->R, m->G, k * k);
  for (size_t j = 0; j < k; j++) m->R[j * k + j] += m->G[j * k + j] > 0.0 ? 0.0 : 1.0 / rounding;
  return solve_half(a, 0, rounding, k);
}

void hvi_solver_correct_modes(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  hvi_accelerator *a = &s->accelerator;
  hvi_surrogate *l = &s->parts[0].l;
  const size_t k = count_of(p), n = p->model->out;
  const size_t rows = p->ops->equations(p, s->sample, s->theta, &s->settings.modes, &a->modes);
  s->row.counts.model_passes += (rows + n - 1) / n;
  const bool noisy = s->sample && !p->one_sample;
  if (!(noisy ? find_change(a, k) : solve_exactly(a, k, s->sample))) return;
  hvi_vec_add(l->now->theta + p->model->dim - k, 1.0, a->change, k);
  hvi_surrogate_start(l, NULL, NULL);
  hvi_solver_gather(s, &s->parts[0]);
  hvi_solver_operate(s);
  s->origin = (hvi_origin){.z = s->z, .f = s->f};
}

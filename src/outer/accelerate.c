/*
 * Errors along slow modes, taken off before an outer step. docs/acceleration.md derives all of it.
 *
 * One mode u, along which F is affine with change G, and a test function v. Galerkin's condition
 * <v, F(z_t + c u)> = 0 gives
 *
 *   c = -<v, F(z_t)> / <v, G>.
 *
 * On a sample <v, F> has a variance S, which its spread over parts of the sample tells. With a =
 * <v, G>, the error along u of mean m and variance h S, and r = <u, G> / <u, Xi u>, a share k of what
 * is new, c + m, is taken, and m is taken off. The outer step takes eta r more of it (Kalman):
 *
 *   g = k + eta r (1 - k),   best at g = h a^2 / (1 + h a^2),
 *   k = (h a^2 / (1 + h a^2) - eta r) / (1 - eta r), or 0,   h <- (1 - g)^2 h + g^2 / a^2,
 *   m <- <u, z - target>_Xi / <u, u>_Xi: how far along u the inner loop ended from its target.
 *
 * h is infinite at the start. S is not in the gains, and h grows by a share 1/t before step t + 1, or
 * the first samples would be believed for ever. Where the mean of the last news is beyond four
 * standard deviations it is taken as the error, and h is what so many samples leave.
 *
 * Many modes: LSTD on the last layer, V(s) = x(s)'w. With traces z_t = x_t + gamma lambda z_{t-1} the
 * change c of w solves
 *
 *   (A + r R) c = b,   A = sum z_t (x_t - gamma f_t x_{t+1})',   b = sum z_t delta_t,
 *   R = G - gamma B + k^2 I,   G = sum x_t x_t',   B the same of x's means over chunks:
 *
 * a ridge on what is not slow. The data are in two halves, and the r and the share s are taken that
 * leave least of one half's b after the other's change c_1, in the norm of G^-1:
 *
 *   s = sum <b_2, A_2 c_1> / sum <A_2 c_1, A_2 c_1>,   at most 1; where no r has s > 0, nothing is.
 *
 * Without samples A c = b is solved as it stands. The problem works the statistics out anew at each
 * step, for the features as they are, so that there is no state to save.
 */
#include "base/base.h"
#include "num/dense.h"
#include "outer/solver.h"

/* Parts of a sample: enough for a variance, so long that neighbours in time stay together. */
enum { PARTS = 20, LEAST_PARTS = 5 };

/* S: the parts' sums of <v, F + c G>, whose total is zero, as independent draws. NaN where there
 * are too few: nothing is corrected then. */
static double noise_of(const hvi_solver *s, double c) {
  const hvi_accelerator *a = &s->accelerator;
  const size_t n = s->problem->model->out;
  double sum2 = 0.0, parts = 0.0;
  for (size_t part = 0; part < PARTS; part++) {
    double sum = 0.0;
    bool tested = false;
    for (size_t i = part * n / PARTS; i < (part + 1) * n / PARTS; i++) {
      sum += a->mode_test[i] * (s->f[i] + c * a->mode_f[i]);
      tested = tested || a->mode_test[i] != 0.0;
    }
    sum2 += sum * sum;
    parts += tested ? 1.0 : 0.0;
  }
  return parts < LEAST_PARTS ? NAN : sum2 * parts / (parts - 1.0);
}

/* <x, y> weighted by w, or by 1 */
static double inner_product(const double *w, const double *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (w ? w[i] : 1.0) * x[i] * y[i];
  return sum;
}

/* <u, x> / <u, u>_Xi: with x = G that is r */
static double along_mode(const hvi_solver *s, const double *x, const double *weights) {
  const double *u = s->accelerator.mode;
  const size_t n = s->problem->model->out;
  return inner_product(weights, u, x, n) / inner_product(s->problem->weights, u, u, n);
}

/* Noise over the last samples, and h with the doubt that fades. What parts of a sample share does
 * not show in their spread, but from sample to sample: news differ from what was left of the last
 * by w - w' alone. The first few samples differ since the shape does. */
static void grow_older(hvi_filter *f, double S, double a2, double news) {
  static const double fading = 1.0, memory = 20.0, settled = 5.0;
  const double jump = news - f->left;
  if (f->steps > 0.0) f->variance *= 1.0 + fading / f->steps;
  f->steps += 1.0;
  f->noise += (S - f->noise) / fmin(f->steps, memory);
  if (f->steps <= settled) return;
  f->between += (a2 * jump * jump / 2.0 - f->between) / fmin(f->steps - settled, memory);
}

/* Whether the mean of recent news is beyond four standard deviations. */
static bool alarmed(hvi_filter *f, double a2, double news) {
  static const double kept = 0.8;
  f->weight = kept * f->weight + a2;
  f->news = kept * f->news + a2 * news;
  f->spread = kept * kept * f->spread + a2;
  const double mean = f->news / f->weight;
  const double noise = fmax(f->noise, f->between);
  const double variance = noise * (f->spread / (f->weight * f->weight) + f->variance);
  return mean * mean > 16.0 * variance;
}

/* How much of the error to take off, of which c + m is new; moves the filter on. */
static double believed(hvi_solver *s, double S, double c, double slope) {
  hvi_filter *f = &s->accelerator.filter;
  const double news = c + f->mean, a2 = slope * slope;
  grow_older(f, S, a2, news);
  const double step = s->shrink * s->info.eta * along_mode(s, s->accelerator.mode_f, NULL);
  const double best = isinf(f->variance) ? 1.0 : f->variance * a2 / (1.0 + f->variance * a2);
  if (alarmed(f, a2, news)) {
    const double mean = f->news / f->weight;
    f->variance = f->spread / (f->weight * f->weight);
    f->weight = f->news = f->spread = 0.0;
    f->left = (1.0 - step) * (news - mean);
    return mean;
  }
  const double share = best > step ? (best - step) / (1.0 - step) : 0.0;
  const double taken = share + step * (1.0 - share), left = 1.0 - taken;
  f->variance = (isinf(f->variance) ? 0.0 : left * left * f->variance) + taken * taken / a2;
  f->news -= taken * news * f->weight;
  f->left = left * news;
  return share * news;
}

/* theta_t itself where the problem can, otherwise the point that the targets are made from. */
static void move(hvi_solver *s, double shift) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  hvi_accelerator *a = &s->accelerator;
  hvi_vec_add(a->z, shift, a->mode, n);
  hvi_vec_add(a->f, shift, a->mode_f, n);
  a->corrected = true;
  if (p->ops->lift) {
    hvi_point *now = s->parts[0].l.now;
    p->ops->lift(p, now->theta, shift);
    hvi_vec_copy(now->z, a->z, n);
    hvi_vec_copy(s->f, a->f, n);
  } else {
    s->origin.shift = shift;
  }
}

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

static void correct_modes(hvi_solver *s) {
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

void hvi_solver_correct(hvi_solver *s) {
  hvi_accelerator *a = &s->accelerator;
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  if (s->settings.accelerate == HVI_ACCELERATE_LSTD) {
    correct_modes(s);
    return;
  }
  hvi_vec_copy(a->z, s->z, n);
  hvi_vec_copy(a->f, s->f, n);
  a->corrected = false;
  s->origin = (hvi_origin){.z = a->z, .f = a->f};
  p->ops->slow_mode(p, s->sample, a->mode, a->mode_f, a->mode_test);
  const double slope = hvi_vec_dot(a->mode_test, a->mode_f, n);
  if (!(slope > 0.0)) return; /* no such mode on this sample */
  const double c = -hvi_vec_dot(a->mode_test, s->f, n) / slope;
  const bool sampled = s->sample && !p->one_sample;
  const double S = sampled ? noise_of(s, c) : 0.0;
  if (!isnan(S)) move(s, sampled ? believed(s, S, c, slope) - a->filter.mean : c);
}

void hvi_solver_learn(hvi_solver *s) {
  hvi_surrogate *l = &s->parts[0].l;
  if (s->settings.accelerate == HVI_ACCELERATE_LSTD) return;
  s->accelerator.filter.mean = l->unseen ? 0.0 : along_mode(s, l->now->residual, l->weights);
  /* nothing has evaluated the corrected theta */
  const bool lifted = s->accelerator.corrected && s->problem->ops->lift;
  if (lifted && s->row.inner == 0) hvi_surrogate_start(l, NULL, NULL);
}

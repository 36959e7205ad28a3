/*
 * The error along the problem's slow mode u, taken off before an outer step.
 *
 * F is affine along u, with change G. A test function v and Galerkin's condition
 * <v, F(z_t + c u)> = 0 give
 *
 *   c = -<v, F(z_t)> / <v, G>.
 *
 * For policy evaluation u = 1 and F = Xi (z - T z), so c = (mean TD error) / (1 - gamma): what
 * plain iteration takes some 1 / (1 - gamma) steps to lift.
 *
 * On a sample <v, F> is noisy, and c more so by 1 / (1 - gamma). Let e be the error along u, of
 * mean m and variance p; then c = -e + w, with noise w of a variance q that the spread of <v, F>
 * over parts of the sample tells. Of what is new, c + m, a share k is taken, and m is taken off.
 * The outer step that follows takes eta r more of the same c, r = <u, G> / <u, Xi u>, with the same
 * noise in it: together a share
 *
 *   g = k + eta r (1 - k),   which makes of e - m   (1 - g) (e - m) + g w.
 *
 * That is least for g = p / (p + q) (Kalman). So
 *
 *   k = (p / (p + q) - eta r) / (1 - eta r), or 0,   p <- (1 - g)^2 p + g^2 q,
 *   m <- <u, z - target>_Xi / <u, u>_Xi,
 *
 * the last being how far along u the inner loop ended from its target: known, so that it need not
 * be found out from the noise.
 *
 * p is infinite at the start and k = 1; then g falls like 1/t, an average over everything seen,
 * until the plain step's own eta r is more than that: there k is 0 and stays so, and the loop is
 * the plain one, with its fixed point. Should p be too small (the data change), then (c + m) /
 * sqrt(p + q) has a mean: once its running average is beyond four standard deviations, p is raised
 * to fit.
 */
#include "num/vec.h"
#include "outer/solver.h"

#include <math.h>

/* Parts of a sample: enough for a variance, and long enough that neighbours in time stay together.
 */
enum { PARTS = 20 };

/* Variance of c: the parts' sums of <v, F + c G>, whose total is zero, as 20 independent draws. */
static double noise_of(const hvi_solver *s, double c, double slope) {
  const size_t n = s->problem->model->out;
  double sum2 = 0.0;
  for (size_t part = 0; part < PARTS; part++) {
    double sum = 0.0;
    for (size_t i = part * n / PARTS; i < (part + 1) * n / PARTS; i++) {
      sum += s->mode_test[i] * (s->f[i] + c * s->mode_f[i]);
    }
    sum2 += sum * sum;
  }
  return s->sample && !s->problem->one_sample ? sum2 * PARTS / (PARTS - 1) / (slope * slope) : 0.0;
}

/* r: how fast F grows along u, in units of the step. */
static double rate_of(const hvi_solver *s) {
  const double *w = s->problem->weights, *u = s->mode;
  double growth = 0.0, size = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) {
    growth += u[i] * s->mode_f[i];
    size += (w ? w[i] : 1.0) * u[i] * u[i];
  }
  return growth / size;
}

/* Weight of the newest in the running average, whose variance under noise alone is weight / (2 -
 * weight). */
static const double weight = 0.2, bound2 = 16.0 * 0.2 / 1.8;

/* p, raised when what is new in c keeps being larger than it allows. */
static double doubted(hvi_filter *filter, double news, double q) {
  const double p = filter->variance;
  if (isinf(p)) return p;
  filter->drift += weight * (news / sqrt(p + q) - filter->drift);
  if (filter->drift * filter->drift <= bound2) return p;
  filter->drift = 0.0;
  return fmax(p, news * news - q);
}

/* The share of the news to believe; moves the variance on to the next step. */
static double share_of(hvi_solver *s, double c, double slope) {
  const double q = noise_of(s, c, slope), step = s->shrink * s->eta[0] * rate_of(s);
  if (q == 0.0) return 1.0;
  const double p = doubted(&s->filter, c + s->filter.mean, q);
  const double best = isinf(p) ? 1.0 : p / (p + q);
  const double share = best > step ? (best - step) / (1.0 - step) : 0.0;
  const double taken = share + step * (1.0 - share), left = 1.0 - taken;
  s->filter.variance = (isinf(p) ? 0.0 : left * left * p) + taken * taken * q;
  return share;
}

void hvi_solver_correct_mode(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  p->ops->slow_mode(p, s->sample, s->mode, s->mode_f, s->mode_test);
  const double slope = hvi_vec_dot(s->mode_test, s->mode_f, n);
  s->shift = 0.0;
  if (!(slope > 0.0)) return; /* no such mode on this sample */
  const double c = -hvi_vec_dot(s->mode_test, s->f, n) / slope;
  s->shift = share_of(s, c, slope) * (c + s->filter.mean) - s->filter.mean;
  hvi_vec_add(s->moved_z, s->shift, s->mode, n);
  hvi_vec_add(s->moved_f, s->shift, s->mode_f, n);
}

void hvi_solver_note_mode(hvi_solver *s, const hvi_turn *turn) {
  const hvi_surrogate *l = &turn->room.l;
  const double *u = s->mode + turn->block.z;
  double sum = 0.0, size = 0.0;
  for (size_t i = 0; i < l->model->out; i++) {
    const double w = l->weights ? l->weights[i] : 1.0;
    sum += w * u[i] * l->now->residual[i];
    size += w * u[i] * u[i];
  }
  s->filter.mean = l->unseen ? 0.0 : sum / size;
}

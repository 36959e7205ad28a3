/*
 * The error along the problem's slow mode u, taken off before an outer step.
 *
 * F is affine along u, with change G. Galerkin's condition <u, F(z_t + c u)> = 0 gives
 *
 *   c = -<u, F(z_t)> / <u, G>.
 *
 * For policy evaluation u = 1 and F = Xi (z - T z), so c = (mean TD error) / (1 - gamma): what
 * plain iteration takes some 1 / (1 - gamma) steps to lift.
 *
 * On a sample <u, F> is noisy, and c more so by 1 / (1 - gamma). Let e be the error along u, of
 * variance p; then c = -e + noise, of a variance q that the spread of <u, F> over parts of the
 * sample tells. The best linear estimate (Kalman) takes a share p / (p + q) of c and leaves the
 * variance p q / (p + q), of which the outer step makes
 *
 *   p <- (1 - eta r)^2 p q / (p + q) + (eta r)^2 q,     r = <u, G> / <u, Xi u>,
 *
 * the last term being the noise that the step itself brings along. So the share is 1 at the start,
 * where p is infinite, falls like 1/t, and settles near (sqrt 2 - 1) r, where the correction
 * removes more error than it brings noise. Should p be too small (the inner loop falls short, the
 * data change), then c / sqrt(p + q) has a mean: once its running average is beyond four standard
 * deviations, p is raised to fit c.
 */
#include "num/vec.h"
#include "outer/solver.h"

#include <math.h>

/* Parts of a sample: enough for a variance, and long enough that neighbours in time stay together.
 */
enum { PARTS = 20 };

/* Variance of c: the parts' sums of <u, F + c G>, whose total is zero, as 20 independent draws. */
static double noise_of(const hvi_solver *s, double c, double slope) {
  const size_t n = s->problem->model->out;
  double sum2 = 0.0;
  for (size_t part = 0; part < PARTS; part++) {
    double sum = 0.0;
    for (size_t i = part * n / PARTS; i < (part + 1) * n / PARTS; i++) {
      sum += s->mode[i] * (s->f[i] + c * s->mode_f[i]);
    }
    sum2 += sum * sum;
  }
  return s->sample ? sum2 * PARTS / (PARTS - 1) / (slope * slope) : 0.0;
}

/* r: how fast F grows along u, in units of the step. */
static double rate_of(const hvi_solver *s, double slope) {
  const double *w = s->problem->weights;
  double size = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) {
    size += (w ? w[i] : 1.0) * s->mode[i] * s->mode[i];
  }
  return slope / size;
}

/* Weight of the newest in the running average, whose variance under noise alone is weight / (2 -
 * weight). */
static const double weight = 0.2, bound2 = 16.0 * 0.2 / 1.8;

/* p, raised when c keeps being larger than it allows. */
static double doubted(hvi_filter *filter, double c, double q) {
  const double p = filter->variance;
  if (isinf(p)) return p;
  filter->drift += weight * (c / sqrt(p + q) - filter->drift);
  if (filter->drift * filter->drift <= bound2) return p;
  filter->drift = 0.0;
  return fmax(p, c * c - q);
}

/* The share of c to take; moves the filter on to the next step. */
static double share_of(hvi_solver *s, double c, double slope) {
  const double q = noise_of(s, c, slope), step = s->shrink * s->eta[0] * rate_of(s, slope);
  if (q == 0.0) return 1.0;
  const double p = doubted(&s->filter, c, q);
  const double share = isinf(p) ? 1.0 : p / (p + q);
  s->filter.variance = (1.0 - step) * (1.0 - step) * share * q + step * step * q;
  return share;
}

void hvi_solver_correct_mode(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  p->ops->slow_mode(p, s->sample, s->mode, s->mode_f);
  const double slope = hvi_vec_dot(s->mode, s->mode_f, n);
  s->shift = 0.0;
  if (!(slope > 0.0)) return; /* no such mode on this sample */
  const double c = -hvi_vec_dot(s->mode, s->f, n) / slope;
  s->shift = share_of(s, c, slope) * c;
  hvi_vec_add(s->moved_z, s->shift, s->mode, n);
  hvi_vec_add(s->moved_f, s->shift, s->mode_f, n);
}

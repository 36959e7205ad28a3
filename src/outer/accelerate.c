/*
 * The error along the problem's slow mode u, taken off before an outer step.
 *
 * F is affine along u, with change G. A test function v and Galerkin's condition
 * <v, F(z_t + c u)> = 0 give
 *
 *   c = -<v, F(z_t)> / <v, G>.
 *
 * For policy evaluation u = 1, as far as the outputs can show it, and F = Xi (z - T z), so
 * c = (mean TD error) / (1 - gamma): what plain iteration takes some 1 / (1 - gamma) steps to lift.
 *
 * On a sample <v, F> is noisy, with a variance S that its spread over parts of the sample tells,
 * and c has the variance S / a^2, a = <v, G>: for a batch of transitions its standard error is
 * 1 / (1 - gamma) times that of the mean TD error. Let e be the error along u, of mean m and
 * variance h S; then c + m is new. Of it a share k is taken, and m is taken off. The outer step
 * that follows takes eta r more of the same c, r = <u, G> / <u, Xi u>, with the same noise w in it:
 * together a share
 *
 *   g = k + eta r (1 - k),   which makes of e - m   (1 - g) (e - m) + g w.
 *
 * That is least for g = h a^2 / (1 + h a^2) (Kalman). So
 *
 *   k = (h a^2 / (1 + h a^2) - eta r) / (1 - eta r), or 0,   h <- (1 - g)^2 h + g^2 / a^2,
 *   m <- <u, z - target>_Xi / <u, u>_Xi,
 *
 * the last being how far along u the inner loop ended from its target: known, so that it need not
 * be found out from the noise. h is infinite at the start and k = 1; then g falls, an average over
 * everything seen, until the plain step's own eta r is more than that: there k is 0.
 *
 * S is not in the gains. It comes down while the network learns the shape of the values, and were
 * every sample to count by the S of its own, the first few, taken before there was any shape to be
 * wrong about, would be believed for ever. For the same reason early samples count less: h grows by
 * a share 1/t before step t + 1, so that sample t weighs t, and g is 2 / (t + 1).
 *
 * Should the data change, or h be too small, then what is new has a mean. The samples of the last
 * five steps or so have one of known variance (of S and of what samples differ by, the larger);
 * where it is beyond four standard deviations, that mean is taken as the error, and h is what so
 * many samples leave.
 */
#include "base/base.h"
#include "num/vec.h"
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

static void correct_mode(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  const hvi_accelerator *a = &s->accelerator;
  p->ops->slow_mode(p, s->sample, a->mode, a->mode_f, a->mode_test);
  const double slope = hvi_vec_dot(a->mode_test, a->mode_f, n);
  if (!(slope > 0.0)) return; /* no such mode on this sample */
  const double c = -hvi_vec_dot(a->mode_test, s->f, n) / slope;
  const bool sampled = s->sample && !p->one_sample;
  const double S = sampled ? noise_of(s, c) : 0.0;
  if (!isnan(S)) move(s, sampled ? believed(s, S, c, slope) - a->filter.mean : c);
}

void hvi_solver_correct(hvi_solver *s) {
  hvi_accelerator *a = &s->accelerator;
  const size_t n = s->problem->model->out;
  if (s->settings.accelerate == HVI_ACCELERATE_LSTD) {
    hvi_solver_correct_modes(s);
    return;
  }
  hvi_vec_copy(a->z, s->z, n);
  hvi_vec_copy(a->f, s->f, n);
  a->corrected = false;
  s->origin = (hvi_origin){.z = a->z, .f = a->f};
  correct_mode(s);
}

void hvi_solver_learn(hvi_solver *s) {
  hvi_surrogate *l = &s->parts[0].l;
  if (s->settings.accelerate == HVI_ACCELERATE_LSTD) return;
  s->accelerator.filter.mean = l->unseen ? 0.0 : along_mode(s, l->now->residual, l->weights);
  /* nothing has evaluated the corrected theta */
  const bool lifted = s->accelerator.corrected && s->problem->ops->lift;
  if (lifted && s->row.inner == 0) hvi_surrogate_start(l, NULL, NULL);
}

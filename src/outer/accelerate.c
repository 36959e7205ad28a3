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
  const double step = s->shrink * s->eta[0] * along_mode(s, s->accelerator.mode_f, NULL);
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

/*
 * Anderson acceleration in output space: before an outer step, z_t moves within the span of the
 * differences D_k = z_t - z_{t-k} to other iterates, F being taken as affine there with changes
 * G_k = F_t - F_{t-k}. Galerkin's condition <D_j, F(z')> = 0 gives
 *
 *   sum_k <D_j, G_k> c_k = -<D_j, F>,     z' = z + sum_k c_k D_k,
 *
 * which is Anderson's method of type I, and for policy evaluation LSTD in that span. Type II, which
 * minimises |F(z')|, would be biased by sampled successors as residual gradients are.
 *
 * Where a slow mode u, with change G and test v, has been corrected before, what is known of it
 * (above) must stay true: so differences are taken without it, D_k - a_k u and G_k -
 * a_k G with <v, G_k - a_k G> = 0.
 *
 * On a sample the right side b is noisy. With S its covariance, from parts of the sample, noise
 * alone would make W = b'S^-1 b about K, with a standard deviation of sqrt(2 K). Of the correction
 * a share max(0, 1 - (K + 3 sqrt(2 K)) / W) is taken: James and Stein's rule, three deviations
 * stricter, because here it is applied again at every step.
 */
enum { ANDERSON_PARTS = 40, MOST = HVI_MEMORY_MOST };

typedef struct galerkin {
  double A[MOST][MOST], S[MOST][MOST]; /* <D_j, G_k>; covariance of b */
  double b[MOST];
  double *D[MOST], *G[MOST]; /* [n] each */
  double scale[MOST];        /* 1 / |D_k| */
} galerkin;

/* Below this share of |z| a difference is mostly rounding, and so is a pivot of the system. */
static const double least_difference = 1e-10, least_pivot = 1e-10;

static void subtract(double *out, const double *x, const double *y, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = x[i] - y[i];
}

/* D_k and G_k of the earlier iterates, until the first that z_t can hardly be told from. */
static size_t look_back(const hvi_solver *s, galerkin *g) {
  const hvi_accelerator *a = &s->accelerator;
  const size_t n = s->problem->model->out;
  const double least = least_difference * least_difference * hvi_vec_norm2(s->z, n);
  const double slope = a->corrected ? hvi_vec_dot(a->mode_test, a->mode_f, n) : 0.0;
  size_t k = 0;
  for (; k < hvi_past_count(s); k++) {
    double *D = g->D[k] = a->steps + k * n, *G = g->G[k] = a->changes + k * n;
    subtract(D, s->z, hvi_past_at(s, s->past.z, k + 1), n);
    subtract(G, s->f, hvi_past_at(s, s->past.f, k + 1), n);
    if (!(hvi_vec_norm2(D, n) > least)) break;
    if (slope > 0.0) {
      const double share = hvi_vec_dot(a->mode_test, G, n) / slope;
      hvi_vec_add(D, -share, a->mode, n);
      hvi_vec_add(G, -share, a->mode_f, n);
    }
    const double size2 = hvi_vec_norm2(D, n);
    g->scale[k] = size2 > least ? 1.0 / sqrt(size2) : 0.0;
  }
  return k;
}

/* Adds outputs first .. last to A and b, and what they gave b to S. */
static void add_part(const hvi_solver *s, galerkin *g, size_t count, size_t first, size_t last) {
  double part[MOST] = {0};
  for (size_t i = first; i < last; i++) {
    for (size_t j = 0; j < count; j++) {
      const double d = g->scale[j] * g->D[j][i];
      part[j] -= d * s->accelerator.f[i];
      for (size_t k = 0; k < count; k++) g->A[j][k] += d * g->scale[k] * g->G[k][i];
    }
  }
  for (size_t j = 0; j < count; j++) {
    g->b[j] += part[j];
    for (size_t k = 0; k < count; k++) g->S[j][k] += part[j] * part[k];
  }
}

/* x = A^-1 b by elimination with row pivoting; false when A is singular to rounding. */
static bool solve(double A[MOST][MOST], const double *b, double *x, size_t n) {
  double M[MOST][MOST + 1], size = 0.0; /* A | b */
  for (size_t i = 0; i < n; i++) {
    hvi_vec_copy(M[i], A[i], n);
    M[i][n] = b[i];
    size = fmax(size, fabs(A[i][i]));
  }
  for (size_t c = 0; c < n; c++) {
    size_t top = c;
    for (size_t i = c + 1; i < n; i++) top = fabs(M[i][c]) > fabs(M[top][c]) ? i : top;
    if (!(fabs(M[top][c]) > least_pivot * size)) return false;
    for (size_t j = c; j <= n; j++) {
      const double kept = M[c][j];
      M[c][j] = M[top][j];
      M[top][j] = kept;
    }
    for (size_t i = c + 1; i < n; i++) {
      const double share = M[i][c] / M[c][c];
      for (size_t j = c; j <= n; j++) M[i][j] -= share * M[c][j];
    }
  }
  for (size_t i = n; i-- > 0;) {
    x[i] = M[i][n];
    for (size_t j = i + 1; j < n; j++) x[i] -= M[i][j] * x[j];
    x[i] /= M[i][i];
  }
  return true;
}

/* The share of the correction to take; 1 without noise. S is that of a sum of ANDERSON_PARTS draws. */
static double share_of(const hvi_solver *s, const galerkin *g, size_t count) {
  const double bessel = (double)ANDERSON_PARTS / (ANDERSON_PARTS - 1);
  double S[MOST][MOST], x[MOST];
  if (!s->sample || s->problem->one_sample) return 1.0;
  for (size_t j = 0; j < count; j++)
    for (size_t k = 0; k < count; k++)
      S[j][k] = bessel * (g->S[j][k] - g->b[j] * g->b[k] / ANDERSON_PARTS);
  if (!solve(S, g->b, x, count)) return 0.0;
  const double wald = hvi_vec_dot(x, g->b, count);
  const double noise = (double)count + 3.0 * sqrt(2.0 * (double)count);
  return wald > noise ? 1.0 - noise / wald : 0.0;
}

/* |F|^2 in the norm of the step */
static double size2(const hvi_solver *s, const double *f) {
  const double *w = s->problem->weights;
  double sum = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) sum += f[i] * f[i] / (w ? w[i] : 1.0);
  return sum;
}

/* To z + sum_k c_k D_k, if |F| comes down as far as it is affine: differences that are rounding
 * promise anything. */
static void move_within(hvi_solver *s, const galerkin *g, const double *c, size_t count) {
  const size_t n = s->problem->model->out;
  double *z = s->accelerator.z, *f = s->accelerator.f;
  double *promised = s->accelerator.changes + s->past.depth * n;
  hvi_vec_copy(promised, f, n);
  for (size_t k = 0; k < count; k++) hvi_vec_add(promised, c[k], g->G[k], n);
  if (!(size2(s, promised) < size2(s, f))) return;
  hvi_vec_copy(f, promised, n);
  for (size_t k = 0; k < count; k++) hvi_vec_add(z, c[k], g->D[k], n);
}

static void correct_anderson(hvi_solver *s) {
  const size_t n = s->problem->model->out;
  galerkin g = {0};
  size_t count = look_back(s, &g);
  for (size_t part = 0; part < ANDERSON_PARTS; part++)
    add_part(s, &g, count, part * n / ANDERSON_PARTS, (part + 1) * n / ANDERSON_PARTS);
  double c[MOST];
  /* the oldest go first when the differences are dependent */
  while (count > 0 && !solve(g.A, g.b, c, count)) count--;
  const double share = count > 0 ? share_of(s, &g, count) : 0.0;
  for (size_t k = 0; k < count; k++) c[k] *= share * g.scale[k];
  if (share > 0.0) move_within(s, &g, c, count);
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
  if (s->problem->ops->slow_mode) correct_mode(s);
  if (s->settings.accelerate == HVI_ACCELERATE_ANDERSON) correct_anderson(s);
}

void hvi_solver_learn(hvi_solver *s) {
  hvi_surrogate *l = &s->parts[0].l;
  if (s->settings.accelerate == HVI_ACCELERATE_LSTD) return;
  if (s->problem->ops->slow_mode)
    s->accelerator.filter.mean = l->unseen ? 0.0 : along_mode(s, l->now->residual, l->weights);
  /* nothing has evaluated the corrected theta */
  const bool lifted = s->accelerator.corrected && s->problem->ops->lift;
  if (lifted && s->row.inner == 0) hvi_surrogate_start(l, NULL, NULL);
}

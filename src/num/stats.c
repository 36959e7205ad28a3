/*
 * The Student-t quantile. With t = sqrt(v) tan(a), P(|T| <= t) for v degrees of freedom is a finite
 * sum in a, s = sin a, c = cos a:
 *
 *   v odd    (2 / pi) (a + s (c + (2/3) c^3 + (2 4)/(3 5) c^5 + ... up to c^(v-2)))
 *   v even   s (1 + (1/2) c^2 + (1 3)/(2 4) c^4 + ... up to c^(v-2))
 *
 * It grows with a, so bisection finds the quantile; for large v the expansion in 1/v around the
 * normal quantile is shorter and as accurate.
 */
#include "num/stats.h"

#include "base/base.h"
#include "num/vec.h"

#include <hvi/rng.h>

static const double half_pi = 1.570796326794896619;

double hvi_stats_mean(const double *x, size_t n) {
  if (n == 0) return NAN;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum / (double)n;
}

double hvi_stats_variance(const double *x, size_t n) {
  if (n < 2) return 0.0;
  double mean = hvi_stats_mean(x, n), sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
  return sum / (double)(n - 1);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double hvi_stats_quantile(double *x, size_t n, double q) {
  if (n == 0 || !(q >= 0.0 && q <= 1.0)) return NAN;
  qsort(x, n, sizeof *x, compare);
  const double position = q * (double)(n - 1);
  const size_t below = (size_t)position;
  if (below + 1 >= n) return x[n - 1];
  const double part = position - (double)below;
  return part == 0.0 || isinf(x[below]) ? x[below] : x[below] + part * (x[below + 1] - x[below]);
}

double hvi_stats_finite_quantile(double *x, size_t n, double q) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (isfinite(x[i])) x[kept++] = x[i];
  return hvi_stats_quantile(x, kept, q);
}

hvi_stats_range hvi_stats_share95(double share, size_t n) {
  hvi_stats_range r = {0.0, share};
  const double all = (double)n, odds = share / (1.0 - share);
  double term = all * log1p(-share), below = 0.0; /* log P(k), P(at most k) */
  if (!(share > 0.0 && share < 1.0)) return (hvi_stats_range){share, share};
  for (double k = 0.0; k <= all && below < 0.975; k++) {
    below += exp(term);
    term += log(odds * (all - k) / (k + 1.0));
    r.high = k / all;
    if (below < 0.025) r.low = (k + 1.0) / all;
  }
  return r;
}

size_t hvi_stats_distinct(double *x, size_t n) {
  size_t count = 0;
  qsort(x, n, sizeof *x, compare);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || x[i] != x[count - 1]) x[count++] = x[i];
  return count;
}

/* P(|T| <= sqrt(v) tan(angle)) */
static double two_sided_probability(double angle, size_t v) {
  double c = cos(angle), s = sin(angle), odd = (double)(v % 2);
  double term = v % 2 ? c : 1.0, sum = v == 1 ? 0.0 : term;
  for (size_t power = 2 + v % 2; power + 2 <= v; power += 2) {
    double p = (double)power;
    term *= c * c * (p - 1.0) / p;
    sum += term;
  }
  return odd > 0.0 ? (angle + s * sum) / half_pi : s * sum;
}

static double t_quantile_bisect(double probability, size_t v) {
  double low = 0.0, high = half_pi;
  for (int step = 0; step < 60; step++) {
    double middle = 0.5 * (low + high);
    if (two_sided_probability(middle, v) < probability)
      low = middle;
    else
      high = middle;
  }
  return sqrt((double)v) * tan(0.5 * (low + high));
}

/* Cornish-Fisher expansion around the normal quantile z. */
static double t_quantile_expand(double z, double v) {
  double z2 = z * z;
  double g1 = (z2 + 1.0) / 4.0;
  double g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
  double g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
  double g4 = ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0;
  return z * (1.0 + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v);
}

double hvi_stats_interval95(const double *x, size_t n) {
  if (n < 2) return NAN;
  size_t v = n - 1;
  double t =
      v <= 200 ? t_quantile_bisect(0.95, v) : t_quantile_expand(1.959963984540054, (double)v);
  return t * sqrt(hvi_stats_variance(x, n) / (double)n);
}

double hvi_stats_slope(const double *y, size_t n) {
  if (n < 2) return NAN;
  double middle = 0.5 * (double)(n - 1), mean = hvi_stats_mean(y, n), sxy = 0.0, sxx = 0.0;
  for (size_t i = 0; i < n; i++) {
    double dx = (double)i - middle;
    sxy += dx * (y[i] - mean);
    sxx += dx * dx;
  }
  return sxy / sxx;
}

void hvi_stats_fit_add(hvi_stats_fit *f, double x, double y) {
  f->count += 1;
  const double dx = x - f->x_mean, dy = y - f->y_mean;
  f->x_mean += dx / f->count;
  f->y_mean += dy / f->count;
  f->xx += dx * (x - f->x_mean);
  f->xy += dx * (y - f->y_mean);
  f->yy += dy * (y - f->y_mean);
}

hvi_stats_line hvi_stats_fit_line(const hvi_stats_fit *f) {
  if (f->count < 3 || f->xx == 0) return (hvi_stats_line){NAN, NAN};
  return (hvi_stats_line){f->xy / f->xx, f->yy > 0 ? f->xy * f->xy / (f->xx * f->yy) : 1};
}

hvi_stats_line hvi_stats_log_line(const double *y, size_t n, double floor) {
  hvi_stats_fit fit = {0};
  for (size_t i = 0; i < n; i++)
    if (isfinite(y[i]) && y[i] > floor) hvi_stats_fit_add(&fit, (double)i, log10(y[i]));
  return hvi_stats_fit_line(&fit);
}

hvi_status hvi_stats_bootstrap_ratio(hvi_stats_range *range, const double *above,
                                     const double *below, size_t n, hvi_error *err) {
  HVI_NEW(double, weight, n + HVI_BOOTSTRAP, "a bootstrap", err);
  double *found = weight + n;
  size_t count = 0;
  for (uint64_t b = 0; n >= 2 && b < HVI_BOOTSTRAP; b++) {
    hvi_rng rng = hvi_rng_new(1, "bootstrap", b);
    memset(weight, 0, n * sizeof *weight);
    for (size_t i = 0; i < n; i++) weight[(uint64_t)hvi_rng_u32(&rng) * n >> 32] += 1.0;
    found[count] = hvi_vec_dot(weight, above, n) / hvi_vec_dot(weight, below, n);
    if (!isnan(found[count])) count++; /* otherwise the sample has no member */
  }
  range->low = hvi_stats_quantile(found, count, 0.025);
  range->high = hvi_stats_quantile(found, count, 0.975);
  return HVI_OK;
}

/*
 * Errors of two methods on one seed share stream and start, so they are compared seed by seed; and
 * they differ by factors rather than by amounts, so it is their logarithms whose mean difference
 * gets an interval.
 */
#include "experiments/value_stats.h"

#include "num/stats.h"

#include <math.h>

enum { MOST_SEEDS = 1000 };

const hvi_study_curve *hvi_study_at(const hvi_study_results *r, size_t place, size_t contender,
                                    size_t seed) {
  return &r->curves[(place * r->contenders + contender) * r->seeds + seed];
}

double hvi_study_x(const hvi_evaluation_row *row, hvi_study_axis axis) {
  switch (axis) {
  case HVI_BY_SECONDS:
    return row->seconds;
  case HVI_BY_GRADIENTS:
    return (double)row->grad_evals;
  default:
    return (double)row->outer;
  }
}

double hvi_study_y(const hvi_evaluation_row *row, hvi_study_measure measure) {
  switch (measure) {
  case HVI_OF_GAP:
    return row->gap;
  case HVI_OF_RATIO:
    return row->ratio;
  case HVI_OF_INNER:
    return row->outer ? (double)row->inner : NAN;
  default:
    return row->error;
  }
}

static double between(double x0, double y0, double x1, double y1, double x) {
  if (!(x1 > x0)) return y1;
  const double share = (x - x0) / (x1 - x0);
  if (y0 > 0.0 && y1 > 0.0) return exp((1.0 - share) * log(y0) + share * log(y1));
  return (1.0 - share) * y0 + share * y1;
}

double hvi_study_value(const hvi_study_curve *c, hvi_study_axis axis, hvi_study_measure measure,
                       double x) {
  double x0 = NAN, y0 = NAN;
  for (size_t i = 0; i < c->count; i++) {
    const double x1 = hvi_study_x(&c->rows[i], axis), y1 = hvi_study_y(&c->rows[i], measure);
    if (isnan(y1)) continue;
    if (x1 == x) return y1;
    if (x1 > x) return isnan(y0) ? NAN : between(x0, y0, x1, y1, x);
    x0 = x1, y0 = y1;
  }
  /* values that have overflown have no error */
  const bool lost = measure == HVI_OF_ERROR && c->count && isnan(c->rows[c->count - 1].error);
  return c->diverged || (lost && !isnan(y0)) ? INFINITY : y0;
}

double hvi_study_end(const hvi_study_results *r, size_t place, size_t contender,
                     hvi_study_axis axis) {
  double end = INFINITY;
  for (size_t s = 0; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    if (c->count && !c->diverged) end = fmin(end, hvi_study_x(&c->rows[c->count - 1], axis));
  }
  if (isfinite(end)) return end;
  for (size_t s = 0; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    if (c->count) end = fmin(end, hvi_study_x(&c->rows[c->count - 1], axis));
  }
  return end;
}

hvi_study_mean hvi_study_mean_at(const hvi_study_results *r, size_t place, size_t contender,
                                 hvi_study_axis axis, hvi_study_measure measure, double x) {
  double y[MOST_SEEDS];
  size_t n = 0;
  bool diverged = false;
  for (size_t s = 0; s < r->seeds && n < MOST_SEEDS; s++) {
    const double v = hvi_study_value(hvi_study_at(r, place, contender, s), axis, measure, x);
    if (isfinite(v)) y[n++] = v;
    diverged = diverged || isinf(v);
  }
  if (diverged) return (hvi_study_mean){INFINITY, NAN, n};
  return (hvi_study_mean){hvi_stats_mean(y, n), hvi_stats_interval95(y, n), n};
}

hvi_study_spread hvi_study_spread_of(const hvi_study_results *r, size_t place, size_t contender,
                                     hvi_study_measure measure) {
  double ends[MOST_SEEDS];
  const size_t n = r->seeds < MOST_SEEDS ? r->seeds : MOST_SEEDS;
  for (size_t s = 0; s < n; s++)
    ends[s] =
        hvi_study_value(hvi_study_at(r, place, contender, s), HVI_BY_OUTER, measure, INFINITY);
  const double median = hvi_stats_quantile(ends, n, 0.5); /* sorts */
  return (hvi_study_spread){.median = median, .worst = n ? ends[n - 1] : NAN};
}

hvi_study_least hvi_study_least_of(const hvi_study_results *r, size_t place, size_t contender,
                                   hvi_study_measure measure) {
  hvi_study_least least = {NAN, INFINITY};
  const hvi_study_curve *c = hvi_study_at(r, place, contender, 0);
  for (size_t i = 0; i < c->count; i++) {
    const double x = (double)c->rows[i].outer;
    const hvi_study_mean m = hvi_study_mean_at(r, place, contender, HVI_BY_OUTER, measure, x);
    if (m.seeds == r->seeds && m.value < least.value) least = (hvi_study_least){x, m.value};
  }
  return least;
}

/* Both errors contain the noise of the test set, which would draw their ratio towards 1. Less than
 * a twentieth of it cannot be told. */
static double without_noise(double y, double noise, hvi_study_measure measure) {
  return measure == HVI_OF_ERROR && noise > 0.0 ? fmax(y - noise, 0.05 * noise) : y;
}

/* Values of two contenders on the same seeds. */
typedef struct pairs {
  size_t count, lost_a, lost_b; /* lost: diverged */
  double a[MOST_SEEDS], b[MOST_SEEDS];
} pairs;

static void pair_up(pairs *p, const hvi_study_results *r, size_t place, const size_t who[2],
                    const double x[2], hvi_study_axis axis, hvi_study_measure measure) {
  p->count = p->lost_a = p->lost_b = 0;
  for (size_t s = 0; s < r->seeds && p->count < MOST_SEEDS; s++) {
    const double a = hvi_study_value(hvi_study_at(r, place, who[0], s), axis, measure, x[0]);
    const double b = hvi_study_value(hvi_study_at(r, place, who[1], s), axis, measure, x[1]);
    p->lost_a += a == INFINITY;
    p->lost_b += b == INFINITY;
    if (!isfinite(a) || !isfinite(b)) continue;
    p->a[p->count] = without_noise(a, r->noise[place], measure);
    p->b[p->count++] = without_noise(b, r->noise[place], measure);
  }
}

/* A gap may be 0, as small as can be told: it counts as the least positive one that was seen. */
static double least_positive(const pairs *p) {
  double least = INFINITY;
  for (size_t i = 0; i < p->count; i++) {
    if (p->a[i] > 0.0) least = fmin(least, p->a[i]);
    if (p->b[i] > 0.0) least = fmin(least, p->b[i]);
  }
  return isfinite(least) ? least : 1.0;
}

hvi_study_ratio hvi_study_compare(const hvi_study_results *r, size_t place, size_t a, double x_a,
                                  size_t b, double x_b, hvi_study_axis axis,
                                  hvi_study_measure measure) {
  pairs p;
  double d[MOST_SEEDS] = {0};
  pair_up(&p, r, place, (const size_t[2]){a, b}, (const double[2]){x_a, x_b}, axis, measure);
  const double least = least_positive(&p);
  for (size_t i = 0; i < p.count; i++) d[i] = log(fmax(p.a[i], least)) - log(fmax(p.b[i], least));
  const double mean = hvi_stats_mean(d, p.count), half = hvi_stats_interval95(d, p.count);
  hvi_study_ratio q = {.ratio = exp(mean),
                       .low = exp(mean - half),
                       .high = exp(mean + half),
                       .seeds = p.count,
                       .less = mean + half < 0.0   ? 1
                               : mean - half > 0.0 ? -1
                                                   : 0};
  if (p.lost_a + p.lost_b == 0) return q;
  /* who diverged on a seed loses, unless ahead on the others, or the rival diverged too */
  q.less = 0;
  if (p.lost_a == 0 && !(mean > 0.0)) q.less = 1, q.ratio = 0.0;
  if (p.lost_b == 0 && !(mean < 0.0)) q.less = -1, q.ratio = INFINITY;
  q.low = q.high = NAN;
  if (q.less == 0) q.ratio = NAN;
  return q;
}

hvi_study_ratio hvi_study_compare_ends(const hvi_study_results *r, size_t place, size_t a, size_t b,
                                       hvi_study_measure measure) {
  return hvi_study_compare(r, place, a, INFINITY, b, INFINITY, HVI_BY_OUTER, measure);
}

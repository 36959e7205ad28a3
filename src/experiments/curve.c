#include "experiments/curve.h"

#include "base/memory.h"
#include "num/stats.h"

#include <math.h>
#include <string.h>

const hvi_curve *hvi_curves_find(const hvi_curves *c, const char *label) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->items[i].contender->label, label) == 0) return &c->items[i];
  return NULL;
}

void hvi_curves_free(hvi_curves *c) {
  for (size_t i = 0; i < c->count; i++) hvi_free(c->items[i].dist2);
  hvi_free(c->items);
  *c = (hvi_curves){0};
}

double hvi_curve_at(const hvi_curve *c, size_t outer) {
  if (!c || !c->rows) return NAN;
  if (outer < c->rows) return c->dist2[outer];
  return c->outcome == HVI_DIVERGED ? INFINITY : c->dist2[c->rows - 1];
}

bool hvi_curve_diverged(const hvi_curve *c) {
  return c->outcome == HVI_DIVERGED || !(c->dist2[c->rows - 1] < c->dist2[0]);
}

double hvi_curve_ratio(const hvi_curve *c, size_t first, size_t last) {
  if (!c || last >= c->rows) last = c && c->rows ? c->rows - 1 : 0;
  double *x = hvi_alloc_doubles(last + 1);
  if (!c || !x) return hvi_free(x), NAN;
  size_t n = 0;
  for (size_t i = first; i <= last; i++)
    if (isfinite(c->ratio[i])) x[n++] = c->ratio[i];
  double median = n ? hvi_stats_quantile(x, n, 0.5) : NAN;
  hvi_free(x);
  return median;
}

hvi_fit hvi_fit_log(const double *y, size_t first, size_t last, double floor) {
  double n = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0, yy = 0;
  for (size_t i = first; i <= last; i++) {
    if (!isfinite(y[i]) || y[i] <= floor) continue;
    /* Welford's update: no cancellation between large sums */
    double x = (double)i, v = log10(y[i]);
    n += 1;
    double dx = x - x_mean, dy = v - y_mean;
    x_mean += dx / n;
    y_mean += dy / n;
    xx += dx * (x - x_mean);
    xy += dx * (v - y_mean);
    yy += dy * (v - y_mean);
  }
  hvi_fit fit = {.slope = NAN, .r2 = NAN, .points = (size_t)n};
  if (n < 3 || xx == 0) return fit;
  fit.slope = xy / xx;
  fit.r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
  return fit;
}

hvi_fit hvi_curve_fit(const hvi_curve *c, size_t first, size_t last) {
  if (!c || !c->rows) return (hvi_fit){.slope = NAN, .r2 = NAN};
  if (last >= c->rows) last = c->rows - 1;
  return hvi_fit_log(c->dist2, first, last, HVI_ROUNDING);
}

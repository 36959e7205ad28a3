/*
 * Intervals of functions of means, by the delta method: when y = f(m_1, m_2, ...) for means m_k
 * over the same runs, run i contributes u_i = sum_k df/dm_k v_ki, and the interval of y is that of
 * the mean of the u_i. So the correlation between times along a run is accounted for.
 *
 *   slope   y = sum_k c_k log10 m_k,       c_k = (x_k - x) / sum (x_j - x)^2,  x_k = log10 t_k
 *   fall    y = log10 m_last - log10 m_first
 */
#include "base/base.h"
#include "study/linear.h"

#include "num/stats.h"

static const double log_e = 0.43429448190325182765; /* log10 e */

static hvi_estimate estimate(const double *x, size_t n) {
  return (hvi_estimate){hvi_stats_mean(x, n), hvi_stats_interval95(x, n)};
}

hvi_status hvi_linear_sum_up(hvi_linear_summary *s, hvi_error *err) {
  const size_t cells = s->runs.rows * HVI_LINEAR_CURVES;
  s->mean = hvi_alloc(cells, sizeof *s->mean);
  s->scratch = hvi_alloc_doubles(s->runs.runs);
  if (!s->mean || !s->scratch) return hvi_error_memory(err, "a summary");
  for (size_t k = 0; k < cells; k++)
    s->mean[k] = estimate(s->runs.value + k * s->runs.runs, s->runs.runs);
  return HVI_OK;
}

void hvi_linear_summary_free(hvi_linear_summary *s) {
  hvi_linear_result_free(&s->runs);
  hvi_free(s->mean);
  hvi_free(s->scratch);
  *s = (hvi_linear_summary){0};
}

size_t hvi_linear_row(const hvi_linear_summary *s, size_t t) {
  size_t row = 0;
  while (row + 1 < s->runs.rows && s->time[row + 1] <= t) row++;
  return row;
}

/* scratch += weight times the values of a row, relative to their mean */
static void contribute(const hvi_linear_summary *s, size_t row, size_t curve, double weight) {
  const double *v = hvi_linear_values(&s->runs, row, curve);
  const double mean = hvi_linear_mean(s, row, curve).value;
  for (size_t i = 0; i < s->runs.runs; i++) s->scratch[i] += weight * v[i] / mean;
}

static void clear(const hvi_linear_summary *s) {
  for (size_t i = 0; i < s->runs.runs; i++) s->scratch[i] = 0.0;
}

hvi_estimate hvi_linear_slope(const hvi_linear_summary *s, size_t curve, size_t first) {
  const size_t rows = s->runs.rows;
  double centre = 0.0, spread = 0.0, slope = 0.0;
  for (size_t k = first; k < rows; k++)
    centre += log10((double)s->time[k]) / (double)(rows - first);
  for (size_t k = first; k < rows; k++) spread += pow(log10((double)s->time[k]) - centre, 2);
  clear(s);
  for (size_t k = first; k < rows; k++) {
    const double weight = (log10((double)s->time[k]) - centre) / spread;
    slope += weight * log10(hvi_linear_mean(s, k, curve).value);
    contribute(s, k, curve, weight * log_e);
  }
  return (hvi_estimate){slope, hvi_stats_interval95(s->scratch, s->runs.runs)};
}

hvi_estimate hvi_linear_fall(const hvi_linear_summary *s, size_t curve, size_t first) {
  const size_t last = s->runs.rows - 1;
  clear(s);
  contribute(s, last, curve, log_e);
  contribute(s, first, curve, -log_e);
  return (hvi_estimate){
      log10(hvi_linear_mean(s, last, curve).value / hvi_linear_mean(s, first, curve).value),
      hvi_stats_interval95(s->scratch, s->runs.runs)};
}

hvi_estimate hvi_linear_difference(const hvi_linear_summary *s, size_t row, size_t a, size_t b) {
  const double *x = hvi_linear_values(&s->runs, row, a), *y = hvi_linear_values(&s->runs, row, b);
  for (size_t i = 0; i < s->runs.runs; i++) s->scratch[i] = x[i] - y[i];
  return estimate(s->scratch, s->runs.runs);
}

double hvi_linear_below(const hvi_linear_summary *s, size_t curve, double level) {
  size_t row = s->runs.rows;
  while (row > 0 && hvi_linear_mean(s, row - 1, curve).value < level) row--;
  return row < s->runs.rows ? (double)s->time[row] : NAN;
}

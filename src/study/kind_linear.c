/*
 * kind: linear. Thousands of trajectories of a chain: Surr-GD with 1, 5, 10, 50 and 100 inner steps
 * against the exact update (LSPE), and other learners against the projected fixed point.
 *
 * `instances` is the number of trajectories and `iterations` their length. Factors that it knows:
 * rate, decay and second_rate, the step sizes of the learners that have one.
 *
 * Intervals of functions of means, by the delta method: when y = f(m_1, m_2, ...) for means m_k
 * over the same runs, run i contributes u_i = sum_k df/dm_k v_ki, and the interval of y is that of
 * the mean of the u_i. So the correlation between times along a run is accounted for.
 *
 *   slope   y = sum_k c_k log10 m_k,       c_k = (x_k - x) / sum (x_j - x)^2,  x_k = log10 t_k
 *   fall    y = log10 m_last - log10 m_first
 */
#include "base/base.h"
#include "num/stats.h"
#include "num/vec.h"
#include "study/kinds.h"
#include "study/linear.h"

enum { FIRST_TIME = 10, PER_DECADE = 20, MOST_ROWS = 256, LEAST_STEPS = 1000 };
enum { EARLY = 100, LATE = 1000 }; /* where falls and slopes are measured from */
enum { CURVES, SUMMARY };

/* One list makes the names of the curves, in the order of HVI_LINEAR_THETA .. HVI_LINEAR_CURVES, and
 * the columns of their means. */
/* clang-format off */
#define LINEAR_CURVES(X) \
  X("theta_1") X("theta_5") X("theta_10") X("theta_50") X("theta_100") \
  X("value_1") X("value_5") X("value_10") X("value_50") X("value_100") \
  X("surr_1") X("surr_5") X("surr_10") X("surr_50") X("surr_100") \
  X("lspe") X("td0") X("tdc") X("gtd2") X("residual_gradient") X("lstd")
/* clang-format on */
#define WORD(curve) curve,
/* A mean over the trajectories and the ends of its 95 % interval. */
#define MEAN(curve) " " curve " " curve "_low " curve "_high"

static const char *const curves[] = {LINEAR_CURVES(WORD) NULL};
static const char *const groups[] = {"parameters", "values", "distance", NULL};

static const double log_e = 0.43429448190325182765; /* log10 e */

static hvi_estimate estimate(const double *x, size_t n) {
  return (hvi_estimate){hvi_stats_mean(x, n), hvi_stats_interval95(x, n)};
}

hvi_estimate hvi_linear_mean(const hvi_linear_result *r, size_t row, size_t curve) {
  return estimate(hvi_linear_values(r, row, curve), r->of.runs);
}

size_t hvi_linear_row(const hvi_linear_result *r, size_t t) {
  size_t row = 0;
  while (row + 1 < r->of.rows && r->of.time[row + 1] <= t) row++;
  return row;
}

/* Room for [runs], zero. */
static double *clear(const hvi_linear_result *r) {
  double *u = hvi_linear_values(r, r->of.rows, 0);
  hvi_vec_zero(u, r->of.runs);
  return u;
}

/* u += weight times the values of a row, relative to their mean, which is returned */
static double contribute(double *u, const hvi_linear_result *r, size_t row, size_t curve,
                         double weight) {
  const double *v = hvi_linear_values(r, row, curve), mean = hvi_stats_mean(v, r->of.runs);
  for (size_t i = 0; i < r->of.runs; i++) u[i] += weight * v[i] / mean;
  return mean;
}

hvi_estimate hvi_linear_slope(const hvi_linear_result *r, size_t curve, size_t first) {
  const size_t rows = r->of.rows, *time = r->of.time;
  double centre = 0.0, spread = 0.0, slope = 0.0, *u = clear(r);
  for (size_t k = first; k < rows; k++) centre += log10((double)time[k]) / (double)(rows - first);
  for (size_t k = first; k < rows; k++) spread += pow(log10((double)time[k]) - centre, 2);
  for (size_t k = first; k < rows; k++) {
    const double weight = (log10((double)time[k]) - centre) / spread;
    slope += weight * log10(contribute(u, r, k, curve, weight * log_e));
  }
  return (hvi_estimate){slope, hvi_stats_interval95(u, r->of.runs)};
}

hvi_estimate hvi_linear_fall(const hvi_linear_result *r, size_t curve, size_t first) {
  double *u = clear(r);
  const double end = contribute(u, r, r->of.rows - 1, curve, log_e);
  const double start = contribute(u, r, first, curve, -log_e);
  return (hvi_estimate){log10(end / start), hvi_stats_interval95(u, r->of.runs)};
}

hvi_estimate hvi_linear_difference(const hvi_linear_result *r, size_t row, size_t a, size_t b) {
  const double *x = hvi_linear_values(r, row, a), *y = hvi_linear_values(r, row, b);
  double *u = clear(r);
  for (size_t i = 0; i < r->of.runs; i++) u[i] = x[i] - y[i];
  return estimate(u, r->of.runs);
}

double hvi_linear_below(const hvi_linear_result *r, size_t curve, double level) {
  size_t row = r->of.rows;
  while (row > 0 && hvi_linear_mean(r, row - 1, curve).value < level) row--;
  return row < r->of.rows ? (double)r->of.time[row] : NAN;
}

/* Evenly spaced on a logarithmic axis, ending at `steps`. */
static size_t spread_times(size_t *time, size_t steps) {
  size_t rows = 0;
  for (size_t k = 0; rows < MOST_ROWS - 1; k++) {
    const double t = FIRST_TIME * pow(10.0, (double)k / PER_DECADE);
    if (t >= (double)steps - 0.5) break;
    const size_t whole = (size_t)(t + 0.5);
    if (rows == 0 || whole > time[rows - 1]) time[rows++] = whole;
  }
  time[rows++] = steps;
  return rows;
}

/* Whether each count is nearer to the exact update than the one before, beyond the interval of the
 * difference on the same trajectory. */
static bool in_order(const hvi_linear_result *r, size_t row) {
  for (size_t m = HVI_LINEAR_THETA; m + 1 < HVI_LINEAR_THETA + HVI_SURR_COUNT; m++) {
    const hvi_estimate gain = hvi_linear_difference(r, row, m, m + 1);
    if (!(gain.value - gain.half > 0.0)) return false;
  }
  return true;
}

/* Edges of an interval on the scale of the axes: m exp(-+ half / m) never reaches zero. */
static hvi_status add_time(hvi_rows *rows, const hvi_linear_result *r, size_t row,
                           const double limits[2], hvi_error *err) {
  double values[3 * HVI_LINEAR_CURVES + 3] = {(double)r->of.time[row]}, *x = values + 1;
  for (size_t k = 0; k < HVI_LINEAR_CURVES; k++) {
    const hvi_estimate e = hvi_linear_mean(r, row, k);
    *x++ = e.value;
    *x++ = e.value * exp(-e.half / e.value);
    *x++ = e.value * exp(e.half / e.value);
  }
  *x++ = limits[0];
  *x = in_order(r, row);
  return hvi_rows_add(rows, CURVES, values, err);
}

static hvi_status add_curve(hvi_rows *rows, const hvi_linear_result *r, size_t curve,
                            const double limits[2], hvi_error *err) {
  const size_t early = hvi_linear_row(r, EARLY), late = hvi_linear_row(r, LATE);
  const hvi_estimate fall = hvi_linear_fall(r, curve, early);
  const hvi_estimate slope = hvi_linear_slope(r, curve, late);
  const hvi_estimate end = hvi_linear_mean(r, r->of.rows - 1, curve);
  const double level = 0.01 * hvi_linear_mean(r, early, HVI_LINEAR_THETA).value;
  const double group = (curve >= HVI_LINEAR_VALUE) + (curve >= HVI_LINEAR_GOAL);
  const double below = hvi_linear_below(r, curve, level);
  return hvi_rows_put(rows, SUMMARY, err, group, (double)curve, fall.value, fall.half, slope.value,
                      slope.half, end.value, end.half, below, limits[0], limits[1]);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const hvi_scale *scale = &c->part->scale;
  size_t time[MOST_ROWS];
  HVI_OWN_BY(hvi_linear_result_free) hvi_linear_result r = {0};
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  double limits[2]; /* of the residual gradient, and of the Bellman error */
  if (scale->iterations < LEAST_STEPS || scale->instances < 2)
    return hvi_error_input(err,
                           "experiment '%s': kind linear needs at least %d iterations and 2 "
                           "instances",
                           c->study->id, (int)LEAST_STEPS);
  const hvi_linear_settings settings = {.runs = scale->instances,
                                        .steps = scale->iterations,
                                        .rows = spread_times(time, scale->iterations),
                                        .time = time,
                                        .seed = c->part->seed << 32,
                                        .threads = c->study->settings->threads,
                                        .rate = hvi_cell_number_or(c, "rate", 0.3),
                                        .decay = hvi_cell_number_or(c, "decay", 1e-3),
                                        .second_rate = hvi_cell_number_or(c, "second_rate", 1.0),
                                        .progress = hvi_cell_tick_instances,
                                        .context = (void *)c};
  HVI_TRY(hvi_cell_problem(&p, c, 0, err));
  HVI_TRY(hvi_linear_simulate(&r, p, &settings, err));
  HVI_TRY(hvi_linear_limits(&limits[0], &limits[1], p, err));
  for (size_t row = 0; row < settings.rows && !r.stopped; row++)
    HVI_TRY(add_time(rows, &r, row, limits, err));
  for (size_t k = 0; k < HVI_LINEAR_CURVES && !r.stopped; k++)
    HVI_TRY(add_curve(rows, &r, k, limits, err));
  return HVI_OK;
}

/* in_order: theta_5 below theta_1, ... The summary has a row a curve. `fall` is log10 of the mean at
 * the end over that at t = 100, `slope` that of log10 of the mean over log10 t from t = 1000 on,
 * `below` the time from which the mean stays below a hundredth of theta_1 at t = 100. */
const hvi_kind hvi_kind_linear = {
    .name = "linear",
    .summary = "learners along many trajectories of a chain",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_ALONE,
    .numbers = "rate decay second_rate",
    .tables =
        {[CURVES] = {"", {{.name = "t" LINEAR_CURVES(MEAN) " residual_limit in_order"}}, "kind"},
         [SUMMARY] = {"summary",
                      {{"group", groups},
                       {"curve", curves},
                       {.name = "fall fall_half slope slope_half end end_half below residual_limit "
                                "bellman_limit"}},
                      NULL}},
    .run = run};

/*
 * kind: linear. Thousands of trajectories of a chain: Surr-GD with 1, 5, 10, 50 and 100 inner steps
 * against the exact update (LSPE), and other learners against the projected fixed point.
 *
 * `instances` is the number of trajectories and `iterations` their length. Factors that it knows:
 * rate, decay and second_rate, the step sizes of the learners that have one.
 */
#include "base/base.h"
#include "study/kinds.h"
#include "study/linear.h"

enum { FIRST_TIME = 10, PER_DECADE = 20, MOST_ROWS = 256, LEAST_STEPS = 1000 };
enum { EARLY = 100, LATE = 1000 }; /* where falls and slopes are measured from */
enum { CURVES, SUMMARY };

/* A mean over the trajectories and the ends of its 95 % interval. */
#define MEAN(curve) " " curve " " curve "_low " curve "_high"
/* In the order of HVI_LINEAR_THETA .. HVI_LINEAR_CURVES; in_order: theta_5 below theta_1, ... */
static const hvi_column columns[] = {
    {.name = "t" MEAN("theta_1") MEAN("theta_5") MEAN("theta_10") MEAN("theta_50") MEAN("theta_100")
         MEAN("value_1") MEAN("value_5") MEAN("value_10") MEAN("value_50") MEAN("value_100")
             MEAN("surr_1") MEAN("surr_5") MEAN("surr_10") MEAN("surr_50") MEAN("surr_100")
                 MEAN("lspe") MEAN("td0") MEAN("tdc") MEAN("gtd2") MEAN("residual_gradient")
                     MEAN("lstd") " residual_limit in_order"},
    {0}};
#undef MEAN

static const char *const curves[] = {
    "theta_1", "theta_5",           "theta_10", "theta_50",  "theta_100", "value_1",
    "value_5", "value_10",          "value_50", "value_100", "surr_1",    "surr_5",
    "surr_10", "surr_50",           "surr_100", "lspe",      "td0",       "tdc",
    "gtd2",    "residual_gradient", "lstd",     NULL};
static const char *const groups[] = {"parameters", "values", "distance", NULL};

/* A row a curve. `fall` is log10 of the mean at the end over that at t = 100, `slope` that of log10
 * of the mean over log10 t from t = 1000 on, `below` the time from which the mean stays below a
 * hundredth of theta_1 at t = 100. */
static const hvi_column summary_columns[] = {
    {.name = "group", .words = groups},
    {.name = "curve", .words = curves},
    {.name = "fall fall_half slope slope_half end end_half below residual_limit bellman_limit"},
    {0}};

static const hvi_kind_table tables[] = {
    {"", columns, "kind"}, {"summary", summary_columns, NULL}, {0}};

/* How far, in values, two points are from the projected fixed point. */
typedef struct limits {
  double residual, bellman;
} limits;

static bool report(void *context, size_t done) {
  const hvi_cell *c = context;
  return hvi_cell_tick(c, (double)done / (double)c->part->scale.instances);
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
static bool in_order(const hvi_linear_summary *s, size_t row) {
  for (size_t m = HVI_LINEAR_THETA; m + 1 < HVI_LINEAR_THETA + HVI_SURR_COUNT; m++) {
    const hvi_estimate gain = hvi_linear_difference(s, row, m, m + 1);
    if (!(gain.value - gain.half > 0.0)) return false;
  }
  return true;
}

/* Edges of an interval on the scale of the axes: m exp(-+ half / m) never reaches zero. */
static hvi_status add_time(hvi_rows *rows, const hvi_linear_summary *s, size_t row, limits l,
                           hvi_error *err) {
  double values[3 * HVI_LINEAR_CURVES + 3] = {(double)s->time[row]}, *x = values + 1;
  for (size_t k = 0; k < HVI_LINEAR_CURVES; k++) {
    const hvi_estimate e = hvi_linear_mean(s, row, k);
    *x++ = e.value;
    *x++ = e.value * exp(-e.half / e.value);
    *x++ = e.value * exp(e.half / e.value);
  }
  *x++ = l.residual;
  *x = in_order(s, row);
  return hvi_rows_add(rows, CURVES, values, err);
}

static hvi_status add_curve(hvi_rows *rows, const hvi_linear_summary *s, size_t curve, limits l,
                            hvi_error *err) {
  const size_t early = hvi_linear_row(s, EARLY), late = hvi_linear_row(s, LATE);
  const hvi_estimate fall = hvi_linear_fall(s, curve, early);
  const hvi_estimate slope = hvi_linear_slope(s, curve, late);
  const hvi_estimate end = hvi_linear_mean(s, s->runs.rows - 1, curve);
  const double level = 0.01 * hvi_linear_mean(s, early, HVI_LINEAR_THETA).value;
  const double values[] = {curve < HVI_LINEAR_VALUE  ? 0
                           : curve < HVI_LINEAR_GOAL ? 1
                                                     : 2,
                           (double)curve,
                           fall.value,
                           fall.half,
                           slope.value,
                           slope.half,
                           end.value,
                           end.half,
                           hvi_linear_below(s, curve, level),
                           l.residual,
                           l.bellman};
  return hvi_rows_add(rows, SUMMARY, values, err);
}

static hvi_status add_rows(hvi_rows *rows, hvi_linear_summary *s, limits l, hvi_error *err) {
  hvi_status status = hvi_linear_sum_up(s, err);
  for (size_t row = 0; row < s->runs.rows && !status; row++)
    status = add_time(rows, s, row, l, err);
  for (size_t k = 0; k < HVI_LINEAR_CURVES && !status; k++) status = add_curve(rows, s, k, l, err);
  return status;
}

static double level_of(const hvi_cell *c, const char *factor, double otherwise) {
  const double x = hvi_cell_number(c, factor);
  return isnan(x) ? otherwise : x;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const hvi_scale *scale = &c->part->scale;
  size_t time[MOST_ROWS];
  hvi_linear_summary s = {.time = time};
  hvi_problem *p = NULL;
  limits l;
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
                                        .rate = level_of(c, "rate", 0.3),
                                        .decay = level_of(c, "decay", 1e-3),
                                        .second_rate = level_of(c, "second_rate", 1.0),
                                        .progress = report,
                                        .context = (void *)c};
  hvi_status status = hvi_cell_problem(&p, c, 0, err);
  if (!status) status = hvi_linear_simulate(&s.runs, p, &settings, err);
  if (!status) status = hvi_linear_limits(&l.residual, &l.bellman, p, err);
  if (!status && !s.runs.stopped) status = add_rows(rows, &s, l, err);
  hvi_linear_summary_free(&s);
  hvi_problem_free(p);
  return status;
}

const hvi_kind hvi_kind_linear = {.name = "linear",
                                  .summary = "learners along many trajectories of a chain",
                                  .flags = HVI_KIND_PROBLEM | HVI_KIND_ALONE,
                                  .tables = tables,
                                  .run = run};

/*
 * What is worked out of the rows of all cells of a study of kind value. Tables:
 *   outer, batches, seconds, gradients
 *                               the median over the seeds of every measure, with the quartiles,
 *                               on that axis; a CSV for each environment and method
 *   thresholds                  where methods with a threshold ended
 *   levels                      horizontal lines: the lowest median of all, and the test set's noise
 *   summary                     a row a method
 */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/runs.h"

enum { MEASURES = 5, AXES = 4 /* with curves */, LEVELS /* with levels */ };
enum { SECONDS = 1, THRESHOLD = LEVELS - 1 /* axes that are logarithmic */ };
static const char *const measures[MEASURES] = {"error", "gap", "gap_relative", "ratio", "inner"};
static const char *const axes[] = {"outer", "seconds", "gradients", "batches", "threshold", NULL};
static const char *const axis_columns[] = {"outer", "seconds", "grad_evals", "batches",
                                           "threshold"};

/* A method in an environment, while tables are filled. */
typedef struct group {
  hvi_study *study;
  const hvi_part *part;
  hvi_runs r;
  size_t environment, method;
} group;

static size_t column(const group *g, const char *name) { return hvi_table_find(g->r.table, name); }

/* Row `row` on an axis: the mean over the seeds that have it; NaN: none has. */
static double mean_of_row(const hvi_runs *r, size_t axis, size_t row) {
  double sum = 0.0, n = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    if (r->start[s] + row >= r->start[s + 1]) continue;
    sum += hvi_table_get(r->table, r->row[r->start[s] + row], axis);
    n += 1.0;
  }
  return sum / n;
}

/* A row of a table: `at`, and of every measure where column x is X the median over the seeds and its
 * quartiles, infinite where as many runs diverged; then how many errors are finite. On a logarithmic
 * axis an interval around a mean would reach below zero. */
static hvi_status add_medians(group *g, const char *table, double at, size_t x, double X,
                              hvi_error *err) {
  static const double quantiles[] = {0.5, 0.25, 0.75};
  double row[3 + 3 * MEASURES + 1] = {(double)g->environment, (double)g->method, at}, *to = row + 3;
  for (size_t k = 0; k < MEASURES; k++) {
    const hvi_mean m = hvi_runs_mean(&g->r, x, column(g, measures[k]), X);
    double *values = g->r.work; /* that the mean is of */
    size_t n = 0;
    for (size_t s = 0; s < g->r.seeds; s++)
      if (!isnan(values[s])) values[n++] = values[s];
    for (size_t q = 0; q < 3; q++) *to++ = hvi_stats_quantile(values, n, quantiles[q]);
    if (k == 0) row[3 + 3 * MEASURES] = (double)m.count;
  }
  return hvi_table_add(hvi_study_table(g->study, g->part, table), row, err);
}

static hvi_status add_curve(group *g, size_t axis, hvi_error *err) {
  const size_t x_column = column(g, axis_columns[axis]);
  for (size_t i = 0;; i++) {
    const double x = mean_of_row(&g->r, x_column, i);
    if (isnan(x)) return HVI_OK;
    if (axis == SECONDS && !(x > 0.0)) continue; /* it has no place on a logarithmic axis */
    HVI_TRY(add_medians(g, axes[axis], x, x_column, x, err));
  }
}

/* A number of the last rows, as a mean over the seeds. */
static double last_mean(const group *g, const char *name) {
  const size_t c = column(g, name);
  double sum = 0.0;
  for (size_t s = 0; s < g->r.seeds; s++)
    sum += hvi_table_get(g->r.table, g->r.row[g->r.start[s + 1] - 1], c) / (double)g->r.seeds;
  return sum;
}

static hvi_status add_summary(group *g, hvi_error *err) {
  static const char *const last[] = {"error_noise",     "clean",         "relative_clean",
                                     "grad_evals",      "env_steps",     "seconds_collect",
                                     "seconds_targets", "seconds_inner", "seconds_measure"};
  const size_t outer = column(g, "outer"), error = column(g, "error"), seeds = g->r.seeds;
  const hvi_mean e = hvi_runs_mean(&g->r, outer, error, INFINITY);
  const hvi_mean gap = hvi_runs_mean(&g->r, outer, column(g, "gap"), INFINITY);
  double where, diverged = 0.0;
  const double least = hvi_runs_least(&g->r, error, &where);
  double *ends = g->r.work; /* free again */
  for (size_t s = 0; s < seeds; s++) {
    ends[s] = hvi_runs_value(&g->r, s, outer, error, INFINITY);
    const size_t row = g->r.row[g->r.start[s + 1] - 1];
    diverged += hvi_table_get(g->r.table, row, column(g, "diverged")) == 1.0;
  }
  const double median = hvi_stats_quantile(ends, seeds, 0.5); /* sorts */
  const double kind = hvi_table_get(g->r.table, g->r.row[0], column(g, "group"));
  const double environment = (double)g->environment, method = (double)g->method;
  double row[22] = {environment,     method, kind,  e.value,   e.half,  median,
                    ends[seeds - 1], least,  where, gap.value, gap.half};
  for (size_t k = 0; k < 9; k++) row[11 + k] = last_mean(g, last[k]);
  row[20] = (double)seeds;
  row[21] = diverged;
  return hvi_table_add(hvi_study_table(g->study, g->part, "summary"), row, err);
}

/* What the lines of an environment span and reach. */
typedef struct span {
  double x[LEVELS][2]; /* smallest positive, and largest */
  double lowest[2];    /* median error, and gap */
  double noise;
} span;

/* The median of a measure in a row of a method in an environment. */
static double lowest_in(const hvi_table *t, size_t row, const group *g, size_t measure) {
  const bool here = hvi_table_get(t, row, 0) == (double)g->environment &&
                    hvi_table_get(t, row, 1) == (double)g->method;
  return here ? hvi_table_get(t, row, 3 + 3 * measure) : NAN;
}

static void widen(span *s, const group *g) {
  for (size_t i = 0; i < g->r.start[g->r.seeds]; i++)
    for (size_t a = 0; a < LEVELS; a++) {
      const double x = hvi_table_get(g->r.table, g->r.row[i], column(g, axis_columns[a]));
      if (!(x > 0.0)) continue;
      s->x[a][0] = fmin(s->x[a][0], x);
      s->x[a][1] = fmax(s->x[a][1], x);
    }
  const hvi_table *t = hvi_study_table(g->study, g->part, "outer");
  for (size_t i = 0; i < t->rows; i++)
    for (size_t k = 0; k < 2; k++) s->lowest[k] = fmin(s->lowest[k], lowest_in(t, i, g, k));
  s->noise = last_mean(g, "error_noise");
}

static hvi_status add_levels(const group *g, const span *s, hvi_error *err) {
  hvi_table *t = hvi_study_table(g->study, g->part, "levels");
  const double error = isfinite(s->lowest[0]) ? s->lowest[0] : NAN;
  const double gap = isfinite(s->lowest[1]) ? s->lowest[1] : NAN;
  for (size_t i = 0; i < 2 * LEVELS; i++) {
    const size_t a = i / 2;
    const double x = i % 2 ? s->x[a][1] : a == SECONDS || a == THRESHOLD ? s->x[a][0] : 0.0;
    const double noise = s->noise > 0.0 ? s->noise : NAN;
    const double row[] = {(double)g->environment, (double)a, x, error, gap, noise};
    if (s->x[a][1] == 0.0) continue; /* no method has a threshold */
    HVI_TRY(hvi_table_add(t, row, err));
  }
  return HVI_OK;
}

/* The rows of a method in all tables but the levels. */
static hvi_status fill_method(group *g, hvi_error *err) {
  const double alpha = g->part->methods[g->method].settings.alpha;
  for (size_t a = 0; a < AXES; a++) HVI_TRY(add_curve(g, a, err));
  if (alpha > 0.0)
    HVI_TRY(add_medians(g, "thresholds", alpha * alpha, column(g, "outer"), INFINITY, err));
  return add_summary(g, err);
}

static hvi_status fill_environment(hvi_study *study, const hvi_part *part, size_t environment,
                                   hvi_error *err) {
  span s = {.lowest = {INFINITY, INFINITY}};
  for (size_t a = 0; a < LEVELS; a++) s.x[a][0] = INFINITY;
  const hvi_table *runs = hvi_study_table(study, part, "runs");
  const hvi_table_filter here = {.column = "environment",
                                 .word = part->value->environments[environment].environment};
  group g = {.study = study, .part = part, .environment = environment};
  for (g.method = 0; g.method < part->method_count; g.method++) {
    HVI_TRY(hvi_runs_find(&g.r, runs, (double)g.method, &here, 1, err));
    const hvi_status status = fill_method(&g, err);
    widen(&s, &g);
    hvi_runs_free(&g.r);
    HVI_TRY(status);
  }
  return add_levels(&g, &s, err);
}

/* The columns of a median and its quartiles, for every measure. */
#define MEANS                                                                                      \
  "error error_low error_high gap gap_low gap_high gap_relative gap_relative_low "                 \
  "gap_relative_high ratio ratio_low ratio_high inner inner_low inner_high"

hvi_status hvi_value_extend(hvi_study *study, hvi_part *part, hvi_error *err) {
  const hvi_table *runs = hvi_study_table(study, part, "runs");
  const hvi_column environment = runs->column[hvi_table_find(runs, "environment")];
  const hvi_column method = runs->column[hvi_table_find(runs, "method")];
  const hvi_column thresholds[] = {environment, method, {.name = "threshold " MEANS}, {0}};
  const hvi_column levels[] = {
      environment, {"axis", axes}, {.name = "x lowest_error lowest_gap noise"}, {0}};
  const hvi_column summary[] = {
      environment,
      method,
      runs->column[hvi_table_find(runs, "group")],
      {.name = "error half_width median worst least_error at_outer gap gap_half_width noise clean "
               "relative_clean gradients env_steps seconds_collect seconds_targets seconds_inner "
               "seconds_measure seeds diverged"},
      {0}};
  for (size_t a = 0; a < AXES; a++) {
    const hvi_column curve[] = {
        environment, method, {.name = axes[a]}, {.name = MEANS " seeds"}, {0}};
    HVI_TRY(hvi_study_add_table(study, part, axes[a], curve, "environment method", err));
  }
  HVI_TRY(hvi_study_add_table(study, part, "thresholds", thresholds, "environment", err));
  HVI_TRY(hvi_study_add_table(study, part, "levels", levels, "environment axis", err));
  HVI_TRY(hvi_study_add_table(study, part, "summary", summary, NULL, err));
  return part->scale.offline ? HVI_OK : hvi_value_clock_extend(study, part, err);
}

hvi_status hvi_value_derive(hvi_study *study, hvi_part *part, hvi_error *err) {
  for (size_t i = 0; i < part->value->environment_count; i++)
    if (!part->kind->missing(part, part->value->environments[i].environment))
      HVI_TRY(fill_environment(study, part, i, err));
  return part->scale.offline ? HVI_OK : hvi_value_clock_derive(study, part, err);
}

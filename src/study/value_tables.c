/*
 * What is worked out of the rows of all cells of a study of kind value. Tables:
 *   outer, batches, seconds, gradients
 *                               the median over the seeds of every measure, with the quartiles,
 *                               on that axis; a CSV for each environment and method
 *   thresholds                  where methods with a threshold ended
 *   levels                      horizontal lines: the lowest median of all, and the test set's noise
 *   summary                     a row a method
 *
 * Online, what data must cost for a method to win on the clock:
 *   costs      the error of every method on every seed at the time at which the first method of the
 *              list, TD(0), has used its data, if a batch of data costs so many inner steps
 *   breakeven  its means and intervals, and the ratio to the first method, paired by seed
 *   wins       for each method the least cost from which on its ratio is below 1, and from which on
 *              the whole interval is; infinite: none of those looked at
 *   clocks     what a batch costs here, as measured, and at speeds that the file gives
 *
 * Time is counted in inner steps: a run that has used b batches and done w inner steps of work is at
 * c b + w. Work is passes and gradients (column `work`), so that the curves do not depend on the
 * machine; only the marks do.
 */
#include "base/base.h"
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
  size_t environment, method;
  hvi_runs *first, *r; /* of the first method of the list, and its own */
  double *error;       /* [2][seeds] of the first, and of its own; then without noise; then room */
} group;

static size_t column(const group *g, const char *name) { return hvi_table_find(g->r->table, name); }

static hvi_table *table(const group *g, const char *name) {
  return hvi_study_table(g->study, g->part, name);
}

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
static hvi_status add_medians(group *g, const char *name, double at, size_t x, double X,
                              hvi_error *err) {
  static const double quantiles[] = {0.5, 0.25, 0.75};
  double row[3 + 3 * MEASURES + 1] = {(double)g->environment, (double)g->method, at}, *to = row + 3;
  for (size_t k = 0; k < MEASURES; k++) {
    const hvi_mean m = hvi_runs_mean(g->r, x, column(g, measures[k]), X);
    double *values = g->r->work; /* that the mean is of */
    size_t n = 0;
    for (size_t s = 0; s < g->r->seeds; s++)
      if (!isnan(values[s])) values[n++] = values[s];
    for (size_t q = 0; q < 3; q++) *to++ = hvi_stats_quantile(values, n, quantiles[q]);
    if (k == 0) row[3 + 3 * MEASURES] = (double)m.count;
  }
  return hvi_table_add(table(g, name), row, err);
}

static hvi_status add_curve(group *g, size_t axis, hvi_error *err) {
  const size_t x_column = column(g, axis_columns[axis]);
  for (size_t i = 0;; i++) {
    const double x = mean_of_row(g->r, x_column, i);
    if (isnan(x)) return HVI_OK;
    if (axis == SECONDS && !(x > 0.0)) continue; /* it has no place on a logarithmic axis */
    HVI_TRY(add_medians(g, axes[axis], x, x_column, x, err));
  }
}

/* A number of the last rows, as a mean over the seeds. */
static double last_mean(const group *g, const char *name) {
  const size_t c = column(g, name);
  double sum = 0.0;
  for (size_t s = 0; s < g->r->seeds; s++) sum += hvi_runs_last(g->r, s, c) / (double)g->r->seeds;
  return sum;
}

static hvi_status add_summary(group *g, hvi_error *err) {
  static const char *const last[] = {"error_noise",     "clean",         "relative_clean",
                                     "grad_evals",      "env_steps",     "seconds_collect",
                                     "seconds_targets", "seconds_inner", "seconds_measure"};
  const size_t outer = column(g, "outer"), error = column(g, "error"), seeds = g->r->seeds;
  const hvi_mean e = hvi_runs_mean(g->r, outer, error, INFINITY);
  const hvi_mean gap = hvi_runs_mean(g->r, outer, column(g, "gap"), INFINITY);
  double where, diverged = 0.0;
  const double least = hvi_runs_least(g->r, error, &where);
  double *ends = g->r->work; /* free again */
  for (size_t s = 0; s < seeds; s++) {
    ends[s] = hvi_runs_value(g->r, s, outer, error, INFINITY);
    diverged += hvi_runs_last(g->r, s, column(g, "diverged")) == 1.0;
  }
  const double median = hvi_stats_quantile(ends, seeds, 0.5); /* sorts */
  const double kind = hvi_table_get(g->r->table, g->r->row[0], column(g, "group"));
  const double environment = (double)g->environment, method = (double)g->method;
  double row[22] = {environment,     method, kind,  e.value,   e.half,  median,
                    ends[seeds - 1], least,  where, gap.value, gap.half};
  for (size_t k = 0; k < 9; k++) row[11 + k] = last_mean(g, last[k]);
  row[20] = (double)seeds;
  row[21] = diverged;
  return hvi_table_add(table(g, "summary"), row, err);
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
  for (size_t i = 0; i < g->r->start[g->r->seeds]; i++)
    for (size_t a = 0; a < LEVELS; a++) {
      const double x = hvi_table_get(g->r->table, g->r->row[i], column(g, axis_columns[a]));
      if (!(x > 0.0)) continue;
      s->x[a][0] = fmin(s->x[a][0], x);
      s->x[a][1] = fmax(s->x[a][1], x);
    }
  const hvi_table *t = table(g, "outer");
  for (size_t i = 0; i < t->rows; i++)
    for (size_t k = 0; k < 2; k++) s->lowest[k] = fmin(s->lowest[k], lowest_in(t, i, g, k));
  s->noise = last_mean(g, "error_noise");
}

static hvi_status add_levels(const group *g, const span *s, hvi_error *err) {
  hvi_table *t = table(g, "levels");
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

enum { COSTS = 25 }; /* 10^-1 .. 10^5, four a decade */

static double cost_at(size_t i) { return pow(10.0, (double)i / 4.0 - 1.0); }

/* Errors of both when the first one's data are used up, seed by seed, if a batch costs that much. */
static void meet(group *g, double cost) {
  const size_t work = column(g, "work"), error = column(g, "error"), seeds = g->r->seeds;
  g->first->also = g->r->also = column(g, "batches");
  g->first->times = g->r->times = cost;
  for (size_t s = 0; s < seeds; s++) {
    const double end = hvi_runs_last(g->first, s, work);
    g->error[s] = hvi_runs_value(g->first, s, work, error, end);
    g->error[seeds + s] = hvi_runs_value(g->r, s, work, error, end);
  }
  g->first->times = g->r->times = 0.0;
}

/* The ratio to the first method, without the noise that both errors have. */
static hvi_ratio ratio_of(const group *g) {
  const size_t n = g->r->seeds;
  const double noise = hvi_table_get(g->r->table, g->r->row[0], column(g, "error_noise"));
  double *bare = g->error + 2 * n;
  for (size_t i = 0; i < 2 * n; i++) {
    const double e = g->error[i];
    bare[i] = noise > 0.0 && isfinite(e) ? fmax(e - noise, 0.05 * noise) : e;
  }
  return hvi_ratio_of(bare + n, bare, n, 1.0, g->error + 4 * n);
}

static hvi_status add_cost(group *g, size_t at, hvi_ratio *q, hvi_error *err) {
  const size_t n = g->r->seeds, seed = column(g, "seed");
  const double cost = cost_at(at), environment = (double)g->environment, method = (double)g->method;
  const hvi_table *runs = g->r->table;
  meet(g, cost);
  *q = ratio_of(g);
  const hvi_mean m = hvi_mean_of(g->error + n, n, g->error + 4 * n);
  const bool known = isfinite(m.value);
  HVI_TRY(hvi_table_put(table(g, "breakeven"), err, environment, method, cost,
                        known ? m.value : NAN, known ? m.value - m.half : NAN,
                        known ? m.value + m.half : NAN, q->ratio, q->low, q->high));
  for (size_t s = 0; s < n; s++) {
    const size_t row = g->r->row[g->r->start[s]];
    const double e = g->error[n + s];
    HVI_TRY(hvi_table_put(table(g, "costs"), err, environment, method,
                          hvi_table_get(runs, row, seed), (double)at, cost, isfinite(e) ? e : NAN,
                          hvi_table_get(runs, row, column(g, "error_noise")),
                          isfinite(e) ? NAN : 1.0, hvi_table_get(runs, row, column(g, "group"))));
  }
  return HVI_OK;
}

static hvi_status add_costs(group *g, hvi_error *err) {
  double from = INFINITY, surely = INFINITY;
  for (size_t i = 0; i < COSTS; i++) {
    hvi_ratio q;
    HVI_TRY(add_cost(g, i, &q, err));
    from = q.ratio < 1.0 ? fmin(from, cost_at(i)) : INFINITY;
    surely = q.less > 0 ? fmin(surely, cost_at(i)) : INFINITY;
  }
  return hvi_table_put(table(g, "wins"), err, (double)g->environment, (double)g->method, from,
                       surely);
}

/* What a batch costs in inner steps: here, as the first method has paid for it, and elsewhere. */
static hvi_status add_clocks(const group *g, hvi_error *err) {
  const hvi_part *part = g->part;
  const hvi_runs *r = g->first;
  double collect = 0.0, batches = 0.0, inner = 0.0, steps = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    collect += hvi_runs_last(r, s, column(g, "seconds_collect"));
    batches += hvi_runs_last(r, s, column(g, "batches"));
    inner += hvi_runs_last(r, s, column(g, "seconds_inner"));
    steps += hvi_runs_last(r, s, column(g, "grad_evals"));
  }
  const double step = inner / steps, rows = (double)(part->scale.batch ? part->scale.batch : 1000);
  for (size_t i = 0; part->value->clock_names[i]; i++) {
    const double seconds =
        i == 0 ? collect / batches : rows / part->value->environments[g->environment].clocks[i - 1];
    if (!(seconds > 0.0) || !isfinite(seconds)) continue;
    HVI_TRY(hvi_table_put(table(g, "clocks"), err, (double)g->environment, (double)i,
                          seconds / step, 1000.0 * seconds, 1000.0 * step));
  }
  return HVI_OK;
}

/* The rows of a method in all tables but the levels. */
static hvi_status fill_method(group *g, hvi_error *err) {
  const double alpha = g->part->methods[g->method].settings.alpha;
  for (size_t a = 0; a < AXES; a++) HVI_TRY(add_curve(g, a, err));
  if (alpha > 0.0)
    HVI_TRY(add_medians(g, "thresholds", alpha * alpha, column(g, "outer"), INFINITY, err));
  HVI_TRY(add_summary(g, err));
  if (g->part->scale.offline) return HVI_OK;
  if (g->method == 0) HVI_TRY(add_clocks(g, err));
  return add_costs(g, err);
}

static hvi_status fill_environment(hvi_study *study, const hvi_part *part, size_t environment,
                                   hvi_error *err) {
  span s = {.lowest = {INFINITY, INFINITY}};
  for (size_t a = 0; a < LEVELS; a++) s.x[a][0] = INFINITY;
  const hvi_table *runs = hvi_study_table(study, part, "runs");
  const hvi_table_filter here = {.column = "environment",
                                 .word = part->value->environments[environment].environment};
  HVI_OWN_BY(hvi_runs_free) hvi_runs first = {0};
  HVI_TRY(hvi_runs_find(&first, runs, 0.0, &here, 1, err));
  HVI_NEW(double, error, 6 * first.seeds, "costs", err);
  group g = {study, part, environment, .first = &first, .error = error};
  for (; g.method < part->method_count; g.method++) {
    HVI_OWN_BY(hvi_runs_free) hvi_runs own = {0};
    HVI_TRY(hvi_runs_find(g.r = &own, runs, (double)g.method, &here, 1, err));
    HVI_TRY(fill_method(&g, err));
    widen(&s, &g);
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
  const hvi_column kind = runs->column[hvi_table_find(runs, "group")];
  const hvi_column thresholds[] = {environment, method, {.name = "threshold " MEANS}, {0}};
  const hvi_column levels[] = {
      environment, {"axis", axes}, {.name = "x lowest_error lowest_gap noise"}, {0}};
  const hvi_column summary[] = {
      environment,
      method,
      kind,
      {.name = "error half_width median worst least_error at_outer gap gap_half_width noise clean "
               "relative_clean gradients env_steps seconds_collect seconds_targets seconds_inner "
               "seconds_measure seeds diverged"},
      {0}};
  const hvi_column costs[] = {
      environment, method, {.name = "seed outer cost error error_noise diverged"}, kind, {0}};
  const hvi_column breakeven[] = {
      environment,
      method,
      {.name = "cost error error_low error_high ratio ratio_low ratio_high"},
      {0}};
  const hvi_column wins[] = {environment, method, {.name = "from surely"}, {0}};
  const hvi_column clocks[] = {environment,
                               {"clock", part->value->clock_names},
                               {.name = "cost batch_ms inner_step_ms"},
                               {0}};
  for (size_t a = 0; a < AXES; a++) {
    const hvi_column curve[] = {
        environment, method, {.name = axes[a]}, {.name = MEANS " seeds"}, {0}};
    HVI_TRY(hvi_study_add_table(study, part, axes[a], curve, "environment method", err));
  }
  HVI_TRY(hvi_study_add_table(study, part, "thresholds", thresholds, "environment", err));
  HVI_TRY(hvi_study_add_table(study, part, "levels", levels, "environment axis", err));
  HVI_TRY(hvi_study_add_table(study, part, "summary", summary, NULL, err));
  if (part->scale.offline) return HVI_OK;
  HVI_TRY(hvi_study_add_table(study, part, "costs", costs, NULL, err));
  HVI_TRY(hvi_study_add_table(study, part, "breakeven", breakeven, "environment method", err));
  HVI_TRY(hvi_study_add_table(study, part, "wins", wins, NULL, err));
  return hvi_study_add_table(study, part, "clocks", clocks, "environment clock", err);
}

hvi_status hvi_value_derive(hvi_study *study, hvi_part *part, hvi_error *err) {
  for (size_t i = 0; i < part->value->environment_count; i++)
    if (!part->kind->missing(part, part->value->environments[i].environment))
      HVI_TRY(fill_environment(study, part, i, err));
  return HVI_OK;
}

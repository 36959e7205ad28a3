/* kind: ensemble. Every method on many random instances: mean, median, quartiles, share solved. */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"

#include <hvi/ensemble.h>

enum { ROWS = 200 }; /* about this many rows in a table */
static const double solved_below = 1e-6;

bool hvi_cell_tick_instances(void *context, size_t done) {
  const hvi_cell *c = context;
  return hvi_cell_tick(c, (double)done / (double)c->part->scale.instances);
}

static hvi_status make_instance(void *context, size_t index, hvi_problem **problem,
                                hvi_error *err) {
  return hvi_cell_problem(problem, context, index + 1, err);
}

hvi_status hvi_ensemble_of_cell(hvi_ensemble **out, const hvi_cell *c, const hvi_settings *method,
                                size_t record_every, hvi_error *err) {
  hvi_settings s = *method;
  s.max_outer = c->part->scale.iterations;
  const hvi_ensemble_settings how = {.count = c->part->scale.instances,
                                     .threads = c->study->settings->threads,
                                     .record_every = record_every,
                                     .progress = hvi_cell_tick_instances,
                                     .progress_context = (void *)c};
  return hvi_ensemble_run(out, make_instance, (void *)c, &s, &how, err);
}

/* One row: what is finite goes into the figures, what is not is counted. Where no solution is known
 * the residual stands for the squared distance. */
static hvi_status add_row(hvi_rows *rows, const hvi_ensemble *e, size_t row, double *scratch,
                          hvi_error *err) {
  const double *x = (isnan(e->dist2[0]) ? e->residual : e->dist2) + row * e->count;
  size_t n = 0, solved = 0;
  for (size_t i = 0; i < e->count; i++) {
    if (!isfinite(x[i])) continue;
    solved += x[i] < solved_below;
    scratch[n++] = x[i];
  }
  const double mean = n ? hvi_stats_mean(scratch, n) : NAN;
  const double values[] = {(double)e->outer[row],
                           mean,
                           hvi_stats_quantile(scratch, n, 0.5),
                           hvi_stats_quantile(scratch, n, 0.25),
                           hvi_stats_quantile(scratch, n, 0.75),
                           (double)solved / (double)e->count,
                           (double)(e->count - n) / (double)e->count};
  return hvi_rows_add(rows, 0, values, err);
}

HVI_RELEASE(hvi_ensemble)

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const size_t every = c->part->scale.iterations / ROWS;
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  hvi_settings s;
  HVI_TRY(hvi_cell_settings(&s, c, err));
  HVI_TRY(hvi_ensemble_of_cell(&e, c, &s, every ? every : 1, err));
  HVI_OWN double *scratch = hvi_alloc_doubles(e->count);
  if (!scratch) return hvi_error_memory(err, "an ensemble");
  for (size_t i = 0; i < e->rows; i++) HVI_TRY(add_row(rows, e, i, scratch, err));
  return HVI_OK;
}

const hvi_kind hvi_kind_ensemble = {
    .name = "ensemble",
    .summary = "every method on many random instances",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_ALONE,
    .tables = {{"ensemble",
                {{.name = "outer mean median quartile1 quartile3 solved diverged"}},
                "method"}},
    .run = run};

/* Seconds for a fixed number of outer iterations, one thread, the fastest of several repeats. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "experiments/kinds.h"
#include "report/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const hvi_timing *hvi_timings_find(const hvi_timings *t, const char *label) {
  for (size_t i = 0; i < t->count; i++)
    if (strcmp(t->items[i].contender->label, label) == 0) return &t->items[i];
  return NULL;
}

/* One run, without an observer; NaN when it did not last. */
static hvi_status time_once(hvi_timing *t, double *seconds, const hvi_problem *p, size_t iterations,
                            hvi_error *err) {
  hvi_settings s = t->contender->settings;
  s.max_outer = iterations;
  hvi_solver *solver = NULL;
  hvi_status status = hvi_solver_new(&solver, p, &s, err);
  if (status != HVI_OK) return status;
  double start = hvi_clock_now();
  hvi_solver_run(solver);
  *seconds = hvi_clock_now() - start;
  hvi_info info = hvi_solver_info(solver);
  if (info.last.outer < iterations) *seconds = NAN;
  t->counts = info.last.counts;
  t->inner = info.inner_total;
  hvi_solver_free(solver);
  return HVI_OK;
}

/* One evaluation of F at the start, the fastest of 20 batches. */
static hvi_status time_operator(double *seconds, const hvi_problem *p, hvi_error *err) {
  enum { BATCHES = 20, CALLS = 2000 };
  size_t n = p->model->out;
  double *z = hvi_alloc_doubles(2 * n + p->model->cache);
  if (!z) return hvi_error_memory(err, "a timing");
  double *f = z + n, *cache = f + n;
  p->model->ops->eval(p->model, cache, p->theta0, z);
  *seconds = INFINITY;
  for (int batch = 0; batch < BATCHES; batch++) {
    double start = hvi_clock_now();
    for (int i = 0; i < CALLS; i++) p->ops->operate(p, NULL, p->theta0, z, f);
    double each = (hvi_clock_now() - start) / CALLS;
    if (each < *seconds) *seconds = each;
  }
  hvi_free(z);
  return HVI_OK;
}

/* Repeats go round all methods, so that a slow moment of the machine does not hit one alone. */
static hvi_status time_all(hvi_timings *t, hvi_run *run, const hvi_problem *p, hvi_error *err) {
  const hvi_experiment *e = run->experiment;
  size_t steps = run->scale->repeats * t->count, done = 0;
  hvi_status status = time_operator(&t->f_seconds, p, err);
  for (size_t repeat = 0; repeat < run->scale->repeats; repeat++)
    for (size_t i = 0; i < t->count && status == HVI_OK; i++) {
      double seconds = NAN;
      hvi_timing *item = &t->items[i];
      item->contender = &e->contenders[i];
      if (!hvi_run_progress(run, item->contender->label, (double)done++ / (double)steps))
        return HVI_OK;
      status = time_once(item, &seconds, p, t->iterations, err);
      if (repeat == 0 || seconds < item->seconds) item->seconds = seconds;
    }
  return status;
}

static hvi_status write_times(const hvi_run *run, const hvi_timings *t, hvi_error *err) {
  hvi_csv csv;
  const hvi_timing *gda = hvi_timings_find(t, "GDA");
  double base = gda ? gda->seconds : t->items[0].seconds;
  char *path = hvi_run_path(run, "times", ".csv");
  hvi_status status =
      path ? hvi_csv_open(&csv, path,
                          "method,milliseconds,ratio_to_gda,ns_per_iteration,f_evals,model_passes,"
                          "grad_evals,inner",
                          err)
           : hvi_error_memory(err, "a path");
  hvi_free(path);
  if (status != HVI_OK) return status;
  for (size_t i = 0; i < t->count; i++) {
    const hvi_timing *item = &t->items[i];
    hvi_csv_text(&csv, item->contender->label);
    hvi_csv_number(&csv, 1e3 * item->seconds);
    hvi_csv_number(&csv, item->seconds / base);
    hvi_csv_number(&csv, 1e9 * item->seconds / (double)t->iterations);
    hvi_csv_count(&csv, item->counts.f_evals);
    hvi_csv_count(&csv, item->counts.model_passes);
    hvi_csv_count(&csv, item->counts.grad_evals);
    hvi_csv_count(&csv, item->inner);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* Bars need room above for their figures, and a foot below the shortest. */
static hvi_axis axis_of(const hvi_timings *t, const char *label) {
  hvi_axis axis = {.label = label, .log = true};
  double smallest = INFINITY, largest = 0;
  for (size_t i = 0; i < t->count; i++) {
    smallest = fmin(smallest, t->items[i].seconds);
    largest = fmax(largest, t->items[i].seconds);
  }
  if (largest == 0) return axis;
  axis.low = 1e3 * smallest / 3;
  axis.high = 1e3 * largest * 2;
  return axis;
}

static hvi_status draw(hvi_run *run, const hvi_timings *t, hvi_error *err) {
  char label[80];
  snprintf(label, sizeof label, "milliseconds for %zu iterations", t->iterations);
  hvi_series bars = {NULL, "times.csv", "method", "milliseconds", NULL, HVI_MARK_BARS, 0};
  hvi_panel panel = {.y = axis_of(t, label), .series_count = 1, .series = &bars};
  hvi_plot plot = {.name = run->experiment->id,
                   .title = run->experiment->title,
                   .panel_count = 1,
                   .panels = &panel};
  return hvi_run_figure(run, &plot, err);
}

hvi_status hvi_timing_run(hvi_run *run, hvi_error *err) {
  const hvi_experiment *e = run->experiment;
  hvi_timings t = {.count = e->contender_count, .iterations = run->scale->iterations};
  hvi_problem *p = NULL;
  hvi_status status = hvi_experiment_problem(&p, e, 0, err);
  if (status != HVI_OK) return status;
  t.items = hvi_alloc(t.count, sizeof *t.items);
  if (!t.items) status = hvi_error_memory(err, "timings");
  if (status == HVI_OK) status = time_all(&t, run, p, err);
  if (status == HVI_OK && !run->stopped) status = write_times(run, &t, err);
  if (status == HVI_OK && !run->stopped) status = draw(run, &t, err);
  if (status == HVI_OK && !run->stopped && e->builtin) hvi_claims_pennies_time(run->claims, &t);
  hvi_free(t.items);
  hvi_problem_free(p);
  return status;
}

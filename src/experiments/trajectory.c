/* Every method on the fixed instance: a trace each, a summary, and one figure. */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/kinds.h"
#include "report/csv.h"
#include "report/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 16 }; /* parameters and outputs beyond this many are not traced */

/* Keeps the rows that the judges need. */
static bool keep_row(void *context, const hvi_record *row) {
  hvi_curve *c = context;
  c->dist2[c->rows] = row->dist2;
  c->residual[c->rows] = row->residual;
  c->ratio[c->rows] = row->ratio;
  c->rows++;
  return true;
}

static hvi_status allocate(hvi_curve *c, size_t rows, hvi_error *err) {
  c->dist2 = rows < ((size_t)1 << 40) ? hvi_alloc_doubles(3 * rows) : NULL;
  if (!c->dist2) return hvi_error_memory(err, "a trajectory");
  c->residual = c->dist2 + rows;
  c->ratio = c->residual + rows;
  return HVI_OK;
}

static hvi_status open_trace(hvi_trace **trace, hvi_curve *c, const hvi_run *run,
                             const hvi_problem *p, hvi_error *err) {
  char name[80];
  snprintf(name, sizeof name, "trace-%s", c->contender->slug);
  size_t d = p->model->dim, n = p->model->out;
  hvi_trace_settings s = {.every = run->scale->iterations > 20000 ? 10 : 1,
                          .theta = d <= MOST_COLUMNS ? d : 0,
                          .z = n <= MOST_COLUMNS ? n : 0,
                          .next = keep_row,
                          .next_context = c};
  char *path = hvi_run_path(run, name, ".csv");
  hvi_status status = path ? hvi_trace_open(trace, path, &s, err) : hvi_error_memory(err, "a path");
  hvi_free(path);
  return status;
}

static hvi_status solve_one(hvi_curve *c, const hvi_run *run, const hvi_problem *p,
                            hvi_error *err) {
  hvi_trace *trace = NULL;
  hvi_solver *solver = NULL;
  hvi_settings s = c->contender->settings;
  s.max_outer = run->scale->iterations;
  s.seed = run->experiment->seed;
  hvi_status status = allocate(c, s.max_outer + 2, err);
  if (status == HVI_OK) status = open_trace(&trace, c, run, p, err);
  if (status != HVI_OK) return status;
  s.observe = hvi_trace_observe;
  s.observer_context = trace;
  status = hvi_solver_new(&solver, p, &s, err);
  if (status != HVI_OK) return hvi_trace_discard(trace), status;
  c->outcome = hvi_solver_run(solver);
  hvi_info info = hvi_solver_info(solver);
  c->counts = info.last.counts;
  c->inner = info.inner_total;
  c->seconds = info.last.seconds;
  status = hvi_trace_close(trace, &info.last, err);
  hvi_solver_free(solver);
  return status;
}

hvi_status hvi_trajectory_solve(hvi_curves *curves, hvi_run *run, hvi_error *err) {
  const hvi_experiment *e = run->experiment;
  hvi_problem *p = NULL;
  *curves = (hvi_curves){0};
  hvi_status status = hvi_experiment_problem(&p, e, 0, err);
  if (status != HVI_OK) return status;
  curves->solved = p->solution != NULL;
  curves->items = hvi_alloc(e->contender_count, sizeof *curves->items);
  if (!curves->items) status = hvi_error_memory(err, "trajectories");
  for (size_t i = 0; i < e->contender_count && status == HVI_OK; i++) {
    const hvi_contender *c = &e->contenders[i];
    if (!hvi_run_progress(run, c->label, (double)i / (double)e->contender_count)) break;
    curves->items[curves->count].contender = c;
    status = solve_one(&curves->items[curves->count++], run, p, err);
  }
  hvi_problem_free(p);
  if (status != HVI_OK) hvi_curves_free(curves);
  return status;
}

static hvi_status write_summary(const hvi_run *run, const hvi_curves *curves, hvi_error *err) {
  hvi_csv csv;
  char *path = hvi_run_path(run, "summary", ".csv");
  hvi_status status =
      path ? hvi_csv_open(&csv, path,
                          "method,outcome,outer,inner,dist2,residual,decades_per_iteration,r2,"
                          "median_ratio,f_evals,model_passes,grad_evals,seconds",
                          err)
           : hvi_error_memory(err, "a path");
  hvi_free(path);
  if (status != HVI_OK) return status;
  for (size_t i = 0; i < curves->count; i++) {
    const hvi_curve *c = &curves->items[i];
    size_t last = c->rows ? c->rows - 1 : 0;
    hvi_fit fit = hvi_curve_fit(c, 0, last);
    hvi_csv_text(&csv, c->contender->label);
    hvi_csv_text(&csv, hvi_outcome_name(c->outcome));
    hvi_csv_count(&csv, last);
    hvi_csv_count(&csv, c->inner);
    const double numbers[] = {c->dist2[last], c->residual[last], fit.slope, fit.r2,
                              hvi_curve_ratio(c, 1, last)};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) hvi_csv_number(&csv, numbers[k]);
    hvi_csv_count(&csv, c->counts.f_evals);
    hvi_csv_count(&csv, c->counts.model_passes);
    hvi_csv_count(&csv, c->counts.grad_evals);
    hvi_csv_number(&csv, c->seconds);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* The figure's series, four lists of them, and the names they point to. */
typedef struct drawing {
  char (*files)[80];
  hvi_series *distance, *parameters, *outputs, *ratio;
  size_t count, paths;
} drawing;

static bool make_series(drawing *d, const hvi_curves *curves) {
  size_t n = curves->count;
  d->files = hvi_alloc(n, sizeof *d->files);
  d->distance = hvi_alloc(4 * n, sizeof *d->distance);
  if (!d->files || !d->distance) return false;
  d->parameters = d->distance + n;
  d->outputs = d->parameters + n;
  d->ratio = d->outputs + n;
  d->count = n;
  const char *y = curves->solved ? "dist2" : "residual";
  for (size_t i = 0; i < n; i++) {
    const hvi_contender *c = curves->items[i].contender;
    const char *file = d->files[i];
    snprintf(d->files[i], sizeof d->files[i], "trace-%s.csv", c->slug);
    d->distance[i] = (hvi_series){c->label, file, "outer", y, NULL, HVI_MARK_LINE, c->style};
    d->ratio[i] = (hvi_series){c->label, file, "outer", "ratio", NULL, HVI_MARK_THIN, c->style};
    if (!c->highlight) continue;
    d->parameters[d->paths] =
        (hvi_series){c->label, file, "theta1", "theta2", NULL, HVI_MARK_PATH, c->style};
    d->outputs[d->paths++] =
        (hvi_series){c->label, file, "z1", "z2", NULL, HVI_MARK_PATH, c->style};
  }
  return true;
}

/* The axis of a column of all curves, from its positive values. */
static hvi_axis axis_of(const hvi_curves *curves, const char *label, bool ratio) {
  double smallest = INFINITY, largest = 0;
  for (size_t i = 0; i < curves->count; i++) {
    const hvi_curve *c = &curves->items[i];
    const double *y = ratio ? c->ratio : curves->solved ? c->dist2 : c->residual;
    for (size_t t = 0; t < c->rows; t++) {
      if (!(y[t] > 0) || isinf(y[t])) continue;
      smallest = fmin(smallest, y[t]);
      largest = fmax(largest, y[t]);
    }
  }
  /* ratios far from one only squeeze the rest */
  if (ratio) smallest = fmax(smallest, 1e-6), largest = fmin(largest, 10);
  return hvi_axis_log(label, smallest, largest);
}

/* Paths need a plane: two parameters and two outputs. */
static size_t make_panels(hvi_panel panels[4], const drawing *d, const hvi_curves *curves,
                          const hvi_problem *p, hvi_mark_point *solution) {
  size_t count = 0;
  bool plane = p->model->dim == 2 && p->model->out == 2 && p->solution && d->paths;
  const char *distance = curves->solved ? "|z_t − z*|^2" : "residual";
  hvi_axis time = {.label = "outer iteration t"};
  panels[count++] = (hvi_panel){curves->solved ? "Squared distance to the solution" : "Residual",
                                time,
                                axis_of(curves, distance, false),
                                d->count,
                                d->distance,
                                NULL};
  if (plane) {
    *solution = (hvi_mark_point){"z*", p->solution[0], p->solution[1]};
    panels[count++] = (hvi_panel){.title = "Paths in parameter space",
                                  .x = {.label = "θ_1"},
                                  .y = {.label = "θ_2"},
                                  .series_count = d->paths,
                                  .series = d->parameters};
    panels[count++] = (hvi_panel){.title = "Paths in output space",
                                  .x = {.label = "z_1"},
                                  .y = {.label = "z_2"},
                                  .series_count = d->paths,
                                  .series = d->outputs,
                                  .point = solution};
  }
  panels[count++] = (hvi_panel){"Loss ratio of each surrogate",
                                time,
                                axis_of(curves, "l_t(θ_{t+1}) / l_t(θ_t)", true),
                                d->count,
                                d->ratio,
                                NULL};
  return count;
}

static hvi_status draw(hvi_run *run, const hvi_curves *curves, const hvi_problem *p,
                       hvi_error *err) {
  drawing d = {0};
  hvi_panel panels[4];
  hvi_mark_point solution;
  hvi_status status = HVI_OK;
  if (make_series(&d, curves)) {
    hvi_plot plot = {.name = run->experiment->id,
                     .title = run->experiment->title,
                     .columns = 2,
                     .panel_count = make_panels(panels, &d, curves, p, &solution),
                     .panels = panels};
    status = hvi_run_figure(run, &plot, err);
  } else {
    status = hvi_error_memory(err, "a figure");
  }
  hvi_free(d.files);
  hvi_free(d.distance);
  return status;
}

static hvi_status judge(hvi_run *run, const hvi_curves *curves, hvi_error *err) {
  const char *id = run->experiment->id;
  if (!run->experiment->builtin) return HVI_OK;
  if (strcmp(id, "pennies") == 0) hvi_claims_pennies(run->claims, curves);
  if (strcmp(id, "rps") != 0) return HVI_OK;
  hvi_claims_rps(run->claims, curves);
  return hvi_rps_scan(run, err);
}

hvi_status hvi_trajectory_run(hvi_run *run, hvi_error *err) {
  hvi_curves curves = {0};
  hvi_problem *p = NULL;
  hvi_status status = hvi_trajectory_solve(&curves, run, err);
  if (status == HVI_OK && !run->stopped) status = write_summary(run, &curves, err);
  if (status == HVI_OK && !run->stopped)
    status = hvi_experiment_problem(&p, run->experiment, 0, err);
  if (status == HVI_OK && !run->stopped) status = draw(run, &curves, p, err);
  if (status == HVI_OK && !run->stopped) status = judge(run, &curves, err);
  hvi_problem_free(p);
  hvi_curves_free(&curves);
  return status;
}

/*
 * kind: timing. Seconds for a fixed number of outer iterations, one thread. Repeats go round all
 * methods, so that a slow moment of the machine does not hit one alone; the fastest counts.
 */
#include "base/base.h"
#include "num/stats.h"
#include "outer/solver.h"
#include "study/kinds.h"

/* One evaluation of F at the start, the fastest of 20 batches. */
static hvi_status time_operator(double *seconds, const hvi_problem *p, hvi_error *err) {
  enum { BATCHES = 20, CALLS = 2000 };
  const size_t n = p->model->out;
  HVI_NEW(double, z, 2 * n + p->model->cache, "a timing", err);
  double *f = z + n, *cache = f + n;
  p->model->ops->eval(p->model, cache, p->theta0, z);
  *seconds = INFINITY;
  for (int batch = 0; batch < BATCHES; batch++) {
    const double start = hvi_clock_now();
    for (int i = 0; i < CALLS; i++) p->ops->operate(p, NULL, p->theta0, z, f);
    *seconds = fmin(*seconds, (hvi_clock_now() - start) / CALLS);
  }
  return HVI_OK;
}

/* One run, without an observer. */
static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  HVI_OWN_BY(hvi_solver_release) hvi_solver *solver = NULL;
  hvi_settings s;
  double f_seconds = NAN;
  HVI_TRY(hvi_cell_settings(&s, c, err));
  s.max_outer = c->part->scale.iterations;
  HVI_TRY(hvi_cell_problem(&p, c, 0, err));
  HVI_TRY(time_operator(&f_seconds, p, err));
  HVI_TRY(hvi_solver_new(&solver, p, &s, err));
  const double start = hvi_clock_now();
  hvi_solver_run(solver);
  const double seconds = hvi_clock_now() - start;
  const hvi_info info = hvi_solver_info(solver);
  const hvi_counts *n = &info.last.counts;
  return hvi_rows_put(rows, 0, err, info.last.outer < s.max_outer ? NAN : 1e3 * seconds,
                      (double)n->f_evals, (double)n->model_passes, (double)n->grad_evals,
                      (double)info.inner_total, 1e9 * f_seconds);
}

/* The least of a column over the repeats of a method, which come round all methods. */
static double fastest(const hvi_table *t, size_t column, size_t method, size_t methods) {
  double best = NAN;
  for (size_t i = method; i < t->rows; i += methods) best = fmin(best, hvi_table_get(t, i, column));
  return best;
}

static hvi_status extend(hvi_study *study, hvi_part *part, hvi_error *err) {
  const hvi_column own[] = {
      {"method", part->factors[part->factor_count - 1].text},
      {.name =
           "milliseconds ratio_to_gda ns_per_iteration f_evals model_passes grad_evals inner f_ns "
           "milliseconds_median milliseconds_quartile3"},
      {0}};
  return hvi_study_add_table(study, part, "times", own, NULL, err);
}

/* The fastest of a method's repeats, also against GDA where there is one, or the first; and how they
 * spread. */
static hvi_status derive(hvi_study *study, hvi_part *part, hvi_error *err) {
  const hvi_table *t = hvi_study_table(study, part, "repeats");
  const size_t first = hvi_table_find(t, "milliseconds"), methods = part->method_count;
  const size_t repeats = t->rows / methods;
  HVI_NEW(double, all, repeats + 1, "a timing", err);
  const double base = fastest(t, first, hvi_part_method(part, "GDA") % methods, methods);
  for (size_t m = 0; m < methods; m++) {
    const double best = fastest(t, first, m, methods), *counts = t->at + m * t->columns + first + 1;
    double row[11] = {(double)m, best, best / base, 1e6 * best / (double)part->scale.iterations};
    for (size_t k = 0; k < 4; k++) row[4 + k] = counts[k];
    row[8] = fastest(t, first + 5, m, methods);
    for (size_t i = 0; i < repeats; i++) all[i] = hvi_table_get(t, i * methods + m, first);
    row[9] = hvi_stats_quantile(all, repeats, 0.5);
    row[10] = hvi_stats_quantile(all, repeats, 0.75);
    HVI_TRY(hvi_table_add(hvi_study_table(study, part, "times"), row, err));
  }
  return HVI_OK;
}

const hvi_kind hvi_kind_timing = {
    .name = "timing",
    .summary = "seconds that methods take on one problem",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_REPEATS | HVI_KIND_ALONE,
    .tables = {{"repeats",
                {{.name = "milliseconds f_evals model_passes grad_evals inner f_ns"}},
                NULL}},
    .run = run,
    .extend = extend,
    .derive = derive};

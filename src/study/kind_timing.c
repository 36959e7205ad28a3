/*
 * kind: timing. Seconds for a fixed number of outer iterations, one thread. Repeats go round all
 * methods, so that a slow moment of the machine does not hit one alone; the fastest counts.
 */
#include "base/base.h"
#include "base/clock.h"
#include "study/kinds.h"

static const hvi_column columns[] = {
    {.name = "milliseconds f_evals model_passes grad_evals inner f_ns"}, {0}};

static const hvi_kind_table tables[] = {{"repeats", columns, NULL}, {0}};

/* One evaluation of F at the start, the fastest of 20 batches. */
static hvi_status time_operator(double *seconds, const hvi_problem *p, hvi_error *err) {
  enum { BATCHES = 20, CALLS = 2000 };
  const size_t n = p->model->out;
  double *z = hvi_alloc_doubles(2 * n + p->model->cache);
  if (!z) return hvi_error_memory(err, "a timing");
  double *f = z + n, *cache = f + n;
  p->model->ops->eval(p->model, cache, p->theta0, z);
  *seconds = INFINITY;
  for (int batch = 0; batch < BATCHES; batch++) {
    const double start = hvi_clock_now();
    for (int i = 0; i < CALLS; i++) p->ops->operate(p, NULL, p->theta0, z, f);
    *seconds = fmin(*seconds, (hvi_clock_now() - start) / CALLS);
  }
  hvi_free(z);
  return HVI_OK;
}

/* One run, without an observer. */
static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_problem *p = NULL;
  hvi_solver *solver = NULL;
  hvi_settings s;
  double f_seconds = NAN;
  hvi_status status = hvi_cell_settings(&s, c, err);
  s.max_outer = c->part->scale.iterations;
  if (!status) status = hvi_cell_problem(&p, c, 0, err);
  if (!status) status = time_operator(&f_seconds, p, err);
  if (!status) status = hvi_solver_new(&solver, p, &s, err);
  if (!status) {
    const double start = hvi_clock_now();
    hvi_solver_run(solver);
    const double seconds = hvi_clock_now() - start;
    const hvi_info info = hvi_solver_info(solver);
    const hvi_counts *n = &info.last.counts;
    const double row[] = {info.last.outer < s.max_outer ? NAN : 1e3 * seconds,
                          (double)n->f_evals,
                          (double)n->model_passes,
                          (double)n->grad_evals,
                          (double)info.inner_total,
                          1e9 * f_seconds};
    status = hvi_rows_add(rows, 0, row, err);
  }
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return status;
}

/* The method that others are compared with: GDA where there is one, or the first. */
static size_t find_base(const hvi_part *p) {
  for (size_t m = 0; m < p->method_count; m++)
    if (strcmp(p->methods[m].label, "GDA") == 0) return m;
  return 0;
}

/* The fastest of a method's repeats. */
static hvi_status derive(hvi_study *study, hvi_part *part, hvi_error *err) {
  const hvi_column own[] = {
      {"method", part->factors[part->factor_count - 1].text},
      {.name =
           "milliseconds ratio_to_gda ns_per_iteration f_evals model_passes grad_evals inner f_ns"},
      {0}};
  hvi_status status = hvi_study_add_table(study, part, "times", own, NULL, err);
  if (status) return status;
  const hvi_table *t = hvi_study_table(study, part, "repeats");
  hvi_table *times = hvi_study_table(study, part, "times");
  const size_t first = hvi_table_find(t, "milliseconds"), methods = part->method_count;
  double base = NAN;
  for (size_t k = 0; k <= methods && !status; k++) {
    const size_t m = k == 0 ? find_base(part) : k - 1;
    double best = NAN, f = NAN;
    for (size_t i = m; i < t->rows; i += methods) {
      best = fmin(best, hvi_table_get(t, i, first));
      f = fmin(f, hvi_table_get(t, i, first + 5));
    }
    if (k == 0) {
      base = best;
      continue;
    }
    const double row[] = {(double)m,
                          best,
                          best / base,
                          1e6 * best / (double)part->scale.iterations,
                          hvi_table_get(t, m, first + 1),
                          hvi_table_get(t, m, first + 2),
                          hvi_table_get(t, m, first + 3),
                          hvi_table_get(t, m, first + 4),
                          f};
    status = hvi_table_add(times, row, err);
  }
  return status;
}

static const char defaults[] =
    "figures:\n"
    "  - panels:\n"
    "      - y: {label: 'milliseconds for {iterations} iterations', log: true, fit: true, below: "
    "3, above: 2}\n"
    "        series: [{table: times, x: method, y: milliseconds, mark: bars}]\n";

const hvi_kind hvi_kind_timing = {.name = "timing",
                                  .summary = "seconds that methods take on one problem",
                                  .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_REPEATS |
                                           HVI_KIND_ALONE,
                                  .tables = tables,
                                  .defaults = defaults,
                                  .run = run,
                                  .derive = derive};

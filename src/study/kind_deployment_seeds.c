/*
 * kind: deployment-seeds. Methods on a problem with one parameter whose observations are drawn, over
 * `instances` seeds: the error by deployments, at some that grow apart.
 *
 * Factors that it knows: `stable`, where errors are measured from (the problem's solution where there
 * is none), batch and growth (the k-th deployment has batch * k^growth observations), and `late`, the
 * deployment from which on the exponent of the mean square error in the observations is taken.
 */
#include "base/base.h"
#include "base/parallel.h"
#include "num/stats.h"
#include "study/kinds.h"

#include <stdatomic.h>

enum { ERRORS, SUMMARY };

typedef struct seeds {
  const hvi_cell *cell;
  hvi_settings settings;
  double stable;
  size_t count, rows;
  double *errors; /* [rows][count] */
  atomic_bool stopped;
} seeds;

/* One seed, and the row that it is at. */
typedef struct watcher {
  const seeds *all;
  size_t seed, row, next;
} watcher;

/* The deployment after t whose error is kept: each of the first 100, then 2 % apart. */
static size_t after(size_t t, size_t last) {
  const size_t next = t < 100 ? t + 1 : t + t / 50;
  return next < last ? next : last;
}

static bool observe(void *context, const hvi_record *r) {
  watcher *w = context;
  if (r->outer != w->next || w->row == w->all->rows) return true;
  w->all->errors[w->row++ * w->all->count + w->seed] = r->theta[0] - w->all->stable;
  w->next = after(w->next, w->all->settings.max_outer);
  return true;
}

static hvi_status run_seed(void *context, size_t seed, size_t worker, hvi_error *err) {
  seeds *all = context;
  watcher w = {.all = all, .seed = seed, .next = 1};
  hvi_settings s = all->settings;
  hvi_info info;
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  if (worker == 0 && !hvi_cell_tick(all->cell, (double)seed / (double)all->count))
    all->stopped = true;
  if (all->stopped) return HVI_OK;
  HVI_TRY(hvi_cell_problem(&p, all->cell, 0, err));
  s.seed = all->cell->part->seed + seed;
  return hvi_solve(&info, p, &s, observe, &w, err);
}

/* Sums of a line log y = c + slope * log x. */
typedef struct line {
  double n, x, y, xx, xy;
} line;

static void add_point(line *l, double x, double y) {
  l->n += 1.0, l->x += x, l->y += y, l->xx += x * x, l->xy += x * y;
}

static hvi_status add_rows(hvi_rows *rows, const seeds *all, hvi_error *err) {
  const hvi_cell *c = all->cell;
  const double n = (double)all->count, late = hvi_cell_number(c, "late");
  const double batch = hvi_cell_number_or(c, "batch", 1.0);
  const double growth = hvi_cell_number_or(c, "growth", 0.0), *last = all->errors;
  double samples = 0.0;
  line l = {0};
  for (size_t row = 0, t = 1, k = 1; row < all->rows; row++) {
    double square = 0.0;
    last = all->errors + row * all->count;
    for (; k <= t; k++) samples += floor(batch * pow((double)k, growth));
    for (size_t i = 0; i < all->count; i++) square += last[i] * last[i];
    square /= n;
    if (!((double)t < late)) add_point(&l, log(samples), log(square));
    const double values[] = {(double)t, samples, square, sqrt(square)};
    HVI_TRY(hvi_rows_add(rows, ERRORS, values, err));
    t = after(t, all->settings.max_outer);
  }
  const double values[] = {n, all->stable + hvi_stats_mean(last, all->count),
                           sqrt(hvi_stats_variance(last, all->count) / n),
                           (l.n * l.xy - l.x * l.y) / (l.n * l.xx - l.x * l.x)};
  return hvi_rows_add(rows, SUMMARY, values, err);
}

/* Where errors are measured from; the problem must have one parameter. */
static hvi_status find_stable(seeds *all, hvi_error *err) {
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  HVI_TRY(hvi_cell_problem(&p, all->cell, 0, err));
  all->stable = hvi_cell_number_or(all->cell, "stable", p->solution ? p->solution[0] : NAN);
  if (p->model->dim == 1 && !isnan(all->stable)) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                       "kind deployment-seeds needs a problem of one parameter, and the factor "
                       "'stable' where its solution is not known");
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  seeds all = {.cell = c, .count = c->part->scale.instances, .rows = 1};
  HVI_TRY(hvi_cell_settings(&all.settings, c, err));
  HVI_TRY(find_stable(&all, err));
  const size_t last = all.settings.max_outer = c->part->scale.iterations;
  for (size_t t = 1; t < last; t = after(t, last)) all.rows++;
  HVI_OWN double *errors = all.errors = hvi_alloc_doubles(all.count * all.rows);
  if (!errors) return hvi_error_memory(err, "errors over seeds");
  for (size_t i = 0; i < all.count * all.rows; i++) errors[i] = NAN;
  HVI_TRY(hvi_parallel_run(all.count, c->study->settings->threads, run_seed, &all, err));
  return all.stopped ? HVI_OK : add_rows(rows, &all, err);
}

/* summary: theta at the end, its mean over the seeds, and the standard error of that; and how fast
 * it got there */
const hvi_kind hvi_kind_deployment_seeds = {
    .name = "deployment-seeds",
    .summary = "errors by deployments, over many seeds",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_ALONE,
    .tables = {[ERRORS] = {"", {{.name = "deployment samples mean_square rms"}}, NULL},
               [SUMMARY] = {"summary", {{.name = "seeds mean standard_error exponent"}}, NULL}},
    .run = run};

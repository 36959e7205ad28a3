/*
 * performative-mean: greedy and lazy deployment, over deployments and over observations.
 *
 * Greedy: one observation, one step, eta_t = 1 / (1 + (1 - eps) t / 2). Lazy: the k-th deployment
 * collects 10 k observations and goes to their mean. Errors are kept at rows that grow apart.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "experiments/performative.h"
#include "num/stats.h"
#include "report/csv.h"

#include <math.h>
#include <stdio.h>

enum { PLANS = HVI_MEAN_PLANS, BATCH = 10, MOST_ROWS = 1000 };

static const double eps = 0.9, stable = 100.0;

/* One plan over all seeds. */
typedef struct plan {
  const char *name;
  uint64_t seed;
  size_t seeds, deployments, rows;
  size_t at[MOST_ROWS]; /* [rows] deployments whose errors are kept */
  double *errors;       /* [seeds][rows] theta - stable */
} plan;

typedef struct tap {
  const plan *plan;
  double *errors;
  size_t row;
} tap;

static bool observe(void *context, const hvi_record *record) {
  tap *t = context;
  if (t->row < t->plan->rows && record->outer == t->plan->at[t->row]) {
    t->errors[t->row++] = record->theta[0] - stable;
  }
  return true;
}

static hvi_status run_seed(void *context, size_t index, size_t worker, hvi_error *err) {
  (void)worker;
  const plan *p = context;
  const bool lazy = p->name[0] == 'l';
  const hvi_option options[] = {{"eps", "0.9"}, {"batch", "10"}, {"growth", "1"}};
  tap t = {.plan = p, .errors = p->errors + index * p->rows};
  hvi_settings s = hvi_deploy_method("gd", 1.0, 1);
  if (!lazy) s.eta_decay = 0.5 * (1.0 - eps);
  s.max_outer = p->deployments;
  s.seed = p->seed + index;
  s.observe = observe;
  s.observer_context = &t;
  hvi_problem *problem;
  hvi_solver *solver;
  hvi_status status =
      hvi_builtin_new(&problem, "performative-mean", options, lazy ? 3 : 1, s.seed, 0, err);
  if (status) return status;
  status = hvi_solver_new(&solver, problem, &s, err);
  if (!status) {
    hvi_solver_run(solver);
    hvi_solver_free(solver);
  }
  hvi_problem_free(problem);
  return status;
}

static hvi_status run_plan(plan *p, size_t threads, hvi_error *err) {
  size_t t = 1;
  for (; t < p->deployments; t = t < 100 ? t + 1 : t + t / 50) p->at[p->rows++] = t;
  p->at[p->rows++] = p->deployments;
  p->errors = hvi_alloc_doubles(p->seeds * p->rows);
  if (!p->errors) return hvi_error_memory(err, "errors");
  return hvi_parallel_run(p->seeds, threads, run_seed, p, err);
}

/* Observations up to and with deployment k. */
static double samples(const plan *p, double k) {
  return p->name[0] == 'l' ? BATCH * 0.5 * k * (k + 1.0) : k;
}

static double mean_square(const plan *p, size_t row) {
  double sum = 0.0;
  for (size_t s = 0; s < p->seeds; s++) {
    sum += p->errors[s * p->rows + row] * p->errors[s * p->rows + row];
  }
  return sum / (double)p->seeds;
}

static hvi_status write_plan(const hvi_run *run, const plan *p, hvi_error *err) {
  hvi_csv csv;
  char name[32];
  snprintf(name, sizeof name, "mean-%s", p->name);
  char *path = hvi_run_path(run, name, ".csv");
  hvi_status status = path ? hvi_csv_open(&csv, path, "deployment,samples,rms", err)
                           : hvi_error_memory(err, "a path");
  hvi_free(path);
  if (status) return status;
  for (size_t r = 0; r < p->rows; r++) {
    hvi_csv_count(&csv, p->at[r]);
    hvi_csv_number(&csv, samples(p, (double)p->at[r]));
    hvi_csv_number(&csv, sqrt(mean_square(p, r)));
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* First deployment from which the root mean square error stays below the goal. */
static double reached(const plan *p, double goal) {
  size_t r = p->rows;
  while (r > 0 && mean_square(p, r - 1) <= goal * goal) r--;
  return r < p->rows ? (double)p->at[r] : INFINITY;
}

/* Slope of log mean square error against log samples, from deployment `first` on. */
static double late_slope(const plan *p, size_t first) {
  double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0, n = 0.0;
  for (size_t r = 0; r < p->rows; r++) {
    if (p->at[r] < first) continue;
    const double x = log(samples(p, (double)p->at[r])), y = log(mean_square(p, r));
    sx += x, sy += y, sxx += x * x, sxy += x * y, n += 1.0;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static hvi_status collect(hvi_mean_figures *f, const plan *plans, hvi_error *err) {
  f->seeds = plans->seeds;
  f->stable = stable;
  f->goal = 0.05;
  double *last = hvi_alloc_doubles(f->seeds);
  if (!last) return hvi_error_memory(err, "errors");
  for (size_t k = 0; k < PLANS; k++) {
    const plan *p = &plans[k];
    for (size_t s = 0; s < f->seeds; s++) last[s] = p->errors[s * p->rows + p->rows - 1];
    f->mean[k] = stable + hvi_stats_mean(last, f->seeds);
    f->error[k] = sqrt(hvi_stats_variance(last, f->seeds) / (double)f->seeds);
    f->rms[k] = sqrt(mean_square(p, p->rows - 1));
    f->deployments[k] = reached(p, f->goal);
    f->samples[k] = samples(p, f->deployments[k]);
    /* the lazy one first has to forget its start, at 0.9 a deployment */
    f->slope[k] = late_slope(p, k == HVI_LAZY ? 110 : p->deployments / 4);
  }
  hvi_free(last);
  return HVI_OK;
}

static hvi_status draw(hvi_run *run, hvi_error *err) {
  static const hvi_series by_deployment[] = {
      {"greedy: 1 observation a deployment", "mean-greedy.csv", "deployment", "rms", NULL,
       HVI_MARK_LINE, 0},
      {"lazy: 10 k observations at the k-th", "mean-lazy.csv", "deployment", "rms", NULL,
       HVI_MARK_LINE, 1}};
  hvi_series by_sample[2];
  for (size_t i = 0; i < 2; i++) {
    by_sample[i] = by_deployment[i];
    by_sample[i].x = "samples";
  }
  const hvi_axis error = {.label = "root mean square error", .log = true};
  const hvi_panel panels[] = {{.title = "Over deployments",
                               .x = {.label = "deployments", .log = true},
                               .y = error,
                               .series_count = 2,
                               .series = by_deployment},
                              {.title = "Over observations",
                               .x = {.label = "observations", .log = true},
                               .y = error,
                               .series_count = 2,
                               .series = by_sample}};
  const hvi_plot plot = {.name = "performative-mean",
                         .title = "A mean that answers to its estimate: ε = 0.9, stable at 100",
                         .panel_count = 2,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

hvi_status hvi_performative_mean_part(hvi_run *run, hvi_error *err) {
  const size_t seeds = run->full ? 2000 : 200;
  plan plans[PLANS] = {
      {.name = "greedy", .deployments = run->full ? 100000 : 20000},
      {.name = "lazy", .deployments = run->full ? 500 : 300},
  };
  hvi_mean_figures f = {0};
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < PLANS && !status; k++) {
    plans[k].seed = run->experiment->seed;
    plans[k].seeds = seeds;
    status = run_plan(&plans[k], run->threads, err);
    if (!status) status = write_plan(run, &plans[k], err);
  }
  if (!status) status = collect(&f, plans, err);
  for (size_t k = 0; k < PLANS; k++) hvi_free(plans[k].errors);
  if (!status) status = draw(run, err);
  if (!status) hvi_claims_performative_mean(run->claims, &f);
  return status;
}

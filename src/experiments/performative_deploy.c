/* Solves seen deployment by deployment. */
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "experiments/performative.h"
#include "num/vec.h"
#include "report/csv.h"

#include <math.h>
#include <stdio.h>

enum { RETRAIN_STEPS = 8 };

typedef struct tap {
  hvi_deploy_job *job;
  const hvi_problem *problem;
  double *before; /* [d] theta of the deployment before */
  hvi_status status;
  hvi_error *err;
} tap;

hvi_status hvi_deploy_retrain(double *gap, const hvi_problem *p, const double *theta, uint64_t seed,
                              hvi_error *err) {
  hvi_settings s = hvi_deploy_method("lm", 1.0, RETRAIN_STEPS);
  s.inner.adapt_damping = true;
  s.max_outer = 1;
  s.theta0 = theta;
  s.seed = seed;
  hvi_solver *solver;
  hvi_status status = hvi_solver_new(&solver, p, &s, err);
  if (status) return status;
  hvi_solver_run(solver);
  const hvi_record last = hvi_solver_info(solver).last;
  *gap = last.loss0 - last.loss;
  hvi_solver_free(solver);
  return HVI_OK;
}

static hvi_status measure(tap *t, hvi_deployment *row, const double *theta) {
  hvi_deploy_job *job = t->job;
  hvi_status status = HVI_OK;
  if (job->measured) status = hvi_performative_measure(&row->measures, t->problem, theta, t->err);
  if (status || !job->retrain_every || (job->count - 1) % job->retrain_every != 0) return status;
  /* the same draw for every method, and none that a method was trained on */
  return hvi_deploy_retrain(&row->measures.gap, t->problem, theta, job->seed + 1000003, t->err);
}

static bool observe(void *context, const hvi_record *record) {
  tap *t = context;
  hvi_deploy_job *job = t->job;
  const size_t every = job->settings.redraw_every ? job->settings.redraw_every : 1;
  const size_t d = t->problem->model->dim;
  if (record->outer % every != 0 || job->count > job->rounds) return true;
  hvi_deployment *row = &job->rows[job->count++];
  *row = (hvi_deployment){.dist2 = record->dist2,
                          .step = sqrt(hvi_vec_dist2(record->theta, t->before, d)),
                          .measures = {NAN, NAN, NAN, NAN, NAN}};
  if (record->outer == 0) row->step = NAN;
  hvi_vec_copy(t->before, record->theta, d);
  t->status = measure(t, row, record->theta);
  return t->status == HVI_OK;
}

static hvi_status solve(tap *t, hvi_error *err) {
  hvi_deploy_job *job = t->job;
  hvi_settings s = job->settings;
  s.max_outer = job->rounds * (s.redraw_every ? s.redraw_every : 1);
  s.seed = job->seed;
  s.observe = observe;
  s.observer_context = t;
  hvi_solver *solver;
  hvi_status status = hvi_solver_new(&solver, t->problem, &s, err);
  if (status) return status;
  job->outcome = hvi_solver_run(solver);
  hvi_solver_free(solver);
  return t->status;
}

static hvi_status run_job(void *context, size_t index, size_t worker, hvi_error *err) {
  (void)worker;
  hvi_deploy_job *job = (hvi_deploy_job *)context + index;
  hvi_problem *p;
  hvi_status status = hvi_builtin_new(&p, job->problem, job->options, job->option_count, job->seed,
                                      job->instance, err);
  if (status) return status;
  tap t = {.job = job, .problem = p, .before = hvi_alloc_doubles(p->model->dim), .err = err};
  job->rows = hvi_alloc(job->rounds + 1, sizeof *job->rows);
  status = t.before && job->rows ? solve(&t, err) : hvi_error_memory(err, "deployments");
  hvi_free(t.before);
  hvi_problem_free(p);
  return status;
}

hvi_status hvi_deploy_run(hvi_deploy_job *jobs, size_t count, size_t threads, hvi_error *err) {
  return hvi_parallel_run(count, threads, run_job, jobs, err);
}

void hvi_deploy_free(hvi_deploy_job *jobs, size_t count) {
  for (size_t i = 0; i < count; i++) hvi_free(jobs[i].rows);
}

double hvi_deploy_dist2(const hvi_deployment *row) { return row->dist2; }
double hvi_deploy_gap(const hvi_deployment *row) { return row->measures.gap; }

double hvi_deploy_end(const hvi_deploy_job *job) {
  if (job->outcome == HVI_DIVERGED || job->count == 0) return INFINITY;
  return job->rows[job->count - 1].dist2;
}

static bool any_value(const hvi_deploy_job *jobs, size_t count, hvi_deploy_value value, size_t t) {
  for (size_t i = 0; i < count; i++) {
    if (t < jobs[i].count && !isnan(value(&jobs[i].rows[t]))) return true;
  }
  return false;
}

hvi_status hvi_deploy_table(const hvi_run *run, const char *name, const hvi_deploy_job *jobs,
                            size_t count, const char *const *columns, hvi_deploy_value value,
                            hvi_error *err) {
  char header[512] = "deployment";
  size_t rows = 0, used = sizeof "deployment" - 1;
  for (size_t i = 0; i < count; i++) {
    used += (size_t)snprintf(header + used, sizeof header - used, ",%s", columns[i]);
    rows = jobs[i].count > rows ? jobs[i].count : rows;
  }
  hvi_csv csv;
  char *path = hvi_run_path(run, name, ".csv");
  hvi_status status =
      path ? hvi_csv_open(&csv, path, header, err) : hvi_error_memory(err, "a path");
  hvi_free(path);
  if (status) return status;
  for (size_t t = 0; t < rows; t++) {
    if (!any_value(jobs, count, value, t)) continue;
    hvi_csv_count(&csv, t);
    for (size_t i = 0; i < count; i++) {
      const double x = t < jobs[i].count ? value(&jobs[i].rows[t]) : NAN;
      /* what has run away only squeezes the picture */
      hvi_csv_number(&csv, x > 1e12 ? NAN : x);
    }
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

hvi_settings hvi_deploy_method(const char *method, double eta, size_t inner) {
  hvi_settings s = hvi_settings_defaults();
  hvi_method_find(method)->apply(&s);
  s.eta = eta;
  s.inner_steps = inner;
  s.stall_window = 0;
  return s;
}

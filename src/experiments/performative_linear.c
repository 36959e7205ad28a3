/*
 * performative-linear: distance to the stable point over deployments, below and beyond
 * beta / mu = 1.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/performative.h"

#include <hvi/theory.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 4, METHODS = HVI_LINEAR_METHODS, BEYOND = 4, KINDS = 2 };

static const char *const eps_names[CASES] = {"0.3", "0.6", "0.9", "1.1"};
static const char *const kind_names[KINDS] = {"orthogonal", "skew"};
static const char *const method_columns[METHODS] = {"rrm", "rgd", "surr_gd", "lm"};
static const char *const beyond_columns[BEYOND] = {"rrm", "smaller", "optimistic", "averaged"};

/* Repeated risk minimisation: inner solves to five digits. */
static hvi_settings exact_inner(double eta) {
  hvi_settings s = hvi_deploy_method("lm", eta, 60);
  s.inner.damping = 1e-6;
  s.alpha = 1e-5;
  return s;
}

/* At rounding, and when far away: inner solves make no sense there. */
static void stop_in_time(hvi_settings *s) {
  s->tol = 1e-13;
  s->growth_bound = 1e6;
}

static hvi_deploy_job make_job(const hvi_run *run, const char *eps, const char *kind,
                               uint64_t instance, size_t rounds) {
  return (hvi_deploy_job){.problem = "performative-linear",
                          .option_count = 2,
                          .options = {{"eps", eps}, {"kind", kind}},
                          .seed = run->experiment->seed,
                          .instance = instance,
                          .rounds = rounds};
}

static void set_methods(hvi_deploy_job *jobs, const hvi_run *run, size_t c, uint64_t instance) {
  for (size_t m = 0; m < METHODS; m++) {
    jobs[m] = make_job(run, eps_names[c], "orthogonal", instance, run->full ? 400 : 200);
  }
  jobs[0].settings = exact_inner(1.0);
  jobs[1].settings = hvi_deploy_method("gd", 1.0, 1);
  jobs[2].settings = hvi_deploy_method("gd", 1.0, 10);
  jobs[3].settings = hvi_deploy_method("lm", 1.0, 1);
  for (size_t m = 0; m < METHODS; m++) stop_in_time(&jobs[m].settings);
}

/* RRM, and three ways to go slower, at eps = 1.1. */
static void set_beyond(hvi_deploy_job *jobs, const hvi_run *run, const char *kind) {
  for (size_t m = 0; m < BEYOND; m++) {
    jobs[m] = make_job(run, "1.1", kind, 0, run->full ? 300 : 120);
    jobs[m].settings = exact_inner(m == 0 || m == 3 ? 1.0 : m == 1 ? 0.45 : 0.3);
  }
  jobs[2].settings.target = HVI_TARGET_OPTIMISTIC;
  jobs[3].settings.target = HVI_TARGET_AVERAGED;
  jobs[3].settings.average = 3;
  for (size_t m = 0; m < BEYOND; m++) stop_in_time(&jobs[m].settings);
}

/* Largest |z_{t+1} - z*|^2 / |z_t - z*|^2 before rounding. */
static double worst_ratio(const hvi_deploy_job *job) {
  double worst = 0.0;
  for (size_t t = 1; t < job->count; t++) {
    const double before = job->rows[t - 1].dist2;
    if (before > 1e-18) worst = fmax(worst, job->rows[t].dist2 / before);
  }
  return worst;
}

static double end_over_start(const hvi_deploy_job *job) {
  return hvi_deploy_end(job) / job->rows[0].dist2;
}

/* The theorem's own settings; returns the largest contraction over 1 - mu^2 / 5 L^2. */
static hvi_status run_theorem(double *over, const hvi_run *run, const char *eps, hvi_error *err) {
  hvi_deploy_job job = make_job(run, eps, "orthogonal", 0, 60);
  hvi_problem *p;
  hvi_constants c;
  hvi_status status = hvi_builtin_new(&p, job.problem, job.options, 2, job.seed, 0, err);
  if (status) return status;
  status = hvi_problem_constants(&c, p, err);
  hvi_problem_free(p);
  if (status) return status;
  job.settings = hvi_deploy_method("gd", 1.0, 1000);
  job.settings.step_rule = HVI_STEP_THEOREM;
  job.settings.alpha = c.mu / (2.0 * c.lipschitz);
  status = hvi_deploy_run(&job, 1, 1, err);
  const hvi_rates r = hvi_theory_rates(c.mu, c.lipschitz, 0.0, 0.0);
  if (!status) *over = fmax(*over, worst_ratio(&job) / r.rho_theorem);
  hvi_deploy_free(&job, 1);
  return status;
}

static void collect(hvi_linear_figures *f, const hvi_deploy_job *jobs, size_t instances) {
  for (size_t i = 0; i < instances; i++) {
    for (size_t c = 0; c + 1 < CASES; c++) {
      const hvi_deploy_job *at = jobs + (i * CASES + c) * METHODS;
      const double eps = strtod(eps_names[c], NULL);
      for (size_t m = 0; m < METHODS; m++) f->end[m] = fmax(f->end[m], end_over_start(at + m));
      f->rrm_over = fmax(f->rrm_over, worst_ratio(at) / (eps * eps));
      f->runs += METHODS;
    }
  }
}

static void collect_beyond(hvi_linear_figures *f, const hvi_deploy_job *jobs) {
  for (size_t k = 0; k < KINDS; k++) {
    const hvi_deploy_job *at = jobs + k * BEYOND;
    f->beyond_growth[k] = at->rows[at->count - 1].dist2 / at->rows[at->count - 2].dist2;
    for (size_t m = 0; m < 3; m++) f->beyond_end[k][m] = end_over_start(at + 1 + m);
  }
}

static hvi_status write_tables(const hvi_run *run, const hvi_deploy_job *jobs,
                               const hvi_deploy_job *beyond, hvi_error *err) {
  hvi_status status = HVI_OK;
  char name[48];
  for (size_t c = 0; c < CASES && !status; c++) {
    snprintf(name, sizeof name, "linear-%s", eps_names[c]);
    status = hvi_deploy_table(run, name, jobs + c * METHODS, METHODS, method_columns,
                              hvi_deploy_dist2, err);
  }
  for (size_t k = 0; k < KINDS && !status; k++) {
    snprintf(name, sizeof name, "beyond-%s", kind_names[k]);
    status = hvi_deploy_table(run, name, beyond + k * BEYOND, BEYOND, beyond_columns,
                              hvi_deploy_dist2, err);
  }
  return status;
}

static hvi_status draw_methods(hvi_run *run, hvi_error *err) {
  static const char *const labels[METHODS] = {"RRM", "RGD", "Surr-GD(10)", "LM(1)"};
  static const double ends[CASES] = {60, 100, 200, 150};
  hvi_series series[CASES][METHODS];
  hvi_panel panels[CASES];
  char files[CASES][32], titles[CASES][48];
  for (size_t c = 0; c < CASES; c++) {
    snprintf(files[c], sizeof files[c], "linear-%s.csv", eps_names[c]);
    snprintf(titles[c], sizeof titles[c], "β / μ = ε = %s", eps_names[c]);
    for (size_t m = 0; m < METHODS; m++) {
      series[c][m] = (hvi_series){labels[m],     files[c], "deployment", method_columns[m], NULL,
                                  HVI_MARK_LINE, m};
    }
    panels[c] = (hvi_panel){
        .title = titles[c],
        .x = {.label = "deployment", .high = ends[c]},
        .y = hvi_axis_log("|z − z*|^2", c == CASES - 1 ? 1.0 : 1e-16, c == CASES - 1 ? 1e10 : 10.0),
        .series_count = METHODS,
        .series = series[c]};
  }
  const hvi_plot plot = {.name = "performative-linear",
                         .title = "Targets that answer linearly: distance to the stable point",
                         .columns = 2,
                         .panel_count = CASES,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

static hvi_status draw_beyond(hvi_run *run, hvi_error *err) {
  static const char *const labels[BEYOND] = {"RRM, η = 1", "η = 0.45", "optimistic, η = 0.3",
                                             "mean of 3 targets, η = 1"};
  static const char *const titles[KINDS] = {"M orthogonal: F not monotone",
                                            "M skew: F monotone, μ_F = 1"};
  hvi_series series[KINDS][BEYOND];
  hvi_panel panels[KINDS];
  char files[KINDS][32];
  for (size_t k = 0; k < KINDS; k++) {
    snprintf(files[k], sizeof files[k], "beyond-%s.csv", kind_names[k]);
    for (size_t m = 0; m < BEYOND; m++) {
      series[k][m] = (hvi_series){labels[m],     files[k], "deployment", beyond_columns[m], NULL,
                                  HVI_MARK_LINE, m};
    }
    panels[k] = (hvi_panel){.title = titles[k],
                            .x = {.label = "deployment"},
                            .y = hvi_axis_log("|z − z*|^2", 1e-16, 1e11),
                            .series_count = BEYOND,
                            .series = series[k]};
  }
  const hvi_plot plot = {.name = "performative-beyond",
                         .title = "Beyond the contraction test: β / μ = 1.1",
                         .panel_count = KINDS,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

static hvi_status run_jobs(hvi_linear_figures *f, hvi_run *run, hvi_deploy_job *jobs,
                           size_t instances, hvi_error *err) {
  const size_t main_count = instances * CASES * METHODS, count = main_count + KINDS * BEYOND;
  for (size_t i = 0; i < instances; i++) {
    for (size_t c = 0; c < CASES; c++) {
      set_methods(jobs + (i * CASES + c) * METHODS, run, c, i);
    }
  }
  for (size_t k = 0; k < KINDS; k++) {
    set_beyond(jobs + main_count + k * BEYOND, run, kind_names[k]);
  }
  hvi_status status = hvi_deploy_run(jobs, count, run->threads, err);
  for (size_t c = 0; c + 1 < CASES && !status; c++) {
    status = run_theorem(&f->theorem_over, run, eps_names[c], err);
  }
  if (status) return status;
  collect(f, jobs, instances);
  collect_beyond(f, jobs + main_count);
  return write_tables(run, jobs, jobs + main_count, err);
}

hvi_status hvi_performative_linear_part(hvi_run *run, hvi_error *err) {
  const size_t instances = run->full ? 10 : 1;
  const size_t count = instances * CASES * METHODS + KINDS * BEYOND;
  hvi_linear_figures f = {0};
  hvi_deploy_job *jobs = hvi_alloc(count, sizeof *jobs);
  if (!jobs) return hvi_error_memory(err, "deployments");
  hvi_status status = run_jobs(&f, run, jobs, instances, err);
  hvi_deploy_free(jobs, count);
  hvi_free(jobs);
  if (!status) status = draw_methods(run, err);
  if (!status) status = draw_beyond(run, err);
  if (!status) hvi_claims_performative_linear(run->claims, &f);
  return status;
}

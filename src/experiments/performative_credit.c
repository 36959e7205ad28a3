/* credit: the performative gap and the distance to the stable point over rounds, by eps. */
#include "experiments/performative.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = HVI_CREDIT_CASES, METHODS = 4, ROUNDS = 25 };

static const char *const eps_names[CASES] = {"0.01", "1", "100", "1000"};
/* Steps that solve a frozen problem. A shift of eps |theta_S|^2 drives every sigmoid to its end,
 * from where steps are of size 4 at most: strong answers take many. */
static const size_t lazy_steps[CASES] = {80, 80, 80, 300};
static const char *const columns[METHODS] = {"rrm", "rgd", "surr_gd", "lm"};

/* Lazy deployment until the frozen problem is solved, then single steps of three kinds. */
static void set_methods(hvi_deploy_job *jobs, const hvi_run *run, size_t c) {
  for (size_t m = 0; m < METHODS; m++) {
    jobs[m] =
        (hvi_deploy_job){.problem = "credit",
                         .option_count = 2,
                         .options = {{"eps", eps_names[c]}, {"rows", run->full ? "18357" : "2000"}},
                         .seed = run->experiment->seed,
                         .rounds = ROUNDS,
                         .measured = true};
  }
  jobs[0].settings = hvi_deploy_method("lm", 4.0, 1);
  jobs[0].settings.inner.damping = 1e-9;
  jobs[0].settings.redraw_every = lazy_steps[c];
  jobs[1].settings = hvi_deploy_method("gd", 4.0, 1);
  jobs[2].settings = hvi_deploy_method("gd", 4.0, 20);
  jobs[3].settings = hvi_deploy_method("lm", 4.0, 1);
  jobs[1].settings.inner.lr = jobs[2].settings.inner.lr = 0.25;
  jobs[3].settings.inner.damping = 1e-6;
}

static double end_gap(const hvi_deploy_job *job) {
  if (job->outcome == HVI_DIVERGED) return INFINITY;
  return job->rows[job->count - 1].measures.gap / job->rows[0].measures.gap;
}

static void collect(hvi_credit_figures *f, const hvi_deploy_job *jobs, size_t c) {
  f->eps[c] = strtod(eps_names[c], NULL);
  f->rrm_second[c] = jobs[0].count > 2 ? jobs[0].rows[2].dist2 / jobs[0].rows[0].dist2 : INFINITY;
  f->rgd_end[c] = end_gap(&jobs[1]);
  f->gd_end[c] = end_gap(&jobs[2]);
  f->lm_end[c] = end_gap(&jobs[3]);
}

/* A gap below the rounding of a loss counts as that: zero has no place on a logarithmic axis. */
static double visible_gap(const hvi_deployment *row) {
  return row->measures.gap < 1e-15 ? 1e-15 : row->measures.gap;
}

static hvi_status write_tables(const hvi_run *run, const hvi_deploy_job *jobs, hvi_error *err) {
  hvi_status status = HVI_OK;
  char name[48];
  for (size_t c = 0; c < CASES && !status; c++) {
    snprintf(name, sizeof name, "credit-gap-%s", eps_names[c]);
    status = hvi_deploy_table(run, name, jobs + c * METHODS, METHODS, columns, visible_gap, err);
    snprintf(name, sizeof name, "credit-distance-%s", eps_names[c]);
    if (!status) {
      status =
          hvi_deploy_table(run, name, jobs + c * METHODS, METHODS, columns, hvi_deploy_dist2, err);
    }
  }
  return status;
}

static hvi_status draw(hvi_run *run, hvi_error *err) {
  static const char *const labels[METHODS] = {"RRM", "RGD", "Surr-GD(20)", "LM(1)"};
  hvi_series series[CASES][METHODS];
  hvi_panel panels[CASES];
  char files[CASES][40], titles[CASES][32];
  for (size_t c = 0; c < CASES; c++) {
    snprintf(files[c], sizeof files[c], "credit-gap-%s.csv", eps_names[c]);
    snprintf(titles[c], sizeof titles[c], "ε = %s", eps_names[c]);
    for (size_t m = 0; m < METHODS; m++) {
      series[c][m] =
          (hvi_series){labels[m], files[c], "deployment", columns[m], NULL, HVI_MARK_LINE, m};
    }
    panels[c] = (hvi_panel){.title = titles[c],
                            .x = {.label = "deployment"},
                            .y = hvi_axis_log("performative gap", 1e-15, c < 2 ? 1.0 : 1e6),
                            .series_count = METHODS,
                            .series = series[c]};
  }
  const hvi_plot plot = {.name = "performative-credit",
                         .title = "Borrowers who answer: what retraining would gain",
                         .columns = 2,
                         .panel_count = CASES,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

/* The eps that the test in the parameters covers. */
static hvi_status find_limit(double *limit, const hvi_run *run, hvi_error *err) {
  const hvi_option rows = {"rows", run->full ? "18357" : "2000"};
  hvi_problem *p;
  hvi_performative_coverage cover;
  hvi_status status = hvi_builtin_new(&p, "credit", &rows, 1, run->experiment->seed, 0, err);
  if (status) return status;
  hvi_performative_cover(&cover, p);
  *limit = cover.parameter_limit;
  hvi_problem_free(p);
  return HVI_OK;
}

hvi_status hvi_performative_credit_part(hvi_run *run, hvi_error *err) {
  hvi_deploy_job jobs[CASES * METHODS];
  hvi_credit_figures f = {0};
  for (size_t c = 0; c < CASES; c++) set_methods(jobs + c * METHODS, run, c);
  hvi_status status = hvi_deploy_run(jobs, CASES * METHODS, run->threads, err);
  if (!status) status = write_tables(run, jobs, err);
  for (size_t c = 0; c < CASES && !status; c++) collect(&f, jobs + c * METHODS, c);
  hvi_deploy_free(jobs, CASES * METHODS);
  if (!status) status = find_limit(&f.parameter_limit, run, err);
  if (!status) status = draw(run, err);
  if (!status) hvi_claims_performative_credit(run->claims, &f);
  return status;
}

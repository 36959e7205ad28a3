/*
 * credit-rir: what retraining would gain over rounds, by delta.
 *
 * A gap is measured on a fresh draw that no method was trained on, so a stable point has one too:
 * the gain of fitting d parameters to the n rows of that draw, about d sigma^2 / 2 n.
 */
#include "experiments/performative.h"
#include "problems/performative/rir_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = HVI_RIR_CASES, METHODS = 4, ROUNDS = 30 };

static const char *const delta_names[CASES] = {"0.1", "0.4", "0.7", "0.9"};
static const char *const columns[METHODS] = {"rrm", "rgd", "surr_gd", "lm"};

static void set_methods(hvi_deploy_job *jobs, const hvi_run *run, const char *delta) {
  const double size = 1.0 - strtod(delta, NULL);
  for (size_t m = 0; m < METHODS; m++) {
    jobs[m] =
        (hvi_deploy_job){.problem = "credit-rir",
                         .option_count = 2,
                         .options = {{"delta", delta}, {"rows", run->full ? "18357" : "1500"}},
                         .seed = run->experiment->seed,
                         .rounds = ROUNDS,
                         .measured = true,
                         .retrain_every = run->full ? 5 : 15};
  }
  jobs[0].settings = hvi_deploy_method("adam", 1.0, run->full ? 1000 : 100);
  jobs[0].settings.inner.lr = run->full ? 3e-4 : 3e-3;
  jobs[0].settings.keep_state = true;
  jobs[1].settings = hvi_deploy_method("gd", 1.0, 1);
  jobs[2].settings = hvi_deploy_method("gd", 1.0, 50);
  /* outputs and their derivatives scale with 1 - delta */
  jobs[1].settings.inner.lr = jobs[2].settings.inner.lr = 2.0 / (size * size);
  jobs[3].settings = hvi_deploy_method("lm", 1.0, 1);
  jobs[3].settings.inner.damping = 1e-3 * size * size;
}

static double loss_after(const hvi_deployment *row) { return row->measures.loss_after; }

static void collect(hvi_rir_figures *f, const hvi_deploy_job *jobs, size_t c, size_t rows) {
  const hvi_deploy_job *rrm = &jobs[0];
  const hvi_deployment *last = &rrm->rows[rrm->count - 1];
  f->delta[c] = strtod(delta_names[c], NULL);
  f->gap_start[c] = rrm->rows[0].measures.gap;
  f->gap_end[c] = last->measures.gap;
  f->noise[c] = (double)HVI_RIR_DIM / (double)rows * last->measures.loss_after;
  f->step_start[c] = rrm->rows[1].step;
  f->step_end[c] = last->step;
}

static hvi_status write_tables(const hvi_run *run, const hvi_deploy_job *jobs, hvi_error *err) {
  hvi_status status = HVI_OK;
  char name[48];
  for (size_t c = 0; c < CASES && !status; c++) {
    const hvi_deploy_job *at = jobs + c * METHODS;
    snprintf(name, sizeof name, "rir-gap-%s", delta_names[c]);
    status = hvi_deploy_table(run, name, at, METHODS, columns, hvi_deploy_gap, err);
    snprintf(name, sizeof name, "rir-loss-%s", delta_names[c]);
    if (!status) status = hvi_deploy_table(run, name, at, METHODS, columns, loss_after, err);
  }
  return status;
}

static hvi_status draw(hvi_run *run, hvi_error *err) {
  static const char *const labels[METHODS] = {"RRM (Adam)", "RGD", "Surr-GD(50)", "LM(1)"};
  static const char *const rows[2] = {"gap", "loss"};
  hvi_series series[2 * CASES][METHODS];
  hvi_panel panels[2 * CASES];
  char files[2 * CASES][32], titles[CASES][64];
  for (size_t k = 0; k < 2 * CASES; k++) {
    const size_t c = k % CASES;
    snprintf(files[k], sizeof files[k], "rir-%s-%s.csv", rows[k / CASES], delta_names[c]);
    snprintf(titles[c], sizeof titles[c], "δ = %s%s", delta_names[c],
             strtod(delta_names[c], NULL) > 0.5 ? ": covered" : ": not covered");
    for (size_t m = 0; m < METHODS; m++) {
      series[k][m] =
          (hvi_series){labels[m], files[k], "deployment", columns[m], NULL, HVI_MARK_LINE, m};
    }
    panels[k] =
        (hvi_panel){.title = titles[c],
                    .x = {.label = "deployment"},
                    .y = {.label = k < CASES ? "gap" : "loss after deployment", .log = k < CASES},
                    .series_count = METHODS,
                    .series = series[k]};
  }
  const hvi_plot plot = {.name = "performative-rir",
                         .title = "Resample if rejected: what retraining would gain, and the loss",
                         .columns = CASES,
                         .panel_count = 2 * CASES,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

hvi_status hvi_performative_rir_part(hvi_run *run, hvi_error *err) {
  hvi_deploy_job jobs[CASES * METHODS];
  hvi_rir_figures f = {0};
  for (size_t c = 0; c < CASES; c++) set_methods(jobs + c * METHODS, run, delta_names[c]);
  hvi_status status = hvi_deploy_run(jobs, CASES * METHODS, run->threads, err);
  if (!status) status = write_tables(run, jobs, err);
  for (size_t c = 0; c < CASES && !status; c++) {
    collect(&f, jobs + c * METHODS, c, run->full ? 18357 : 1500);
  }
  hvi_deploy_free(jobs, CASES * METHODS);
  if (!status) status = draw(run, err);
  if (!status) hvi_claims_performative_rir(run->claims, &f);
  return status;
}

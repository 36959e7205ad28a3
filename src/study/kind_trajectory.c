/* kind: trajectory. Every method on the fixed instance: a row an outer iteration. */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/runs.h"

enum { TRACE, SUMMARY };
enum { SHOWN = 16, FIRST_THETA = 13, COLUMNS = FIRST_THETA + 2 * SHOWN + 1 };

typedef struct keeper {
  const hvi_cell *cell;
  hvi_rows *rows;
  const hvi_problem *problem;
  size_t every;
  double last[COLUMNS]; /* held back until it is known whether it is the last */
  bool held;
  double *dist2, *ratio; /* [rows] of all iterations */
  size_t rows_seen;
  hvi_status status;
  hvi_error *err;
} keeper;

static void fill(double *x, const hvi_record *r, const hvi_problem *p) {
  const double head[] = {(double)r->outer,
                         (double)r->inner,
                         r->loss0,
                         r->loss,
                         r->ratio,
                         r->dist2,
                         r->residual,
                         (double)r->counts.f_evals,
                         (double)r->counts.model_passes,
                         (double)r->counts.grad_evals,
                         (double)r->counts.env_steps,
                         r->seconds,
                         r->alpha};
  const size_t d = p->model->dim, n = p->model->out;
  memcpy(x, head, sizeof head);
  for (size_t i = 0; i < SHOWN; i++) {
    x[FIRST_THETA + i] = d <= SHOWN && i < d ? r->theta[i] : NAN;
    x[FIRST_THETA + SHOWN + i] = n <= SHOWN && i < n ? r->z[i] : NAN;
  }
  x[COLUMNS - 1] = NAN;
}

static bool keep(void *context, const hvi_record *r) {
  keeper *k = context;
  if (k->held) k->status = hvi_rows_add(k->rows, TRACE, k->last, k->err);
  k->held = r->outer % k->every == 0;
  fill(k->last, r, k->problem);
  k->dist2[k->rows_seen] = r->dist2;
  k->ratio[k->rows_seen++] = r->ratio;
  const double all = (double)k->cell->part->scale.iterations;
  if (r->outer % 256 == 0 && !hvi_cell_tick(k->cell, (double)r->outer / all)) return false;
  return k->status == HVI_OK;
}

/* Of the ratios after the start that are finite. */
static double median(double *ratio, size_t rows) {
  size_t n = 0;
  for (size_t i = 1; i < rows; i++)
    if (isfinite(ratio[i])) ratio[n++] = ratio[i];
  return hvi_stats_quantile(ratio, n, 0.5);
}

static hvi_status sum_up(keeper *k, hvi_info info, hvi_error *err) {
  const hvi_record *last = &info.last;
  const hvi_stats_line line = hvi_stats_log_line(k->dist2, k->rows_seen, HVI_STUDY_ROUNDING);
  const double *z = k->problem->model->out == 2 ? k->problem->solution : NULL;
  const double row[] = {(double)info.outcome,
                        (double)last->outer,
                        (double)info.inner_total,
                        last->dist2,
                        last->residual,
                        line.slope,
                        line.r2,
                        median(k->ratio, k->rows_seen),
                        (double)last->counts.f_evals,
                        (double)last->counts.model_passes,
                        (double)last->counts.grad_evals,
                        last->seconds,
                        info.eta,
                        z ? z[0] : NAN,
                        z ? z[1] : NAN};
  return hvi_rows_add(k->rows, SUMMARY, row, err);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const size_t most = c->part->scale.iterations + 2;
  HVI_OWN double *memory = hvi_alloc_doubles(2 * most);
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  hvi_settings s;
  hvi_info info;
  if (!memory) return hvi_error_memory(err, "a trajectory");
  HVI_TRY(hvi_cell_problem(&p, c, 0, err));
  HVI_TRY(hvi_cell_settings(&s, c, err));
  keeper k = {.cell = c,
              .rows = rows,
              .problem = p,
              .every = most > 20000 ? 10 : 1,
              .dist2 = memory,
              .ratio = memory + most,
              .err = err};
  s.max_outer = c->part->scale.iterations;
  s.seed = c->part->seed;
  HVI_TRY(hvi_solve(&info, p, &s, keep, &k, err));
  HVI_TRY(k.status);
  k.last[COLUMNS - 1] = info.outcome == HVI_DIVERGED ? 1.0 : NAN;
  HVI_TRY(hvi_rows_add(rows, TRACE, k.last, err));
  return sum_up(&k, info, err);
}

/* Parameters and outputs are rows' columns where there are at most 16 of them. */
const hvi_kind hvi_kind_trajectory = {
    .name = "trajectory",
    .summary = "every method on one problem, step by step",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS,
    .tables =
        {[TRACE] = {"trace",
                    {{.name =
                          "outer inner loss0 loss ratio dist2 residual f_evals model_passes "
                          "grad_evals env_steps seconds alpha theta1 theta2 theta3 theta4 theta5 "
                          "theta6 theta7 theta8 theta9 theta10 theta11 theta12 theta13 theta14 "
                          "theta15 theta16 z1 z2 z3 z4 z5 z6 z7 z8 z9 z10 z11 z12 z13 z14 z15 z16 "
                          "diverged"}},
                    "method"},
         [SUMMARY] = {"summary",
                      {{"outcome", hvi_outcome_words},
                       {.name = "outer inner dist2 residual decades_per_iteration r2 median_ratio "
                                "f_evals model_passes grad_evals seconds eta solution1 solution2"}},
                      NULL}},
    .run = run};

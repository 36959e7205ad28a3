/*
 * kind: trajectory. Every method on the fixed instance: a row an outer iteration.
 *
 * Where eta is tuned (hvi_cell_tune) the trace is that of the eta that ends nearest, and `tried` has a
 * row for each: where it ends, and whether the theorem covers it, which is rho < 1 at this eta and the
 * worst alpha of the run. With `gradients` a run ends once so many have been computed.
 */
#include "base/base.h"
#include "study/kinds.h"
#include "study/runs.h"

#include <hvi/theory.h>

enum { TRACE, SUMMARY, TRIED };
enum { SHOWN = 16, FIRST_THETA = 13, COLUMNS = FIRST_THETA + 2 * SHOWN + 1 };

typedef struct keeper {
  const hvi_cell *cell;
  hvi_rows *rows;
  const hvi_problem *problem;
  size_t every;
  double gradients; /* that a run may compute */
  hvi_constants constants;
  bool trying;          /* nothing of the trace is kept */
  double last[COLUMNS]; /* held back until it is known whether it is the last */
  bool held;
  double *dist2, *ratio; /* [rows] of all iterations */
  size_t rows_seen;
  hvi_status status;
  hvi_error *err;
} keeper;

static void fill(double *x, const hvi_record *r, const hvi_problem *p) {
  const size_t d = p->model->dim, n = p->model->out;
  const hvi_counts *c = &r->counts;
  memcpy(x,
         (const double[]){(double)r->outer, (double)r->inner, r->loss0, r->loss, r->ratio, r->dist2,
                          r->residual, (double)c->f_evals, (double)c->model_passes,
                          (double)c->grad_evals, (double)c->env_steps, r->seconds, r->alpha},
         FIRST_THETA * sizeof *x);
  for (size_t i = 0; i < SHOWN; i++) {
    x[FIRST_THETA + i] = d <= SHOWN && i < d ? r->theta[i] : NAN;
    x[FIRST_THETA + SHOWN + i] = n <= SHOWN && i < n ? r->z[i] : NAN;
  }
  x[COLUMNS - 1] = NAN;
}

static bool keep(void *context, const hvi_record *r) {
  keeper *k = context;
  if (k->held && !k->trying) k->status = hvi_rows_add(k->rows, TRACE, k->last, k->err);
  k->held = r->outer % k->every == 0;
  fill(k->last, r, k->problem);
  k->dist2[k->rows_seen] = r->dist2;
  k->ratio[k->rows_seen++] = r->ratio;
  const double all = (double)k->cell->part->scale.iterations;
  if (r->outer % 256 == 0 && !hvi_cell_tick(k->cell, (double)r->outer / all)) return false;
  return k->status == HVI_OK && (double)r->counts.grad_evals < k->gradients;
}

static hvi_status solve(hvi_info *info, keeper *k, const hvi_settings *s, bool trying) {
  k->trying = trying;
  k->rows_seen = 0;
  k->held = false;
  HVI_TRY(hvi_solve(info, k->problem, s, keep, k, k->err));
  return k->status;
}

/* Where a run ended, and what the theorem says of it: its distance is at most `bound` where the run is
 * covered, which is rho < 1; then `covered` is the number of inner steps. */
static hvi_status sum_up(const keeper *k, size_t table, hvi_info info, size_t inner) {
  const hvi_record *last = &info.last;
  const hvi_stats_line line = hvi_stats_log_line(k->dist2, k->rows_seen, HVI_STUDY_ROUNDING);
  const double *z = k->problem->model->out == 2 ? k->problem->solution : NULL;
  const hvi_rates r =
      hvi_theory_rates(k->constants.mu, k->constants.lipschitz, info.eta, info.alpha_worst);
  return hvi_rows_put(k->rows, table, k->err, (double)info.outcome, (double)last->outer,
                      (double)info.inner_total, last->dist2, last->residual, line.slope, line.r2,
                      hvi_stats_finite_quantile(k->ratio + 1, k->rows_seen - 1, 0.5),
                      (double)last->counts.f_evals, (double)last->counts.model_passes,
                      (double)last->counts.grad_evals, last->seconds, info.eta, info.alpha_worst,
                      r.alpha_eta, r.rho, pow(r.rho, (double)last->outer) * k->dist2[0],
                      r.rho < 1.0 ? (double)inner : NAN, z ? z[0] : NAN, z ? z[1] : NAN);
}

static hvi_status try_eta(double *score, void *context, const hvi_settings *s, hvi_error *err) {
  keeper *k = context;
  hvi_info info;
  (void)err;
  HVI_TRY(solve(&info, k, s, true));
  const double end = isnan(info.last.dist2) ? info.last.residual : info.last.dist2;
  *score = info.outcome == HVI_DIVERGED ? INFINITY : fmax(end, HVI_STUDY_ROUNDING);
  return sum_up(k, TRIED, info, s->inner_steps);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const size_t most = c->part->scale.iterations + 2, measures = c->part->scale.measures;
  HVI_NEW(double, memory, 2 * most, "a trajectory", err);
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  hvi_settings s;
  hvi_info info;
  HVI_TRY(hvi_cell_problem(&p, c, 0, err));
  HVI_TRY(hvi_cell_settings(&s, c, err));
  keeper k = {.cell = c,
              .rows = rows,
              .problem = p,
              .every = measures       ? 1 + (most - 3) / measures
                       : most > 20000 ? 10
                                      : 1,
              .gradients = hvi_cell_number_or(c, "gradients", INFINITY),
              .constants = {.mu = NAN, .lipschitz = NAN},
              .dist2 = memory,
              .ratio = memory + most,
              .err = err};
  s.max_outer = c->part->scale.iterations;
  s.seed = c->part->seed;
  if (hvi_cell_word(c, "eta_levels") && hvi_problem_constants(&k.constants, p, NULL))
    k.constants.mu = NAN;
  HVI_TRY(hvi_cell_tune(&s, c, try_eta, &k, err));
  HVI_TRY(solve(&info, &k, &s, false));
  k.last[COLUMNS - 1] = info.outcome == HVI_DIVERGED ? 1.0 : NAN;
  HVI_TRY(hvi_rows_add(rows, TRACE, k.last, err));
  return sum_up(&k, SUMMARY, info, s.inner_steps);
}

#define ENDS                                                                                       \
  {                                                                                                \
    {"outcome", hvi_outcome_words}, {                                                              \
      .name = "outer inner_total dist2 residual decades_per_iteration r2 median_ratio f_evals "    \
              "model_passes grad_evals seconds eta alpha_worst alpha_bound rho bound covered "     \
              "solution1 solution2"                                                                \
    }                                                                                              \
  }

/* Parameters and outputs are rows' columns where there are at most 16 of them. */
const hvi_kind hvi_kind_trajectory = {
    .name = "trajectory",
    .summary = "every method on one problem, step by step",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_SETTINGS,
    .numbers = "gradients " HVI_TUNED,
    .tables =
        {[TRACE] = {"trace",
                    {{.name =
                          "outer inner loss0 loss ratio dist2 residual f_evals model_passes "
                          "grad_evals env_steps seconds alpha theta1 theta2 theta3 theta4 theta5 "
                          "theta6 theta7 theta8 theta9 theta10 theta11 theta12 theta13 theta14 "
                          "theta15 theta16 z1 z2 z3 z4 z5 z6 z7 z8 z9 z10 z11 z12 z13 z14 z15 z16 "
                          "diverged"}},
                    "method"},
         [SUMMARY] = {"summary", ENDS, NULL},
         [TRIED] = {"tried", ENDS, NULL}},
    .run = run};

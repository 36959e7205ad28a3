/*
 * kind: deployment. Every method on a problem whose data answer to the deployed model, seen
 * deployment by deployment: a draw is a deployment, and redraw_every outer steps make one.
 *
 * Factors that it knows: `instance`, of which the first level alone leaves its deployments, and
 * `retrain_every`, deployments between those at which the gain of retraining is found by a solve.
 */
#include "base/base.h"
#include "num/vec.h"
#include "study/kinds.h"

#include <hvi/performative.h>
#include <hvi/theory.h>

enum { DEPLOYMENTS, SUMMARY, RETRAINED, RETRAIN_STEPS = 8 };

/* step: |theta - theta before|; gap: what a retrained model would gain */
static const hvi_column columns[] = {
    {.name = "deployment dist2 step loss_before loss_after accuracy_before accuracy_after gap"},
    {0}};

/* What is at the end is infinite where the run diverged. */
/* loss_end: after the last deployment; contraction: the largest dist2 / dist2 before, above rounding;
 * growth: the last one; promised: 1 - mu^2 / 5 L^2, with the theorem's eta; parameter_limit: what
 * beta / mu < 1 in the parameters covers */
static const hvi_column summary_columns[] = {
    {.name = "outcome", .words = hvi_outcome_words},
    {.name = "deployments dist2_start dist2_end gap_start gap_end loss_end contraction growth "
             "promised dim parameter_limit"},
    {0}};

static const hvi_column retrained_columns[] = {{.name = "deployment gap"}, {0}};

static const char split[] = "eps delta kind method";
static const hvi_kind_table tables[] = {{"", columns, split},
                                        {"summary", summary_columns, NULL},
                                        {"retrained", retrained_columns, split},
                                        {0}};

/* What a deployment leaves, in the order of the columns after its number. */
typedef struct deployment {
  double dist2, step;
  hvi_performative_measures measures;
} deployment;

typedef struct watcher {
  const hvi_cell *cell;
  const hvi_problem *problem;
  hvi_rows *rows;
  size_t every, retrain_every; /* outer steps; deployments, 0: never */
  bool performative, traced;
  size_t count;
  deployment first, before, last;
  double contraction;
  double *theta; /* [d] of the deployment before */
  hvi_status status;
  hvi_error *err;
} watcher;

/* How much a model retrained on what theta brings about would gain: the surrogate with eta = 1 of a
 * fresh draw, the same for every method and none that a method was trained on, solved by adaptive
 * Levenberg-Marquardt from theta. */
static hvi_status retrain(double *gap, watcher *w, const double *theta) {
  hvi_settings s = hvi_settings_defaults();
  hvi_solver *solver;
  hvi_method_apply(&s, "lm", NULL);
  s.eta = 1.0;
  s.inner_steps = RETRAIN_STEPS;
  s.stall_window = 0;
  s.inner.adapt_damping = true;
  s.max_outer = 1;
  s.theta0 = theta;
  s.seed = hvi_cell_seed(w->cell) + 1000003;
  HVI_TRY(hvi_solver_new(&solver, w->problem, &s, w->err));
  hvi_solver_run(solver);
  const hvi_record last = hvi_solver_info(solver).last;
  *gap = last.loss0 - last.loss;
  hvi_solver_free(solver);
  const double row[] = {(double)w->count, *gap};
  return w->traced ? hvi_rows_add(w->rows, RETRAINED, row, w->err) : HVI_OK;
}

static hvi_status add_deployment(watcher *w, const hvi_record *r) {
  const size_t d = w->problem->model->dim;
  hvi_status status = HVI_OK;
  deployment x = {r->dist2, NAN, {NAN, NAN, NAN, NAN, NAN}};
  if (w->count) x.step = sqrt(hvi_vec_dist2(r->theta, w->theta, d));
  hvi_vec_copy(w->theta, r->theta, d);
  if (w->performative) status = hvi_performative_measure(&x.measures, w->problem, r->theta, w->err);
  const hvi_performative_measures *m = &x.measures;
  const double row[] = {(double)w->count,  x.dist2,       x.step,
                        m->loss_before,    m->loss_after, m->accuracy_before,
                        m->accuracy_after, m->gap};
  if (!status && w->traced) status = hvi_rows_add(w->rows, DEPLOYMENTS, row, w->err);
  if (!status && w->retrain_every && w->count % w->retrain_every == 0)
    status = retrain(&x.measures.gap, w, r->theta);
  if (w->count && w->last.dist2 > 1e-18)
    w->contraction = fmax(w->contraction, x.dist2 / w->last.dist2);
  if (!w->count) w->first = x;
  w->before = w->last;
  w->last = x;
  w->count++;
  return status;
}

static bool observe(void *context, const hvi_record *r) {
  watcher *w = context;
  const size_t all = w->cell->part->scale.iterations;
  if (r->outer % w->every != 0 || w->count > all) return true;
  w->status = add_deployment(w, r);
  return !w->status && hvi_cell_tick(w->cell, (double)w->count / (double)(all + 1));
}

static hvi_status sum_up(watcher *w, hvi_outcome outcome, const hvi_settings *s, hvi_error *err) {
  hvi_constants c = {0};
  hvi_performative_coverage cover = {.parameter_limit = NAN};
  const bool theorem = s->step_rule == HVI_STEP_THEOREM, away = outcome == HVI_DIVERGED;
  HVI_TRY(theorem ? hvi_problem_constants(&c, w->problem, err) : HVI_OK);
  if (w->performative) hvi_performative_cover(&cover, w->problem);
  const double row[] = {outcome,
                        (double)w->count - 1.0,
                        w->first.dist2,
                        away ? INFINITY : w->last.dist2,
                        w->first.measures.gap,
                        away ? INFINITY : w->last.measures.gap,
                        w->last.measures.loss_after,
                        w->contraction,
                        w->last.dist2 / w->before.dist2,
                        theorem ? hvi_theory_rates(c.mu, c.lipschitz, 0.0, 0.0).rho_theorem : NAN,
                        (double)w->problem->model->dim,
                        cover.parameter_limit};
  return hvi_rows_add(w->rows, SUMMARY, row, err);
}

static hvi_status solve(watcher *w, hvi_error *err) {
  hvi_settings s;
  hvi_solver *solver = NULL;
  HVI_TRY(hvi_cell_settings(&s, w->cell, err));
  w->every = s.redraw_every ? s.redraw_every : 1;
  s.max_outer = w->cell->part->scale.iterations * w->every;
  s.seed = hvi_cell_seed(w->cell);
  s.observe = observe;
  s.observer_context = w;
  hvi_status status = hvi_solver_new(&solver, w->problem, &s, err);
  if (status) return status;
  const hvi_outcome outcome = hvi_solver_run(solver);
  hvi_solver_free(solver);
  return w->status ? w->status : sum_up(w, outcome, &s, err);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const double instance = hvi_cell_number(c, "instance"),
               every = hvi_cell_number(c, "retrain_every");
  hvi_performative_coverage cover;
  hvi_problem *p;
  HVI_TRY(hvi_cell_problem(&p, c, instance > 0 ? (uint64_t)instance : 0, err));
  watcher w = {.cell = c,
               .problem = p,
               .rows = rows,
               .retrain_every = every >= 1 ? (size_t)every : 0,
               .performative = hvi_performative_cover(&cover, p),
               .traced = hvi_cell_level(c, "instance") == 0,
               .theta = hvi_alloc_doubles(p->model->dim),
               .err = err};
  hvi_status status = w.theta ? solve(&w, err) : hvi_error_memory(err, "deployments");
  hvi_free(w.theta);
  hvi_problem_free(p);
  return status;
}

const hvi_kind hvi_kind_deployment = {.name = "deployment",
                                      .summary = "every method, deployment by deployment",
                                      .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS,
                                      .tables = tables,
                                      .run = run};

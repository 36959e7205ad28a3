/*
 * kind: deployment. Every method on a problem whose data answer to the deployed model, seen
 * deployment by deployment: a draw is a deployment, and redraw_every outer steps make one.
 *
 * Factors that it knows: `instance`, of which the first level alone leaves its deployments, and
 * `retrain_every`, deployments between those at which the gain of retraining is found by a solve.
 *
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
#include "num/vec.h"
#include "study/kinds.h"

#include <hvi/performative.h>
#include <hvi/theory.h>

#include <stdatomic.h>

enum { DEPLOYMENTS, SUMMARY, RETRAINED, RETRAIN_STEPS = 8 };

/* What a deployment leaves: a row. */
typedef struct deployment {
  double number, dist2;
  double step;                        /* |theta - theta before| */
  hvi_performative_measures measures; /* gap: what a retrained model would gain */
} deployment;

typedef struct watcher {
  const hvi_cell *cell;
  const hvi_problem *problem;
  hvi_rows *rows;
  size_t every, retrain_every; /* outer steps; deployments, 0: never */
  bool performative, traced;
  hvi_performative_coverage cover;
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
  hvi_settings s = hvi_settings_to_end("lm", 1.0, 1);
  hvi_info info;
  s.inner_steps = RETRAIN_STEPS;
  s.inner.adapt_damping = true;
  s.theta0 = theta;
  s.seed = hvi_cell_seed(w->cell) + 1000003;
  HVI_TRY(hvi_solve(&info, w->problem, &s, NULL, NULL, w->err));
  *gap = info.last.loss0 - info.last.loss;
  return w->traced ? hvi_rows_put(w->rows, RETRAINED, w->err, (double)w->count, *gap) : HVI_OK;
}

static hvi_status add_deployment(watcher *w, const hvi_record *r) {
  const size_t d = w->problem->model->dim;
  deployment x = {(double)w->count, r->dist2, NAN, {NAN, NAN, NAN, NAN, NAN}};
  if (w->count) x.step = sqrt(hvi_vec_dist2(r->theta, w->theta, d));
  hvi_vec_copy(w->theta, r->theta, d);
  if (w->performative) HVI_TRY(hvi_performative_measure(&x.measures, w->problem, r->theta, w->err));
  if (w->traced) HVI_TRY(hvi_rows_add(w->rows, DEPLOYMENTS, &x.number, w->err));
  if (w->retrain_every && w->count % w->retrain_every == 0)
    HVI_TRY(retrain(&x.measures.gap, w, r->theta));
  if (w->count && w->last.dist2 > 1e-18)
    w->contraction = fmax(w->contraction, x.dist2 / w->last.dist2);
  if (!w->count) w->first = x;
  w->before = w->last;
  w->last = x;
  w->count++;
  return HVI_OK;
}

static bool observe(void *context, const hvi_record *r) {
  watcher *w = context;
  const size_t all = w->cell->part->scale.iterations;
  if (r->outer % w->every != 0 || w->count > all) return true;
  w->status = add_deployment(w, r);
  return !w->status && hvi_cell_tick(w->cell, (double)w->count / (double)(all + 1));
}

static hvi_status sum_up(watcher *w, hvi_outcome outcome, const hvi_settings *s, hvi_error *err) {
  const bool away = outcome == HVI_DIVERGED;
  const deployment *first = &w->first, *last = &w->last;
  hvi_constants c = {.mu = NAN, .lipschitz = 1.0}; /* with another eta nothing is promised */
  if (s->step_rule == HVI_STEP_THEOREM) HVI_TRY(hvi_problem_constants(&c, w->problem, err));
  return hvi_rows_put(w->rows, SUMMARY, err, outcome, last->number, first->dist2,
                      away ? INFINITY : last->dist2, first->measures.gap,
                      away ? INFINITY : last->measures.gap, last->measures.loss_after,
                      w->contraction, last->dist2 / w->before.dist2,
                      hvi_theory_rates(c.mu, c.lipschitz, 0.0, 0.0).rho_theorem,
                      (double)w->problem->model->dim, w->cover.parameter_limit);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const double every = hvi_cell_number(c, "retrain_every");
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  hvi_settings s;
  hvi_info info;
  HVI_TRY(hvi_cell_settings(&s, c, err));
  HVI_TRY(hvi_cell_problem(&p, c, hvi_cell_instance(c), err));
  HVI_NEW(double, theta, p->model->dim, "deployments", err);
  watcher w = {.cell = c,
               .problem = p,
               .rows = rows,
               .every = s.redraw_every ? s.redraw_every : 1,
               .retrain_every = every >= 1 ? (size_t)every : 0,
               .traced = hvi_cell_level(c, "instance") == 0,
               .theta = theta,
               .err = err};
  w.performative = hvi_performative_cover(&w.cover, p);
  if (!w.performative) w.cover.parameter_limit = NAN;
  s.max_outer = c->part->scale.iterations * w.every;
  s.seed = hvi_cell_seed(c);
  HVI_TRY(hvi_solve(&info, p, &s, observe, &w, err));
  return w.status ? w.status : sum_up(&w, info.outcome, &s, err);
}

/* What is at the end is infinite where the run diverged. loss_end: after the last deployment;
 * contraction: the largest dist2 / dist2 before, above rounding; growth: the last one; promised:
 * 1 - mu^2 / 5 L^2, with the theorem's eta; parameter_limit: what beta / mu < 1 in the parameters
 * covers */
const hvi_kind hvi_kind_deployment = {
    .name = "deployment",
    .summary = "every method, deployment by deployment",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS,
    .numbers = "instance retrain_every seed",
    .tables =
        {[DEPLOYMENTS] = {"",
                          {{.name = "deployment dist2 step loss_before loss_after accuracy_before "
                                    "accuracy_after gap"}},
                          "eps delta kind method"},
         [SUMMARY] = {"summary",
                      {{"outcome", hvi_outcome_words},
                       {.name = "deployments dist2_start dist2_end gap_start gap_end loss_end "
                                "contraction growth promised dim parameter_limit"}},
                      NULL},
         [RETRAINED] = {"retrained", {{.name = "deployment gap"}}, "eps delta kind method"}},
    .run = run};

typedef struct seeds {
  const hvi_cell *cell;
  hvi_settings settings;
  double stable;
  size_t count, rows;
  double *errors; /* [rows][count] */
  atomic_bool stopped;
} seeds;

typedef struct one_seed {
  const seeds *all;
  size_t seed, row, next;
} one_seed;

/* The deployment after t whose error is kept: each of the first 100, then 2 % apart. */
static size_t after(size_t t, size_t last) {
  const size_t next = t < 100 ? t + 1 : t + t / 50;
  return next < last ? next : last;
}

static bool observe_seed(void *context, const hvi_record *r) {
  one_seed *w = context;
  if (r->outer != w->next || w->row == w->all->rows) return true;
  w->all->errors[w->row++ * w->all->count + w->seed] = r->theta[0] - w->all->stable;
  w->next = after(w->next, w->all->settings.max_outer);
  return true;
}

static hvi_status run_seed(void *context, size_t seed, size_t worker, hvi_error *err) {
  seeds *all = context;
  one_seed w = {.all = all, .seed = seed, .next = 1};
  hvi_settings s = all->settings;
  hvi_info info;
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  if (worker == 0 && !hvi_cell_tick(all->cell, (double)seed / (double)all->count))
    all->stopped = true;
  if (all->stopped) return HVI_OK;
  HVI_TRY(hvi_cell_problem(&p, all->cell, 0, err));
  s.seed = all->cell->part->seed + seed;
  return hvi_solve(&info, p, &s, observe_seed, &w, err);
}

static hvi_status add_rows(hvi_rows *rows, const seeds *all, hvi_error *err) {
  const hvi_cell *c = all->cell;
  const double n = (double)all->count, late = hvi_cell_number(c, "late");
  const double batch = hvi_cell_number_or(c, "batch", 1.0);
  const double growth = hvi_cell_number_or(c, "growth", 0.0), *last = all->errors;
  double samples = 0.0;
  hvi_stats_fit line = {0};
  for (size_t row = 0, t = 1, k = 1; row < all->rows; row++) {
    double square = 0.0;
    last = all->errors + row * all->count;
    for (; k <= t; k++) samples += floor(batch * pow((double)k, growth));
    for (size_t i = 0; i < all->count; i++) square += last[i] * last[i];
    square /= n;
    if (!((double)t < late)) hvi_stats_fit_add(&line, log(samples), log(square));
    HVI_TRY(hvi_rows_put(rows, DEPLOYMENTS, err, (double)t, samples, square, sqrt(square)));
    t = after(t, all->settings.max_outer);
  }
  return hvi_rows_put(rows, SUMMARY, err, n, all->stable + hvi_stats_mean(last, all->count),
                      sqrt(hvi_stats_variance(last, all->count) / n),
                      hvi_stats_fit_line(&line).slope);
}

/* Where errors are measured from; the problem must have one parameter. */
static hvi_status find_stable(seeds *all, hvi_error *err) {
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  HVI_TRY(hvi_cell_problem(&p, all->cell, 0, err));
  all->stable = hvi_cell_number_or(all->cell, "stable", p->solution ? p->solution[0] : NAN);
  if (p->model->dim == 1 && !isnan(all->stable)) return HVI_OK;
  return hvi_error_unsupported(
      err, "kind deployment-seeds needs a problem of one parameter, and the factor "
           "'stable' where its solution is not known");
}

static hvi_status run_seeds(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
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
    .numbers = "batch growth stable late seed",
    .tables = {[DEPLOYMENTS] = {"", {{.name = "deployment samples mean_square rms"}}, NULL},
               [SUMMARY] = {"summary", {{.name = "seeds mean standard_error exponent"}}, NULL}},
    .run = run_seeds};

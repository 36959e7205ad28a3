/*
 * What is measured: the same method on the same game, alternately through hvi_solver and through
 * the hand-written loop, so that noise on the machine hits both; the fastest of several repeats
 * counts. Ensembles run on one thread, in SIMD lanes and through the ordinary solver.
 */
#include "games.h"

#include "network_games.h"
#include "pennies_loop.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <hvi/builtin.h>
#include <hvi/ensemble.h>

#include <math.h>

typedef struct contender {
  const char *game, *label, *method;
  size_t inner;
  double eta, damping, factor;
} contender;

static const contender contenders[] = {
    {"pennies", "GDA", "gd", 1, 0.1, 0.01, 1},
    {"pennies", "GD(10)", "gd", 10, 0.1, 0.01, 1},
    {"pennies", "GD(100)", "gd", 100, 0.1, 0.01, 1},
    {"pennies", "PHGD", "gn", 1, 0.01, 0.01, 1},
    {"pennies", "DGN(5)", "dgn", 5, 0.1, 0.01, 0.02},
    {"pennies", "LM(1)", "lm", 1, 0.1, 0.02, 1},
    {"rps", "GDA", "gd", 1, 0.1, 0.01, 1},
    {"rps", "GD(10)", "gd", 10, 0.1, 0.01, 1},
    {"rps", "PHGD", "gn", 1, 0.05, 0.01, 1},
    {"rps", "LM(1)", "lm", 1, 0.1, 0.01, 1},
};

_Static_assert(sizeof contenders / sizeof *contenders == GAMES_SMALL, "a row for each");

static hvi_settings settings_of(const contender *c, size_t outer) {
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, c->method, NULL);
  s.inner_steps = c->inner;
  s.eta = c->eta;
  s.inner.damping = c->damping;
  s.inner.factor = c->factor;
  s.max_outer = outer;
  s.stall_window = 0;
  return s;
}

/* Which hand-written recursion this contender is, if any. */
static bool by_hand(const contender *c, size_t outer, pennies_run *run) {
  if (c->game[0] != 'p') return false;
  *run = (pennies_run){
      .inner = c->inner, .outer = outer, .eta = c->eta, .rate = c->factor, .damping = c->damping};
  switch (c->method[0]) {
  case 'l':
    run->method = PENNIES_LM;
    return true;
  case 'g':
    run->method = c->method[1] == 'n' ? PENNIES_GN : PENNIES_GD;
    return true;
  default:
    run->method = PENNIES_GN;
    return true;
  }
}

static hvi_status time_solver(double *seconds, hvi_info *info, const hvi_problem *p,
                              const hvi_settings *s, hvi_error *err) {
  hvi_solver *solver;
  hvi_status status = hvi_solver_new(&solver, p, s, err);
  if (status) return status;
  hvi_solver_run(solver);
  *info = hvi_solver_info(solver);
  *seconds = fmin(*seconds, info->last.seconds);
  hvi_solver_free(solver);
  return HVI_OK;
}

static double time_by_hand(double *seconds, const pennies_run *run, pennies_row *rows) {
  const double start = hvi_clock_now();
  const double dist2 = pennies_loop(run, rows);
  *seconds = fmin(*seconds, hvi_clock_now() - start);
  return dist2;
}

static hvi_status trajectory(games_row *row, const contender *c, const hvi_problem *p,
                             const bench_options *o, pennies_row *rows, hvi_error *err) {
  const size_t outer = c->inner > 10 ? o->outer / 10 + 1 : o->outer;
  const hvi_settings s = settings_of(c, outer);
  pennies_run run;
  const bool hand = by_hand(c, outer, &run);
  double general = INFINITY, limit = INFINITY, dist2 = NAN;
  hvi_info info = {0};
  /* a trajectory is short; beyond a few thousand steps the iterates are rounding noise */
  for (size_t r = 0; r < 10 * o->repeats; r++) {
    hvi_status status = time_solver(&general, &info, p, &s, err);
    if (status) return status;
    if (hand) dist2 = time_by_hand(&limit, &run, rows);
  }
  const double steps = (double)info.last.outer;
  row->trajectory = general / steps * 1e9;
  row->by_hand = hand ? limit / (double)outer * 1e9 : NAN;
  row->agrees = !hand || fabs(dist2 - info.last.dist2) <= 1e-9;
  row->model_passes = (double)(info.last.counts.model_passes - 1) / steps;
  row->grad_evals = (double)info.last.counts.grad_evals / steps;
  row->f_evals = (double)(info.last.counts.f_evals - 1) / steps;
  return HVI_OK;
}

static hvi_status make_instance(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  return hvi_builtin_new(p, context, NULL, 0, 1, index + 1, err);
}

/* Nanoseconds per outer step and instance. */
static hvi_status ensemble(double *ns, const contender *c, const bench_options *o, bool one_by_one,
                           hvi_error *err) {
  const size_t count = one_by_one ? o->instances / 10 + 1 : o->instances;
  const size_t outer = c->inner > 10 ? 100 : 1000;
  const hvi_settings s = settings_of(c, outer);
  const hvi_ensemble_settings e = {
      .count = count, .threads = 1, .record_every = outer, .scalar = one_by_one};
  double best = INFINITY;
  for (size_t r = 0; r < (one_by_one ? 1 : (o->repeats + 4) / 5); r++) {
    hvi_ensemble *out;
    hvi_status status = hvi_ensemble_run(&out, make_instance, (void *)c->game, &s, &e, err);
    if (status) return status;
    best = fmin(best, out->seconds);
    hvi_ensemble_free(out);
  }
  *ns = best / (double)(count * outer) * 1e9;
  return HVI_OK;
}

static hvi_status measure(games_row *row, const contender *c, const bench_options *o,
                          pennies_row *rows, hvi_error *err) {
  *row = (games_row){.game = c->game, .label = c->label};
  hvi_problem *p;
  hvi_status status = hvi_builtin_new(&p, c->game, NULL, 0, 0, 0, err);
  if (status) return status;
  status = trajectory(row, c, p, o, rows, err);
  if (!status) status = ensemble(&row->lanes, c, o, false, err);
  if (!status) status = ensemble(&row->one_by_one, c, o, true, err);
  hvi_problem_free(p);
  return status;
}

hvi_status bench_games_run(void *measured, size_t *done, const bench_options *o, hvi_error *err) {
  games_row *rows = measured;
  pennies_row *kept = hvi_alloc(o->outer, sizeof *kept);
  if (!kept) return hvi_error_memory(err, "the hand-written loop's rows");
  hvi_status status = HVI_OK;
  for (*done = 0; !status && *done < GAMES_ROWS; ++*done) {
    if (o->progress && !o->progress(o->context, *done, GAMES_ROWS)) break;
    const size_t i = *done;
    status = i < GAMES_SMALL ? measure(&rows[i], &contenders[i], o, kept, err)
                             : bench_network_game(&rows[i], i - GAMES_SMALL, o, err);
  }
  hvi_free(kept);
  return status;
}

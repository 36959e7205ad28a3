/*
 * Random games of five kinds (random_games.h) and random instances of two built-in problems. A run
 * counts as solved when the judge that is made for it finds a residual of at most 1e-6, or 1e-4 where
 * F is only monotone; games have a judge of their own, instances the library's. A run ends after
 * 10 seconds with method auto and the best fixed settings, after 2 with the named methods, and after a
 * minute where games are large.
 *
 * The performance profile is that of Dolan and Moré: the share of problems that a method has solved
 * within a cost, which is a number of evaluations of F or of seconds, and within a multiple of the
 * least cost that any method had on the same problem. Multiples are taken over the problems that all
 * methods ran on.
 */
#include "profile.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "random_games.h"
#include "report/csv.h"
#include "report/plot.h"
#include "report/text.h"

#include <hvi/builtin.h>
#include <hvi/solver.h>

enum { KINDS = RANDOM_KINDS + 2, MOST_METHODS = 24 };

/* What a run came to. */
typedef struct outcome {
  bool solved;
  double evals, seconds, residual;
  const char *reason;
} outcome;

typedef struct contest {
  const bench_options *options;
  size_t method_count;
  const char *methods[MOST_METHODS];
  size_t games[MOST_METHODS]; /* in all: the first of each kind, then the second, ... */
  outcome *outcomes;          /* [method][game][kind] */
  _Atomic(bool) stopped;
} contest;

static const char *kind_name(size_t kind) {
  return kind < RANDOM_KINDS ? random_kind_names[kind] : kind == RANDOM_KINDS ? "pennies" : "rps";
}

/* The best of the fixed settings that were tried on such games. */
static hvi_settings fixed_settings(void) {
  hvi_settings s = hvi_method_settings("lm");
  s.eta = 0.03;
  s.inner_steps = 10;
  s.inner.adapt_damping = true;
  s.target = HVI_TARGET_OPTIMISTIC;
  s.max_outer = 20000;
  return s;
}

static hvi_settings settings_of(const contest *c, size_t method) {
  const bool fixed = strcmp(c->methods[method], "fixed") == 0;
  hvi_settings s = fixed ? fixed_settings() : hvi_method_settings(c->methods[method]);
  if (s.automatic) s.max_outer = 0; /* seconds alone */
  s.max_seconds = c->options->large ? 60.0 : fixed || s.automatic ? 10.0 : 2.0;
  return s;
}

typedef struct task {
  random_game *game;
  hvi_problem *instance;
} task;

static void task_free(task *t) {
  random_game_free(t->game);
  hvi_problem_free(t->instance);
}

HVI_RELEASE(hvi_solver)

static double judge(const task *t, const hvi_problem *p, const double *theta) {
  hvi_certificate certificate;
  if (t->game) return random_game_residual(t->game, theta);
  return hvi_problem_judge(&certificate, p, theta, NULL) ? NAN : certificate.residual;
}

static hvi_status run_one(const contest *c, size_t method, size_t kind, size_t game, outcome *out,
                          hvi_error *err) {
  const uint64_t seed = c->options->seed + game;
  const double tolerance = kind == RANDOM_MONOTONE ? 1e-4 : 1e-6;
  HVI_OWN_BY(task_free) task t = {0};
  HVI_OWN_BY(hvi_solver_release) hvi_solver *solver = NULL;
  if (kind < RANDOM_KINDS)
    HVI_TRY(random_game_new(&t.game, (random_kind)kind, c->options->large, seed, err));
  else
    HVI_TRY(hvi_builtin_new(&t.instance, kind_name(kind), NULL, 0, 1, seed, err));
  const hvi_problem *p = t.game ? random_game_problem(t.game) : t.instance;
  hvi_settings s = settings_of(c, method);
  if (!s.automatic) s.tol = tolerance;
  const double start = hvi_clock_work(1);
  *out = (outcome){false, NAN, NAN, NAN, "the method does not fit"};
  const hvi_status status = hvi_solver_new(&solver, p, &s, err);
  if (status == HVI_ERROR_UNSUPPORTED)
    return HVI_OK; /* a method that does not fit solves nothing */
  if (status) return status;
  hvi_solver_run(solver);
  out->seconds = hvi_clock_work(1) - start;
  const hvi_info info = hvi_solver_info(solver);
  out->residual = judge(&t, p, info.last.theta);
  out->solved = out->residual <= tolerance;
  out->evals = (double)info.last.counts.f_evals;
  out->reason = info.reason;
  return HVI_OK;
}

/* Large ones are games alone. */
static size_t kinds(const contest *c) { return c->options->large ? RANDOM_KINDS : KINDS; }

static size_t all_games(const contest *c) { return kinds(c) * c->options->games; }

static const outcome *outcomes_of(const contest *c, size_t method) {
  return c->outcomes + method * all_games(c);
}

static hvi_status run_chunk(void *context, size_t chunk, size_t worker, hvi_error *err) {
  contest *c = context;
  const size_t method = chunk / all_games(c), game = chunk % all_games(c);
  if (game >= c->games[method] || c->stopped) return HVI_OK;
  if (worker == 0 &&
      !c->options->progress(c->options->context, chunk, c->method_count * all_games(c)))
    c->stopped = true;
  return run_one(c, method, game % kinds(c), game / kinds(c), &c->outcomes[chunk], err);
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The costs of what was solved of a kind, sorted; returns how many. */
static size_t sorted(double *costs, const contest *c, size_t method, size_t kind, bool seconds) {
  const outcome *o = outcomes_of(c, method);
  size_t n = 0;
  for (size_t i = kind; i < c->games[method]; i += kinds(c))
    if (o[i].solved) costs[n++] = seconds ? o[i].seconds : o[i].evals;
  qsort(costs, n, sizeof *costs, by_value);
  return n;
}

static solve_row row_of(const contest *c, size_t method, size_t kind, double *costs) {
  solve_row r = {kind_name(kind), c->methods[method], 0, 0, NAN, NAN, NAN};
  for (size_t i = kind; i < c->games[method]; i += kinds(c)) r.games++;
  r.solved = sorted(costs, c, method, kind, false);
  if (r.solved == 0) return r;
  r.evals = costs[r.solved / 2];
  sorted(costs, c, method, kind, true);
  r.seconds = costs[r.solved / 2];
  r.slowest = costs[r.solved - 1];
  return r;
}

/* One line for each run. */
static hvi_status write_games(const contest *c, hvi_error *err) {
  HVI_OWN char *path = hvi_path_join(c->options->out, "games", ".csv");
  hvi_csv csv;
  if (!path) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_csv_open(&csv, path, "kind,seed,method,solved,f_evals,seconds,residual,reason", err));
  for (size_t m = 0; m < c->method_count; m++)
    for (size_t i = 0; i < c->games[m]; i++) {
      const outcome *o = outcomes_of(c, m) + i;
      hvi_csv_text(&csv, kind_name(i % kinds(c)));
      hvi_csv_number(&csv, (double)(c->options->seed + i / kinds(c)));
      hvi_csv_text(&csv, c->methods[m]);
      hvi_csv_number(&csv, (double)o->solved);
      hvi_csv_number(&csv, o->evals);
      hvi_csv_number(&csv, o->seconds);
      hvi_csv_number(&csv, o->residual);
      hvi_csv_text(&csv, o->reason);
      hvi_csv_end(&csv);
    }
  return hvi_csv_close(&csv, err);
}

typedef struct profile {
  const char *file, *axis;
  bool seconds, relative;
  double low, high; /* powers of ten of the cost */
} profile;

static const profile profiles[] = {
    {"profile-evals", "evaluations of F", false, false, 0.0, 5.5},
    {"profile-seconds", "seconds", true, false, -5.0, 1.0},
    {"profile-evals-ratio", "evaluations of F, multiples of the least", false, true, 0.0, 4.0},
    {"profile-seconds-ratio", "seconds, multiples of the least", true, true, 0.0, 4.0}};
enum { PROFILES = sizeof profiles / sizeof *profiles };

static double cost_of(const outcome *o, bool seconds) {
  return !o->solved ? INFINITY : seconds ? o->seconds : o->evals;
}

/* Games that every method ran on. */
static size_t shared_games(const contest *c) {
  size_t least = c->games[0];
  for (size_t m = 1; m < c->method_count; m++) least = c->games[m] < least ? c->games[m] : least;
  return least;
}

/* The share of its games that a method solved within a cost. */
static double share_within(const contest *c, const profile *p, size_t method, double cost) {
  const size_t games = p->relative ? shared_games(c) : c->games[method];
  size_t within = 0;
  for (size_t i = 0; i < games; i++) {
    double least = INFINITY;
    for (size_t m = 0; p->relative && m < c->method_count; m++)
      least = fmin(least, cost_of(outcomes_of(c, m) + i, p->seconds));
    const double own = cost_of(outcomes_of(c, method) + i, p->seconds);
    within += isfinite(own) && own <= cost * (p->relative ? least : 1.0);
  }
  return (double)within / (double)games;
}

/* Columns: the cost, then of each method the share of problems solved within it. */
static hvi_status write_profile(const contest *c, const profile *p, hvi_error *err) {
  HVI_OWN char *path = hvi_path_join(c->options->out, p->file, ".csv");
  char header[MOST_METHODS * 24] = "cost";
  for (size_t m = 0; m < c->method_count; m++)
    snprintf(header + strlen(header), sizeof header - strlen(header), ",%s", c->methods[m]);
  hvi_csv csv;
  if (!path) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_csv_open(&csv, path, header, err));
  for (int step = 0; step <= 100; step++) {
    const double cost = pow(10.0, p->low + (p->high - p->low) * step / 100.0);
    hvi_csv_number(&csv, cost);
    for (size_t m = 0; m < c->method_count; m++) hvi_csv_number(&csv, share_within(c, p, m, cost));
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static hvi_status draw_profile(const contest *c, hvi_error *err) {
  hvi_series series[PROFILES][MOST_METHODS];
  hvi_panel panels[PROFILES];
  char note[HVI_PLOT_NOTE], files[PROFILES][32];
  for (size_t k = 0; k < PROFILES; k++) {
    snprintf(files[k], sizeof files[k], "%s.csv", profiles[k].file);
    for (size_t m = 0; m < c->method_count; m++)
      series[k][m] = (hvi_series){.label = k ? NULL : c->methods[m],
                                  .file = files[k],
                                  .x = "cost",
                                  .y = c->methods[m],
                                  .mark = m < 2 ? HVI_MARK_LINE : HVI_MARK_THIN,
                                  .style = m};
    panels[k] = (hvi_panel){.x = {.label = profiles[k].axis, .log = true},
                            .y = {.label = "share of problems solved", .low = 0.0, .high = 1.0},
                            .series_count = c->method_count,
                            .series = series[k]};
  }
  const hvi_plot plot = {.name = "profile",
                         .title = "Random problems solved within a cost",
                         .columns = 2,
                         .panel_count = PROFILES,
                         .panels = panels,
                         .replace = c->options->force};
  return hvi_plot_make(c->options->out, &plot, note, err);
}

static void add_method(contest *c, const char *name, size_t games) {
  c->games[c->method_count] = games < all_games(c) ? games : all_games(c);
  c->methods[c->method_count++] = name;
}

static hvi_status list_methods(contest *c, hvi_error *err) {
  const bench_options *o = c->options;
  if (o->method && strcmp(o->method, "fixed") != 0 && !hvi_method_find(o->method))
    return hvi_error_argument(
        err, "there is no method '%s'; 'hvi list' shows them, and there is fixed", o->method);
  if (o->method) {
    add_method(c, o->method, all_games(c));
    return HVI_OK;
  }
  add_method(c, "auto", all_games(c));
  add_method(c, "fixed", all_games(c));
  for (const hvi_method *m = hvi_method_list(); m->name && o->named; m++)
    if (m->optimizer != hvi_optimizer_find("adversary") && (m->optimizer || m->baseline))
      add_method(c, m->name, o->named);
  return HVI_OK;
}

hvi_status bench_solve_run(void *all, size_t *done, const bench_options *options, hvi_error *err) {
  solve_row *rows = all;
  contest c = {.options = options};
  HVI_TRY(list_methods(&c, err));
  HVI_OWN outcome *outcomes = c.outcomes =
      hvi_alloc(c.method_count * all_games(&c), sizeof *outcomes);
  HVI_OWN double *costs = hvi_alloc_doubles(options->games);
  if (!outcomes || !costs) return hvi_error_memory(err, "a benchmark");
  if (options->out) HVI_TRY(hvi_folder_make(options->out, err));
  HVI_TRY(hvi_parallel_run(c.method_count * all_games(&c), 0, run_chunk, &c, err));
  if (c.stopped) return HVI_OK;
  for (size_t m = 0; m < c.method_count; m++)
    for (size_t k = 0; k < kinds(&c); k++) rows[(*done)++] = row_of(&c, m, k, costs);
  if (!options->out) return HVI_OK;
  HVI_TRY(write_games(&c, err));
  for (size_t k = 0; k < PROFILES; k++) HVI_TRY(write_profile(&c, &profiles[k], err));
  return draw_profile(&c, err);
}

/* hvi solve: one problem, one method. */
#include "solve.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "commands.h"
#include "num/npy.h"
#include "report/trace.h"

#include <hvi/mdp.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

static const char summary[] =
    "Solves PROBLEM, a built-in name ('hvi list') or a YAML file, by a sequence of least-squares\n"
    "problems, each handed to an inner optimizer. Talk goes to stderr, the result to stdout.";

static const char examples[] =
    "  hvi solve pennies --method gd --eta 0.1 --inner 10 --inner-lr 1\n"
    "  hvi solve pennies --method lm --damping 0.02 --tol 1e-7 --trace run.csv\n"
    "  hvi solve rps --instance 7 --method phgd --eta theorem --json\n"
    "  hvi solve quadratic --set n=20 --set mu=0.5 --method gn --eta best\n"
    "  hvi solve my-game.yaml --theta0 start.npy --alpha 0.1 --inner 500\n"
    "  hvi solve pennies --ensemble 1000 --jobs 2 --method lm";

static void add_output_options(hvi_solve *s, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "many instances"},
      {"ensemble", 0, HVI_ARG_SIZE, &s->ensemble, .range = "[1,1e9]", .help = "solve N random instances of a built-in problem"},
      {"jobs", 'j', HVI_ARG_SIZE, &s->jobs, .range = "[0,1024]", .value = "J", .help = "threads for them; 0: one per core"},
      {.name = "output"},
      {"json", 0, HVI_ARG_FLAG, &s->json, .help = "the result as one JSON object"},
      {"trace", 0, HVI_ARG_TEXT, &s->trace, .value = "FILE.csv", .help = "every iteration, with its cost"},
      {"save", 0, HVI_ARG_TEXT, &s->save, .value = "FILE.npy", .help = "the final theta"},
      {"every", 0, HVI_ARG_SIZE, &s->every, .help = "show each Nth iteration; 0: about twenty rows"},
      {0}});
  /* clang-format on */
}

/*
 * Policy evaluation is traced beside the exact update: gn with one inner step and eta 1, which is
 * LSPE along a trajectory, projected value iteration over all states. Its solver has the seed of the
 * one it is compared with, so it sees the same transitions, and is stepped as far as the row at hand.
 *
 *   exact_theta   |theta - theta_exact|
 *   exact_value   |Phi theta - Phi theta_exact|_Xi
 *
 * The rest is hvi_mdp_measures.
 */
enum { COLUMNS = 6 };

static const char *const column_names[COLUMNS] = {"exact_theta",    "exact_value", "to_fixed_point",
                                                  "to_true_values", "mspbe",       "bellman_gap"};

typedef struct exact_update {
  const hvi_mdp *mdp;
  hvi_solver *exact;
  double *difference; /* [d] */
  double *values;     /* [n] */
} exact_update;

static hvi_settings exact_settings(const hvi_settings *solve) {
  hvi_settings s = hvi_settings_defaults();
  hvi_method_apply(&s, "gn", NULL);
  s.eta = 1.0;
  s.seed = solve->seed;
  s.redraw_every = solve->redraw_every;
  s.theta0 = solve->theta0;
  s.max_outer = SIZE_MAX;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  return s;
}

static void exact_update_free(exact_update *y) {
  if (!y) return;
  hvi_solver_free(y->exact);
  hvi_free(y->difference);
  hvi_free(y->values);
  hvi_free(y);
}

static hvi_status exact_update_new(exact_update **out, const hvi_setup *s, hvi_error *err) {
  *out = NULL;
  const hvi_mdp *mdp = hvi_mdp_of(s->problem);
  if (!mdp) return HVI_OK;
  exact_update *y = hvi_alloc(1, sizeof *y);
  if (!y) return hvi_error_memory(err, "the exact update");
  const hvi_settings settings = exact_settings(&s->settings);
  y->mdp = mdp;
  y->difference = hvi_alloc_doubles(hvi_mdp_features(mdp));
  y->values = hvi_alloc_doubles(hvi_mdp_states(mdp));
  hvi_status status =
      y->difference && y->values ? HVI_OK : hvi_error_memory(err, "the exact update");
  if (status == HVI_OK) status = hvi_solver_new(&y->exact, s->problem, &settings, err);
  if (status != HVI_OK) {
    exact_update_free(y);
    return status;
  }
  *out = y;
  return HVI_OK;
}

/* Row 0 is the start, which both share. */
static void compare(exact_update *y, const hvi_record *row, double *theta2, double *value2) {
  const size_t d = hvi_mdp_features(y->mdp), n = hvi_mdp_states(y->mdp);
  *theta2 = *value2 = 0.0;
  while (hvi_solver_info(y->exact).last.outer < row->outer)
    if (hvi_solver_step(y->exact) != HVI_RUNNING) break;
  if (row->outer == 0) return;
  const hvi_record exact = hvi_solver_info(y->exact).last;
  for (size_t i = 0; i < d; i++) {
    y->difference[i] = row->theta[i] - exact.theta[i];
    *theta2 += y->difference[i] * y->difference[i];
  }
  hvi_mdp_values(y->mdp, y->difference, y->values);
  for (size_t s = 0; s < n; s++) *value2 += hvi_mdp_law(y->mdp)[s] * y->values[s] * y->values[s];
}

static void fill(void *context, const hvi_record *row, double *values) {
  exact_update *y = context;
  hvi_mdp_measures m = {NAN, NAN, NAN, NAN};
  double theta2, value2;
  compare(y, row, &theta2, &value2);
  if (hvi_mdp_measure(&m, y->mdp, row->theta, NULL) != HVI_OK)
    m = (hvi_mdp_measures){NAN, NAN, NAN, NAN};
  const double all[COLUMNS] = {sqrt(theta2),     sqrt(value2), m.to_fixed_point,
                               m.to_true_values, m.mspbe,      m.bellman_gap};
  for (size_t i = 0; i < COLUMNS; i++) values[i] = all[i];
}

static void add_columns(exact_update *y, hvi_trace_settings *t) {
  if (!y) return;
  t->extra = COLUMNS;
  t->extra_names = column_names;
  t->fill = fill;
  t->fill_context = y;
}

/* What the observer passes rows on to. */
typedef struct watch {
  hvi_screen table;
  hvi_trace *trace;
  exact_update *exact;
  double first_residual;
} watch;

static bool observe(void *context, const hvi_record *row) {
  watch *w = context;
  if (row->outer == 0) w->first_residual = row->residual;
  hvi_screen_row(&w->table, row);
  if (w->trace && !hvi_trace_observe(w->trace, row)) return false;
  return !hvi_signals_interrupted();
}

/* A trace has theta and z too while they are few. */
static hvi_status open_trace(watch *w, const hvi_solve *s, hvi_error *err) {
  const size_t few = 16;
  const hvi_model *m = s->setup.problem->model;
  bool points = m->dim <= few && m->out <= few;
  hvi_trace_settings columns = {.theta = points ? m->dim : 0, .z = points ? m->out : 0};
  if (!s->trace) return HVI_OK;
  hvi_status status = exact_update_new(&w->exact, &s->setup, err);
  if (status == HVI_OK) add_columns(w->exact, &columns);
  return status == HVI_OK ? hvi_trace_open(&w->trace, s->trace, &columns, err) : status;
}

/* Finds out before the iterations whether the file can be made. */
static hvi_status probe_file(const char *path, hvi_error *err) {
  hvi_file file;
  if (!path) return HVI_OK;
  hvi_status status = hvi_file_create(&file, path, err);
  if (status == HVI_OK) hvi_file_discard(&file);
  return status;
}

/* Closes the trace and saves theta. A failed file does not keep the result from being printed. */
static int write_files(const hvi_solve *s, const hvi_info *info, watch *w, int code) {
  hvi_error err;
  const size_t dim = s->setup.problem->model->dim;
  hvi_trace *trace = w->trace;
  w->trace = NULL;
  if (trace && hvi_trace_close(trace, &info->last, &err) != HVI_OK) code = hvi_complain_error(&err);
  if (s->save && hvi_npy_write(s->save, info->last.theta, 1, &dim, &err) != HVI_OK)
    code = hvi_complain_error(&err);
  return code;
}

static int run_solver(const hvi_solve *s, hvi_solver *solver, watch *w) {
  hvi_error err;
  hvi_solved r = {0};
  hvi_solve_header(s, hvi_solver_info(solver).eta);
  hvi_solver_run(solver);
  r.info = hvi_solver_info(solver);
  r.first_residual = w->first_residual;
  r.interrupted = hvi_signals_interrupted();
  hvi_screen_end(&w->table, &r.info.last);
  if (hvi_problem_judge(&r.judge, s->setup.problem, r.info.last.theta, &err) != HVI_OK)
    return hvi_complain_error(&err);
  r.code = hvi_solve_code(s, &r);
  r.code = write_files(s, &r.info, w, r.code);
  hvi_solve_footer(s, &r);
  (s->json ? hvi_solve_json : hvi_solve_summary)(s, &r);
  return r.code;
}

static int solve_one(const hvi_solve *s) {
  hvi_error err = {.status = HVI_OK};
  hvi_solver *solver = NULL;
  hvi_settings settings = s->setup.settings;
  watch w = {.table = hvi_screen_new(&s->talk, s->every, settings.max_outer),
             .first_residual = NAN};
  settings.observe = observe;
  settings.observer_context = &w;
  int code;
  if (probe_file(s->save, &err) != HVI_OK || open_trace(&w, s, &err) != HVI_OK ||
      hvi_solver_new(&solver, s->setup.problem, &settings, &err) != HVI_OK)
    code = hvi_complain_error(&err);
  else
    code = run_solver(s, solver, &w);
  if (w.trace) hvi_trace_discard(w.trace);
  exact_update_free(w.exact);
  hvi_solver_free(solver);
  return code;
}

/* What makes no sense for many instances, or only for them. */
static int check_options(const hvi_solve *s, const hvi_args *args) {
  static const char *const single[] = {"instance", "theta0", "trace", "save", NULL};
  if (s->trace && s->save && strcmp(s->trace, s->save) == 0)
    return hvi_misuse("--trace and --save name the same file '%s'", s->save);
  if (s->ensemble == 0) {
    if (!hvi_args_given(args, "jobs")) return HVI_EXIT_DONE;
    return hvi_misuse("--jobs goes with --ensemble");
  }
  for (size_t i = 0; single[i]; i++) {
    if (!hvi_args_given(args, single[i])) continue;
    return hvi_misuse("--%s is for one instance and does not go with --ensemble", single[i]);
  }
  return HVI_EXIT_DONE;
}

int hvi_cli_solve(int argc, char **argv) {
  hvi_solve s = {.setup = hvi_setup_new(), .talk = hvi_talk_new()};
  hvi_args args = {argv[0], "PROBLEM [OPTION]...", summary, examples, .operand = "problem"};
  int code;
  hvi_setup_options(&s.setup, &args);
  add_output_options(&s, &args);
  hvi_talk_options(&s.talk, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  s.setup.many = s.ensemble > 0;
  code = check_options(&s, &args);
  if (code == HVI_EXIT_DONE) code = hvi_setup_make(&s.setup, &args);
  if (code == HVI_EXIT_DONE) code = s.ensemble > 0 ? hvi_solve_ensemble(&s) : solve_one(&s);
  hvi_setup_free(&s.setup);
  return code;
}

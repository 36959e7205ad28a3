/* hvi solve: one problem, one method. Talk goes to stderr, the result to stdout. */
#include "solve.h"

#include "base/base.h"
#include "commands.h"
#include "outer/solver.h"
#include "share.h"

enum { DIGITS = 6, SHOWN = 12, TABLE_ROWS = 20 };

/* A solve under way, and what came out. */
typedef struct run {
  const hvi_solve *asked;
  const hvi_setup *setup; /* of it */
  /* the table of iterations: about twenty rows, closer together at the start */
  double factor; /* between rows, without --every */
  size_t next;   /* the next iteration to show */
  size_t last;   /* the last one shown; SIZE_MAX: none yet */
  hvi_solve_files files;
  /* the end; the pointers in info belong to the solver */
  hvi_info info;
  hvi_certificate judge;
  double first; /* residual, before any step; NaN: F is sampled */
  char *again;  /* the command that looks at the same run */
  int code;     /* exit code */
} run;

static void header_stop(const hvi_settings *o) {
  hvi_say("stop      ");
  if (o->tol > 0)
    hvi_say("residual <= %s%s, ", hvi_digits(o->tol, 4, NULL),
            o->tol_relative ? " of the first, or of 1" : "");
  if (o->max_outer > 0) hvi_say("%zu outer steps, ", o->max_outer);
  if (o->max_f_evals > 0) hvi_say("%zu evaluations of F, ", o->max_f_evals);
  if (o->max_seconds > 0) hvi_say("%g s, ", o->max_seconds);
  if (o->stall_window > 0) hvi_say("stalled over %zu steps, ", o->stall_window);
  hvi_say("divergence\n");
}

/* The step size, or the name of the rule when it differs between instances. */
static const char *eta_word(const hvi_setup *s, double eta) {
  if (s->settings.step_rule == HVI_STEP_ADAPTIVE) return "adaptive";
  return hvi_digits(eta, 4, s->settings.step_rule == HVI_STEP_THEOREM ? "by theorem" : "best");
}

/* Why method auto chose what it did, a line for each decision. */
static void header_reasons(const hvi_setup *s, double eta) {
  char text[2048];
  hvi_settings_reasons(&s->settings, s->problem, eta, text, sizeof text);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    hvi_say("          %s\n", line);
}

static void header_method(const hvi_setup *s, double eta) {
  const hvi_settings *o = &s->settings;
  const hvi_setting *target = hvi_setting_find(hvi_settings_table(), "target");
  char text[32];
  hvi_say("method    %s, ", s->method);
  if (o->automatic)
    hvi_say("which chose %s, %s targets, ", o->optimizer->name,
            hvi_setting_format(target, o, text, sizeof text));
  hvi_say("eta %s", eta_word(s, eta));
  if (!o->baseline) {
    hvi_say(", inner %zu", o->inner_steps);
    if (o->inner_growth > 0) hvi_say(" + %g a step", o->inner_growth);
    if (o->alpha > 0) hvi_say(" at most, alpha %g", o->alpha);
  }
  hvi_say("\n");
}

void hvi_solve_header(const hvi_setup *s, double eta) {
  const hvi_model *m = s->problem->model;
  char text[64];
  hvi_say("problem   %s: %zu parameters, %zu outputs", s->name, m->dim, m->out);
  if (m->block_count > 1)
    hvi_say(", %zu %s", m->block_count,
            strcmp(s->problem->ops->name, "game") == 0 ? "players" : "blocks");
  for (size_t k = 0; s->problem->players && k < m->block_count && k < SHOWN; k++)
    hvi_say("%s%s", k == 0 ? ": " : ", ", s->problem->players[k]);
  hvi_say("%s\n", s->problem->players && m->block_count > SHOWN ? ", ..." : "");
  header_method(s, eta);
  if (s->settings.automatic && hvi_talk.verbose) header_reasons(s, eta);
  header_stop(&s->settings);
  for (const hvi_setting *row = hvi_settings_table()->rows; hvi_talk.verbose && row->name; row++)
    if (hvi_setup_shows(s, row))
      hvi_say("          %-18s%s\n", row->name,
              hvi_setting_format(row, &s->settings, text, sizeof text));
}

/* 1, 2, 5, 10, 20, 50, ...: the nearest from below, when it lies beyond `now`. */
static size_t round_down(double x, size_t now) {
  double unit = pow(10, floor(log10(x) + 1e-12)), lead = x / unit;
  double steps = floor(lead * 2 + 1e-9) / 2; /* to half a leading digit */
  double rounded = floor(steps * unit);
  return rounded > (double)now ? (size_t)rounded : (size_t)ceil(x);
}

static size_t next_shown(const run *r, size_t now) {
  const size_t every = r->asked->every;
  if (every > 0) return now - now % every + every;
  double next = (double)now * r->factor;
  if (next < (double)now + 1) return now + 1;
  return next < 1e15 ? round_down(next, now) : now + 1;
}

static const char *cell(double x, int digits) {
  return isnan(x) ? "-" : hvi_format("%.*e", digits - 1, x);
}

static const char *head(void) {
  const char *more =
      hvi_format(" %10s %9s %9s %9s %9s", "loss0", "alpha", "F evals", "passes", "grads");
  return hvi_format("%9s %7s %10s %9s %10s %10s%s %9s", "outer", "inner", "loss", "ratio",
                    "residual", "dist2", hvi_talk.verbose ? more : "", "seconds");
}

/* A row, unless it has been shown. */
static void show(run *r, const hvi_record *row) {
  hvi_progress_clear();
  if (hvi_talk.quiet || r->last == row->outer) return;
  if (r->last == SIZE_MAX) hvi_say("%s\n", hvi_toned(HVI_STRONG, head()));
  hvi_say("%9zu %7zu %10s %9s %10s %10s", row->outer, row->inner, cell(row->loss, 4),
          cell(row->ratio, 3), cell(row->residual, 4), cell(row->dist2, 4));
  if (hvi_talk.verbose)
    hvi_say(" %10s %9s %9zu %9zu %9zu", cell(row->loss0, 4), cell(row->alpha, 3),
            row->counts.f_evals, row->counts.model_passes, row->counts.grad_evals);
  hvi_say(" %9.4f\n", row->seconds);
  r->last = row->outer;
}

static bool observe(void *context, const hvi_record *row) {
  run *r = context;
  /* the clock is not worth a look at every iteration */
  if (row->outer % 64 == 0) hvi_progress_update(row->outer);
  if (row->outer >= r->next) {
    show(r, row);
    r->next = next_shown(r, row->outer);
  }
  hvi_solve_files_row(&r->files, row);
  return !hvi_signals_interrupted();
}

/* A gap is infinite where Z is not bounded. */
static const char *number(double x, int digits) {
  return isinf(x) ? "unbounded" : hvi_digits(x, digits, "not known");
}

static const char *word(double x) { return hvi_digits(x, 4, "not known"); }

/* A residual well above the tolerance, or above rounding, contradicts a solver that has converged. */
static bool judge_disagrees(const run *r) {
  const hvi_settings *o = &r->setup->settings;
  const double rounding = hvi_solver_rounding(r->setup->problem->model, r->info.last.z);
  const double least = fmax(o->tol, o->rounding ? rounding : 0.0);
  return r->info.outcome == HVI_CONVERGED && r->judge.residual > 2 * least;
}

/* The exit code that the outcome and the judge's word call for. */
static int exit_code(const run *r) {
  if (r->info.outcome == HVI_STOPPED) return HVI_EXIT_INTERRUPTED;
  if (!r->judge.finite || r->info.outcome == HVI_DIVERGED) return HVI_EXIT_DIVERGED;
  const bool converged = r->info.outcome == HVI_CONVERGED && !judge_disagrees(r);
  return converged || r->setup->settings.tol == 0 ? HVI_EXIT_DONE : HVI_EXIT_SHORT;
}

/* What happened, without what to do about it; "" for a good end. */
static const char *complaint(const run *r) {
  const hvi_info *i = &r->info;
  const double residual = r->judge.residual;
  if (i->outcome == HVI_DIVERGED || !r->judge.finite)
    return hvi_format("diverged at outer step %zu: %s.", i->last.outer, i->reason);
  if (i->outcome == HVI_STALLED)
    return hvi_format("stalled at dist2 %s: the outputs no longer move, and the residual is %s.",
                      word(r->judge.dist2), word(residual));
  if (judge_disagrees(r))
    return hvi_format("not converged: the judge finds a residual of %s.", word(residual));
  if (i->outcome == HVI_LIMIT && r->setup->settings.tol > 0)
    return hvi_format("not converged: the residual is %s after %zu outer steps.", word(residual),
                      i->last.outer);
  if (i->outcome == HVI_LIMIT && residual > 0.1 * r->first)
    return hvi_format("little progress: the residual is %s, and was %s at the start.",
                      word(residual), word(r->first));
  return "";
}

static void add_option(hvi_text *t, const hvi_arg *a) {
  char text[16] = "";
  const bool flag = a->kind == HVI_SETTING_FLAG;
  if (flag) hvi_setting_format(&a->setting, a->to, text, sizeof text);
  const hvi_texts one = {1, {a->given}}, *texts = a->repeats ? a->to : &one;
  for (size_t i = 0; i < texts->count; i++) {
    hvi_text_add(t, " --%s%s", strcmp(text, "no") == 0 ? "no-" : "", a->option + 2);
    if (!flag) hvi_text_word(t, texts->items[i]);
  }
}

/* hvi inspect with all options that were given and that it knows. */
static char *inspect_command(const hvi_solve *s) {
  hvi_text t = {0};
  hvi_text_add(&t, "hvi inspect");
  hvi_text_word(&t, s->setup.name);
  for (size_t i = 0; i < s->shared_options; i++)
    if (s->args->rows[i].given) add_option(&t, &s->args->rows[i]);
  return hvi_text_take(&t);
}

/* In plain words, what is wrong with the result and where to look; NULL when nothing is. */
static const char *advice(const run *r) {
  const char *what = complaint(r);
  if (!*what || !r->again) return NULL;
  const char *own = hvi_builtin_find(r->setup->name) ? "" : ", and 'hvi check' tests the problem";
  return hvi_format("%s \"%s\" tells more%s.", what, r->again, own);
}

static void print_footer(const run *r) {
  const hvi_info *i = &r->info;
  const hvi_counts *c = &i->last.counts;
  const hvi_tone tone = r->code == HVI_EXIT_DONE       ? HVI_GOOD
                        : r->code == HVI_EXIT_DIVERGED ? HVI_BAD
                                                       : HVI_WARN;
  hvi_say("status    %s (%s) after %zu outer and %zu inner steps, %.3g s\n",
          hvi_toned(tone, hvi_outcome_name(i->outcome)), i->reason, i->last.outer, i->inner_total,
          i->last.seconds);
  hvi_say("cost      %zu evaluations of F, %zu model passes, %zu gradients\n", c->f_evals,
          c->model_passes, c->grad_evals);
  if (r->setup->settings.step_rule == HVI_STEP_ADAPTIVE)
    hvi_say("steps     eta %s at the end, %zu new %s\n", word(i->eta), i->restarts,
            i->restarts == 1 ? "start" : "starts");
  hvi_say("judge     residual %s, dist2 %s, gap %s\n", word(r->judge.residual),
          word(r->judge.dist2), number(r->judge.gap, 4));
  if (hvi_talk.verbose && isfinite(i->best_residual))
    hvi_say("best      residual %s, dist2 %s, at outer step %zu\n", word(i->best_residual),
            word(i->best_dist2), i->best_outer);
  if (advice(r)) hvi_say("%s\n", hvi_toned(tone, advice(r)));
}

static void print_numbers(const char *name, const double *x, size_t n) {
  printf("%-*s", (int)strlen(name) < 10 ? 10 : (int)strlen(name) + 2, name);
  for (size_t i = 0; i < n && i < SHOWN; i++)
    printf("%s%s", i > 0 ? " " : "", hvi_digits(x[i], DIGITS, "nan"));
  if (n > SHOWN) printf(" ... (%zu in all)", n);
  putchar('\n');
}

static void print_number(const char *name, double x) {
  printf("%-10s%s\n", name, hvi_digits(x, DIGITS, "not known"));
}

/* z player by player, with their names in a column. */
static void print_players(const hvi_problem *p, const double *z) {
  size_t shown = p->model->block_count, width = 0;
  if (shown > 2 * SHOWN) shown = SHOWN;
  for (size_t k = 0; k < shown; k++) {
    const size_t own = hvi_text_width(p->players[k]);
    if (own > width) width = own;
  }
  for (size_t k = 0; k < shown; k++) {
    const hvi_block *b = &p->model->blocks[k];
    const char *name = hvi_format("%-10s%s%*s", k == 0 ? "z" : "", p->players[k],
                                  (int)(width - hvi_text_width(p->players[k])), "");
    print_numbers(name, z + b->z, b->out);
  }
  if (shown < p->model->block_count)
    printf("%-10s... (%zu players in all)\n", "", p->model->block_count);
}

static void print_text(const run *r) {
  const hvi_model *m = r->setup->problem->model;
  printf("%-10s%s\n%-10s%s\n", "problem", r->setup->name, "method", r->setup->method);
  printf("%-10s%s (%s)\n", "status", hvi_outcome_name(r->info.outcome), r->info.reason);
  printf("%-10s%zu\n", "outer", r->info.last.outer);
  print_number("residual", r->judge.residual);
  print_number("dist2", r->judge.dist2);
  printf("%-10s%s\n", "gap", number(r->judge.gap, DIGITS));
  print_numbers("theta", r->info.last.theta, m->dim);
  if (r->setup->problem->players)
    print_players(r->setup->problem, r->info.last.z);
  else
    print_numbers("z", r->info.last.z, m->out);
}

/* Each player's own share, with its name where it has one. */
static void players_json(const hvi_problem *p, const hvi_record *last) {
  const hvi_model *m = p->model;
  if (m->block_count == 1 && !p->players) return;
  hvi_json_open("players", '[');
  for (size_t k = 0; k < m->block_count; k++)
    hvi_json_object(NULL, V("name", p->players ? p->players[k] : NULL),
                    hvi_value_numbers("theta", last->theta + m->blocks[k].theta, m->blocks[k].dim),
                    hvi_value_numbers("z", last->z + m->blocks[k].z, m->blocks[k].out));
  hvi_json_close();
}

static void print_json(const run *r) {
  const hvi_setup *s = r->setup;
  const hvi_model *m = s->problem->model;
  const hvi_info *i = &r->info;
  const hvi_counts *c = &i->last.counts;
  hvi_json_begin();
  hvi_json_put(V("problem", s->name));
  hvi_json_object("dimensions", V("parameters", m->dim), V("outputs", m->out),
                  V("players", m->block_count));
  hvi_json_put(V("method", s->method), V("status", hvi_outcome_name(i->outcome)),
               V("reason", i->reason), V("advice", advice(r)), V("outer", i->last.outer),
               V("inner", i->inner_total), V("restarts", i->restarts), V("dist2", r->judge.dist2),
               V("residual", r->judge.residual), V("gap", r->judge.gap),
               V("alpha_worst", i->alpha_worst), hvi_value_numbers("theta", i->last.theta, m->dim),
               hvi_value_numbers("z", i->last.z, m->out));
  players_json(s->problem, &i->last);
  hvi_json_object("best", V("outer", i->best_outer), V("residual", i->best_residual),
                  V("dist2", i->best_dist2), hvi_value_numbers("theta", i->best_theta, m->dim),
                  hvi_value_numbers("z", i->best_z, m->out));
  hvi_json_open("settings", '{');
  hvi_setup_json(s, i->eta);
  hvi_json_close();
  hvi_json_object("counts", V("f_evals", c->f_evals), V("model_passes", c->model_passes),
                  V("grad_evals", c->grad_evals), V("env_steps", c->env_steps));
  hvi_json_put(V("seconds", i->last.seconds));
  if (r->asked->checkpoint) hvi_json_put(V("level", (const char *)r->files.head.levels));
  hvi_json_end();
}

/* Steps, with checkpoints in between: a failure to write one is told, and the solve goes on. */
static void run_steps(run *r, hvi_solver *solver) {
  int code = HVI_EXIT_DONE;
  do
    if (hvi_solve_files_keep(&r->files, &hvi_fault)) code = hvi_complain_fault();
  while (hvi_solver_step(solver) == HVI_RUNNING);
  hvi_solver_run(solver); /* has ended: the seconds of all of it */
  r->info = hvi_solver_info(solver);
  r->first = isnan(r->info.last.residual) ? NAN : solver->first_residual;
  if (r->info.outcome == HVI_STOPPED) r->info.reason = "interrupted";
  r->code = code;
}

static int run_solver(run *r, hvi_solver *solver) {
  HVI_STEP(hvi_solve_files_open(&r->files, r->asked, solver));
  hvi_solve_header(r->setup, hvi_solver_info(solver).eta);
  hvi_solve_files_tell(&r->files);
  run_steps(r, solver);
  show(r, &r->info.last);
  HVI_CALL(hvi_problem_judge(&r->judge, r->setup->problem, r->info.last.theta, &hvi_fault));
  if (!r->code) r->code = exit_code(r);
  r->code = hvi_solve_files_close(&r->files, &r->info, r->code);
  print_footer(r);
  if (r->info.outcome == HVI_STOPPED && r->asked->checkpoint)
    hvi_say("hvi: interrupted at outer step %zu; --resume goes on from here\n", r->info.last.outer);
  (hvi_talk.json ? print_json : print_text)(r);
  return r->code;
}

static void close_run(run *r) {
  hvi_solve_files_free(&r->files);
  hvi_free(r->again);
}

static int solve_one(const hvi_solve *s) {
  HVI_OWN_BY(hvi_solver_release) hvi_solver *solver = NULL;
  hvi_settings settings = s->setup.settings;
  const double most = settings.max_outer > 0 ? (double)settings.max_outer : 1e6;
  HVI_OWN_BY(close_run)
  run r = {.asked = s,
           .setup = &s->setup,
           .factor = pow(most, 1.0 / (TABLE_ROWS - 4)),
           .last = SIZE_MAX,
           .again = inspect_command(s)};
  settings.observe = observe;
  settings.observer_context = &r;
  hvi_progress_start("solving", settings.max_outer);
  HVI_STEP(hvi_solve_files_check(s));
  HVI_CALL(hvi_solver_new(&solver, s->setup.problem, &settings, &hvi_fault));
  return run_solver(&r, solver);
}

/* What makes no sense for many instances, or only for them. */
static int check_options(const hvi_solve *s, const hvi_args *args) {
  static const char *const single[] = {"instance", "theta0",           "trace", "log", "plot",
                                       "save",     "checkpoint-every", NULL};
  if (s->ensemble == 0) {
    for (int part = 0; part < 2; part++)
      if (hvi_args_given(args, part ? "part" : "jobs"))
        return hvi_misuse("--%s goes with --ensemble", part ? "part" : "jobs");
    return hvi_share_refuse("a solve of one instance");
  }
  if (!s->checkpoint && (hvi_args_given(args, "part") || s->resume || s->fresh))
    return hvi_misuse("--part, --resume and --fresh go with --checkpoint");
  for (size_t i = 0; single[i]; i++) {
    if (!hvi_args_given(args, single[i])) continue;
    return hvi_misuse("--%s is for one instance and does not go with --ensemble", single[i]);
  }
  return HVI_EXIT_DONE;
}

static void close_solve(hvi_solve *s) { hvi_setup_free(&s->setup); }

int hvi_cli_solve(int argc, char **argv) {
  HVI_OWN_BY(close_solve) hvi_solve s = {.setup = hvi_setup_new(), .checkpoint_every = 30};
  hvi_args args = {argv[0], "PROBLEM [OPTION]...", .operand = "problem",
                   .also = "json force quiet verbose"};
  hvi_setup_options(&s.setup, &args);
  s.args = &args;
  s.shared_options = args.count;
  hvi_args_add(&args,
      {.name = "many instances"},
      {"ensemble", 0, HVI_SETTING_COUNT, &s.ensemble, .range = "[1,1e9]", .help = "solve N random instances of a built-in problem or of code"},
      {"jobs", 'j', HVI_SETTING_COUNT, &s.jobs, .range = "[0,1024]", .value = "J", .help = "threads for them; 0: one per core"});
  hvi_args_part(&args);
  hvi_args_add(&args,
      {.name = "output"},
      {"trace", 0, HVI_SETTING_TEXT, &s.trace, .value = "FILE.csv", .help = "every iteration, with its cost, theta while it is short, and z"},
      {"trace-z", 0, HVI_SETTING_FLAG, &s.trace_z, .help = "z in the trace although it has more than 1,000 numbers"},
      {"log", 0, HVI_SETTING_TEXT, &s.log, .value = "FILE.jsonl", .help = "a JSON object an iteration, as it happens"},
      {"plot", 0, HVI_SETTING_TEXT, &s.plot, .value = "FILE.png|svg", .help = "a picture: residual, loss ratio, strategies by player"},
      {"save", 0, HVI_SETTING_TEXT, &s.save, .value = "FILE.npy", .help = "the final theta"},
      {"checkpoint", 0, HVI_SETTING_TEXT, &s.checkpoint, .value = "FILE", .help = "what --resume goes on from"},
      {"checkpoint-every", 0, HVI_SETTING_REAL, &s.checkpoint_every, .range = "[0,1e9]", .value = "SECONDS", .help = "between checkpoints"},
      {"resume", 0, HVI_SETTING_FLAG, &s.resume, .help = "go on from the checkpoint, if there is one"},
      {"fresh", 0, HVI_SETTING_FLAG, &s.fresh, .help = "begin anew although there is a checkpoint"},
      {"accept-other-bits", 0, HVI_SETTING_FLAG, &s.accept_other_bits, .help = "resume what another level of instructions computed"},
      {"every", 0, HVI_SETTING_COUNT, &s.every, .help = "show each Nth iteration; 0: about twenty rows"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  s.setup.many = s.ensemble > 0;
  HVI_STEP(check_options(&s, &args));
  HVI_STEP(hvi_setup_make(&s.setup, &args));
  return s.ensemble > 0 ? hvi_solve_ensemble(&s) : solve_one(&s);
}

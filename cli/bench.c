/* hvi bench: speed, as ratios to limits measured in the same run. */
#include "args.h"
#include "base/base.h"
#include "base/file.h"
#include "bellman.h"
#include "commands.h"
#include "evaluate.h"
#include "games.h"
#include "json.h"
#include "mlp.h"
#include "profile.h"
#include "sac.h"
#include "talk.h"

/* "0.97", or "-" where one of the two was not measured. */
static const char *ratio(double above, double below) {
  return isnan(above) || isnan(below) ? "-" : hvi_format("%.2f", above / below);
}

static void networks_text(const games_row *r, size_t count) {
  printf("\ntwo players behind networks 8-w-w-4, one thread: an inner step of both\n");
  printf("  %-6s %-9s %6s %5s %12s %12s %7s\n", "method", "precision", "rows", "w", "us", "limit",
         "ratio");
  for (const games_row *end = r + count; r < end; r++)
    printf("  %-6s %-9s %6zu %5zu %12.1f %12.1f %7s\n", r->label, r->single ? "single" : "double",
           r->rows, r->width, 1e6 * r->step, 1e6 * r->limit, ratio(r->step, r->limit));
  printf(
      "  limit: the bare products, by OpenBLAS or our kernel, and of Adam the update; of LM J J'\n"
      "  and a Cholesky factor; with --repeats 1 the largest are left out\n");
}

static void games_text(const void *rows, size_t count, const bench_options *o) {
  const size_t small = count < GAMES_SMALL ? count : GAMES_SMALL;
  const games_row *first = rows, *end = first + small;
  printf("one trajectory: nanoseconds per outer step\n");
  printf("  %-8s %-8s %10s %10s %7s   %s\n", "game", "method", "hvi", "by hand", "ratio",
         "per step: evaluations of g, J'u, F");
  for (const games_row *r = first; r < end; r++)
    printf("  %-8s %-8s %10.1f %10s %7s   %.3g, %.3g, %.3g%s\n", r->game, r->label, r->trajectory,
           isnan(r->by_hand) ? "-" : hvi_format("%.1f", r->by_hand),
           ratio(r->trajectory, r->by_hand), r->model_passes, r->grad_evals, r->f_evals,
           r->agrees ? "" : "   (the two disagree: this is a defect)");
  printf("\nensemble of %zu instances, one thread: nanoseconds per outer step and instance\n",
         o->instances);
  printf("  %-8s %-8s %10s %12s %9s\n", "game", "method", "lanes", "one by one", "speed-up");
  for (const games_row *r = first; r < end; r++)
    printf("  %-8s %-8s %10.2f %12.1f %9s\n", r->game, r->label, r->lanes, r->one_by_one,
           ratio(r->one_by_one, r->lanes));
  if (count > small) networks_text(first + small, count - small);
}

static void games_json(const void *rows, size_t i) {
  const games_row *r = (const games_row *)rows + i;
  if (i >= GAMES_SMALL) {
    hvi_json_object(NULL, V("game", r->game), V("method", r->label),
                    V("precision", r->single ? "single" : "double"), V("rows", r->rows),
                    V("width", r->width), V("step_seconds", r->step), V("limit_seconds", r->limit),
                    V("ratio", r->step / r->limit));
    return;
  }
  hvi_json_object(NULL, V("game", r->game), V("method", r->label),
                  V("trajectory_ns", r->trajectory), V("by_hand_ns", r->by_hand),
                  V("ratio", r->trajectory / r->by_hand), V("lanes_ns", r->lanes),
                  V("one_by_one_ns", r->one_by_one), V("model_passes", r->model_passes),
                  V("grad_evals", r->grad_evals), V("f_evals", r->f_evals), V("agrees", r->agrees));
}

static double bandwidth(const bellman_row *r) { return r->bytes / r->seconds; }

static void bellman_text(const void *measured, size_t count, const bench_options *o) {
  const bellman_row *r = measured;
  const double limit = bandwidth(&r[BELLMAN_TRIAD]);
  printf("policy evaluation with %zu states, one thread: products and memory bandwidth\n",
         o->states);
  printf("  %-10s %-18s %10s %8s %10s\n", "product", "matrix", "ms", "GB/s", "of triad");
  for (size_t i = 0; i < count; i++, r++) {
    printf("  %-10s %-18s %10.2f %8.2f %10s\n", r->label, r->matrix, 1e3 * r->seconds,
           1e-9 * bandwidth(r), ratio(bandwidth(r), limit));
  }
  printf("  bytes that must move; a gather from anywhere moves a whole cache line for its 8\n");
}

static void bellman_json(const void *rows, size_t i) {
  const bellman_row *all = rows, *r = all + i;
  hvi_json_object(NULL, V("product", r->label), V("matrix", r->matrix), V("seconds", r->seconds),
                  V("gb_per_s", 1e-9 * bandwidth(r)),
                  V("of_triad", bandwidth(r) / bandwidth(&all[BELLMAN_TRIAD])));
}

/* Rows of lm come after the gradient descent on the same network and batch. */
static void mlp_text(const void *rows, size_t count, const bench_options *o) {
  const mlp_row *first = rows, *end = first + count;
  double gradient = NAN;
  (void)o;
  printf("inner steps on networks 27-256x..-1, one thread, by its processor time\n");
  printf("  %6s %6s %-9s %12s %8s %9s %9s %9s\n", "layers", "batch", "optimizer", "us", "GFLOP/s",
         "of sgemm", "of own", "of best");
  for (const mlp_row *r = first; r < end; r++)
    if (r->first_order)
      printf("  %6zu %6zu %-9s %12.1f %8.1f %9s %9s %9s\n", r->hidden, r->batch, r->optimizer,
             1e6 * r->step, 1e-9 * r->flops / r->step, ratio(r->sgemm, r->step),
             ratio(r->own, r->step), ratio(r->flops / r->step, r->peak));
  printf("  of sgemm, of own: the bare products' time by OpenBLAS, by our kernel, over the step's\n"
         "  of best: GFLOP/s over those of OpenBLAS's sgemm at 1024 x 1024 x 1024\n");
  printf("\none exact damped step, lm(1) through J J': in gradient steps\n");
  printf("  %6s %6s %12s %8s\n", "layers", "batch", "us", "steps");
  for (const mlp_row *r = first; r < end; r++) {
    if (strcmp(r->optimizer, "gd") == 0) gradient = r->step;
    if (!r->first_order)
      printf("  %6zu %6zu %12.1f %8s\n", r->hidden, r->batch, 1e6 * r->step,
             ratio(r->step, gradient));
  }
}

static void mlp_json(const void *rows, size_t i) {
  const mlp_row *r = (const mlp_row *)rows + i;
  hvi_json_open(NULL, '{');
  hvi_json_put(V("hidden_layers", r->hidden), V("batch", r->batch), V("optimizer", r->optimizer),
               V("step_seconds", r->step), V("sgemm_seconds", r->sgemm), V("own_seconds", r->own),
               V("of_sgemm", r->sgemm / r->step), V("of_own", r->own / r->step));
  if (r->first_order)
    hvi_json_put(V("gflop_per_s", 1e-9 * r->flops / r->step),
                 V("of_best", r->flops / r->step / r->peak));
  hvi_json_close();
}

static void sac_text(const void *rows, size_t count, const bench_options *o) {
  const sac_row *r = rows;
  (void)o;
  printf("soft actor-critic, batch 256, hidden 256 and 256: an environment step's updates, one\n"
         "thread, by its processor time\n");
  printf("  %-14s %9s %9s %9s %8s %9s\n", "sizes of", "critics", "actor", "both", "GFLOP/s",
         "of sgemm");
  for (size_t i = 0; i < count; i++, r++) {
    const double both = r->critics + r->actor;
    printf("  %-14s %6.2f ms %6.2f ms %6.2f ms %8.1f %9s\n", r->env, 1e3 * r->critics,
           1e3 * r->actor, 1e3 * both, 1e-9 * r->flops / both, ratio(r->sgemm, both));
  }
  printf("  of sgemm: the bare products' time by OpenBLAS over the updates'\n");
}

static void sac_json(const void *rows, size_t i) {
  const sac_row *r = (const sac_row *)rows + i;
  const double both = r->critics + r->actor;
  hvi_json_object(NULL, V("env", r->env), V("critics_seconds", r->critics),
                  V("actor_seconds", r->actor), V("update_seconds", both),
                  V("sgemm_seconds", r->sgemm), V("of_sgemm", r->sgemm / both),
                  V("gflop_per_s", 1e-9 * r->flops / both));
}

static void evaluate_text(const void *rows, size_t count, const bench_options *o) {
  const evaluate_row *r = rows;
  (void)o;
  size_t cores = 1;
  printf("policy evaluation, batches of %d, 256 and 256 hidden units, %d steps of adamw: an outer\n"
         "step, one thread, by its processor time, ms\n",
         EVALUATE_BATCH, EVALUATE_INNER);
  printf("  %-13s %9s %9s %9s %9s %9s %9s %9s\n", "environment", "collect", "targets", "inner",
         "of sgemm", "loop", "seeds", "measure");
  for (size_t i = 0; i < count; i++, r++) {
    if (!r->available) {
      printf("  %-13s not in this build\n", r->env);
      continue;
    }
    cores = r->cores;
    printf("  %-13s %9.2f %9.2f %9.1f %9s %+8.2f%% %+8.1f%% %9.2f\n", r->env, 1e3 * r->collect,
           1e3 * r->targets, 1e3 * r->inner, ratio(r->sgemm, r->inner),
           100.0 * (r->step / (r->targets + r->inner) - 1.0), 100.0 * (r->together / r->step - 1.0),
           1e3 * r->measure);
  }
  printf(
      "  of sgemm: the bare products' time by OpenBLAS over the inner steps'\n"
      "  loop: what the evaluation's own loop takes beyond targets and inner steps done bare\n"
      "  seeds: what a step takes more when each core runs an evaluation of its own (%zu cores)\n"
      "  measure: the error on 1000 states\n",
      cores);
}

static void evaluate_json(const void *rows, size_t i) {
  const evaluate_row *r = (const evaluate_row *)rows + i;
  if (!r->available) return;
  hvi_json_object(NULL, V("env", r->env), V("collect_seconds", r->collect),
                  V("targets_seconds", r->targets), V("inner_seconds", r->inner),
                  V("sgemm_seconds", r->sgemm), V("of_sgemm", r->sgemm / r->inner),
                  V("step_seconds", r->step),
                  V("overhead", r->step / (r->targets + r->inner) - 1.0), V("cores", r->cores),
                  V("step_seconds_on_all_cores", r->together), V("measure_seconds", r->measure));
}

static void solve_text(const void *rows, size_t count, const bench_options *o) {
  const solve_row *r = rows;
  printf("random problems, %zu of each kind, seeds from %llu\n", o->games,
         (unsigned long long)o->seed);
  printf("  %-14s %-12s %12s %10s %12s %10s\n", "method", "kind", "solved", "F evals", "seconds",
         "slowest");
  for (size_t i = 0; i < count; i++, r++)
    printf("  %-14s %-12s %5zu of %-4zu %10s %12s %10s\n", r->method, r->kind, r->solved, r->games,
           hvi_digits(r->evals, 4, "-"), hvi_digits(r->seconds, 3, "-"),
           hvi_digits(r->slowest, 3, "-"));
  printf(
      "  solved: a residual of 1e-6, or 1e-4 where F is only monotone, found by a judge of its "
      "own;\n"
      "  medians over what was solved, by processor time; fixed: lm with adaptive damping, inner\n"
      "  10, eta 0.03, optimistic targets, 20,000 outer steps\n");
}

static void solve_json(const void *rows, size_t i) {
  const solve_row *r = (const solve_row *)rows + i;
  hvi_json_object(NULL, V("method", r->method), V("kind", r->kind), V("games", r->games),
                  V("solved", r->solved), V("f_evals", r->evals), V("seconds", r->seconds),
                  V("slowest_seconds", r->slowest));
}

/* Each measures rows, and prints them for people or, one by one, as JSON. */
static games_row games[GAMES_ROWS];
static bellman_row bellman[BELLMAN_ROWS];
static mlp_row mlp[MLP_ROWS];
static sac_row sac[SAC_ROWS];
static evaluate_row evaluate[EVALUATE_ROWS];
static solve_row solve[SOLVE_ROWS];

enum { GAMES, BELLMAN, MLP, SAC, EVALUATE, SOLVE, BENCHMARKS };

static const struct {
  const char *name;
  void *rows;
  size_t count;
  hvi_status (*run)(void *rows, size_t *done, const bench_options *o, hvi_error *err);
  void (*text)(const void *rows, size_t count, const bench_options *o);
  void (*json)(const void *rows, size_t i);
} benchmarks[BENCHMARKS] = {
    [GAMES] = {"games", games, GAMES_ROWS, bench_games_run, games_text, games_json},
    [BELLMAN] = {"bellman", bellman, BELLMAN_ROWS, bench_bellman_run, bellman_text, bellman_json},
    [MLP] = {"mlp", mlp, MLP_ROWS, bench_mlp_run, mlp_text, mlp_json},
    [SAC] = {"sac", sac, SAC_ROWS, bench_sac_run, sac_text, sac_json},
    [EVALUATE] = {"evaluate", evaluate, EVALUATE_ROWS, bench_evaluate_run, evaluate_text,
                  evaluate_json},
    [SOLVE] = {"solve", solve, 1, bench_solve_run, solve_text, solve_json},
};

/* What was asked for, and what came out. */
typedef struct bench {
  const char *only; /* the name of a benchmark, or NULL for all */
  bench_options options;
  bool run[BENCHMARKS];
  size_t done[BENCHMARKS]; /* rows, before an error or a stop */
} bench;

static int run_one(bench *b, size_t k) {
  b->run[k] = true;
  hvi_progress_start(benchmarks[k].name, benchmarks[k].count);
  HVI_CALL(hvi_progress_end(
      benchmarks[k].run(benchmarks[k].rows, &b->done[k], &b->options, &hvi_fault)));
  if (!hvi_talk.json) {
    if (!b->only && k > 0) printf("\n");
    benchmarks[k].text(benchmarks[k].rows, b->done[k], &b->options);
  }
  return b->done[k] < benchmarks[k].count ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static void print_json(const bench *b) {
  const bench_options *o = &b->options;
  hvi_json_begin();
  hvi_json_put(V("repeats", o->repeats));
  for (size_t k = 0; k < BENCHMARKS; k++) {
    if (!b->run[k]) continue;
    if (k == GAMES) hvi_json_put(V("outer", o->outer), V("instances", o->instances));
    if (k == BELLMAN) hvi_json_put(V("states", o->states));
    hvi_json_open(benchmarks[k].name, '[');
    for (size_t i = 0; i < b->done[k]; i++) benchmarks[k].json(benchmarks[k].rows, i);
    hvi_json_close();
  }
  hvi_json_end();
}

static int run_bench(bench *b) {
  int code = HVI_EXIT_DONE;
  bool known = !b->only;
  for (size_t k = 0; k < BENCHMARKS && code == HVI_EXIT_DONE; k++) {
    if (b->only ? strcmp(b->only, benchmarks[k].name) != 0 : k == SOLVE) continue;
    known = true;
    code = run_one(b, k);
  }
  if (!known)
    return hvi_misuse(
        "there is no benchmark '%s'; there are: games, bellman, mlp, sac, evaluate, solve",
        b->only);
  if (hvi_talk.json && (code == HVI_EXIT_DONE || code == HVI_EXIT_INTERRUPTED)) print_json(b);
  return code;
}

/* Before hours of work. */
static int check_out(const char *folder) {
  if (!folder) return HVI_EXIT_DONE;
  HVI_CALL(hvi_folder_make(folder, &hvi_fault));
  HVI_STEP(hvi_output_check_in(folder, "profile-evals.csv", "cost,"));
  HVI_STEP(hvi_output_check_in(folder, "profile-seconds.csv", "cost,"));
  return hvi_figure_check(folder, "profile");
}

static const char summary[] =
    "Measures speed, as ratios to limits measured in the same run. games: one\n"
    "trajectory against a loop written by hand for exactly this game, and random\n"
    "ensembles in SIMD lanes against the ordinary solver; players behind networks\n"
    "against their bare arithmetic. bellman: the products of\n"
    "policy evaluation against the memory's bandwidth. mlp: inner steps on networks\n"
    "against their bare matrix products. sac: updates of soft actor-critic likewise.\n"
    "evaluate: an outer step of policy evaluation, where its time goes, and what it\n"
    "costs when every core runs one.\n"
    "The fastest of several repeats counts. solve: how many random problems method\n"
    "auto and others solve, and at what cost; it runs only when it is named.";

static const char examples[] =
    "  hvi bench\n  hvi bench games --repeats 50 --json\n  hvi bench bellman\n"
    "  hvi bench mlp\n  hvi bench sac\n  hvi bench evaluate\n  hvi bench solve --games 20";

int hvi_cli_bench(int argc, char **argv) {
  bench b = {.options = {.repeats = 20,
                         .outer = 1000,
                         .instances = 1000,
                         .states = 1000000,
                         .games = 10,
                         .seed = 1,
                         .progress = hvi_progress_count}};
  hvi_args args = {"bench",  "[games|bellman|mlp|sac|evaluate|solve] [OPTION]...",
                   summary,  examples,
                   .max = 1, .operand = "name of a benchmark"};
  /* clang-format off */
  hvi_args_add(&args,
      {"repeats", 0, HVI_SETTING_COUNT, &b.options.repeats, .range = "[1,1000000]", .help = "repeats of each measurement"},
      {"iters", 0, HVI_SETTING_COUNT, &b.options.outer, .range = "[10,100000000]", .help = "outer steps of one trajectory"},
      {"instances", 0, HVI_SETTING_COUNT, &b.options.instances, .range = "[1,1000000]", .help = "instances of an ensemble"},
      {"states", 0, HVI_SETTING_COUNT, &b.options.states, .range = "[8,100000000]", .help = "states of the processes"},
      {"games", 0, HVI_SETTING_COUNT, &b.options.games, .range = "[1,100000]", .help = "solve: random problems of each of seven kinds"},
      {"method", 0, HVI_SETTING_TEXT, &b.options.method, .value = "METHOD", .help = "solve: this method alone, instead of auto and fixed"},
      {"named", 0, HVI_SETTING_COUNT, &b.options.named, .range = "[0,100000]", .help = "solve: of all these, evenly over the kinds, those that every named method gets too, 2 s each"},
      {"large", 0, HVI_SETTING_FLAG, &b.options.large, .help = "solve: five kinds of games of hundreds to thousands of outputs, a minute each"},
      {"seed", 0, HVI_SETTING_SEED, &b.options.seed, .help = "solve: of the first problem of each kind"},
      {"out", 0, HVI_SETTING_TEXT, &b.options.out, .value = "FOLDER", .help = "solve: where the performance profile goes"});
  /* clang-format on */
  hvi_args_json(&args);
  hvi_args_force(&args);
  hvi_args_talk(&args);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  b.options.force = hvi_talk.force;
  b.only = args.operand_count == 1 ? args.operands[0] : NULL;
  HVI_STEP(check_out(b.options.out));
  return run_bench(&b);
}

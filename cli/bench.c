/* hvi bench: speed, as ratios to limits measured in the same run. */
#include "args.h"
#include "bellman.h"
#include "commands.h"
#include "evaluate.h"
#include "exit_codes.h"
#include "games.h"
#include "json.h"
#include "mlp.h"
#include "sac.h"
#include "signals.h"
#include "talk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 32 };

static bool on_progress(void *context, size_t done, size_t total) {
  hvi_progress *bar = context;
  bar->total = total;
  hvi_progress_update(bar, done);
  return !hvi_signals_interrupted();
}

static const char *ratio_text(char text[16], double above, double below) {
  if (isnan(above) || isnan(below)) return "-";
  snprintf(text, 16, "%.2f", above / below);
  return text;
}

static void print_trajectories(const bench_row *rows, size_t count) {
  char ratio[16], hand[16];
  printf("one trajectory: nanoseconds per outer step\n");
  printf("  %-8s %-8s %10s %10s %7s   %s\n", "game", "method", "hvi", "by hand", "ratio",
         "per step: evaluations of g, J'u, F");
  for (size_t i = 0; i < count; i++) {
    const bench_row *r = &rows[i];
    snprintf(hand, sizeof hand, "%.1f", r->by_hand);
    printf("  %-8s %-8s %10.1f %10s %7s   %.3g, %.3g, %.3g%s\n", r->game, r->label, r->trajectory,
           isnan(r->by_hand) ? "-" : hand, ratio_text(ratio, r->trajectory, r->by_hand),
           r->model_passes, r->grad_evals, r->f_evals,
           r->agrees ? "" : "   (the two disagree: this is a defect)");
  }
}

static void print_ensembles(const bench_row *rows, size_t count, size_t instances) {
  char ratio[16];
  printf("\nensemble of %zu instances, one thread: nanoseconds per outer step and instance\n",
         instances);
  printf("  %-8s %-8s %10s %12s %9s\n", "game", "method", "lanes", "one by one", "speed-up");
  for (size_t i = 0; i < count; i++) {
    const bench_row *r = &rows[i];
    printf("  %-8s %-8s %10.2f %12.1f %9s\n", r->game, r->label, r->lanes, r->one_by_one,
           ratio_text(ratio, r->one_by_one, r->lanes));
  }
}

static void print_bellman(const bellman_row *rows, size_t count, size_t states) {
  char ratio[16];
  printf("policy evaluation with %zu states, one thread: products and memory bandwidth\n", states);
  printf("  %-10s %-18s %10s %8s %10s\n", "product", "matrix", "ms", "GB/s", "of triad");
  for (size_t i = 0; i < count; i++) {
    const double speed = rows[i].bytes / rows[i].seconds;
    const double limit = rows[BELLMAN_TRIAD].bytes / rows[BELLMAN_TRIAD].seconds;
    printf("  %-10s %-18s %10.2f %8.2f %10s\n", rows[i].label, rows[i].matrix,
           1e3 * rows[i].seconds, 1e-9 * speed, ratio_text(ratio, speed, limit));
  }
  printf("  bytes that must move; a gather from anywhere moves a whole cache line for its 8\n");
}

static void print_mlp(const mlp_row *rows, size_t count) {
  char of_blas[16], of_own[16], of_peak[16];
  printf("inner steps on networks 27-256x..-1, one thread, by its processor time\n");
  printf("  %6s %6s %-9s %12s %8s %9s %9s %9s\n", "layers", "batch", "optimizer", "us", "GFLOP/s",
         "of sgemm", "of own", "of best");
  for (size_t i = 0; i < count; i++) {
    const mlp_row *r = &rows[i];
    if (!r->first_order) continue;
    printf("  %6zu %6zu %-9s %12.1f %8.1f %9s %9s %9s\n", r->hidden, r->batch, r->optimizer,
           1e6 * r->step, 1e-9 * r->flops / r->step, ratio_text(of_blas, r->sgemm, r->step),
           ratio_text(of_own, r->own, r->step), ratio_text(of_peak, r->flops / r->step, r->peak));
  }
  printf("  of sgemm, of own: the bare products' time by OpenBLAS, by our kernel, over the step's\n"
         "  of best: GFLOP/s over those of OpenBLAS's sgemm at 1024 x 1024 x 1024\n");
}

/* The rows of lm, each after the gradient descent on the same network and batch. */
static void print_mlp_newton(const mlp_row *rows, size_t count) {
  char ratio[16];
  double gradient = NAN;
  printf("\none exact damped step, lm(1) through J J': in gradient steps\n");
  printf("  %6s %6s %12s %8s\n", "layers", "batch", "us", "steps");
  for (size_t i = 0; i < count; i++) {
    const mlp_row *r = &rows[i];
    if (strcmp(r->optimizer, "gd") == 0) gradient = r->step;
    if (r->first_order) continue;
    printf("  %6zu %6zu %12.1f %8s\n", r->hidden, r->batch, 1e6 * r->step,
           ratio_text(ratio, r->step, gradient));
  }
}

static void print_sac(const sac_row *rows, size_t count) {
  char ratio[16];
  printf("soft actor-critic, batch 256, hidden 256 and 256: an environment step's updates, one\n"
         "thread, by its processor time\n");
  printf("  %-14s %9s %9s %9s %8s %9s\n", "sizes of", "critics", "actor", "both", "GFLOP/s",
         "of sgemm");
  for (size_t i = 0; i < count; i++) {
    const sac_row *r = &rows[i];
    const double both = r->critics + r->actor;
    printf("  %-14s %6.2f ms %6.2f ms %6.2f ms %8.1f %9s\n", r->env, 1e3 * r->critics,
           1e3 * r->actor, 1e3 * both, 1e-9 * r->flops / both, ratio_text(ratio, r->sgemm, both));
  }
  printf("  of sgemm: the bare products' time by OpenBLAS over the updates'\n");
}

static void print_evaluate(const evaluate_row *rows, size_t count) {
  char ratio[16];
  printf("policy evaluation, batches of %d, 256 and 256 hidden units, %d steps of adamw: an outer\n"
         "step, one thread, by its processor time, ms\n",
         EVALUATE_BATCH, EVALUATE_INNER);
  printf("  %-13s %9s %9s %9s %9s %9s %9s\n", "environment", "collect", "targets", "inner",
         "of sgemm", "loop", "measure");
  for (size_t i = 0; i < count; i++) {
    const evaluate_row *r = &rows[i];
    if (!r->available) {
      printf("  %-13s not in this build\n", r->env);
      continue;
    }
    printf("  %-13s %9.2f %9.2f %9.1f %9s %+8.2f%% %9.2f\n", r->env, 1e3 * r->collect,
           1e3 * r->targets, 1e3 * r->inner, ratio_text(ratio, r->sgemm, r->inner),
           100.0 * (r->step / (r->targets + r->inner) - 1.0), 1e3 * r->measure);
  }
  printf("  of sgemm: the bare products' time by OpenBLAS over the inner steps'\n"
         "  loop: what the evaluation's own loop takes beyond targets and inner steps done bare\n"
         "  measure: the error on 1000 states; collect is by the clock on the wall\n");
}

static void games_json(hvi_json *j, const bench_row *rows, size_t count, const bench_options *o) {
  hvi_json_count(j, "outer", o->outer);
  hvi_json_count(j, "instances", o->instances);
  hvi_json_open(j, "games", '[');
  for (size_t i = 0; i < count; i++) {
    const bench_row *r = &rows[i];
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "game", r->game);
    hvi_json_text(j, "method", r->label);
    hvi_json_number(j, "trajectory_ns", r->trajectory);
    hvi_json_number(j, "by_hand_ns", r->by_hand);
    hvi_json_number(j, "ratio", r->trajectory / r->by_hand);
    hvi_json_number(j, "lanes_ns", r->lanes);
    hvi_json_number(j, "one_by_one_ns", r->one_by_one);
    hvi_json_number(j, "model_passes", r->model_passes);
    hvi_json_number(j, "grad_evals", r->grad_evals);
    hvi_json_number(j, "f_evals", r->f_evals);
    hvi_json_bool(j, "agrees", r->agrees);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static void bellman_json(hvi_json *j, const bellman_row *rows, size_t count, size_t states) {
  hvi_json_count(j, "states", states);
  hvi_json_open(j, "bellman", '[');
  for (size_t i = 0; i < count; i++) {
    const double speed = rows[i].bytes / rows[i].seconds;
    const double limit = rows[BELLMAN_TRIAD].bytes / rows[BELLMAN_TRIAD].seconds;
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "product", rows[i].label);
    hvi_json_text(j, "matrix", rows[i].matrix);
    hvi_json_number(j, "seconds", rows[i].seconds);
    hvi_json_number(j, "gb_per_s", 1e-9 * speed);
    hvi_json_number(j, "of_triad", speed / limit);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static void mlp_json(hvi_json *j, const mlp_row *rows, size_t count) {
  hvi_json_open(j, "mlp", '[');
  for (size_t i = 0; i < count; i++) {
    const mlp_row *r = &rows[i];
    hvi_json_open(j, NULL, '{');
    hvi_json_count(j, "hidden_layers", r->hidden);
    hvi_json_count(j, "batch", r->batch);
    hvi_json_text(j, "optimizer", r->optimizer);
    hvi_json_number(j, "step_seconds", r->step);
    hvi_json_number(j, "sgemm_seconds", r->sgemm);
    hvi_json_number(j, "own_seconds", r->own);
    hvi_json_number(j, "of_sgemm", r->sgemm / r->step);
    hvi_json_number(j, "of_own", r->own / r->step);
    if (r->first_order) {
      hvi_json_number(j, "gflop_per_s", 1e-9 * r->flops / r->step);
      hvi_json_number(j, "of_best", r->flops / r->step / r->peak);
    }
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static void sac_json(hvi_json *j, const sac_row *rows, size_t count) {
  hvi_json_open(j, "sac", '[');
  for (size_t i = 0; i < count; i++) {
    const sac_row *r = &rows[i];
    const double both = r->critics + r->actor;
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "env", r->env);
    hvi_json_number(j, "critics_seconds", r->critics);
    hvi_json_number(j, "actor_seconds", r->actor);
    hvi_json_number(j, "update_seconds", both);
    hvi_json_number(j, "sgemm_seconds", r->sgemm);
    hvi_json_number(j, "of_sgemm", r->sgemm / both);
    hvi_json_number(j, "gflop_per_s", 1e-9 * r->flops / both);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static void evaluate_json(hvi_json *j, const evaluate_row *rows, size_t count) {
  hvi_json_open(j, "evaluate", '[');
  for (size_t i = 0; i < count; i++) {
    const evaluate_row *r = &rows[i];
    if (!r->available) continue;
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "env", r->env);
    hvi_json_number(j, "collect_seconds", r->collect);
    hvi_json_number(j, "targets_seconds", r->targets);
    hvi_json_number(j, "inner_seconds", r->inner);
    hvi_json_number(j, "sgemm_seconds", r->sgemm);
    hvi_json_number(j, "of_sgemm", r->sgemm / r->inner);
    hvi_json_number(j, "step_seconds", r->step);
    hvi_json_number(j, "overhead", r->step / (r->targets + r->inner) - 1.0);
    hvi_json_number(j, "measure_seconds", r->measure);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

/* What was asked for, and what came out. */
typedef struct bench {
  bool games, bellman, mlp, sac, evaluate, json;
  bench_options game_options;
  bellman_options bellman_options;
  bench_row game_rows[MOST_ROWS];
  bellman_row bellman_rows[BELLMAN_ROWS];
  mlp_options mlp_options;
  mlp_row mlp_rows[MLP_ROWS];
  sac_options sac_options;
  sac_row sac_rows[SAC_ROWS];
  evaluate_options evaluate_options;
  evaluate_row evaluate_rows[EVALUATE_ROWS];
  size_t games_done, bellman_done, mlp_done, sac_done, evaluate_done;
} bench;

static int run_games(bench *b, const hvi_talk *talk) {
  hvi_progress bar = hvi_progress_new(talk, "games", bench_games_count());
  hvi_error err;
  b->game_options.progress = on_progress;
  b->game_options.context = &bar;
  const hvi_status status = bench_games_run(b->game_rows, &b->games_done, &b->game_options, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (!b->json) {
    print_trajectories(b->game_rows, b->games_done);
    print_ensembles(b->game_rows, b->games_done, b->game_options.instances);
  }
  return b->games_done < bench_games_count() ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static int run_bellman(bench *b, const hvi_talk *talk) {
  hvi_progress bar = hvi_progress_new(talk, "bellman", BELLMAN_ROWS);
  hvi_error err;
  b->bellman_options.progress = on_progress;
  b->bellman_options.context = &bar;
  const hvi_status status =
      bench_bellman_run(b->bellman_rows, &b->bellman_done, &b->bellman_options, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (!b->json) {
    if (b->games) printf("\n");
    print_bellman(b->bellman_rows, b->bellman_done, b->bellman_options.states);
  }
  return b->bellman_done < BELLMAN_ROWS ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static int run_mlp(bench *b, const hvi_talk *talk) {
  hvi_progress bar = hvi_progress_new(talk, "mlp", MLP_ROWS);
  hvi_error err;
  b->mlp_options.repeats = b->game_options.repeats;
  b->mlp_options.progress = on_progress;
  b->mlp_options.context = &bar;
  const hvi_status status = bench_mlp_run(b->mlp_rows, &b->mlp_done, &b->mlp_options, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (!b->json) {
    if (b->games || b->bellman) printf("\n");
    print_mlp(b->mlp_rows, b->mlp_done);
    print_mlp_newton(b->mlp_rows, b->mlp_done);
  }
  return b->mlp_done < MLP_ROWS ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static int run_sac(bench *b, const hvi_talk *talk) {
  hvi_progress bar = hvi_progress_new(talk, "sac", SAC_ROWS);
  hvi_error err;
  b->sac_options = (sac_options){b->game_options.repeats, on_progress, &bar};
  const hvi_status status = bench_sac_run(b->sac_rows, &b->sac_done, &b->sac_options, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (!b->json) {
    if (b->mlp) printf("\n");
    print_sac(b->sac_rows, b->sac_done);
  }
  return b->sac_done < SAC_ROWS ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static int run_evaluate(bench *b, const hvi_talk *talk) {
  hvi_progress bar = hvi_progress_new(talk, "evaluate", EVALUATE_ROWS);
  hvi_error err;
  b->evaluate_options = (evaluate_options){b->game_options.repeats, on_progress, &bar};
  const hvi_status status =
      bench_evaluate_run(b->evaluate_rows, &b->evaluate_done, &b->evaluate_options, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (!b->json) {
    if (b->sac) printf("\n");
    print_evaluate(b->evaluate_rows, b->evaluate_done);
  }
  return b->evaluate_done < EVALUATE_ROWS ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static int run_bench(bench *b, const hvi_talk *talk) {
  int code = HVI_EXIT_DONE;
  b->bellman_options.repeats = b->game_options.repeats;
  if (b->games) code = run_games(b, talk);
  if (b->bellman && code == HVI_EXIT_DONE) code = run_bellman(b, talk);
  if (b->mlp && code == HVI_EXIT_DONE) code = run_mlp(b, talk);
  if (b->sac && code == HVI_EXIT_DONE) code = run_sac(b, talk);
  if (b->evaluate && code == HVI_EXIT_DONE) code = run_evaluate(b, talk);
  if (!b->json || (code != HVI_EXIT_DONE && code != HVI_EXIT_INTERRUPTED)) return code;
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_count(&j, "repeats", b->game_options.repeats);
  if (b->games) games_json(&j, b->game_rows, b->games_done, &b->game_options);
  if (b->bellman) {
    bellman_json(&j, b->bellman_rows, b->bellman_done, b->bellman_options.states);
  }
  if (b->mlp) mlp_json(&j, b->mlp_rows, b->mlp_done);
  if (b->sac) sac_json(&j, b->sac_rows, b->sac_done);
  if (b->evaluate) evaluate_json(&j, b->evaluate_rows, b->evaluate_done);
  hvi_json_close(&j, '}');
  return code;
}

int hvi_cli_bench(int argc, char **argv) {
  hvi_talk talk = hvi_talk_new();
  bench b = {.game_options = {.repeats = 20, .outer = 1000, .instances = 1000},
             .bellman_options = {.states = 1000000}};
  hvi_args args = {
      .command = "bench",
      .usage = "[games|bellman|mlp|sac|evaluate] [OPTION]...",
      .summary = "Measures speed, as ratios to limits measured in the same run. games: one\n"
                 "trajectory against a loop written by hand for exactly this game, and random\n"
                 "ensembles in SIMD lanes against the ordinary solver. bellman: the products of\n"
                 "policy evaluation against the memory's bandwidth. mlp: inner steps on networks\n"
                 "against their bare matrix products. sac: updates of soft actor-critic likewise.\n"
                 "evaluate: an outer step of policy evaluation, and where its time goes.\n"
                 "The fastest of several repeats counts.",
      .examples = "  hvi bench\n  hvi bench games --repeats 50 --json\n  hvi bench bellman\n"
                  "  hvi bench mlp\n  hvi bench sac\n  hvi bench evaluate",
      .max = 1,
      .operand = "name of a benchmark"};
  hvi_args_add(&args, (hvi_arg[]){{.name = "repeats",
                                   .kind = HVI_ARG_SIZE,
                                   .to = &b.game_options.repeats,
                                   .range = "[1,1000000]",
                                   .value = "N",
                                   .help = "repeats of each measurement (20)"},
                                  {.name = "iters",
                                   .kind = HVI_ARG_SIZE,
                                   .to = &b.game_options.outer,
                                   .range = "[10,100000000]",
                                   .value = "N",
                                   .help = "outer steps of one trajectory (1000)"},
                                  {.name = "instances",
                                   .kind = HVI_ARG_SIZE,
                                   .to = &b.game_options.instances,
                                   .range = "[1,1000000]",
                                   .value = "N",
                                   .help = "instances of an ensemble (1000)"},
                                  {.name = "states",
                                   .kind = HVI_ARG_SIZE,
                                   .to = &b.bellman_options.states,
                                   .range = "[8,100000000]",
                                   .value = "N",
                                   .help = "states of the processes (1000000)"},
                                  {.name = "json",
                                   .kind = HVI_ARG_FLAG,
                                   .to = &b.json,
                                   .help = "one JSON object on stdout"},
                                  {0}});
  hvi_talk_options(&talk, &args);
  int code;
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  const char *only = args.operand_count == 1 ? args.operands[0] : NULL;
  b.games = !only || strcmp(only, "games") == 0;
  b.bellman = !only || strcmp(only, "bellman") == 0;
  b.mlp = !only || strcmp(only, "mlp") == 0;
  b.sac = !only || strcmp(only, "sac") == 0;
  b.evaluate = !only || strcmp(only, "evaluate") == 0;
  if (!b.games && !b.bellman && !b.mlp && !b.sac && !b.evaluate) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "there is no benchmark '%s'; there are: games, bellman, mlp, sac, evaluate",
                        only);
  }
  return run_bench(&b, &talk);
}

/* hvi bench: speed, as ratios to limits measured in the same run. */
#include "args.h"
#include "bellman.h"
#include "commands.h"
#include "exit_codes.h"
#include "games.h"
#include "json.h"
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

/* What was asked for, and what came out. */
typedef struct bench {
  bool games, bellman, json;
  bench_options game_options;
  bellman_options bellman_options;
  bench_row game_rows[MOST_ROWS];
  bellman_row bellman_rows[BELLMAN_ROWS];
  size_t games_done, bellman_done;
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

static int run_bench(bench *b, const hvi_talk *talk) {
  int code = HVI_EXIT_DONE;
  b->bellman_options.repeats = b->game_options.repeats;
  if (b->games) code = run_games(b, talk);
  if (b->bellman && code == HVI_EXIT_DONE) code = run_bellman(b, talk);
  if (!b->json || (code != HVI_EXIT_DONE && code != HVI_EXIT_INTERRUPTED)) return code;
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_count(&j, "repeats", b->game_options.repeats);
  if (b->games) games_json(&j, b->game_rows, b->games_done, &b->game_options);
  if (b->bellman) {
    bellman_json(&j, b->bellman_rows, b->bellman_done, b->bellman_options.states);
  }
  hvi_json_close(&j, '}');
  return code;
}

int hvi_cli_bench(int argc, char **argv) {
  hvi_talk talk = hvi_talk_new();
  bench b = {.game_options = {.repeats = 20, .outer = 1000, .instances = 1000},
             .bellman_options = {.states = 1000000}};
  hvi_args args = {
      .command = "bench",
      .usage = "[games|bellman] [OPTION]...",
      .summary = "Measures speed, as ratios to limits measured in the same run. games: one\n"
                 "trajectory against a loop written by hand for exactly this game, and random\n"
                 "ensembles in SIMD lanes against the ordinary solver. bellman: the products of\n"
                 "policy evaluation against the memory's bandwidth. The fastest of several\n"
                 "repeats counts.",
      .examples = "  hvi bench\n  hvi bench games --repeats 50 --json\n  hvi bench bellman",
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
  if (!b.games && !b.bellman) {
    return hvi_complain(HVI_EXIT_USAGE, "there is no benchmark '%s'; there are: games, bellman",
                        only);
  }
  return run_bench(&b, &talk);
}

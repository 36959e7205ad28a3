/* hvi bench: speed, as ratios to limits measured in the same run. */
#include "args.h"
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

static void print_json(const bench_row *rows, size_t count, const bench_options *o) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_count(&j, "repeats", o->repeats);
  hvi_json_count(&j, "outer", o->outer);
  hvi_json_count(&j, "instances", o->instances);
  hvi_json_open(&j, "games", '[');
  for (size_t i = 0; i < count; i++) {
    const bench_row *r = &rows[i];
    hvi_json_open(&j, NULL, '{');
    hvi_json_text(&j, "game", r->game);
    hvi_json_text(&j, "method", r->label);
    hvi_json_number(&j, "trajectory_ns", r->trajectory);
    hvi_json_number(&j, "by_hand_ns", r->by_hand);
    hvi_json_number(&j, "ratio", r->trajectory / r->by_hand);
    hvi_json_number(&j, "lanes_ns", r->lanes);
    hvi_json_number(&j, "one_by_one_ns", r->one_by_one);
    hvi_json_number(&j, "model_passes", r->model_passes);
    hvi_json_number(&j, "grad_evals", r->grad_evals);
    hvi_json_number(&j, "f_evals", r->f_evals);
    hvi_json_bool(&j, "agrees", r->agrees);
    hvi_json_close(&j, '}');
  }
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
}

static int run_games(const bench_options *given, const hvi_talk *talk, bool json) {
  static const char title[] = "games";
  bench_row rows[MOST_ROWS];
  bench_options o = *given;
  hvi_progress bar = hvi_progress_new(talk, title, bench_games_count());
  hvi_error err;
  size_t done;
  o.progress = on_progress;
  o.context = &bar;
  const hvi_status status = bench_games_run(rows, &done, &o, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (json) {
    print_json(rows, done, &o);
  } else {
    print_trajectories(rows, done);
    print_ensembles(rows, done, o.instances);
  }
  return done < bench_games_count() ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

int hvi_cli_bench(int argc, char **argv) {
  hvi_talk talk = hvi_talk_new();
  bench_options o = {.repeats = 20, .outer = 10000, .instances = 1000};
  bool json = false;
  hvi_args args = {
      .command = "bench",
      .usage = "[games] [OPTION]...",
      .summary = "Measures speed, as ratios to limits measured in the same run: one trajectory\n"
                 "against a loop written by hand for exactly this game, and random ensembles in\n"
                 "SIMD lanes against the ordinary solver. The fastest of several repeats counts.",
      .examples = "  hvi bench\n  hvi bench games --repeats 50 --json",
      .max = 1,
      .operand = "name of a benchmark"};
  hvi_args_add(
      &args,
      (hvi_arg[]){
          {.name = "repeats",
           .kind = HVI_ARG_SIZE,
           .to = &o.repeats,
           .range = "[1,1000000]",
           .value = "N",
           .help = "repeats of each measurement (20)"},
          {.name = "iters",
           .kind = HVI_ARG_SIZE,
           .to = &o.outer,
           .range = "[10,100000000]",
           .value = "N",
           .help = "outer steps of one trajectory (10000)"},
          {.name = "instances",
           .kind = HVI_ARG_SIZE,
           .to = &o.instances,
           .range = "[1,1000000]",
           .value = "N",
           .help = "instances of an ensemble (1000)"},
          {.name = "json", .kind = HVI_ARG_FLAG, .to = &json, .help = "one JSON object on stdout"},
          {0}});
  hvi_talk_options(&talk, &args);
  int code;
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  if (args.operand_count == 1 && strcmp(args.operands[0], "games") != 0) {
    return hvi_complain(HVI_EXIT_USAGE, "there is no benchmark '%s'; there is: games",
                        args.operands[0]);
  }
  return run_games(&o, &talk, json);
}

/* hvi bench: speed, as ratios to limits measured in the same run. */
#include "args.h"
#include "bench_parts.h"
#include "commands.h"
#include "exit_codes.h"
#include "signals.h"
#include "talk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hvi_bench_part *const parts[] = {&hvi_bench_games, &hvi_bench_bellman, &hvi_bench_mlp,
                                              &hvi_bench_sac, &hvi_bench_evaluate};
enum { PART_COUNT = sizeof parts / sizeof parts[0] };

/* What was asked for, and what came out. */
typedef struct bench {
  const char *only; /* the name of a part, or NULL for all */
  bool json;
  bench_options options;
  void *rows[PART_COUNT];
  size_t done[PART_COUNT];
} bench;

const char *hvi_bench_ratio(char text[16], double above, double below) {
  if (isnan(above) || isnan(below)) return "-";
  snprintf(text, 16, "%.2f", above / below);
  return text;
}

static bool on_progress(void *context, size_t done, size_t total) {
  hvi_progress *bar = context;
  bar->total = total;
  hvi_progress_update(bar, done);
  return !hvi_signals_interrupted();
}

static int run_part(bench *b, size_t p, const hvi_talk *talk) {
  const hvi_bench_part *part = parts[p];
  hvi_progress bar = hvi_progress_new(talk, part->name, part->rows);
  hvi_error err = {HVI_OK, ""};
  b->rows[p] = calloc(part->rows, part->row_size);
  if (!b->rows[p]) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory");
  b->options.progress = on_progress;
  b->options.context = &bar;
  const hvi_status status = part->run(b->rows[p], &b->done[p], &b->options, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (!b->json) {
    if (!b->only && p > 0) printf("\n");
    part->print(b->rows[p], b->done[p], &b->options);
  }
  return b->done[p] < part->rows ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static void print_json(const bench *b) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_count(&j, "repeats", b->options.repeats);
  for (size_t p = 0; p < PART_COUNT; p++) {
    if (b->rows[p]) parts[p]->json(&j, b->rows[p], b->done[p], &b->options);
  }
  hvi_json_close(&j, '}');
}

static int run_bench(bench *b, const hvi_talk *talk) {
  int code = HVI_EXIT_DONE;
  for (size_t p = 0; p < PART_COUNT && code == HVI_EXIT_DONE; p++) {
    const bool wanted = !b->only || strcmp(b->only, parts[p]->name) == 0;
    if (wanted) code = run_part(b, p, talk);
  }
  if (b->json && (code == HVI_EXIT_DONE || code == HVI_EXIT_INTERRUPTED)) print_json(b);
  for (size_t p = 0; p < PART_COUNT; p++) free(b->rows[p]);
  return code;
}

static int check_name(const char *name) {
  for (size_t p = 0; p < PART_COUNT; p++) {
    if (strcmp(name, parts[p]->name) == 0) return HVI_EXIT_DONE;
  }
  return hvi_complain(HVI_EXIT_USAGE,
                      "there is no benchmark '%s'; there are: games, bellman, mlp, sac, evaluate",
                      name);
}

int hvi_cli_bench(int argc, char **argv) {
  hvi_talk talk = hvi_talk_new();
  bench b = {.options = {.repeats = 20, .outer = 1000, .instances = 1000, .states = 1000000}};
  hvi_args args = {
      .command = "bench",
      .usage = "[games|bellman|mlp|sac|evaluate] [OPTION]...",
      .summary = "Measures speed, as ratios to limits measured in the same run. games: one\n"
                 "trajectory against a loop written by hand for exactly this game, and random\n"
                 "ensembles in SIMD lanes against the ordinary solver. bellman: the products of\n"
                 "policy evaluation against the memory's bandwidth. mlp: inner steps on networks\n"
                 "against their bare matrix products. sac: updates of soft actor-critic likewise.\n"
                 "evaluate: an outer step of policy evaluation, where its time goes, and what "
                 "it\ncosts when every core runs one.\n"
                 "The fastest of several repeats counts.",
      .examples = "  hvi bench\n  hvi bench games --repeats 50 --json\n  hvi bench bellman\n"
                  "  hvi bench mlp\n  hvi bench sac\n  hvi bench evaluate",
      .max = 1,
      .operand = "name of a benchmark"};
  /* clang-format off */
  hvi_args_add(&args, (hvi_arg[]){
      {"repeats", 0, HVI_ARG_SIZE, &b.options.repeats, .range = "[1,1000000]", .help = "repeats of each measurement (20)"},
      {"iters", 0, HVI_ARG_SIZE, &b.options.outer, .range = "[10,100000000]", .help = "outer steps of one trajectory (1000)"},
      {"instances", 0, HVI_ARG_SIZE, &b.options.instances, .range = "[1,1000000]", .help = "instances of an ensemble (1000)"},
      {"states", 0, HVI_ARG_SIZE, &b.options.states, .range = "[8,100000000]", .help = "states of the processes (1000000)"},
      {"json", 0, HVI_ARG_FLAG, &b.json, .help = "one JSON object on stdout"},
      {0}});
  /* clang-format on */
  hvi_talk_options(&talk, &args);
  int code;
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  b.only = args.operand_count == 1 ? args.operands[0] : NULL;
  if (b.only) code = check_name(b.only);
  return b.only && code != HVI_EXIT_DONE ? code : run_bench(&b, &talk);
}

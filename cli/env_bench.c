/* hvi env bench: steps per second, as ratios to limits measured in the same run. */
#include "env_verbs.h"

#include "args.h"
#include "base/parallel.h"
#include "env.h"
#include "exit_codes.h"
#include "json.h"
#include "signals.h"
#include "talk.h"

#include <hvi/env.h>

#include <math.h>
#include <stdio.h>

static bool on_progress(void *context, size_t done, size_t total) {
  hvi_progress *bar = context;
  bar->total = total;
  hvi_progress_update(bar, done);
  return !hvi_signals_interrupted();
}

static void print_text(const hvi_env *env, const env_bench_result *r, const env_bench_options *o) {
  printf("%s, %zu steps, the fastest of %zu: steps per second\n", env->name, o->steps, o->repeats);
  printf("  one environment        %12.0f", 1.0 / r->one);
  if (isnan(r->bare)) {
    printf("\n");
  } else {
    printf("   %.3f of the bare loop\n", r->bare / r->one);
    printf("  bare loop of mj_step   %12.0f\n", 1.0 / r->bare);
  }
  printf("  batch of %3zu, 1 thread %13.0f\n", r->batch, 1.0 / r->batch_one);
  printf("  the same, %2zu threads   %12.0f   %.2f times one thread\n", o->threads,
         1.0 / r->batch_all, r->batch_one / r->batch_all);
  if (!r->agrees) printf("  two runs that should agree do not: this is a defect\n");
}

static void print_json(const hvi_env *env, const env_bench_result *r, const env_bench_options *o) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "name", env->name);
  hvi_json_count(&j, "steps", o->steps);
  hvi_json_count(&j, "repeats", o->repeats);
  hvi_json_count(&j, "threads", o->threads);
  hvi_json_count(&j, "batch", r->batch);
  hvi_json_number(&j, "steps_per_s", 1.0 / r->one);
  hvi_json_number(&j, "bare_steps_per_s", 1.0 / r->bare);
  hvi_json_number(&j, "of_bare", r->bare / r->one);
  hvi_json_number(&j, "batch_steps_per_s_1_thread", 1.0 / r->batch_one);
  hvi_json_number(&j, "batch_steps_per_s", 1.0 / r->batch_all);
  hvi_json_number(&j, "scaling", r->batch_one / r->batch_all);
  hvi_json_bool(&j, "agrees", r->agrees);
  hvi_json_close(&j, '}');
}

static int run(const char *name, env_bench_options *o, bool json, const hvi_talk *talk) {
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  env_bench_result result;
  bool done;
  if (hvi_env_new(&env, name, &err)) return hvi_complain_error(&err);
  hvi_progress bar = hvi_progress_new(talk, "env", o->repeats);
  o->progress = on_progress;
  o->context = &bar;
  const hvi_status status = bench_env_run(&result, &done, env, o, &err);
  hvi_progress_clear(&bar);
  if (!status && done && json) print_json(env, &result, o);
  if (!status && done && !json) print_text(env, &result, o);
  hvi_env_free(env);
  if (status) return hvi_complain_error(&err);
  return hvi_signals_interrupted() ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

int hvi_cli_env_bench(int argc, char **argv) {
  hvi_talk talk = hvi_talk_new();
  env_bench_options o = {.repeats = 10, .steps = 1000, .threads = hvi_parallel_cores()};
  bool json = false;
  int code;
  hvi_args args = {.command = "env bench",
                   .usage = "ENV [OPTION]...",
                   .summary = "Measures steps per second under random actions: of one environment "
                              "against a loop that calls\nmj_step and nothing else on the same "
                              "states, and of a batch on one thread and on several. The\n"
                              "measurements are repeated in turn, and the fastest of each counts.",
                   .examples = "  hvi env bench ant --threads 2\n"
                               "  hvi env bench half_cheetah --steps 5000 --json",
                   .min = 1,
                   .max = 1,
                   .operand = "name of an environment"};
  /* clang-format off */
  hvi_args_add(&args, (hvi_arg[]){
      {"threads", 0, HVI_ARG_SIZE, &o.threads, .range = "[1,1024]", .help = "threads of the batch (one per core)"},
      {"steps", 0, HVI_ARG_SIZE, &o.steps, .range = "[1,1000000000]", .help = "steps of one measurement"},
      {"repeats", 0, HVI_ARG_SIZE, &o.repeats, .range = "[1,1000000]", .help = "repeats of each measurement"},
      {"json", 0, HVI_ARG_FLAG, &json, .help = "one JSON object on stdout"},
      {0}});
  /* clang-format on */
  hvi_talk_options(&talk, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  return run(args.operands[0], &o, json, &talk);
}

/* hvi evaluate: a value network for a policy, and how good it is. */
#include "evaluate_parts.h"

#include "base/number.h"
#include "commands.h"

#include <math.h>
#include <stdio.h>

static const char summary[] =
    "Trains a network for the value function of a policy: on fresh batches from ENV and the\n"
    "policy, or on the transitions of a file. Each outer step freezes the targets\n"
    "r + gamma V(s'), or such as look further ahead, and hands the fit to an inner optimizer.\n"
    "Writes NAME.safetensors (the network), NAME.csv (a row per measurement), NAME.png (the\n"
    "learning curve) and NAME-calibration.png (predicted against Monte-Carlo value), and a\n"
    "summary to stdout.\n"
    "NAME.checkpoint is what --resume goes on from, to the same bits, however a run ended.\n"
    "Ctrl-C leaves a checkpoint and a usable network.";

static const char examples[] =
    "  hvi evaluate lqr --policy default\n"
    "  hvi evaluate ant --policy ant.safetensors --testset ant-testset.safetensors --out ant-v\n"
    "  hvi evaluate --data transitions.safetensors --gamma .99 --gap --json";

static void add_source_options(hvi_evaluate *e, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "transitions"},
      {"policy", 0, HVI_ARG_TEXT, &e->policy_path, .value = "FILE",
       .help = "the policy (.safetensors), or 'default': the environment's own"},
      {"data", 0, HVI_ARG_TEXT, &e->data_path, .value = "FILE", .help = "transitions ('hvi data collect') instead of an environment"},
      {"testset", 0, HVI_ARG_TEXT, &e->testset_path, .value = "FILE",
       .help = "states and values to measure the error with ('hvi testset')"},
      {"test-states", 0, HVI_ARG_SIZE, &e->test_states, .range = "[0,1e9]",
       .help = "without --testset: states of a small one made from ENV first (0: none)"},
      {0}});
  /* clang-format on */
}

static void add_network_options(hvi_evaluate *e, hvi_args *args) {
  hvi_args_settings(args, hvi_value_table(), &e->spec.value, "draw threads");
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {"normalise", 0, HVI_ARG_CHOICE, &e->normalise, .range = "no|yes",
       .help = "yes: inputs and outputs scaled as the first data suggest"},
      {0}});
  /* clang-format on */
}

static void add_run_options(hvi_evaluate *e, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "run"},
      {"steps", 0, HVI_ARG_SIZE, &e->steps, .range = "[1,1e9]", .help = "outer steps"},
      {"threads", 0, HVI_ARG_SIZE, &e->threads, .range = "[0,1024]", .value = "T",
       .help = "threads (0: one per core); the results are the same for any"},
      {"checkpoint-every", 0, HVI_ARG_SIZE, &e->every, .range = "[1,1e9]", .help = "outer steps between checkpoints"},
      {"resume", 0, HVI_ARG_FLAG, &e->resume, .help = "go on from the checkpoint, if there is one"},
      {"fresh", 0, HVI_ARG_FLAG, &e->fresh, .help = "begin anew although there is a checkpoint"},
      {"accept-other-bits", 0, HVI_ARG_FLAG, &e->spec.accept_other_bits, .help = "go on from what another level of instructions computed"},
      {"out", 'o', HVI_ARG_TEXT, &e->out, .value = "NAME", .help = "what the names of the files begin with (ENV-value)"},
      {"gap", 0, HVI_ARG_FLAG, &e->gap,
       .help = "with --data: the Bellman gap on all of the data, at each measurement (otherwise at the end, on one batch)"},
      {"json", 0, HVI_ARG_FLAG, &e->json, .help = "the result as one JSON object"},
      {0}});
  /* clang-format on */
}

/* A row as it comes. */
static void show_row(const hvi_evaluate *e, const hvi_evaluation_row *r) {
  char error[HVI_NUMBER_SIZE], relative[HVI_NUMBER_SIZE], loss[HVI_NUMBER_SIZE];
  if (r->outer == 0) {
    hvi_say(&e->talk, "%8s %11s %11s %11s %9s %9s\n", "outer", "error", "relative", "loss",
            "collect s", "optim. s");
  }
  hvi_say(&e->talk, "%8zu %11s %11s %11s %9.2f %9.2f\n", r->outer,
          isnan(r->error) ? "-" : hvi_number_short(error, r->error, 4),
          isnan(r->relative) ? "-" : hvi_number_short(relative, r->relative, 3),
          isnan(r->loss) ? "-" : hvi_number_short(loss, r->loss, 4), r->seconds_collect,
          r->seconds_optimise);
}

static void show(const hvi_evaluate *e, hvi_progress *bar, size_t *shown) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  char error[HVI_NUMBER_SIZE];
  if (*shown < count) hvi_progress_clear(bar);
  while (*shown < count) show_row(e, &rows[(*shown)++]);
  const size_t outer = hvi_evaluation_state(e->evaluation).outer;
  const double last = rows[count - 1].error;
  if (isnan(last)) {
    snprintf(bar->title, sizeof bar->title, "step %zu", outer);
  } else {
    snprintf(bar->title, sizeof bar->title, "step %zu, error %s", outer,
             hvi_number_short(error, last, 3));
  }
}

static hvi_status checkpoint(const hvi_evaluate *e, hvi_error *err) {
  const hvi_status status = hvi_evaluation_save(e->evaluation, e->checkpoint, e->about, err);
  return status ? status : hvi_evaluate_save(e, err);
}

/* To the end, or to Ctrl-C. */
static hvi_status run(hvi_evaluate *e, hvi_error *err) {
  size_t shown = 0;
  const size_t first = hvi_evaluation_state(e->evaluation).outer;
  hvi_progress bar = hvi_progress_new(&e->talk, "", e->steps > first ? e->steps - first : 1);
  hvi_status status = HVI_OK;
  show(e, &bar, &shown);
  while (!status && !hvi_evaluation_state(e->evaluation).done && !hvi_signals_interrupted()) {
    status = hvi_evaluation_step(e->evaluation, err);
    if (status) break;
    const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
    show(e, &bar, &shown);
    hvi_progress_update(&bar, now.outer - first);
    if (!now.done && now.outer % e->every == 0) status = checkpoint(e, err);
  }
  hvi_progress_clear(&bar);
  return status;
}

static int exit_code(const hvi_evaluate *e, const hvi_evaluated *r) {
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  if (r->interrupted) {
    return hvi_complain(HVI_EXIT_INTERRUPTED,
                        "interrupted at step %zu of %zu; --resume goes on from here", now.outer,
                        e->steps);
  }
  if (now.outcome == HVI_DIVERGED) {
    return hvi_complain(HVI_EXIT_DIVERGED,
                        "diverged at step %zu: %s; a smaller --inner-lr may help", now.outer,
                        now.reason);
  }
  return HVI_EXIT_DONE;
}

/* Networks that are not numbers are not kept; how it went is. */
static int give_up(hvi_evaluate *e, hvi_evaluated *r) {
  hvi_error err = {HVI_OK, ""};
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  r->last = rows[count - 1];
  r->gap = (hvi_gap){NAN, NAN, NAN};
  if (hvi_evaluate_trace(e, &err)) return hvi_complain_error(&err);
  if (e->json) hvi_evaluate_json(e, r);
  return exit_code(e, r);
}

static int evaluate(hvi_evaluate *e) {
  hvi_error err = {HVI_OK, ""};
  hvi_evaluated r = {0};
  hvi_status status = run(e, &err);
  r.interrupted = !status && !hvi_evaluation_state(e->evaluation).done;
  if (hvi_evaluation_state(e->evaluation).outcome == HVI_DIVERGED) return give_up(e, &r);
  if (!status) status = checkpoint(e, &err);
  if (!status) status = hvi_evaluate_judge(e, &r, &err);
  if (status) return hvi_complain_error(&err);
  const int drawn = hvi_evaluate_draw(e, &err) ? hvi_complain_error(&err) : HVI_EXIT_DONE;
  if (e->json) {
    hvi_evaluate_json(e, &r);
  } else {
    hvi_evaluate_summary(e, &r);
  }
  const int code = exit_code(e, &r);
  return code == HVI_EXIT_DONE ? drawn : code;
}

static hvi_evaluate defaults(void) {
  const hvi_evaluation_spec spec = hvi_evaluation_defaults();
  hvi_evaluate e = {.talk = hvi_talk_new(),
                    .setup = hvi_setup_new(),
                    .steps = spec.settings.max_outer,
                    .test_states = 100,
                    .every = 50,
                    .threads = 1,
                    .normalise = 1,
                    .spec = spec};
  e.setup.method = spec.settings.optimizer->name;
  e.setup.asked = spec.settings;
  e.setup.asked.rule_settings.adam = true;
  return e;
}

int hvi_cli_evaluate(int argc, char **argv) {
  hvi_evaluate e = defaults();
  hvi_args args = {.command = argv[0],
                   .usage = "ENV --policy FILE [OPTION]... | --data FILE [OPTION]...",
                   .summary = summary,
                   .examples = examples,
                   .max = 1,
                   .operand = "environment"};
  int code;
  add_source_options(&e, &args);
  add_network_options(&e, &args);
  hvi_evaluate_method_options(&e, &args);
  add_run_options(&e, &args);
  hvi_talk_options(&e.talk, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  e.env_name = args.operand_count == 1 ? args.operands[0] : NULL;
  code = hvi_evaluate_open(&e, &args);
  if (code == HVI_EXIT_DONE) code = evaluate(&e);
  hvi_evaluate_close(&e);
  return code;
}

/* hvi policy train: soft actor-critic on an environment, with checkpoints. */
#include "args.h"
#include "base/clock.h"
#include "base/error.h"
#include "exit_codes.h"
#include "io/kept.h"
#include "policy.h"
#include "signals.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { LINE_EVERY = 10000, LOOK_EVERY = 32 };

/* What is shown while it runs. */
typedef struct view {
  hvi_progress bar;
  double started;
  size_t first;
} view;

static void show(view *v, const hvi_training *t) {
  const hvi_sac_report r = hvi_sac_state(t->sac);
  const double rate = (double)(r.step - v->first) / fmax(hvi_clock_now() - v->started, 1e-9);
  if (t->talk.terminal) {
    if (r.step % LOOK_EVERY != 0) return;
    snprintf(v->bar.title, sizeof v->bar.title, "step %zu, return %.5g, %.0f steps/s", r.step,
             r.mean_return, rate);
    hvi_progress_update(&v->bar, r.step - v->first);
  } else if (r.step % LINE_EVERY == 0) {
    hvi_say(&t->talk, "step %zu of %zu, return %.6g (mean of 10), %.0f steps/s, %.0f min left\n",
            r.step, t->steps, r.mean_return, rate, (double)(t->steps - r.step) / rate / 60.0);
  }
}

static int diverged_or(const hvi_error *err) {
  if (err->status == HVI_ERROR_INPUT) return hvi_complain(HVI_EXIT_DIVERGED, "%s", err->text);
  return hvi_complain_error(err);
}

/* To the last step, an error, or Ctrl-C. */
static int run(hvi_training *t, view *v) {
  hvi_error err = {HVI_OK, ""};
  size_t step = hvi_sac_state(t->sac).step;
  while (step < t->steps) {
    if (hvi_sac_step(t->sac, &err) != HVI_OK) return diverged_or(&err);
    step++;
    if (hvi_training_log(t, &err) != HVI_OK) return hvi_complain_error(&err);
    show(v, t);
    if (hvi_signals_interrupted()) return HVI_EXIT_INTERRUPTED;
    if (step % t->every == 0 && step < t->steps && hvi_training_save(t, &err) != HVI_OK)
      return diverged_or(&err);
  }
  return HVI_EXIT_DONE;
}

static void print_summary(const hvi_training *t, double seconds) {
  const hvi_sac_report r = hvi_sac_state(t->sac);
  printf("%s: %zu steps, %zu episodes, mean return of the last 10: %.6g\n", t->env->name, r.step,
         r.episodes, r.mean_return);
  printf("policy in %s, log in %s, checkpoint in %s\n", t->out, t->log_path, t->checkpoint);
  hvi_say(&t->talk, "%.1f s\n", seconds);
}

static int train(hvi_training *t) {
  hvi_error err = {HVI_OK, ""};
  const size_t first = hvi_sac_state(t->sac).step;
  view v = {.bar =
                hvi_progress_new(&t->talk, t->env->name, t->steps > first ? t->steps - first : 1),
            .started = hvi_clock_now(),
            .first = first};
  const int code = run(t, &v);
  hvi_progress_clear(&v.bar);
  if (code != HVI_EXIT_DONE && code != HVI_EXIT_INTERRUPTED) return code;
  if (hvi_training_save(t, &err) != HVI_OK) return diverged_or(&err);
  const int drawn = hvi_training_draw(t, &err) == HVI_OK ? code : hvi_complain_error(&err);
  print_summary(t, hvi_clock_now() - v.started);
  if (code == HVI_EXIT_INTERRUPTED)
    hvi_complain(code, "interrupted at step %zu of %zu; --resume goes on from here",
                 hvi_sac_state(t->sac).step, t->steps);
  return code == HVI_EXIT_DONE ? drawn : code;
}

static int different_settings(const hvi_training *t, const hvi_setting *row) {
  char was[256], is[256];
  return hvi_complain(HVI_EXIT_USAGE, "'%s' was made with %s %s, not %s", t->checkpoint, row->name,
                      hvi_setting_format(row, hvi_sac_settings_of(t->sac), was, sizeof was),
                      hvi_setting_format(row, &t->settings, is, sizeof is));
}

static int resume(hvi_training *t) {
  hvi_error err = {HVI_OK, ""};
  if (hvi_sac_load(&t->sac, t->env, t->checkpoint, t->accept_other_bits, &err) != HVI_OK)
    return hvi_complain_error(&err);
  const hvi_setting *other =
      hvi_setting_differ(hvi_sac_table(), hvi_sac_settings_of(t->sac), &t->settings, NULL);
  if (other) return different_settings(t, other);
  const size_t step = hvi_sac_state(t->sac).step;
  if (step > t->steps) {
    return hvi_complain(HVI_EXIT_USAGE, "'%s' is at step %zu already, beyond --steps %zu",
                        t->checkpoint, step, t->steps);
  }
  if (hvi_sac_set_threads(t->sac, t->settings.threads, &err) != HVI_OK)
    return hvi_complain_error(&err);
  hvi_say(&t->talk, "going on from step %zu\n", step);
  return HVI_EXIT_DONE;
}

/* The trainer and its log, from a checkpoint or from the beginning. */
static int open_training(hvi_training *t, const char *name) {
  hvi_error err = {HVI_OK, ""};
  if (hvi_training_paths(t, &err) != HVI_OK || hvi_env_new(&t->env, name, &err) != HVI_OK ||
      hvi_lock_take(&t->lock, t->checkpoint, &err) != HVI_OK ||
      (t->fresh && hvi_kept_check(t->checkpoint, &err) != HVI_OK))
    return hvi_complain_error(&err);
  const bool there = access(t->checkpoint, F_OK) == 0;
  if (there && !t->resume && !t->fresh) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "'%s' is there: --resume goes on from it, --fresh begins anew",
                        t->checkpoint);
  }
  if (!there && !t->fresh && access(t->out, F_OK) == 0) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "'%s' is there and its checkpoint is not: --fresh trains another one in "
                        "its place",
                        t->out);
  }
  if (there && t->resume) {
    const int code = resume(t);
    if (code != HVI_EXIT_DONE) return code;
  } else if (hvi_sac_new(&t->sac, t->env, &t->settings, &err) != HVI_OK) {
    return hvi_complain_error(&err);
  }
  if (hvi_training_open_log(t, there && t->resume, &err) != HVI_OK) return hvi_complain_error(&err);
  return HVI_EXIT_DONE;
}

static void describe_options(hvi_args *args, hvi_training *t) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "Run"},
      {"out", 'o', HVI_ARG_TEXT, &t->out, .value = "FILE", .help = "the policy; FILE.checkpoint stands beside it (required)"},
      {"steps", 0, HVI_ARG_SIZE, &t->steps, .range = "[1,1e12]", .help = "environment steps"},
      {"log", 0, HVI_ARG_TEXT, &t->log, .value = "FILE", .help = "a row per episode as CSV (the policy's name with .csv)"},
      {"checkpoint-every", 0, HVI_ARG_SIZE, &t->every, .range = "[1,1e12]", .help = "steps between checkpoints"},
      {"resume", 0, HVI_ARG_FLAG, &t->resume, .help = "go on from the checkpoint, if there is one"},
      {"fresh", 0, HVI_ARG_FLAG, &t->fresh, .help = "begin anew although there is a checkpoint"},
      {"accept-other-bits", 0, HVI_ARG_FLAG, &t->accept_other_bits, .help = "go on from what another level of instructions computed"},
      {0}});
  /* clang-format on */
  hvi_args_settings(args, hvi_sac_table(), &t->settings, NULL);
}

int hvi_cli_policy_train(int argc, char **argv) {
  int code;
  hvi_training t = {
      .talk = hvi_talk_new(), .settings = hvi_sac_defaults(), .steps = 1000000, .every = 50000};
  hvi_args args = {
      .command = "policy train",
      .usage = "ENV --out FILE [OPTION]...",
      .summary =
          "Trains an actor by soft actor-critic. Writes the policy, a log with its picture,\n"
          "and checkpoints from which --resume goes on to the same bits, however the run\n"
          "ended. Ctrl-C leaves a usable policy and a checkpoint.\n"
          "The replay buffer takes 4 (2 obs + act + 2) bytes a transition as it fills:\n"
          "168 MB for a million of half_cheetah's, 256 MB of ant's; twice that for a moment\n"
          "when a run is resumed.",
      .examples = "  hvi policy train half_cheetah --seed 1 --out half_cheetah.safetensors\n"
                  "  hvi policy train pendulum --steps 20000 --start 1000 --out p.safetensors",
      .min = 1,
      .max = 1,
      .operand = "environment"};
  describe_options(&args, &t);
  hvi_talk_options(&t.talk, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  if (!t.out) return hvi_complain(HVI_EXIT_USAGE, "policy train needs --out FILE for the policy");
  if (t.resume && t.fresh)
    return hvi_complain(HVI_EXIT_USAGE, "--resume and --fresh are one or the other");
  code = open_training(&t, args.operands[0]);
  if (code == HVI_EXIT_DONE) code = train(&t);
  hvi_training_close(&t);
  return code;
}

/*
 * hvi policy train: soft actor-critic on an environment, with checkpoints.
 *
 * The logs grow row by row, and a row is on the disk before the checkpoint of a later step is. So a
 * checkpoint never knows an episode that a log lacks, and a resumed run cuts off what a log has
 * beyond it: they go on together (io/log.h).
 */
#include "base/base.h"
#include "base/parallel.h"
#include "commands.h"
#include "device.h"
#include "io/log.h"
#include "report/text.h"
#include "rl/sac.h"
#include "rollout.h"

#include <sys/stat.h>

static const char HEADER[] =
    "step,episode,return,length,mean_return_10,critic_loss,actor_loss,alpha,entropy,q_mean";
enum { MOST_LOG = 1 << 30, LINE_EVERY = 10000, LOOK_EVERY = 32 };

/* A training run: what was asked for, its files, and the trainer. */
typedef struct training {
  hvi_sac_settings settings;
  size_t steps, every; /* environment steps in all, and between checkpoints */
  size_t jobs;         /* 0: as many as are of use */
  bool resume, fresh, accept_other_bits;
  hvi_device_options device;
  hvi_gang *gang;  /* NULL: the CPU */
  const char *out; /* the policy */
  const char *log; /* NULL: rows beside the policy */
  char *checkpoint, *rows_path;
  const char *json_path; /* NULL: none */
  hvi_lock lock;         /* on the checkpoint */
  hvi_env *env;
  hvi_sac *sac;
  hvi_log rows;  /* the log as CSV, from which the picture is drawn */
  hvi_log json;  /* and as JSON */
  size_t logged; /* episodes */
  /* what is shown while it runs: when it began, and since when and which step it learns */
  double started, since;
  size_t first;
} training;

static hvi_status name_files(training *t, hvi_error *err) {
  hvi_text rows = {0};
  const char *ending = t->log ? strrchr(t->log, '.') : NULL;
  const bool json = ending && ending > t->log && strcmp(ending, ".jsonl") == 0;
  t->json_path = json ? t->log : NULL;
  if (t->log && !json)
    hvi_text_add(&rows, "%s", t->log);
  else
    hvi_text_add(&rows, "%.*s.csv", hvi_stem_length(t->out), t->out);
  t->checkpoint = hvi_join_texts(t->out, ".checkpoint");
  t->rows_path = hvi_text_take(&rows);
  return t->checkpoint && t->rows_path ? HVI_OK : hvi_error_memory(err, "file names");
}

/* The rows of an earlier run, which this one does not go on with. */
static hvi_status keep_rows(const training *t, hvi_error *err) {
  struct stat st;
  HVI_OWN char *text = NULL, *previous = hvi_file_previous(t->rows_path);
  if (!previous) return hvi_error_memory(err, "a file name");
  if (stat(t->rows_path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return HVI_OK;
  HVI_TRY(hvi_file_read_text(&text, t->rows_path, MOST_LOG, err));
  hvi_file copy;
  HVI_TRY(hvi_file_create(&copy, previous, err));
  fchmod(copy.fd, st.st_mode & 07777);
  fputs(text, copy.stream);
  return hvi_file_commit(&copy, err);
}

/* Opens the logs: anew, or cut back to the trainer's step. */
static hvi_status open_logs(training *t, bool resumed, hvi_error *err) {
  const hvi_sac_report r = hvi_sac_state(t->sac);
  const size_t step = resumed ? r.step : HVI_LOG_NEW;
  t->logged = r.episodes;
  if (!resumed) HVI_TRY(keep_rows(t, err));
  HVI_TRY(hvi_log_open(&t->rows, t->rows_path, HEADER, step, err));
  if (t->rows.last == HVI_LOG_NEW && r.episodes > 0)
    hvi_say("hvi: '%s' is gone; its rows begin anew\n", t->rows_path);
  HVI_TRY(hvi_log_open(&t->json, t->json_path, NULL, step, err));
  return hvi_folder_sync(t->rows_path, err);
}

/* A row and a line, if an episode has ended since the last ones. */
static hvi_status log_episode(training *t, hvi_error *err) {
  const hvi_sac_report r = hvi_sac_state(t->sac);
  if (r.episodes == t->logged) return HVI_OK;
  t->logged = r.episodes;
  const hvi_value values[] = {V("step", r.step),
                              V("episode", r.episodes),
                              V("return", r.last_return),
                              V("length", r.last_length),
                              V("mean_return_10", r.mean_return),
                              V("critic_loss", r.critic_loss),
                              V("actor_loss", r.actor_loss),
                              V("alpha", r.alpha),
                              V("entropy", r.entropy),
                              V("q_mean", r.q_mean),
                              {0}};
  hvi_log_values(&t->rows, values);
  hvi_log_values(&t->json, values);
  if (fflush(t->rows.file.stream) == 0) return HVI_OK;
  errno = t->rows.file.code;
  return hvi_error_system(err, "write", t->rows_path);
}

/* The logs on the disk, then the checkpoint, then the policy. */
static hvi_status save(training *t, hvi_error *err) {
  HVI_OWN_BY(hvi_policy_release) hvi_policy *policy = NULL;
  HVI_TRY(hvi_log_flush(&t->rows, err));
  HVI_TRY(hvi_log_flush(&t->json, err));
  HVI_TRY(hvi_sac_save(t->sac, t->checkpoint, err));
  HVI_TRY(hvi_sac_policy(t->sac, &policy, err));
  return hvi_policy_save(policy, t->out, err);
}

/* The learning curve beside the log. Nothing to draw is no error. */
static hvi_status draw(training *t, hvi_error *err) {
  HVI_OWN char *folder = NULL, *name = NULL;
  const char *file = hvi_base_name(t->rows_path);
  if (hvi_sac_state(t->sac).episodes == 0) return HVI_OK;
  if (!hvi_path_split(&folder, &name, t->rows_path, ".csv"))
    return hvi_error_memory(err, "file names");
  const hvi_series series[] = {
      {"an episode", file, "step", "return", NULL, HVI_MARK_THIN, 7},
      {"mean of ten", file, "step", "mean_return_10", NULL, HVI_MARK_LINE, 0}};
  const hvi_panel panel = {.x = {.label = "environment steps"},
                           .y = {.label = "return"},
                           .series_count = sizeof series / sizeof *series,
                           .series = series};
  const hvi_plot plot = {.name = name, .title = t->env->name, .panel_count = 1, .panels = &panel};
  return hvi_draw(folder, &plot, "hvi: ", err);
}

static void close_training(training *t) {
  hvi_log_close(&t->rows, NULL);
  hvi_log_close(&t->json, NULL);
  hvi_lock_release(&t->lock);
  hvi_sac_free(t->sac);
  hvi_gang_close(t->gang);
  hvi_env_free(t->env);
  hvi_free(t->checkpoint);
  hvi_free(t->rows_path);
}

static void start_progress(training *t, size_t step) {
  t->first = step;
  t->since = hvi_clock_now();
  hvi_progress_start(t->env->name, t->steps > step ? t->steps - step : 1);
}

static void show(training *t) {
  const hvi_sac_report r = hvi_sac_state(t->sac);
  if (r.step == t->settings.start) start_progress(t, r.step); /* steps so far were quick */
  const double rate = (double)(r.step - t->first) / fmax(hvi_clock_now() - t->since, 1e-9);
  if (r.step % LOOK_EVERY == 0) {
    if (hvi_talk.live)
      hvi_progress_title(
          hvi_format("step %zu, return %.5g, %.0f steps/s", r.step, r.mean_return, rate));
    hvi_progress_update(r.step - t->first);
  }
  if (!hvi_talk.live && r.step % LINE_EVERY == 0)
    hvi_say("step %zu of %zu, return %.6g (mean of 10), %.0f steps/s, %.0f min left\n", r.step,
            t->steps, r.mean_return, rate, (double)(t->steps - r.step) / rate / 60.0);
}

static int diverged_or_fault(training *t) {
  hvi_device_lost(&t->gang, hvi_fault.status);
  if (hvi_fault.status != HVI_ERROR_INPUT) return hvi_complain_fault();
  return hvi_complain(HVI_EXIT_DIVERGED, "%s", hvi_fault.text);
}

/* To the last step, an error, or Ctrl-C. */
static int run(training *t) {
  for (size_t step = hvi_sac_state(t->sac).step; step < t->steps;) {
    if (hvi_sac_step(t->sac, &hvi_fault)) return diverged_or_fault(t);
    step++;
    HVI_CALL(log_episode(t, &hvi_fault));
    show(t);
    if (hvi_signals_interrupted()) return HVI_EXIT_INTERRUPTED;
    if (step % t->every == 0 && step < t->steps && save(t, &hvi_fault)) return diverged_or_fault(t);
  }
  return HVI_EXIT_DONE;
}

static int train(training *t) {
  t->started = hvi_clock_now();
  start_progress(t, hvi_sac_state(t->sac).step);
  const int code = run(t);
  hvi_progress_clear();
  if (code != HVI_EXIT_DONE && code != HVI_EXIT_INTERRUPTED) return code;
  if (save(t, &hvi_fault)) return diverged_or_fault(t);
  const int drawn = draw(t, &hvi_fault) ? hvi_complain_fault() : HVI_EXIT_DONE;
  const hvi_sac_report r = hvi_sac_state(t->sac);
  printf("%s: %zu steps, %zu episodes, mean return of the last 10: %.6g\n", t->env->name, r.step,
         r.episodes, r.mean_return);
  printf("policy in %s, log in %s, checkpoint in %s\n", t->out, t->rows_path, t->checkpoint);
  hvi_say("%.1f s\n", hvi_clock_now() - t->started);
  if (code == HVI_EXIT_DONE) return drawn;
  return hvi_complain(code, "interrupted at step %zu of %zu; --resume goes on from here", r.step,
                      t->steps);
}

static int resume(training *t) {
  char was[256], is[256];
  const char *device = t->gang ? hvi_gang_about(t->gang)->level : NULL;
  HVI_CALL(
      hvi_sac_load_for(&t->sac, t->env, t->checkpoint, t->accept_other_bits, device, &hvi_fault));
  const hvi_sac_settings *old = hvi_sac_settings_of(t->sac);
  const hvi_setting *other = hvi_setting_differ(hvi_sac_table(), old, &t->settings, NULL);
  if (other)
    return hvi_misuse("'%s' was made with %s %s, not %s", t->checkpoint, other->name,
                      hvi_setting_format(other, old, was, sizeof was),
                      hvi_setting_format(other, &t->settings, is, sizeof is));
  const size_t step = hvi_sac_state(t->sac).step;
  if (step > t->steps)
    return hvi_misuse("'%s' is at step %zu already, beyond --steps %zu", t->checkpoint, step,
                      t->steps);
  HVI_CALL(hvi_sac_set_threads(t->sac, t->settings.threads, &hvi_fault));
  hvi_say("going on from step %zu\n", step);
  return HVI_EXIT_DONE;
}

/* Why a GPU is of no use, among it launches that take longer than the arithmetic. NULL: it is. */
static const char *no_use(const hvi_sac_settings *s) {
  const size_t n = s->hidden_count;
  if (n == 0 || s->delay > HVI_DEVICE_SAC_DELAY) return "a GPU does not take these settings";
  const double products = (double)s->batch * (double)s->hidden[0] * (double)s->hidden[n - 1];
  return products < 1e6 ? "these networks are too small for a GPU" : NULL;
}

/* On the device, where there is one; once more without where it may have no room. */
static int make_trainer(training *t, bool resumed) {
  if (resumed) HVI_STEP(resume(t));
  if (!resumed) HVI_CALL(hvi_sac_new(&t->sac, t->env, &t->settings, &hvi_fault));
  if (!t->gang || !hvi_sac_attach(&t->sac, 1, t->gang, &hvi_fault)) return HVI_EXIT_DONE;
  hvi_sac_free(t->sac);
  t->sac = NULL;
  return hvi_device_dismiss(&t->gang, &t->device) ? make_trainer(t, resumed) : diverged_or_fault(t);
}

/* The trainer and its log, from a checkpoint or from the beginning. */
static int open_training(training *t, const char *name) {
  HVI_CALL(name_files(t, &hvi_fault));
  HVI_STEP(hvi_output_check(t->out, "\"algorithm\":\"sac\",\"seed\":\""));
  HVI_STEP(hvi_output_check(t->rows_path, HEADER));
  HVI_STEP(hvi_output_check(t->json_path, "\"mean_return_10\": "));
  HVI_STEP(hvi_figure_check_beside(t->rows_path));
  HVI_CALL(hvi_env_new(&t->env, name, &hvi_fault));
  HVI_CALL(hvi_lock_take(&t->lock, t->checkpoint, &hvi_fault));
  HVI_CALL(t->fresh && hvi_kept_check(t->checkpoint, &hvi_fault));
  const bool there = access(t->checkpoint, F_OK) == 0;
  if (there && !t->resume && !t->fresh)
    return hvi_misuse("'%s' is there: --resume goes on from it, --fresh begins anew",
                      t->checkpoint);
  if (!there && t->resume && access(t->out, F_OK) == 0)
    return hvi_misuse("'%s' is there and its checkpoint is not: without --resume it is replaced",
                      t->out);
  const bool resumed = there && t->resume;
  HVI_STEP(hvi_device_open(&t->gang, &t->device, no_use(&t->settings)));
  HVI_STEP(make_trainer(t, resumed));
  HVI_CALL(open_logs(t, resumed, &hvi_fault));
  return HVI_EXIT_DONE;
}

int hvi_cli_policy_train(int argc, char **argv) {
  HVI_OWN_BY(close_training)
  training t = {.settings = hvi_sac_defaults(), .steps = 1000000, .every = 50000};
  t.device.precision = HVI_DEVICE_FP32;
  hvi_args args = {"policy train", "ENV --out FILE [OPTION]...", .operand = "environment",
                   .also = "force quiet verbose"};
  hvi_args_add(&args,
      {.name = "Run"},
      {"out", 'o', HVI_SETTING_TEXT, &t.out, .value = "FILE", .help = "the policy; FILE.checkpoint stands beside it (required)"},
      {"steps", 0, HVI_SETTING_COUNT, &t.steps, .range = "[1,1e12]", .help = "environment steps"},
      {"log", 0, HVI_SETTING_TEXT, &t.log, .value = "FILE", .help = "a row per episode as CSV (the policy's name with .csv); FILE.jsonl: also a line of JSON"},
      {"checkpoint-every", 0, HVI_SETTING_COUNT, &t.every, .range = "[1,1e12]", .help = "steps between checkpoints"},
      {"resume", 0, HVI_SETTING_FLAG, &t.resume, .help = "go on from the checkpoint, if there is one"},
      {"fresh", 0, HVI_SETTING_FLAG, &t.fresh, .help = "begin anew although there is a checkpoint"},
      {"accept-other-bits", 0, HVI_SETTING_FLAG, &t.accept_other_bits, .help = "go on from what another level of instructions computed"});
  hvi_args_settings(&args, hvi_sac_table(), &t.settings, "threads");
  hvi_args_jobs(&args, &t.jobs);
  hvi_args_device(&args, &t.device, "device_precision");
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  if (!t.out) return hvi_misuse("policy train needs --out FILE for the policy");
  if (t.resume && t.fresh) return hvi_misuse("--resume and --fresh are one or the other");
  const size_t jobs = hvi_parallel_threads(t.jobs);
  t.settings.threads = jobs < 2 ? jobs : 2; /* the twin critics */
  HVI_STEP(open_training(&t, args.operands[0]));
  return train(&t);
}

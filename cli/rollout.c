#include "rollout.h"

#include "base/base.h"
#include "num/vec.h"
#include "rl/policy.h"
#include "share.h"

/* Seconds between lines of progress where there is no terminal. */
static const double TELL_EVERY = 60.0;

static void add_options(hvi_rollout_job *job, hvi_args *args) {
  hvi_args_settings(args, job->table, job->settings, NULL);
  args->rows[0].letter = job->letter;
  hvi_args_add(args,
      {"policy", 0, HVI_SETTING_TEXT, &job->policy_path, .value = "FILE", .help = "the policy (.safetensors), or 'default': the environment's own"});
  hvi_args_settings(args, hvi_policy_table(), &job->policy, NULL);
  hvi_args_settings(args, hvi_rollout_table(), job->rollout, "threads");
  hvi_args_jobs(args, &job->rollout->threads);
  if (!job->result)
    hvi_args_add(args,
        {"out", 'o', HVI_SETTING_TEXT, &job->out, .value = "FILE", .help = "where to write (.safetensors)"},
        {"resume", 0, HVI_SETTING_FLAG, &job->resume, .help = "go on where an earlier run was stopped (FILE.partial)"},
        {"fresh", 0, HVI_SETTING_FLAG, &job->fresh, .help = "throw away what an earlier run left"},
        {"accept-other-bits", 0, HVI_SETTING_FLAG, &job->rollout->accept_other_bits, .help = "go on from what another level of instructions computed"});
  if (!job->result) hvi_args_part(args);
  args->also = job->result ? "json quiet verbose" : "json force quiet verbose";
}

/* The first call of a run starts the clock, so that time left counts this run alone. */
static bool on_progress(void *context, size_t done, size_t total) {
  hvi_rollout_job *job = context;
  const double now = hvi_clock_now();
  if (job->started == 0.0) {
    hvi_progress_start(job->doing, total);
    job->started = job->told = now;
  }
  hvi_progress_update(done);
  if (!hvi_talk.live && done > 0 && now - job->told >= TELL_EVERY) {
    const double passed = now - job->started, share = (double)done / (double)total;
    hvi_say("%s: %.1f %%, %.0f steps/s, %.0f min left\n", job->doing, 100.0 * share,
            (double)done / passed, passed * (1.0 / share - 1.0) / 60.0);
    job->told = now;
  }
  return !hvi_signals_interrupted();
}

int hvi_read_rows(hvi_array *a, const char *path, size_t width, const char *what) {
  HVI_CALL(hvi_npy_read(a, path, 0, &hvi_fault));
  const bool flat = a->dims == 1 && (a->shape[0] == width || width == 1);
  if (!flat && !(a->dims == 2 && a->shape[1] == width))
    return hvi_bad_input("'%s' should have rows of %zu numbers: %s", path, width, what);
  if (!hvi_vec_finite(a->data, a->size))
    return hvi_bad_input("'%s' has a number that is not finite", path);
  return HVI_EXIT_DONE;
}

void hvi_say_policy(const hvi_policy *p) {
  char text[HVI_POLICY_TEXT];
  if (p && p->layout) hvi_say("policy of %s\n", hvi_policy_describe(text, p));
}

const char *hvi_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int hvi_stem_length(const char *path) {
  const size_t tail = hvi_ends_in(path, ".safetensors") ? strlen(".safetensors") : 0;
  return (int)(strlen(path) - tail);
}

static int open_job(hvi_rollout_job *job, const char *env_name) {
  hvi_rollout_settings *s = job->rollout;
  if (!job->policy_path) return hvi_misuse("the policy is missing: --policy FILE");
  if (!job->result && !job->out) return hvi_misuse("the file to write is missing: --out FILE");
  if (job->resume && job->fresh) return hvi_misuse("--resume and --fresh exclude each other");
  if (job->out) HVI_STEP(hvi_share_begin(&job->out, &job->part, true, job->resume || job->fresh));
  if (!hvi_talk.follows) HVI_STEP(hvi_output_check(job->out, job->mark));
  HVI_CALL(hvi_task_open(&job->task, env_name, job->policy_path, &job->policy, &hvi_fault));
  hvi_say_policy(job->task.policy);
  s->partial = job->resume  ? HVI_PARTIAL_RESUME
               : job->fresh ? HVI_PARTIAL_FRESH
                            : HVI_PARTIAL_REFUSE;
  if (hvi_shared.from_count) s->partial = HVI_PARTIAL_FRESH;
  s->share = job->out ? &hvi_shared : NULL;
  s->policy_name = hvi_base_name(job->policy_path);
  s->progress = on_progress;
  s->progress_context = job;
  return HVI_EXIT_DONE;
}

static int run_job(hvi_rollout_job *job) {
  hvi_rollout_report report;
  HVI_CALL(hvi_progress_end(job->run(job, &report, &hvi_fault)));
  if (report.stopped && !job->out) return hvi_complain(HVI_EXIT_INTERRUPTED, "interrupted");
  if (report.stopped)
    return hvi_complain(HVI_EXIT_INTERRUPTED,
                        "interrupted; --resume goes on from here (%s.partial)", job->out);
  if (report.damaged)
    hvi_say("hvi: the last %zu bytes of %s.partial were torn and were computed again\n",
            report.damaged, job->out);
  if (hvi_talk.follows) return HVI_EXIT_DONE;
  if (hvi_shared.parts && job->out) return hvi_share_end("");
  if (job->out) hvi_say("%zu steps in %.1f s: %s\n", report.steps, report.seconds, job->out);
  return job->show(job, &report);
}

int hvi_rollout_command(hvi_rollout_job *job, hvi_args *args, int argc, char **argv) {
  args->operand = "environment";
  add_options(job, args);
  HVI_STEP(hvi_args_parse(args, argc, argv));
  int code = open_job(job, args->operands[0]);
  if (!code) code = run_job(job);
  hvi_task_close(&job->task);
  hvi_free(job->part);
  return code;
}

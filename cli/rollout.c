#include "rollout.h"

#include "base/clock.h"
#include "exit_codes.h"
#include "rl/rollout_settings.h"
#include "signals.h"

#include <string.h>

/* Seconds between lines of progress where there is no terminal. */
static const double TELL_EVERY = 60.0;

void hvi_rollout_options(hvi_rollout_job *job, hvi_rollout_settings *s, hvi_args *args) {
  hvi_args_add(args, (hvi_arg[]){
                         {.name = "policy",
                          .kind = HVI_ARG_TEXT,
                          .to = &job->policy_path,
                          .value = "FILE",
                          .help = "the policy (.safetensors), or 'default': the environment's own"},
                         {.name = "out",
                          .letter = 'o',
                          .kind = HVI_ARG_TEXT,
                          .to = &job->out,
                          .value = "FILE",
                          .help = "where to write (.safetensors)"},
                         {.name = "resume",
                          .kind = HVI_ARG_FLAG,
                          .to = &job->resume,
                          .help = "go on where an earlier run was stopped (FILE.partial)"},
                         {.name = "fresh",
                          .kind = HVI_ARG_FLAG,
                          .to = &job->fresh,
                          .help = "throw away what an earlier run left"},
                         {.name = "accept-other-bits",
                          .kind = HVI_ARG_FLAG,
                          .to = &s->accept_other_bits,
                          .help = "go on from what another level of instructions computed"},
                         {.name = "json",
                          .kind = HVI_ARG_FLAG,
                          .to = &job->json,
                          .help = "the result as one JSON object"},
                         {0},
                     });
  hvi_args_settings(args, hvi_rollout_table(), s, NULL);
  hvi_talk_options(&job->talk, args);
}

/* The first call of a run starts the clock, so that time left counts this run alone. */
static bool on_progress(void *context, size_t done, size_t total) {
  hvi_rollout_job *job = context;
  const double now = hvi_clock_now();
  if (job->bar.total == 0) {
    job->bar = hvi_progress_new(&job->talk, job->doing, total);
    job->told = now;
  }
  hvi_progress_update(&job->bar, done);
  if (!job->talk.terminal && done > 0 && now - job->told >= TELL_EVERY) {
    const double passed = now - job->bar.started, share = (double)done / (double)total;
    hvi_say(&job->talk, "%s: %.1f %%, %.0f steps/s, %.0f min left\n", job->doing, 100.0 * share,
            (double)done / passed, passed * (1.0 / share - 1.0) / 60.0);
    job->told = now;
  }
  return !hvi_signals_interrupted();
}

const char *hvi_rollout_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

hvi_status hvi_rollout_policy(hvi_policy **policy, const char *name, const hvi_env *env,
                              hvi_error *err) {
  const bool own = strcmp(name, "default") == 0;
  const hvi_status status =
      own ? hvi_policy_of_env(policy, env, err) : hvi_policy_load(policy, name, err);
  return status ? status : hvi_policy_check(*policy, env, err);
}

int hvi_rollout_open(hvi_rollout_job *job, hvi_rollout_settings *s, const char *env_name) {
  hvi_error err = {HVI_OK, ""};
  if (!job->policy_path || !job->out) {
    return hvi_complain(HVI_EXIT_USAGE, "%s is missing: --%s FILE",
                        job->policy_path ? "the file to write" : "the policy",
                        job->policy_path ? "out" : "policy");
  }
  if (job->resume && job->fresh) {
    return hvi_complain(HVI_EXIT_USAGE, "--resume and --fresh exclude each other");
  }
  if (hvi_env_new(&job->env, env_name, &err) ||
      hvi_rollout_policy(&job->policy, job->policy_path, job->env, &err)) {
    return hvi_complain_error(&err);
  }
  s->partial = job->resume  ? HVI_PARTIAL_RESUME
               : job->fresh ? HVI_PARTIAL_FRESH
                            : HVI_PARTIAL_REFUSE;
  s->policy_name = hvi_rollout_base_name(job->policy_path);
  s->progress = on_progress;
  s->progress_context = job;
  return HVI_EXIT_DONE;
}

int hvi_rollout_end(hvi_rollout_job *job, hvi_status status, const hvi_rollout_report *report,
                    const hvi_error *err) {
  hvi_progress_clear(&job->bar);
  if (status) return hvi_complain_error(err);
  if (report->stopped) {
    return hvi_complain(HVI_EXIT_INTERRUPTED,
                        "interrupted; --resume goes on from here (%s.partial)", job->out);
  }
  if (report->damaged) {
    hvi_say(&job->talk, "hvi: the last %zu bytes of %s.partial were torn and were computed again\n",
            report->damaged, job->out);
  }
  hvi_say(&job->talk, "%zu steps in %.1f s: %s\n", report->steps, report->seconds, job->out);
  return hvi_rollout_info(job->out, job->json, report);
}

void hvi_rollout_close(hvi_rollout_job *job) {
  hvi_policy_free(job->policy);
  hvi_env_free(job->env);
}

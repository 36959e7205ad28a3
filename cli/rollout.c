#include "rollout.h"

#include "base/base.h"
#include "base/clock.h"

/* Seconds between lines of progress where there is no terminal. */
static const double TELL_EVERY = 60.0;

static void add_options(hvi_rollout_job *job, hvi_args *args) {
  hvi_args_settings(args, job->table, job->settings, NULL);
  args->rows[0].letter = job->letter;
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {"policy", 0, HVI_ARG_TEXT, &job->policy_path, .value = "FILE",
       .help = "the policy (.safetensors), or 'default': the environment's own"},
      {0}});
  hvi_args_json(args, &job->json);
  hvi_args_settings(args, hvi_rollout_table(), job->rollout, NULL);
  if (job->writes)
    hvi_args_add(args, (hvi_arg[]){
        {"out", 'o', HVI_ARG_TEXT, &job->out, .value = "FILE", .help = "where to write (.safetensors)"},
        {"resume", 0, HVI_ARG_FLAG, &job->resume, .help = "go on where an earlier run was stopped (FILE.partial)"},
        {"fresh", 0, HVI_ARG_FLAG, &job->fresh, .help = "throw away what an earlier run left"},
        {"accept-other-bits", 0, HVI_ARG_FLAG, &job->rollout->accept_other_bits, .help = "go on from what another level of instructions computed"},
        {0}});
  /* clang-format on */
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

static int open_job(hvi_rollout_job *job, const char *env_name) {
  hvi_error err = {HVI_OK, ""};
  hvi_rollout_settings *s = job->rollout;
  if (!job->policy_path || (job->writes && !job->out)) {
    return hvi_misuse("%s is missing: --%s FILE",
                      job->policy_path ? "the file to write" : "the policy",
                      job->policy_path ? "out" : "policy");
  }
  if (job->resume && job->fresh) return hvi_misuse("--resume and --fresh exclude each other");
  if (hvi_env_new(&job->env, env_name, &err) ||
      hvi_rollout_policy(&job->policy, job->policy_path, job->env, &err))
    return hvi_complain_error(&err);
  s->partial = job->resume  ? HVI_PARTIAL_RESUME
               : job->fresh ? HVI_PARTIAL_FRESH
                            : HVI_PARTIAL_REFUSE;
  s->policy_name = hvi_rollout_base_name(job->policy_path);
  s->progress = on_progress;
  s->progress_context = job;
  return HVI_EXIT_DONE;
}

static int run_job(hvi_rollout_job *job) {
  hvi_rollout_report report;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = job->run(job, &report, &err);
  hvi_progress_clear(&job->bar);
  if (status) return hvi_complain_error(&err);
  if (report.stopped && !job->out) return hvi_complain(HVI_EXIT_INTERRUPTED, "interrupted");
  if (report.stopped) {
    return hvi_complain(HVI_EXIT_INTERRUPTED,
                        "interrupted; --resume goes on from here (%s.partial)", job->out);
  }
  if (report.damaged) {
    hvi_say(&job->talk, "hvi: the last %zu bytes of %s.partial were torn and were computed again\n",
            report.damaged, job->out);
  }
  if (job->out)
    hvi_say(&job->talk, "%zu steps in %.1f s: %s\n", report.steps, report.seconds, job->out);
  return job->show(job, &report);
}

int hvi_rollout_command(hvi_rollout_job *job, hvi_args *args, int argc, char **argv) {
  int code;
  job->talk = hvi_talk_new();
  args->operand = "environment";
  add_options(job, args);
  if (!hvi_args_parse(args, argc, argv, &code)) return code;
  code = open_job(job, args->operands[0]);
  if (!code) code = run_job(job);
  hvi_policy_free(job->policy);
  hvi_env_free(job->env);
  return code;
}

/* hvi policy score: the return of a policy over whole episodes. */
#include "args.h"
#include "exit_codes.h"
#include "json.h"
#include "policy.h"
#include "rollout.h"

#include <math.h>

static hvi_status score(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_rollout_returns(job->result, job->env, job->policy, job->settings, report, err);
}

static void print_text(const hvi_rollout_job *job, const hvi_returns *r) {
  const hvi_returns_settings *s = job->settings;
  printf("%s, %zu episodes, %s actions\n", job->env->name, r->episodes,
         s->deterministic ? "mean" : "sampled");
  if (isnan(r->half_width)) {
    printf("mean return   %.6g\n", r->mean);
  } else {
    printf("mean return   %.6g +- %.3g (95 %%)\n", r->mean, r->half_width);
  }
  printf("deviation     %.4g\n", r->sd);
  printf("range         %.6g .. %.6g\n", r->least, r->most);
  printf("length        %.6g (%.0f .. %.0f), %zu ended before the time limit\n", r->mean_length,
         r->shortest, r->longest, r->terminated);
}

static void print_json(const hvi_rollout_job *job, const hvi_returns *r) {
  const hvi_returns_settings *s = job->settings;
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "env", job->env->name);
  hvi_json_text(&j, "policy", job->policy_path);
  hvi_json_count(&j, "episodes", r->episodes);
  hvi_json_count(&j, "seed", s->run.seed);
  hvi_json_bool(&j, "deterministic", s->deterministic);
  hvi_json_number(&j, "mean", r->mean);
  hvi_json_number(&j, "half_width_95", r->half_width);
  hvi_json_number(&j, "sd", r->sd);
  hvi_json_number(&j, "min", r->least);
  hvi_json_number(&j, "max", r->most);
  hvi_json_number(&j, "mean_length", r->mean_length);
  hvi_json_count(&j, "terminated", r->terminated);
  hvi_json_numbers(&j, "returns", r->returns, r->episodes);
  hvi_json_numbers(&j, "lengths", r->length, r->episodes);
  hvi_json_close(&j, '}');
}

static int show(const hvi_rollout_job *job, const hvi_rollout_report *report) {
  hvi_returns *const *returns = job->result;
  (void)report;
  (job->json ? print_json : print_text)(job, *returns);
  return HVI_EXIT_DONE;
}

int hvi_cli_policy_score(int argc, char **argv) {
  hvi_returns_settings s = hvi_returns_defaults();
  hvi_returns *returns = NULL;
  hvi_rollout_job job = {.doing = "episodes",
                         .table = hvi_returns_table(),
                         .letter = 'n',
                         .settings = &s,
                         .rollout = &s.run,
                         .result = &returns,
                         .run = score,
                         .show = show};
  hvi_args args = {
      .command = "policy score",
      .usage = "ENV --policy FILE [OPTION]...",
      .summary = "Runs whole episodes under a policy and prints their mean return with its 95 %\n"
                 "Student interval, and their lengths. Rewards are not discounted.",
      .examples = "  hvi policy score half_cheetah --policy half_cheetah.safetensors\n"
                  "  hvi policy score lqr --policy default --episodes 100 --json"};
  const int code = hvi_rollout_command(&job, &args, argc, argv);
  hvi_returns_free(returns);
  return code;
}

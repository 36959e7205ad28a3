/* hvi data: transitions of a policy, and what is in a file of them. */
#include "args.h"
#include "commands.h"
#include "exit_codes.h"
#include "rl/rollout_settings.h"
#include "rollout.h"
#include "verbs.h"

static int data_collect(int argc, char **argv) {
  hvi_collect_settings s = hvi_collect_defaults();
  hvi_rollout_job job = {.talk = hvi_talk_new(), .doing = "transitions"};
  hvi_rollout_report report;
  hvi_error err = {HVI_OK, ""};
  int code;
  hvi_args args = {
      .command = "data collect",
      .usage = "ENV --policy FILE --out FILE [OPTION]...",
      .summary =
          "Runs episodes of ENV under a policy and writes their first N transitions, in order:\n"
          "obs, action, reward, next_obs, terminated, truncated. A run that was stopped, also by\n"
          "kill -9, goes on with --resume and ends in the same bits.",
      .examples =
          "  hvi data collect lqr --policy default -n 10000 --out lqr.safetensors\n"
          "  hvi data collect ant --policy ant.safetensors -n 1e6 --out ant-data.safetensors",
      .min = 1,
      .max = 1,
      .operand = "environment"};
  hvi_args_settings(&args, hvi_collect_table(), &s, NULL);
  args.rows[0].letter = 'n';
  hvi_rollout_options(&job, &s.run, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  code = hvi_rollout_open(&job, &s.run, args.operands[0]);
  if (code == HVI_EXIT_DONE) {
    const hvi_status status = hvi_dataset_collect(job.out, job.env, job.policy, &s, &report, &err);
    code = hvi_rollout_end(&job, status, &report, &err);
  }
  hvi_rollout_close(&job);
  return code;
}

static int data_info(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = "data info",
                   .usage = "FILE [OPTION]...",
                   .summary = "Prints what a data set ('hvi data collect') or a test set ('hvi "
                              "testset') holds.",
                   .examples = "  hvi data info ant-data.safetensors\n"
                               "  hvi data info ant-testset.safetensors --json",
                   .min = 1,
                   .max = 1,
                   .operand = "file"};
  hvi_args_add(&args, (hvi_arg[]){
                          {.name = "json",
                           .kind = HVI_ARG_FLAG,
                           .to = &json,
                           .help = "the result as one JSON object"},
                          {0},
                      });
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  return hvi_rollout_info(args.operands[0], json, NULL);
}

int hvi_cli_data(int argc, char **argv) {
  static const hvi_verb verbs[] = {{"collect", data_collect}, {"info", data_info}, {NULL, NULL}};
  hvi_args args = {.command = "data",
                   .usage = "collect|info [OPTION]...",
                   .summary = "collect   transitions of a policy in an environment\n"
                              "info      what a data set or a test set holds\n\n"
                              "'hvi data collect --help' shows the options of one of them.",
                   .examples =
                       "  hvi data collect lqr --policy default -n 10000 --out lqr.safetensors\n"
                       "  hvi data info lqr.safetensors"};
  return hvi_verbs_run(verbs, &args, argc, argv);
}

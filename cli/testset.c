/* hvi testset: states that a policy visits, with their values by Monte Carlo. */
#include "args.h"
#include "commands.h"
#include "rollout.h"

#include <hvi/testset.h>

static const char summary[] =
    "Chooses states that the policy visits in ENV and writes their values by Monte Carlo: from\n"
    "each, R roll-outs of H steps under the sampled policy, discounted, ended by termination and\n"
    "not by the time limit; with standard errors and the size of what the horizon cuts off. A\n"
    "run that was stopped, also by kill -9, goes on with --resume and ends in the same bits.\n"
    "'hvi data info FILE' prints what a test set holds.";

static const char examples[] =
    "  hvi testset lqr --policy default --states 1000 --horizon 1000 --out lqr.safetensors\n"
    "  hvi testset ant --policy ant.safetensors --out ant-testset.safetensors --threads 2";

static hvi_status make(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_testset_make(job->out, job->env, job->policy, job->settings, report, err);
}

int hvi_cli_testset(int argc, char **argv) {
  hvi_testset_settings s = hvi_testset_defaults();
  hvi_rollout_job job = {.doing = "roll-outs",
                         .table = hvi_testset_table(),
                         .settings = &s,
                         .rollout = &s.run,
                         .writes = true,
                         .run = make,
                         .show = hvi_rollout_info};
  hvi_args args = {.command = argv[0],
                   .usage = "ENV --policy FILE --out FILE [OPTION]...",
                   .summary = summary,
                   .examples = examples};
  return hvi_rollout_command(&job, &args, argc, argv);
}

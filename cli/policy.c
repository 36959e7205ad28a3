/* hvi policy: the way to its verbs. */
#include "policy.h"

#include "commands.h"
#include "verbs.h"

int hvi_cli_policy(int argc, char **argv) {
  static const hvi_verb verbs[] = {{"train", hvi_cli_policy_train},
                                   {"score", hvi_cli_policy_score},
                                   {"info", hvi_cli_policy_info},
                                   {NULL, NULL}};
  hvi_args args = {.command = "policy",
                   .usage = "train|score|info [OPTION]...",
                   .summary = "train   an actor by soft actor-critic\n"
                              "score   the return of a policy, with its interval\n"
                              "info    what a policy file holds\n\n"
                              "'hvi policy train --help' shows the options of one of them.",
                   .examples = "  hvi policy train half_cheetah --seed 1 --out hc.safetensors\n"
                               "  hvi policy score half_cheetah --policy hc.safetensors\n"
                               "  hvi policy info hc.safetensors"};
  return hvi_verbs_run(verbs, &args, argc, argv);
}

/* hvi policy: the way to its verbs, and what a policy file holds. */
#include "policy.h"

#include "args.h"
#include "commands.h"
#include "exit_codes.h"

#include <string.h>

typedef struct verb {
  const char *name;
  int (*run)(int argc, char **argv);
} verb;

static const verb verbs[] = {{"train", hvi_cli_policy_train},
                             {"score", hvi_cli_policy_score},
                             {"info", hvi_cli_policy_info}};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static int unknown_verb(const char *word) {
  const char *names[VERB_COUNT + 1] = {NULL};
  char hint[HVI_HINT_SIZE];
  for (size_t k = 0; k < VERB_COUNT; k++) names[k] = verbs[k].name;
  return hvi_complain(HVI_EXIT_USAGE, "policy has no '%s'%s", word,
                      hvi_did_you_mean(hint, word, names, "there are train, score, info"));
}

int hvi_cli_policy(int argc, char **argv) {
  int code;
  hvi_args args = {.command = "policy",
                   .usage = "train|score|info [OPTION]...",
                   .summary = "train   an actor by soft actor-critic\n"
                              "score   the return of a policy, with its interval\n"
                              "info    what a policy file holds\n\n"
                              "'hvi policy train --help' shows the options of one of them.",
                   .examples = "  hvi policy train half_cheetah --seed 1 --out hc.safetensors\n"
                               "  hvi policy score half_cheetah --policy hc.safetensors\n"
                               "  hvi policy info hc.safetensors",
                   .min = 1,
                   .max = 1,
                   .operand = "verb"};
  for (size_t k = 0; argc > 1 && k < VERB_COUNT; k++) {
    if (strcmp(argv[1], verbs[k].name) == 0) return verbs[k].run(argc - 1, argv + 1);
  }
  if (argc > 1 && argv[1][0] != '-') return unknown_verb(argv[1]);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  return unknown_verb(args.operands[0]);
}

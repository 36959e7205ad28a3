#include "verbs.h"

#include "exit_codes.h"
#include "talk.h"

#include <stdio.h>
#include <string.h>

enum { MOST_VERBS = 8 };

static int unknown_verb(const hvi_verb *verbs, const char *command, const char *word) {
  const char *names[MOST_VERBS + 1] = {NULL};
  char hint[HVI_HINT_SIZE], all[96] = "there are";
  for (size_t k = 0; k < MOST_VERBS && verbs[k].name; k++) {
    const size_t used = strlen(all);
    names[k] = verbs[k].name;
    snprintf(all + used, sizeof all - used, "%s %s", k > 0 ? "," : "", verbs[k].name);
  }
  return hvi_complain(HVI_EXIT_USAGE, "%s has no '%s'%s", command, word,
                      hvi_did_you_mean(hint, word, names, all));
}

int hvi_verbs_run(const hvi_verb *verbs, hvi_args *args, int argc, char **argv) {
  int code;
  for (const hvi_verb *v = verbs; argc > 1 && v->name; v++) {
    if (strcmp(argv[1], v->name) == 0) return v->run(argc - 1, argv + 1);
  }
  if (argc > 1 && argv[1][0] != '-') return unknown_verb(verbs, args->command, argv[1]);
  args->min = args->max = 1;
  args->operand = "verb";
  if (!hvi_args_parse(args, argc, argv, &code)) return code;
  return unknown_verb(verbs, args->command, args->operands[0]);
}

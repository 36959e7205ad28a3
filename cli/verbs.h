/* Sub-commands of a sub-command: `hvi env replay`. */
#ifndef HVI_CLI_VERBS_H
#define HVI_CLI_VERBS_H

#include "args.h"

typedef struct hvi_verb {
  const char *name;
  int (*run)(int argc, char **argv); /* argv[0] is the verb */
} hvi_verb;

/* Runs the verb that argv[1] names, out of a table that ends with a name of NULL. Without one it
 * answers --help from args, or says which verbs there are. Returns the exit code. */
int hvi_verbs_run(const hvi_verb *verbs, hvi_args *args, int argc, char **argv);

#endif

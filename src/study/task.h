/*
 * A task of policy evaluation: an environment, a policy, and the test set of its values.
 *
 * Nothing that is missing is an error: the task is then not run, and its claims are not judged. Files
 * are looked for as named, under $HVI_DATA, under ./data, and beside the program: in ../data for one
 * built in a source tree, in ../share/hvi for one that is installed.
 */
#ifndef HVI_STUDY_TASK_H
#define HVI_STUDY_TASK_H

#include "study/study.h"

#include <hvi/evaluate.h>

/* Where a file is; hvi_free it. NULL when it is nowhere. */
char *hvi_task_find(const char *name);

typedef struct hvi_task {
  const hvi_value_environment *source;
  char missing[400]; /* what it needs to run; empty: nothing */
  char identity[80]; /* of policy and test set */
  hvi_env *env;
  hvi_policy *policy;
  hvi_probe *probe; /* at most as many states as the size says */
  double noise;     /* what the true values would score */
} hvi_task;

/* A quick run without its test set makes one, or finds it, in OUT/testsets. */
hvi_status hvi_task_open(hvi_task *task, hvi_study *study, const hvi_part *part, size_t index,
                         hvi_error *err);
void hvi_task_close(hvi_task *task);

#endif

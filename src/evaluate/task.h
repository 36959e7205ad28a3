/* A task of policy evaluation: whose values are asked for, and the test set of them. */
#pragma once

#include <hvi/evaluate.h>

typedef struct hvi_task {
  hvi_env *env;       /* with its policy, */
  hvi_policy *policy; /* or */
  hvi_dataset *data;  /* transitions of a file */
  hvi_provenance origin;
  hvi_testset *testset; /* NULL: none */
  hvi_probe *probe;     /* of the test set */
  double noise;         /* what the true values would score; NaN without a test set */
} hvi_task;

/* An environment and a policy: a file, or 'default', the environment's own, or NULL: none. Options
 * are those of hvi_policy_read. */
hvi_status hvi_task_open(hvi_task *t, const char *environment, const char *policy,
                         const hvi_policy_options *options, hvi_error *err);
/* Transitions of a file; names as in hvi_dataset_read. */
hvi_status hvi_task_open_data(hvi_task *t, const char *path, const hvi_names *names,
                              hvi_error *err);
/* The test set of a file, or its first `states` states where that is not 0; names as above.
 * HVI_ERROR_MISMATCH: it is of another environment or policy. */
hvi_status hvi_task_testset(hvi_task *t, const char *path, const hvi_names *names, size_t states,
                            hvi_error *err);
/* Good for a task that failed to open too, and for one of zeros. */
void hvi_task_close(hvi_task *t);

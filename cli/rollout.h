/* What `hvi data collect` and `hvi testset` share: options, progress, the end of a run, and what is
 * printed about a file. */
#ifndef HVI_CLI_ROLLOUT_H
#define HVI_CLI_ROLLOUT_H

#include "args.h"
#include "talk.h"

#include <hvi/rollout.h>

typedef struct hvi_rollout_job {
  hvi_talk talk;
  hvi_progress bar;
  double told;       /* when a line of progress was last written */
  const char *doing; /* "roll-outs" */
  const char *policy_path, *out;
  bool resume, fresh, json;
  hvi_env *env;
  hvi_policy *policy;
} hvi_rollout_job;

/* --policy, --out, --seed, --threads, --resume, --fresh, --json, -q and -v. */
void hvi_rollout_options(hvi_rollout_job *job, hvi_rollout_settings *s, hvi_args *args);
/* Checks the options, makes environment and policy, and fills in the rest of the settings. The
 * result is an exit code. */
int hvi_rollout_open(hvi_rollout_job *job, hvi_rollout_settings *s, const char *env_name);
/* After the run: complains, or prints what is in the file. The exit code. */
int hvi_rollout_end(hvi_rollout_job *job, hvi_status status, const hvi_rollout_report *report,
                    const hvi_error *err);
void hvi_rollout_close(hvi_rollout_job *job);

/* The policy of a file, or 'default': the environment's own; it fits the environment. */
hvi_status hvi_rollout_policy(hvi_policy **policy, const char *name, const hvi_env *env,
                              hvi_error *err);
/* The name without its folders: notes tell nothing about the machine. */
const char *hvi_rollout_base_name(const char *path);

/* Prints what a data set or a test set holds; report may be NULL. The exit code. */
int hvi_rollout_info(const char *path, bool json, const hvi_rollout_report *report);

#endif

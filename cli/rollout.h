/* What `hvi data collect`, `hvi testset` and `hvi policy score` share: options, progress, the end
 * of a run. */
#pragma once

#include "args.h"
#include "evaluate/task.h"
#include "io/npy.h"
#include "talk.h"

#include <hvi/rollout.h>

typedef struct hvi_rollout_job hvi_rollout_job;
struct hvi_rollout_job {
  /* filled in by the command */
  const char *doing;              /* "roll-outs", for the progress */
  const hvi_setting_table *table; /* of its options, */
  char letter;                    /* the first of which has one; 0: none */
  void *settings;                 /* what they set, */
  hvi_rollout_settings *rollout;  /* and this within */
  hvi_status (*run)(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err);
  /* Prints the result; the exit code. */
  int (*show)(const hvi_rollout_job *job, const hvi_rollout_report *report);
  void *result;     /* NULL: it writes a file, --out, which can be resumed, */
  const char *mark; /* and which has this in its header */
  /* from the command line */
  const char *policy_path, *out;
  char *part; /* the name that `out` is then */
  hvi_policy_options policy;
  bool resume, fresh;
  hvi_task task;        /* environment and policy */
  double started, told; /* the clock at the start; when a line of progress was last written */
};

/* Reads ENV, the options of the table and --policy, --seed, --jobs, --json, -q, -v, and for a file
 * --out, --resume, --fresh, --force; runs the job and shows its result, or complains. The exit code. */
int hvi_rollout_command(hvi_rollout_job *job, hvi_args *args, int argc, char **argv);

/* An .npy file of finite numbers in rows of `width`, `what` each; one row may come without its axis. */
int hvi_read_rows(hvi_array *a, const char *path, size_t width, const char *what);
/* A line on how a file of another trainer is read. */
void hvi_say_policy(const hvi_policy *p);

/* The name without its folders: notes tell nothing about the machine. */
const char *hvi_base_name(const char *path);
/* How long it is without ".safetensors" at its end. */
int hvi_stem_length(const char *path);

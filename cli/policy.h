/* The verbs of `hvi policy`, and what training shares between its files. */
#ifndef HVI_CLI_POLICY_H
#define HVI_CLI_POLICY_H

#include "base/file.h"
#include "talk.h"

#include <hvi/sac.h>

#include <stdio.h>

int hvi_cli_policy_train(int argc, char **argv);
int hvi_cli_policy_score(int argc, char **argv);
int hvi_cli_policy_info(int argc, char **argv);

/* A training run: what was asked for, its files, and the trainer. */
typedef struct hvi_training {
  hvi_talk talk;
  hvi_sac_settings settings;
  size_t steps, every; /* environment steps in all, and between checkpoints */
  bool resume, fresh, accept_other_bits;
  const char *out; /* the policy */
  const char *log; /* NULL: beside the policy */
  char *checkpoint, *log_path;
  hvi_lock lock; /* on the checkpoint */
  hvi_env *env;
  hvi_sac *sac;
  FILE *rows;    /* the log, open at its end */
  size_t logged; /* episodes */
} hvi_training;

/* Names of the files, which belong to the run. */
hvi_status hvi_training_paths(hvi_training *t, hvi_error *err);
/* Opens the log: anew, or cut back to the trainer's step. */
hvi_status hvi_training_open_log(hvi_training *t, bool resumed, hvi_error *err);
/* A row, if an episode has ended since the last one. */
hvi_status hvi_training_log(hvi_training *t, hvi_error *err);
/* The log on the disk, then the checkpoint, then the policy. */
hvi_status hvi_training_save(hvi_training *t, hvi_error *err);
/* The learning curve beside the log. Nothing to draw is no error. */
hvi_status hvi_training_draw(hvi_training *t, hvi_error *err);
void hvi_training_close(hvi_training *t);

#endif

/*
 * The one place where a policy is simulated: episodes in lock-step, groups of them over threads.
 *
 * A plan says where an episode starts, when it ends and what is kept of it. Episode e draws from
 * the generators (seed, env_stream, e) and (seed, policy_stream, e), and an action depends on its
 * own row alone, so an episode is the same in whatever company it runs.
 *
 * A group of episodes leaves one record: an outcome for every episode, and rows for their steps.
 * Records go to the journal of a run that makes a file, and stay in memory where there is none.
 */
#pragma once

#include "base/memory.h"
#include "io/journal.h"
#include "rl/columns.h"

#include <pthread.h>

/* What is simulated, how far it has come, and whether it is to stop. */
typedef struct hvi_rollout_run {
  const hvi_env *env;
  const hvi_policy *policy;
  const hvi_rollout_settings *settings;
  hvi_rollout_report *report; /* or NULL */
  double started;
  /* Where a file is made: */
  const char *path;
  void *set;
  const hvi_columns *columns; /* of the set */
  hvi_notes notes;            /* settings, and what came out */
  hvi_journal *journal;       /* NULL: records stay in memory */
  bool written;
  bool follows;         /* another rank has journal and file */
  pthread_mutex_t lock; /* of what follows */
  size_t steps;         /* environment steps */
  size_t done;          /* of `total`, with those that turned out not to be needed */
  size_t total;
  bool stopped;
} hvi_rollout_run;

/* Starts the clock if there is an environment, a policy that fits it, and settings that make sense:
 * s is described by the table and begins with an hvi_rollout_settings. Clears the report. */
hvi_status hvi_rollout_begin(hvi_rollout_run *run, const hvi_env *env, const hvi_policy *policy,
                             const hvi_setting_table *table, const void *s,
                             hvi_rollout_report *report, hvi_error *err);
/* For a run that makes a file of a set whose sizes are filled in: takes memory for its columns and
 * opens the journal, which another run with the same notes may have left. */
hvi_status hvi_rollout_open(hvi_rollout_run *run, const char *path, void *set,
                            const hvi_columns *columns, hvi_error *err);
/* Whether groups are only run here, and the file is made elsewhere: a part, or a rank that follows. */
bool hvi_rollout_apart(const hvi_rollout_run *run);
/* Writes the file, unless the run is stopped or apart. */
hvi_status hvi_rollout_write(hvi_rollout_run *run, hvi_error *err);
/* Fills in the report, and frees. Fine on a run that has not begun. */
void hvi_rollout_end(hvi_rollout_run *run);
size_t hvi_rollout_threads(const hvi_rollout_settings *s);

/* What the settings of every kind of roll-outs begin with. */
hvi_rollout_settings hvi_rollout_defaults(void);

typedef enum hvi_rollout_keep {
  HVI_KEEP_TRANSITIONS, /* rows of floats: obs, action, reward, next obs, terminated, truncated */
  HVI_KEEP_STATES,      /* rows of doubles: saved state and observation before the step */
  HVI_KEEP_RETURNS      /* no rows */
} hvi_rollout_keep;

/* Of an episode: sum of gamma^t reward_t, steps, and how it ended (1 or 0). */
typedef struct hvi_return {
  double total, length, terminated, broken;
} hvi_return;

/* Episodes of a group, as a rule. */
enum { HVI_ROLLOUT_GROUP = 8 };

typedef struct hvi_rollout_plan {
  hvi_rollout_keep keep;
  unsigned kind;                          /* of the journal's records */
  const char *noun;                       /* what an error calls an episode; NULL: that */
  const char *env_stream, *policy_stream; /* names of the generators */
  bool deterministic;                     /* the policy's mean action */
  bool endless;                           /* the time limit does not end an episode */
  size_t steps;                           /* of an episode at most */
  size_t group;                           /* episodes of a group, */
  size_t width;                           /* of which so many run at once; 0: all */
  size_t rows;                            /* that all groups need together, in a journal, */
  size_t least;                           /* with so many episodes at least; or */
  bool every;                             /* each part of a run needs all groups */
  size_t episodes;                        /* how many there are, the last group being cut */
  const double *starts;                   /* [][state] to start from; NULL: reset */
  size_t per_start;                       /* episodes from each of them */
  double gamma;
} hvi_rollout_plan;

/* Steps that are still to be made beside what the journal holds: about, or at most. */
size_t hvi_rollout_left(const hvi_rollout_run *run, const hvi_rollout_plan *plan);

typedef struct hvi_runner hvi_runner;

/* A runner that has run all episodes of a plan, or was stopped: look at run->stopped. */
hvi_status hvi_rollout_all(hvi_runner **runner, hvi_rollout_run *run, const hvi_rollout_plan *plan,
                           hvi_error *err);

/* What is below is for those who run some groups at a time. Threads with their environments for
 * `groups` groups, and memory for as many records where no journal takes them. */
hvi_status hvi_runner_new(hvi_runner **runner, hvi_rollout_run *run, const hvi_rollout_plan *plan,
                          size_t groups, hvi_error *err);
void hvi_runner_free(hvi_runner *r);
HVI_RELEASE(hvi_runner)
/* Runs groups 0 .. groups-1, the first of which begins with episode `first`; those that the journal
 * has are not run again, and no more than give plan.rows without a gap. An error: numbers beyond
 * those of a float. */
hvi_status hvi_runner_run(hvi_runner *r, uint64_t first, size_t groups, hvi_error *err);

/* What a group that was run has left behind; the next read may overwrite it. */
typedef struct hvi_rollout_group {
  const hvi_return *episodes; /* [count] */
  size_t count, broken;       /* of which a failed simulation ended so many */
  size_t rows;                /* the steps of all */
  const void *data;           /* [rows], episode by episode */
} hvi_rollout_group;
hvi_status hvi_runner_read(hvi_runner *r, size_t number, hvi_rollout_group *group, hvi_error *err);

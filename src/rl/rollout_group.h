/*
 * Groups of whole episodes, each episode with a row of numbers for every step: what data sets and
 * the choice of test states have in common.
 *
 * A group's record is a head and its episodes' rows, one after the other. Rows are laid out by the
 * caller, as bytes.
 */
#ifndef HVI_RL_ROLLOUT_GROUP_H
#define HVI_RL_ROLLOUT_GROUP_H

#include "rl/rollout_crew.h"

enum { HVI_GROUP_EPISODES = 8 };

typedef struct hvi_group_head {
  uint64_t length[HVI_GROUP_EPISODES]; /* rows of each episode */
  uint64_t broken;                     /* episodes that a failed simulation ended */
} hvi_group_head;

/* How episodes are run and written down. */
typedef struct hvi_group_plan {
  hvi_crew *crew;
  unsigned kind;                          /* of the journal's records */
  const char *env_stream, *policy_stream; /* names of the generators */
  uint64_t seed;
  size_t wanted; /* rows of all groups together */
  size_t cap;    /* rows of an episode at most */
  size_t row_bytes;
  /* Called after each step, for the row of that step; env is in the state after it, and next_row is
   * where the next step's row will be. Once before the first step, with step and row NULL. */
  void (*write)(const hvi_env *env, const hvi_lockstep_step *step, unsigned char *row,
                unsigned char *next_row);
} hvi_group_plan;

/* Runs groups until their rows, counted without a gap from group 0 on, are enough. Fine when the
 * meter stops it: look at hvi_meter_stopped. */
hvi_status hvi_group_run(const hvi_group_plan *plan, bool deterministic, hvi_error *err);

/* Rows of groups 0, 1, ... in the journal up to the first that is missing. */
size_t hvi_group_rows(const hvi_group_plan *plan);

/* After a run, a group's head and its rows, which lie in a buffer that the next call overwrites. */
hvi_status hvi_group_read(const hvi_group_plan *plan, size_t number, hvi_group_head *head,
                          const unsigned char **rows, size_t *row_count, hvi_error *err);

#endif

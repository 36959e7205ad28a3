/* What a run works with: a journal, a meter, and a lockstep with a buffer for each thread. */
#ifndef HVI_RL_ROLLOUT_CREW_H
#define HVI_RL_ROLLOUT_CREW_H

#include "io/journal.h"
#include "rl/rollout_lockstep.h"
#include "rl/rollout_notes.h"

typedef struct hvi_crew {
  const hvi_env *env;
  const hvi_policy *policy;
  hvi_journal *journal;
  char levels[HVI_LEVELS_TEXT]; /* of instructions that had a part */
  hvi_meter meter;
  double started;
  size_t threads;
  hvi_lockstep **workers; /* [threads] */
  void **buffers;         /* [threads] room for a group, as the task needs it */
} hvi_crew;

/* The policy fits the environment, and so on. */
hvi_status hvi_crew_check(const char *path, const hvi_env *env, const hvi_policy *policy,
                          const hvi_rollout_settings *s, hvi_error *err);

/* Opens the journal and starts the meter. */
hvi_status hvi_crew_open(hvi_crew *c, const char *path, const hvi_env *env,
                         const hvi_policy *policy, const hvi_notes *settings,
                         const hvi_rollout_settings *s, hvi_error *err);
/* Workers for `groups` groups, each with `width` places and a buffer of count * size bytes; takes
 * the place of earlier ones. */
hvi_status hvi_crew_equip(hvi_crew *c, size_t groups, size_t width, bool deterministic,
                          size_t count, size_t size, hvi_error *err);
/* Fills in the report. Fine on a zeroed crew; the journal's file is removed when `finished`. */
void hvi_crew_close(hvi_crew *c, bool finished, hvi_rollout_report *report);

#endif

/* The three parts of making a test set: states, returns, the file. */
#ifndef HVI_RL_TESTSET_PARTS_H
#define HVI_RL_TESTSET_PARTS_H

#include "rl/rollout_crew.h"

#include <hvi/testset.h>

/* Kinds of records in the journal. */
enum { HVI_TESTSET_VISITS, HVI_TESTSET_ROLLOUTS };

/* A test set without numbers, as the settings ask for; hvi_testset_free it. */
hvi_status hvi_testset_new(hvi_testset **set, const hvi_env *env, const hvi_testset_settings *s,
                           hvi_error *err);

/* How many steps the episodes that are still to be run for it may take, about. */
size_t hvi_testset_visits_left(hvi_crew *crew, const hvi_testset_settings *s);
/* Runs episodes and fills in observation and states; *visited states of *episodes to choose from.
 * Fine when the meter stops it. */
hvi_status hvi_testset_visit(hvi_testset *set, hvi_crew *crew, const hvi_testset_settings *s,
                             size_t *visited, size_t *episodes, hvi_error *err);

/* How many steps the roll-outs that are still to be run take at most. */
size_t hvi_testset_steps_left(hvi_crew *crew, const hvi_testset *set);
/* Runs the roll-outs from the set's states and fills in returns, length and terminated. Fine when
 * the meter stops it. */
hvi_status hvi_testset_roll(hvi_testset *set, hvi_crew *crew, const hvi_testset_settings *s,
                            hvi_error *err);

/* The tail that the returns lead to. */
double hvi_testset_find_tail(const hvi_testset *set);
/* Value and standard error from the returns of state i and the tail. */
void hvi_testset_average(const hvi_testset *set, size_t i, double *value, double *standard_error);

/* Writes the file, with these notes and those on what came out. */
hvi_status hvi_testset_write(const char *path, const hvi_testset *set, hvi_notes *notes,
                             hvi_error *err);

#endif

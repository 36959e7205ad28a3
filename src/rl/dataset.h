/* What a data set in a file and one that grows in memory share: episodes, and rows as columns. */
#ifndef HVI_RL_DATASET_H
#define HVI_RL_DATASET_H

#include "rl/rollout.h"

/* The episodes of a data set, with the policy's noise, as long as `rows` rows need. */
hvi_rollout_plan hvi_dataset_plan(const hvi_env *env, size_t rows);

/* Room for `capacity` transitions of zeros; false without memory. */
bool hvi_dataset_alloc(hvi_dataset *d, const hvi_env *env, size_t capacity);
void hvi_dataset_clear(hvi_dataset *d);
/* Row i from a row of a roll-out; returns where the next one of these begins. */
const float *hvi_dataset_put(hvi_dataset *d, size_t i, const float *row);

#endif

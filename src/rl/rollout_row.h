/* A transition as one row of floats, as roll-outs write it, and the columns of a data set. */
#ifndef HVI_RL_ROLLOUT_ROW_H
#define HVI_RL_ROLLOUT_ROW_H

#include "rl/rollout_lockstep.h"

#include <hvi/rollout.h>

/* obs, action, reward, next, terminated, truncated */
size_t hvi_row_floats(const hvi_env *env);
void hvi_row_write(float *row, const hvi_env *env, const hvi_lockstep_step *step);

/* Room for `count` transitions in a data set of zeros; false without memory. */
bool hvi_columns_new(hvi_dataset *d, const hvi_env *env, size_t count);
void hvi_columns_free(hvi_dataset *d);
/* Row i of the columns. */
void hvi_columns_put(hvi_dataset *d, size_t i, const float *row);

#endif

#include "rl/rollout_row.h"

#include "base/memory.h"

#include <string.h>

size_t hvi_row_floats(const hvi_env *env) { return 2 * env->obs + env->act + 3; }

void hvi_row_write(float *x, const hvi_env *env, const hvi_lockstep_step *step) {
  for (size_t i = 0; i < env->obs; i++) *x++ = (float)step->obs[i];
  for (size_t i = 0; i < env->act; i++) *x++ = (float)step->action[i];
  *x++ = (float)step->result.reward;
  for (size_t i = 0; i < env->obs; i++) *x++ = (float)step->next[i];
  *x++ = step->result.terminated ? 1.0F : 0.0F;
  *x = step->result.truncated ? 1.0F : 0.0F;
}

bool hvi_columns_new(hvi_dataset *d, const hvi_env *env, size_t count) {
  d->obs = env->obs;
  d->act = env->act;
  d->observation = hvi_alloc(count, env->obs * sizeof(float));
  d->action = hvi_alloc(count, env->act * sizeof(float));
  d->reward = hvi_alloc(count, sizeof(float));
  d->next = hvi_alloc(count, env->obs * sizeof(float));
  d->terminated = hvi_alloc(count, sizeof(bool));
  d->truncated = hvi_alloc(count, sizeof(bool));
  return d->observation && d->action && d->reward && d->next && d->terminated && d->truncated;
}

void hvi_columns_free(hvi_dataset *d) {
  hvi_free(d->observation);
  hvi_free(d->action);
  hvi_free(d->reward);
  hvi_free(d->next);
  hvi_free(d->terminated);
  hvi_free(d->truncated);
}

void hvi_columns_put(hvi_dataset *d, size_t i, const float *x) {
  memcpy(d->observation + i * d->obs, x, d->obs * sizeof *x);
  memcpy(d->action + i * d->act, x + d->obs, d->act * sizeof *x);
  d->reward[i] = x[d->obs + d->act];
  memcpy(d->next + i * d->obs, x + d->obs + d->act + 1, d->obs * sizeof *x);
  d->terminated[i] = x[2 * d->obs + d->act + 1] != 0.0F;
  d->truncated[i] = x[2 * d->obs + d->act + 2] != 0.0F;
}

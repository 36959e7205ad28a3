/* The makers behind the registry of environments, and what the built-in ones share. */
#ifndef HVI_RL_ENV_KINDS_H
#define HVI_RL_ENV_KINDS_H

#include <hvi/env.h>

hvi_status hvi_env_new_lqr(hvi_env **env, hvi_error *err);
hvi_status hvi_env_new_pendulum(hvi_env **env, hvi_error *err);
/* Where the library was built with MuJoCo. */
hvi_status hvi_env_new_ant(hvi_env **env, hvi_error *err);
hvi_status hvi_env_new_ant_v5(hvi_env **env, hvi_error *err);
hvi_status hvi_env_new_half_cheetah(hvi_env **env, hvi_error *err);

/* The step clock of a saved state, which may come from a file: anything that is no count is 0. */
static inline size_t hvi_env_read_clock(double saved) {
  return saved >= 0.0 && saved < 9e15 ? (size_t)saved : 0;
}

/* What a step reports after it gave up and reset the environment. */
static inline hvi_transition hvi_env_broken(void) {
  return (hvi_transition){.reward = 0.0, .terminated = true, .broken = true};
}

#endif

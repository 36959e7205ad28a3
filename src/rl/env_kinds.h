/* The makers behind the registry of environments, and what the built-in ones share. */
#pragma once

#include <hvi/env.h>

hvi_status hvi_env_new_lqr(hvi_env **env, const char *name, hvi_error *err);
hvi_status hvi_env_new_pendulum(hvi_env **env, const char *name, hvi_error *err);

/* The functions of the module "mujoco" (base/module.h, src/rl/mujoco). */
typedef struct hvi_mujoco_functions {
  /* By a name of the registry, not an alias. */
  hvi_status (*env_new)(hvi_env **env, const char *name, hvi_error *err);
  /* As many steps of one of its environments by the physics alone, with no guard, no reward and no
   * look at the numbers: what a step is measured against. actions[rows][act] are used in turn. */
  void (*bare_steps)(hvi_env *env, const double *actions, size_t rows, size_t steps);
} hvi_mujoco_functions;

/* For a step that gives up: resets the environment, and is what the step reports. */
static inline hvi_transition hvi_env_broken(hvi_env *env) {
  env->ops->reset(env, NULL);
  env->clock = 0;
  return (hvi_transition){.reward = 0.0, .terminated = true, .broken = true};
}

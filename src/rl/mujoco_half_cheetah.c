/*
 * HalfCheetah: a planar runner, rewarded for going along x. Versions 4 and 5 are the same:
 *   reward = change of qpos[0] / 0.05 - 0.1 |a|^2,  and an episode never terminates.
 */
#include "rl/env_kinds.h"
#include "rl/mujoco_env.h"

#include "num/vec.h"

static double root_x(const mjData *data) { return data->qpos[0]; }

static void judge(const hvi_mujoco_env *e, double velocity, const double *action,
                  hvi_transition *result) {
  result->reward = velocity - 0.1 * hvi_vec_norm2(action, e->env.act);
}

static const hvi_robot half_cheetah = {.name = "half_cheetah",
                                       .model = "half_cheetah",
                                       .hidden = 1,
                                       .position = root_x,
                                       .judge = judge};

hvi_status hvi_env_new_half_cheetah(hvi_env **env, hvi_error *err) {
  return hvi_mujoco_env_new(env, &half_cheetah, err);
}

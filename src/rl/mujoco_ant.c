/*
 * Ant: a ball on four legs, rewarded for going along x and for staying up.
 *
 *   v4: reward = v + 1 - 0.5 |a|^2
 *   v5: reward = v + [healthy] - 0.5 |a|^2 - 0.0005 sum f^2,  f the bodies' contact forces cut to
 *       [-1, 1], the world's too
 *
 * v is the change of the torso's xpos, which after a Runge-Kutta step belongs to its last stage and
 * is not quite qpos. Healthy is a torso between 0.2 and 1.0 high; anything else ends the episode.
 */
#include "rl/env_kinds.h"
#include "rl/mujoco_env.h"

#include "num/vec.h"

static double torso_x(const mjData *data) { return data->xpos[3]; }

static bool healthy(const hvi_mujoco_env *e) {
  const double height = e->data->qpos[2];
  return height >= 0.2 && height <= 1.0 && hvi_vec_finite(e->data->qpos, (size_t)e->model->nq) &&
         hvi_vec_finite(e->data->qvel, (size_t)e->model->nv);
}

static double contact_cost(const hvi_mujoco_env *e) {
  double sum = 0.0;
  for (size_t i = 0; i < 6 * (size_t)e->model->nbody; i++) {
    const double force = hvi_mujoco_cut(e->data->cfrc_ext[i]);
    sum += force * force;
  }
  return 5e-4 * sum;
}

static void judge(const hvi_mujoco_env *e, double velocity, const double *action,
                  hvi_transition *result) {
  result->terminated = !healthy(e);
  result->reward = velocity + 1.0 - 0.5 * hvi_vec_norm2(action, e->env.act);
}

static void judge_v5(const hvi_mujoco_env *e, double velocity, const double *action,
                     hvi_transition *result) {
  result->terminated = !healthy(e);
  result->reward = velocity + (result->terminated ? 0.0 : 1.0) -
                   0.5 * hvi_vec_norm2(action, e->env.act) - contact_cost(e);
}

static const hvi_robot ant = {.name = "ant",
                              .model = "ant",
                              .hidden = 2,
                              .quaternion = 3,
                              .position = torso_x,
                              .judge = judge};

static const hvi_robot ant_v5 = {.name = "ant-v5",
                                 .model = "ant",
                                 .hidden = 2,
                                 .quaternion = 3,
                                 .forces = true,
                                 .position = torso_x,
                                 .judge = judge_v5};

hvi_status hvi_env_new_ant(hvi_env **env, hvi_error *err) {
  return hvi_mujoco_env_new(env, &ant, err);
}

hvi_status hvi_env_new_ant_v5(hvi_env **env, hvi_error *err) {
  return hvi_mujoco_env_new(env, &ant_v5, err);
}

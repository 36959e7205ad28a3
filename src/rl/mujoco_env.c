/*
 * Environments on MuJoCo: reset, step, observation and saved state.
 *
 * A step holds the action for five physics steps. The contact forces of the bodies are worked out
 * afterwards, and only where they are observed: nothing of the simulation reads them.
 *
 * MuJoCo answers numbers it cannot handle (a NaN, 1e10) by resetting the simulation or zeroing the
 * controls, and counts that as a warning. The counters are zero as long as all is well, so one look
 * at them after a step tells; the environment is then reset and the step reported as broken.
 *
 * A saved state is clock, time, position, qpos, qvel, the solver's warm start, and the forces where
 * they are observed. Nothing else survives from one step to the next.
 */
#include "rl/mujoco_env.h"

#include "base/embedded.h"
#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"
#include "rl/env_kinds.h"

#include <math.h>
#include <string.h>

static size_t force_count(const hvi_mujoco_env *e) {
  return e->robot->forces ? 6 * (size_t)e->model->nbody : 0;
}

static void advance(void *context) {
  hvi_mujoco_env *e = context;
  for (int k = 0; k < HVI_MUJOCO_SKIP; k++) mj_step(e->model, e->data);
  if (e->robot->forces) mj_rnePostConstraint(e->model, e->data);
}

static void settle(void *context) {
  hvi_mujoco_env *e = context;
  mj_forward(e->model, e->data);
}

static bool warned(const mjData *data) {
  int count = 0;
  for (int k = 0; k < mjNWARNING; k++) count |= data->warning[k].number;
  return count != 0;
}

static void perturb(hvi_mujoco_env *e, hvi_rng *rng) {
  for (size_t i = 0; i < (size_t)e->model->nq; i++) {
    e->data->qpos[i] += hvi_rng_range(rng, -0.1, 0.1);
  }
  for (size_t i = 0; i < (size_t)e->model->nv; i++) {
    e->data->qvel[i] += 0.1 * hvi_rng_normal(rng);
  }
  /* Newer MuJoCo leaves this to the first step. */
  if (e->robot->quaternion) mju_normalize4(e->data->qpos + e->robot->quaternion);
}

static void reset(hvi_env *env, hvi_rng *rng) {
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  char text[128];
  mj_resetData(e->model, e->data);
  if (rng) perturb(e, rng);
  hvi_mujoco_guard(settle, e, text, sizeof text);
  e->position = e->robot->position(e->data);
  e->clock = 0;
}

static hvi_transition give_up(hvi_env *env) {
  reset(env, NULL);
  return hvi_env_broken();
}

static hvi_transition step(hvi_env *env, const double *action, hvi_rng *rng) {
  (void)rng;
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  char text[128];
  hvi_vec_copy(e->data->ctrl, action, env->act);
  if (!hvi_mujoco_guard(advance, e, text, sizeof text) || warned(e->data)) return give_up(env);
  const double position = e->robot->position(e->data);
  hvi_transition result = {0};
  e->robot->judge(e, (position - e->position) / env->dt, action, &result);
  /* the controls are cut to their range, but an action is charged for as it is */
  if (!isfinite(result.reward)) return give_up(env);
  e->position = position;
  e->clock++;
  result.truncated = !result.terminated && e->clock >= env->time_limit;
  return result;
}

static void observe(const hvi_env *env, double *obs) {
  const hvi_mujoco_env *e = (const hvi_mujoco_env *)env;
  const size_t places = (size_t)e->model->nq - e->robot->hidden, speeds = (size_t)e->model->nv;
  hvi_vec_copy(obs, e->data->qpos + e->robot->hidden, places);
  hvi_vec_copy(obs + places, e->data->qvel, speeds);
  double *forces = obs + places + speeds;
  for (size_t i = 6; i < force_count(e); i++) {
    forces[i - 6] = hvi_mujoco_cut(e->data->cfrc_ext[i]);
  }
}

/* The arrays of a saved state, in order. */
static size_t pieces(const hvi_mujoco_env *e, double **at, size_t *count) {
  mjData *d = e->data;
  at[0] = d->qpos, count[0] = (size_t)e->model->nq;
  at[1] = d->qvel, count[1] = (size_t)e->model->nv;
  at[2] = d->qacc_warmstart, count[2] = (size_t)e->model->nv;
  at[3] = d->cfrc_ext, count[3] = force_count(e);
  return 4;
}

static void save(const hvi_env *env, double *state) {
  const hvi_mujoco_env *e = (const hvi_mujoco_env *)env;
  double *at[4];
  size_t count[4];
  *state++ = (double)e->clock;
  *state++ = e->data->time;
  *state++ = e->position;
  for (size_t k = 0, n = pieces(e, at, count); k < n; k++) {
    hvi_vec_copy(state, at[k], count[k]);
    state += count[k];
  }
}

static void restore(hvi_env *env, const double *state) {
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  double *at[4];
  size_t count[4];
  e->clock = hvi_env_read_clock(*state++);
  e->data->time = *state++;
  e->position = *state++;
  for (size_t k = 0, n = pieces(e, at, count); k < n; k++) {
    hvi_vec_copy(at[k], state, count[k]);
    state += count[k];
  }
}

static void release(hvi_env *env) {
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  if (e->data) mj_deleteData(e->data);
  hvi_mujoco_leave(e->shared);
  hvi_free(e);
}

/* An environment on `shared`, of which it becomes a user, in the initial state without noise. */
static hvi_status attach(hvi_mujoco_env **made, const hvi_env *env, const hvi_robot *robot,
                         hvi_mujoco_model *shared, hvi_error *err) {
  hvi_mujoco_env *e = hvi_alloc(1, sizeof *e);
  if (!e) return hvi_error_memory(err, "a MuJoCo environment");
  e->env = *env;
  e->robot = robot;
  e->shared = shared;
  e->model = shared->model;
  hvi_mujoco_share(shared);
  hvi_status status = hvi_mujoco_data(&e->data, shared, err);
  if (status != HVI_OK) {
    release(&e->env);
    return status;
  }
  reset(&e->env, NULL);
  *made = e;
  return HVI_OK;
}

static hvi_status clone(const hvi_env *env, hvi_env **copy, hvi_error *err) {
  const hvi_mujoco_env *e = (const hvi_mujoco_env *)env;
  hvi_mujoco_env *made = NULL;
  *copy = NULL;
  hvi_status status = attach(&made, env, e->robot, e->shared, err);
  if (status != HVI_OK) return status;
  double *to[4], *from[4];
  size_t count[4];
  const size_t n = pieces(e, from, count);
  pieces(made, to, count);
  for (size_t k = 0; k < n; k++) hvi_vec_copy(to[k], from[k], count[k]);
  made->data->time = e->data->time;
  made->position = e->position;
  made->clock = e->clock;
  *copy = &made->env;
  return HVI_OK;
}

static const hvi_env_ops ops = {.name = "mujoco",
                                .clone = clone,
                                .reset = reset,
                                .step = step,
                                .observe = observe,
                                .save = save,
                                .restore = restore,
                                .free = release};

static hvi_env describe(const hvi_robot *robot, const mjModel *m) {
  const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, bodies = (size_t)m->nbody;
  const size_t forces = robot->forces ? 6 * bodies : 0;
  return (hvi_env){.ops = &ops,
                   .name = robot->name,
                   .obs = nq - robot->hidden + nv + (forces ? forces - 6 : 0),
                   .act = (size_t)m->nu,
                   .state = 3 + nq + 2 * nv + forces,
                   .time_limit = 1000,
                   .low = -1.0,
                   .high = 1.0,
                   .dt = HVI_MUJOCO_SKIP * m->opt.timestep,
                   .reward_bound = INFINITY};
}

static const char *embedded(const char *name) {
  const hvi_embedded *file = hvi_embedded_models;
  while (file->name && strcmp(file->name, name) != 0) file++;
  return file->text;
}

hvi_status hvi_mujoco_env_new(hvi_env **env, const hvi_robot *robot, hvi_error *err) {
  hvi_mujoco_model *shared = NULL;
  hvi_mujoco_env *made = NULL;
  hvi_status status = hvi_mujoco_load(&shared, robot->model, embedded(robot->model), err);
  if (status != HVI_OK) return status;
  const hvi_env described = describe(robot, shared->model);
  status = attach(&made, &described, robot, shared, err);
  hvi_mujoco_leave(shared);
  *env = made ? &made->env : NULL;
  return status;
}

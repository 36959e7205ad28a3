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
 * A saved state is, after the clock, time, position, qpos, qvel, the solver's warm start, and the forces where
 * they are observed. Nothing else survives from one step to the next.
 */
#include "base/base.h"
#include "rl/mujoco/mujoco.h"

#include "base/embedded.h"
#include "base/module.h"
#include "num/vec.h"
#include "rl/env_kinds.h"

#include <hvi/version.h>

static size_t force_count(const hvi_mujoco_env *e) {
  return e->robot->forces ? 6 * (size_t)e->model->nbody : 0;
}

/* A contact force as it is observed. */
static double cut(double force) { return force > 1.0 ? 1.0 : force < -1.0 ? -1.0 : force; }

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
  for (size_t i = 0; i < (size_t)e->model->nq; i++)
    e->data->qpos[i] += hvi_rng_range(rng, -0.1, 0.1);
  for (size_t i = 0; i < (size_t)e->model->nv; i++) e->data->qvel[i] += 0.1 * hvi_rng_normal(rng);
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
}

static hvi_transition step(hvi_env *env, const double *action, hvi_rng *rng) {
  (void)rng;
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  char text[128];
  hvi_vec_copy(e->data->ctrl, action, env->act);
  if (hvi_mujoco_guard(advance, e, text, sizeof text) || warned(e->data))
    return hvi_env_broken(env);
  const double position = e->robot->position(e->data);
  hvi_transition result = {0};
  e->robot->judge(e, (position - e->position) / env->dt, action, &result);
  /* the controls are cut to their range, but an action is charged for as it is */
  if (!isfinite(result.reward)) return hvi_env_broken(env);
  e->position = position;
  return result;
}

static void observe(const hvi_env *env, double *obs) {
  const hvi_mujoco_env *e = (const hvi_mujoco_env *)env;
  const size_t positions = (size_t)e->model->nq - e->robot->hidden,
               velocities = (size_t)e->model->nv;
  hvi_vec_copy(obs, e->data->qpos + e->robot->hidden, positions);
  hvi_vec_copy(obs + positions, e->data->qvel, velocities);
  double *forces = obs + positions + velocities;
  for (size_t i = 6; i < force_count(e); i++) forces[i - 6] = cut(e->data->cfrc_ext[i]);
}

/* The numbers of a saved state, in order: from the environment, or back to it. */
static void move_state(hvi_mujoco_env *e, double *state, bool back) {
  const size_t nq = (size_t)e->model->nq, nv = (size_t)e->model->nv;
  mjData *d = e->data;
  double *const at[] = {&d->time, &e->position, d->qpos, d->qvel, d->qacc_warmstart, d->cfrc_ext};
  const size_t count[] = {1, 1, nq, nv, nv, force_count(e)};
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    hvi_vec_copy(back ? at[k] : state, back ? state : at[k], count[k]);
    state += count[k];
  }
}

static void save(const hvi_env *env, double *state) {
  move_state((hvi_mujoco_env *)(size_t)env, state, false);
}

static void restore(hvi_env *env, const double *state) {
  move_state((hvi_mujoco_env *)env, (double *)(size_t)state, true);
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
  if (status) {
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
  double *state = hvi_alloc_doubles(env->state);
  if (!state) return hvi_error_memory(err, "a MuJoCo environment");
  const hvi_status status = attach(&made, env, e->robot, e->shared, err);
  if (!status) {
    save(env, state);
    restore(&made->env, state);
    *copy = &made->env;
  }
  hvi_free(state);
  return status;
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
static double torso_x(const mjData *data) { return data->xpos[3]; }

static bool healthy(const hvi_mujoco_env *e) {
  const double height = e->data->qpos[2];
  return height >= 0.2 && height <= 1.0 && hvi_vec_finite(e->data->qpos, (size_t)e->model->nq) &&
         hvi_vec_finite(e->data->qvel, (size_t)e->model->nv);
}

static double contact_cost(const hvi_mujoco_env *e) {
  double sum = 0.0;
  for (size_t i = 0; i < 6 * (size_t)e->model->nbody; i++) {
    const double force = cut(e->data->cfrc_ext[i]);
    sum += force * force;
  }
  return 5e-4 * sum;
}

static void judge_ant(const hvi_mujoco_env *e, double velocity, const double *action,
                      hvi_transition *result) {
  const bool v5 = e->robot->forces;
  result->terminated = !healthy(e);
  result->reward =
      velocity + (v5 && result->terminated ? 0.0 : 1.0) - 0.5 * hvi_vec_norm2(action, e->env.act);
  if (v5) result->reward -= contact_cost(e);
}

/*
 * HalfCheetah: a planar runner, rewarded for going along x. Versions 4 and 5 are the same:
 *   reward = change of qpos[0] / 0.05 - 0.1 |a|^2,  and an episode never terminates.
 */
static double root_x(const mjData *data) { return data->qpos[0]; }

static void judge_half_cheetah(const hvi_mujoco_env *e, double velocity, const double *action,
                               hvi_transition *result) {
  result->reward = velocity - 0.1 * hvi_vec_norm2(action, e->env.act);
}

static const hvi_robot robots[] = {
    /* name, model, hidden, quaternion, forces */
    {"half_cheetah", "half_cheetah", 1, 0, false, root_x, judge_half_cheetah},
    {"ant", "ant", 2, 3, false, torso_x, judge_ant},
    {"ant-v5", "ant", 2, 3, true, torso_x, judge_ant},
};

static const char *embedded(const char *name) {
  const hvi_embedded *file = hvi_embedded_models;
  while (file->name && strcmp(file->name, name) != 0) file++;
  return file->text;
}

static hvi_status new_of_robot(hvi_env **env, const hvi_robot *robot, hvi_error *err) {
  hvi_mujoco_model *shared = NULL;
  hvi_mujoco_env *made = NULL;
  HVI_TRY(hvi_mujoco_load(&shared, robot->model, embedded(robot->model), err));
  const hvi_env described = describe(robot, shared->model);
  hvi_status status = attach(&made, &described, robot, shared, err);
  hvi_mujoco_leave(shared);
  *env = made ? &made->env : NULL;
  return status;
}

static hvi_status env_new(hvi_env **env, const char *name, hvi_error *err) {
  for (size_t k = 0; k < sizeof robots / sizeof robots[0]; k++)
    if (strcmp(robots[k].name, name) == 0) return new_of_robot(env, &robots[k], err);
  return hvi_error_input(err, "the module mujoco has no environment '%s'", name);
}

/* The loop that there is nothing to take away from; afterwards the environment is where as many
 * steps would have left it. */
static void bare_steps(hvi_env *env, const double *actions, size_t rows, size_t steps) {
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  for (size_t t = 0; t < steps; t++) {
    hvi_vec_copy(e->data->ctrl, actions + t % rows * env->act, env->act);
    for (int k = 0; k < HVI_MUJOCO_SKIP; k++) mj_step(e->model, e->data);
  }
  if (e->robot->forces) mj_rnePostConstraint(e->model, e->data);
  e->position = e->robot->position(e->data);
  env->clock += steps;
}

static const hvi_mujoco_functions functions = {.env_new = env_new, .bare_steps = bare_steps};

HVI_API const hvi_module hvi_module_table = {.abi = HVI_MODULE_ABI,
                                             .name = "mujoco",
                                             .version = hvi_version,
                                             .start = hvi_mujoco_start,
                                             .needs = "MuJoCo",
                                             .needs_version = mj_versionString,
                                             .functions = &functions};

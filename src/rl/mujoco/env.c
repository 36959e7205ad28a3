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

static void reset(hvi_env *env, hvi_rng *rng) {
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  mjData *d = e->data;
  mj_resetData(e->model, d);
  if (rng) {
    for (int i = 0; i < e->model->nq; i++) d->qpos[i] += hvi_rng_range(rng, -0.1, 0.1);
    for (int i = 0; i < e->model->nv; i++) d->qvel[i] += 0.1 * hvi_rng_normal(rng);
    /* Newer MuJoCo leaves this to the first step. */
    if (e->robot->quaternion) mju_normalize4(d->qpos + e->robot->quaternion);
  }
  hvi_mujoco_guard(settle, e, NULL, 0);
  e->position = e->robot->position(d);
}

static hvi_transition step(hvi_env *env, const double *action, hvi_rng *rng) {
  (void)rng;
  hvi_mujoco_env *e = (hvi_mujoco_env *)env;
  hvi_vec_copy(e->data->ctrl, action, env->act);
  if (hvi_mujoco_guard(advance, e, NULL, 0) || warned(e->data)) return hvi_env_broken(env);
  const double position = e->robot->position(e->data);
  const hvi_transition result = e->robot->judge(e, (position - e->position) / env->dt, action);
  /* the controls are cut to their range, but an action is charged for as it is */
  if (!isfinite(result.reward)) return hvi_env_broken(env);
  e->position = position;
  return result;
}

static void observe(const hvi_env *env, double *obs) {
  const hvi_mujoco_env *e = (const hvi_mujoco_env *)env;
  const size_t positions = (size_t)e->model->nq - e->robot->hidden, nv = (size_t)e->model->nv;
  hvi_vec_copy(obs, e->data->qpos + e->robot->hidden, positions);
  hvi_vec_copy(obs + positions, e->data->qvel, nv);
  double *forces = obs + positions + nv;
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

/* An environment on `shared`, of which it becomes a user. */
static hvi_status attach(hvi_env **made, const hvi_env *env, const hvi_robot *robot,
                         hvi_mujoco_model *shared, hvi_error *err) {
  hvi_mujoco_env *e = hvi_alloc(1, sizeof *e);
  if (!e) return hvi_error_memory(err, "a MuJoCo environment");
  *e = (hvi_mujoco_env){*env, robot, shared, shared->model, NULL, 0.0};
  hvi_mujoco_share(shared);
  const hvi_status status = hvi_mujoco_data(&e->data, shared, err);
  if (status)
    release(&e->env);
  else
    *made = &e->env;
  return status;
}

static hvi_status clone(const hvi_env *env, hvi_env **copy, hvi_error *err) {
  const hvi_mujoco_env *e = (const hvi_mujoco_env *)env;
  *copy = NULL;
  HVI_TRY(attach(copy, env, e->robot, e->shared, err));
  hvi_mujoco_env *made = (hvi_mujoco_env *)*copy;
  mj_copyData(made->data, e->model, e->data);
  made->position = e->position;
  return HVI_OK;
}

static size_t classify(const hvi_env *env, const double *obs) {
  return ((const hvi_mujoco_env *)env)->robot->flipped(obs) ? 1 : 0;
}

static const hvi_env_ops ops = {.name = "mujoco",
                                .clone = clone,
                                .reset = reset,
                                .step = step,
                                .observe = observe,
                                .save = save,
                                .restore = restore,
                                .free = release,
                                .classes = "upright flipped",
                                .classify = classify};

static hvi_env describe(const hvi_robot *robot, const mjModel *m) {
  const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
  const size_t forces = robot->forces ? 6 * (size_t)m->nbody : 0;
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

/* The z component of the torso's up vector, from its quaternion w x y z in obs[1..4]. */
static bool ant_flipped(const double *obs) {
  return 1.0 - 2.0 * (obs[2] * obs[2] + obs[3] * obs[3]) < 0.0;
}

static double contact_cost(const hvi_mujoco_env *e) {
  double sum = 0.0;
  for (size_t i = 0; i < force_count(e); i++) {
    const double force = cut(e->data->cfrc_ext[i]);
    sum += force * force;
  }
  return 5e-4 * sum;
}

static hvi_transition judge_ant(const hvi_mujoco_env *e, double velocity, const double *action) {
  const bool v5 = e->robot->forces, well = healthy(e);
  double reward = velocity + (v5 && !well ? 0.0 : 1.0) - 0.5 * hvi_vec_norm2(action, e->env.act);
  if (v5) reward -= contact_cost(e);
  return (hvi_transition){.reward = reward, .terminated = !well};
}

/*
 * HalfCheetah: a planar runner, rewarded for going along x. Versions 4 and 5 are the same:
 *   reward = change of qpos[0] / 0.05 - 0.1 |a|^2,  and an episode never terminates.
 */
static double root_x(const mjData *data) { return data->qpos[0]; }

/* By the torso's pitch, which turns on beyond a full turn. */
static bool half_cheetah_flipped(const double *obs) { return cos(obs[1]) < 0.0; }

static hvi_transition judge_half_cheetah(const hvi_mujoco_env *e, double velocity,
                                         const double *action) {
  return (hvi_transition){.reward = velocity - 0.1 * hvi_vec_norm2(action, e->env.act)};
}

static const hvi_robot robots[] = {
    /* name, model, hidden, quaternion, forces */
    {"half_cheetah", "half_cheetah", 1, 0, false, root_x, judge_half_cheetah, half_cheetah_flipped},
    {"ant", "ant", 2, 3, false, torso_x, judge_ant, ant_flipped},
    {"ant-v5", "ant", 2, 3, true, torso_x, judge_ant, ant_flipped},
};

static hvi_status env_new(hvi_env **env, const char *name, hvi_error *err) {
  const hvi_robot *robot = robots, *const end = robots + sizeof robots / sizeof *robots;
  while (robot < end && strcmp(robot->name, name) != 0) robot++;
  if (robot == end) return hvi_error_input(err, "the module mujoco has no environment '%s'", name);
  const char *text = hvi_embedded_find(hvi_embedded_models, robot->model);
  hvi_mujoco_model *shared;
  HVI_TRY(hvi_mujoco_load(&shared, robot->model, text, err));
  const hvi_env described = describe(robot, shared->model);
  const hvi_status status = attach(env, &described, robot, shared, err);
  hvi_mujoco_leave(shared);
  if (!status) reset(*env, NULL);
  return status;
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

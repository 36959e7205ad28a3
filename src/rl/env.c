/* The registry of environments, and the calls that go through an environment's table. */
#include <hvi/env.h>

#include "base/base.h"
#include "base/module.h"
#include "rl/env_kinds.h"

static hvi_status open_mujoco(const hvi_mujoco_functions **mujoco, const char *name,
                              hvi_error *err) {
  const hvi_module *module = NULL;
  hvi_error why = {HVI_OK, ""};
  const hvi_status status = hvi_module_open(&module, "mujoco", &why);
  *mujoco = module ? module->functions : NULL;
  if (!status) return HVI_OK;
  return hvi_error_set(
      err, status,
      "environment '%s' needs MuJoCo (Debian: hvi-mujoco, or libmujoco-dev and a new build): "
      "%s",
      name, why.text);
}

static hvi_status new_on_mujoco(hvi_env **env, const char *name, hvi_error *err) {
  const hvi_mujoco_functions *mujoco;
  HVI_TRY(open_mujoco(&mujoco, name, err));
  return mujoco->env_new(env, name, err);
}

static const hvi_env_kind kinds[] = {
    {"lqr", "two coupled masses, linear dynamics, quadratic cost: the value is known", NULL,
     hvi_env_new_lqr},
    {"pendulum", "swing-up of a torque-limited pendulum", NULL, hvi_env_new_pendulum},
    {"half_cheetah", "planar runner, six motors (HalfCheetah-v4 and v5)", "MuJoCo", new_on_mujoco},
    {"ant", "four-legged walker, eight motors (Ant-v4)", "MuJoCo", new_on_mujoco},
    {"ant-v5", "the same with contact forces observed and costed (Ant-v5)", "MuJoCo",
     new_on_mujoco},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

/* Versions that are the same environment. */
static const char *const aliases[][2] = {
    {"ant-v4", "ant"}, {"half_cheetah-v4", "half_cheetah"}, {"half_cheetah-v5", "half_cheetah"}};
enum { ALIAS_COUNT = sizeof aliases / sizeof aliases[0] };

const hvi_env_kind *hvi_env_list(size_t *count) {
  *count = KIND_COUNT;
  return kinds;
}

static hvi_status find_kind(const hvi_env_kind **kind, const char *name, hvi_error *err) {
  const char *names[KIND_COUNT + ALIAS_COUNT + 1] = {NULL};
  if (!name) return hvi_error_argument(err, "an environment needs a name");
  for (size_t k = 0; k < KIND_COUNT; k++) {
    names[k] = kinds[k].name;
    if (strcmp(name, names[k]) != 0) continue;
    *kind = &kinds[k];
    return HVI_OK;
  }
  for (size_t k = 0; k < ALIAS_COUNT; k++) {
    names[KIND_COUNT + k] = aliases[k][0];
    if (strcmp(name, aliases[k][0]) == 0) return find_kind(kind, aliases[k][1], err);
  }
  return hvi_suggest_refuse(err, NULL, "environment", name, names);
}

hvi_status hvi_env_available(const char *name, hvi_error *err) {
  const hvi_env_kind *kind = NULL;
  const hvi_mujoco_functions *mujoco = NULL;
  HVI_TRY(find_kind(&kind, name, err));
  return kind->needs ? open_mujoco(&mujoco, name, err) : HVI_OK;
}

hvi_status hvi_env_new(hvi_env **env, const char *name, hvi_error *err) {
  if (!env) return hvi_error_argument(err, "an environment needs a place to go");
  *env = NULL;
  const hvi_env_kind *kind = NULL;
  HVI_TRY(find_kind(&kind, name, err));
  return kind->make(env, kind->name, err);
}

hvi_status hvi_env_clone(const hvi_env *env, hvi_env **copy, hvi_error *err) {
  if (env->ops->clone) return env->ops->clone(env, copy, err);
  *copy = hvi_alloc(1, env->ops->size);
  if (!*copy) return hvi_error_memory(err, "an environment");
  memcpy(*copy, env, env->ops->size);
  return HVI_OK;
}

void hvi_env_free(hvi_env *env) {
  if (env && env->ops->free)
    env->ops->free(env);
  else
    hvi_free(env);
}

void hvi_env_reset(hvi_env *env, hvi_rng *rng) {
  env->ops->reset(env, rng);
  env->clock = 0;
}

hvi_transition hvi_env_step(hvi_env *env, const double *action, hvi_rng *rng) {
  hvi_transition t = env->ops->step(env, action, rng);
  if (!t.broken) env->clock++;
  t.truncated = !t.terminated && env->clock >= env->time_limit;
  return t;
}

void hvi_env_observe(const hvi_env *env, double *obs) { env->ops->observe(env, obs); }

void hvi_env_save(const hvi_env *env, double *state) {
  state[0] = (double)env->clock;
  if (env->ops->save)
    env->ops->save(env, state + 1);
  else
    memcpy(state + 1, env + 1, (env->state - 1) * sizeof *state);
}

/* A state may come from a file: a clock that is no count is 0. */
void hvi_env_restore(hvi_env *env, const double *state) {
  env->clock = state[0] >= 0.0 && state[0] < 9e15 ? (size_t)state[0] : 0;
  if (env->ops->restore)
    env->ops->restore(env, state + 1);
  else
    memcpy(env + 1, state + 1, (env->state - 1) * sizeof *state);
}

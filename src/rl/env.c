/* The registry of environments, and the calls that go through an environment's table. */
#include <hvi/env.h>

#include "base/error.h"
#include "base/suggest.h"
#include "rl/env_kinds.h"

#include <stdio.h>
#include <string.h>

#ifdef HVI_WITH_MUJOCO
#define MUJOCO(maker) maker
enum { HAVE_MUJOCO = 1 };
#else
#define MUJOCO(maker) NULL
enum { HAVE_MUJOCO = 0 };
#endif

typedef hvi_status (*maker_fn)(hvi_env **env, hvi_error *err);

/* In the order of `makers`; what has no maker needs MuJoCo. */
static const hvi_env_kind kinds[] = {
    {"lqr", "two coupled masses, linear dynamics, quadratic cost: the value is known", true, NULL},
    {"pendulum", "swing-up of a torque-limited pendulum", true, NULL},
    {"half_cheetah", "planar runner, six motors (HalfCheetah-v4 and v5)", HAVE_MUJOCO, "MuJoCo"},
    {"ant", "four-legged walker, eight motors (Ant-v4)", HAVE_MUJOCO, "MuJoCo"},
    {"ant-v5", "the same with contact forces observed and costed (Ant-v5)", HAVE_MUJOCO, "MuJoCo"},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static const maker_fn makers[KIND_COUNT] = {hvi_env_new_lqr, hvi_env_new_pendulum,
                                            MUJOCO(hvi_env_new_half_cheetah),
                                            MUJOCO(hvi_env_new_ant), MUJOCO(hvi_env_new_ant_v5)};

/* Versions that are the same environment. */
static const struct {
  const char *alias, *name;
} aliases[] = {
    {"ant-v4", "ant"}, {"half_cheetah-v4", "half_cheetah"}, {"half_cheetah-v5", "half_cheetah"}};
enum { ALIAS_COUNT = sizeof aliases / sizeof aliases[0] };

const hvi_env_kind *hvi_env_list(size_t *count) {
  *count = KIND_COUNT;
  return kinds;
}

static const char *true_name(const char *name) {
  for (size_t k = 0; k < ALIAS_COUNT; k++) {
    if (strcmp(name, aliases[k].alias) == 0) return aliases[k].name;
  }
  return name;
}

static hvi_status complain_name(const char *name, hvi_error *err) {
  const char *names[KIND_COUNT + ALIAS_COUNT + 1] = {NULL};
  for (size_t k = 0; k < KIND_COUNT; k++) names[k] = kinds[k].name;
  for (size_t k = 0; k < ALIAS_COUNT; k++) names[KIND_COUNT + k] = aliases[k].alias;
  const char *near = hvi_suggest(name, names);
  if (near) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "unknown environment '%s'; did you mean '%s'?", name,
                         near);
  }
  char list[256] = "";
  for (size_t k = 0; k < KIND_COUNT; k++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", names[k]);
  }
  return hvi_error_set(err, HVI_ERROR_INPUT, "unknown environment '%s'; there are %s", name, list);
}

hvi_status hvi_env_new(hvi_env **env, const char *name, hvi_error *err) {
  if (!env) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "an environment needs a place to go");
  *env = NULL;
  if (!name) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "an environment needs a name");
  const char *wanted = true_name(name);
  for (size_t k = 0; k < KIND_COUNT; k++) {
    if (strcmp(wanted, kinds[k].name) != 0) continue;
    if (makers[k]) return makers[k](env, err);
    return hvi_error_set(
        err, HVI_ERROR_UNSUPPORTED,
        "environment '%s' needs %s, which this build lacks (Debian: libmujoco-dev; "
        "then build again)",
        name, kinds[k].needs);
  }
  return complain_name(name, err);
}

hvi_status hvi_env_clone(const hvi_env *env, hvi_env **copy, hvi_error *err) {
  return env->ops->clone(env, copy, err);
}

void hvi_env_free(hvi_env *env) {
  if (env) env->ops->free(env);
}

void hvi_env_reset(hvi_env *env, hvi_rng *rng) { env->ops->reset(env, rng); }

hvi_transition hvi_env_step(hvi_env *env, const double *action, hvi_rng *rng) {
  return env->ops->step(env, action, rng);
}

void hvi_env_observe(const hvi_env *env, double *obs) { env->ops->observe(env, obs); }

void hvi_env_save(const hvi_env *env, double *state) { env->ops->save(env, state); }

void hvi_env_restore(hvi_env *env, const double *state) { env->ops->restore(env, state); }

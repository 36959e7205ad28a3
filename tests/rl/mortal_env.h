/*
 * An environment of the tests' own whose values are known: each step gives reward 1 and is the last
 * one with probability 1/20, a quarter of these by a failure. With discount g and H steps
 *   V = sum over t < H of (0.95 g)^t.
 * Episodes are cut off after 40 steps. Observed are the steps so far and the last action.
 */
#ifndef HVI_TESTS_RL_MORTAL_ENV_H
#define HVI_TESTS_RL_MORTAL_ENV_H

#include "support/check.h"

#include <hvi/policy.h>

enum { MORTAL_OBS = 2, MORTAL_LIMIT = 40 };
static const double MORTAL_DEATH = 0.05;

typedef struct mortal_env {
  hvi_env base;
  double action;
} mortal_env;

static inline void mortal_reset(hvi_env *env, hvi_rng *rng) {
  mortal_env *m = (mortal_env *)env;
  m->action = rng ? hvi_rng_uniform(rng) : 0.0;
}

static inline hvi_transition mortal_step(hvi_env *env, const double *action, hvi_rng *rng) {
  mortal_env *m = (mortal_env *)env;
  const double u = hvi_rng_uniform(rng);
  m->action = action[0];
  return (hvi_transition){
      .reward = 1.0, .terminated = u < MORTAL_DEATH, .broken = u < MORTAL_DEATH / 4.0};
}

static inline void mortal_observe(const hvi_env *env, double *obs) {
  obs[0] = (double)env->clock;
  obs[1] = ((const mortal_env *)env)->action;
}

static inline void mortal_save(const hvi_env *env, double *state) {
  state[0] = ((const mortal_env *)env)->action;
}

static inline void mortal_restore(hvi_env *env, const double *state) {
  ((mortal_env *)env)->action = state[0];
}

static const hvi_env_ops mortal_ops = {.name = "mortal",
                                       .size = sizeof(mortal_env),
                                       .reset = mortal_reset,
                                       .step = mortal_step,
                                       .observe = mortal_observe,
                                       .save = mortal_save,
                                       .restore = mortal_restore};

static inline hvi_env *mortal_new(void) {
  const mortal_env m = {.base = {.ops = &mortal_ops,
                                 .name = "mortal",
                                 .obs = MORTAL_OBS,
                                 .act = 1,
                                 .state = MORTAL_OBS,
                                 .time_limit = MORTAL_LIMIT,
                                 .noisy = true,
                                 .low = -INFINITY,
                                 .high = INFINITY,
                                 .reward_bound = 1.0}};
  hvi_env *env;
  hvi_error err;
  check_ok(hvi_env_clone(&m.base, &env, &err), &err);
  return env;
}

static inline hvi_policy *mortal_policy(void) {
  const double gain[] = {0.01, 0.2}, std[] = {0.5};
  hvi_policy *policy;
  hvi_error err;
  check_ok(hvi_policy_linear(&policy, MORTAL_OBS, 1, gain, std, &err), &err);
  return policy;
}

#endif

/*
 * A small environment of the tests' own: a walk in three dimensions under two actions in [-1, 3].
 * It ends when the first coordinate is far from zero, and is cut off after eight steps.
 */
#ifndef HVI_TESTS_RL_WALK_ENV_H
#define HVI_TESTS_RL_WALK_ENV_H

#include "base/error.h"
#include "base/memory.h"

#include <hvi/env.h>

#include <math.h>
#include <string.h>

enum { WALK_OBS = 3, WALK_ACT = 2, WALK_LIMIT = 8 };

typedef struct walk_env {
  hvi_env base;
  double state[WALK_OBS];
} walk_env;

static void walk_reset(hvi_env *env, hvi_rng *rng) {
  walk_env *w = (walk_env *)env;
  memset(w->state, 0, sizeof w->state);
  if (rng) hvi_rng_fill_normal(rng, 0.0, 0.5, WALK_OBS, w->state);
}

static hvi_transition walk_step(hvi_env *env, const double *action, hvi_rng *rng) {
  walk_env *w = (walk_env *)env;
  double *x = w->state;
  x[0] = 0.9 * x[0] + 0.4 * action[0] - 0.3;
  x[1] = 0.8 * x[1] + 0.3 * action[1] * x[0];
  x[2] = 0.5 * x[2] + 0.2 * hvi_rng_normal(rng);
  return (hvi_transition){.reward = 1.0 - x[0] * x[0] - 0.1 * action[1] * action[1],
                          .terminated = fabs(x[0]) > 1.5};
}

static void walk_observe(const hvi_env *env, double *obs) {
  memcpy(obs, ((const walk_env *)env)->state, WALK_OBS * sizeof *obs);
}

static void walk_restore(hvi_env *env, const double *state) {
  memcpy(((walk_env *)env)->state, state, WALK_OBS * sizeof *state);
}

static const hvi_env_ops walk_ops = {.name = "walk",
                                     .size = sizeof(walk_env),
                                     .reset = walk_reset,
                                     .step = walk_step,
                                     .observe = walk_observe,
                                     .save = walk_observe,
                                     .restore = walk_restore};

static hvi_status walk_new(hvi_env **out, hvi_error *err) {
  walk_env *w = hvi_alloc(1, sizeof *w);
  *out = (hvi_env *)w;
  if (!w) return hvi_error_memory(err, "a walk");
  w->base = (hvi_env){.ops = &walk_ops,
                      .name = "walk",
                      .obs = WALK_OBS,
                      .act = WALK_ACT,
                      .state = WALK_OBS + 1,
                      .time_limit = WALK_LIMIT,
                      .noisy = true,
                      .low = -1.0,
                      .high = 3.0,
                      .reward_bound = INFINITY};
  return HVI_OK;
}

#endif

/*
 * The torque-limited pendulum of the classic control problems. The angle a is 0 upright and pi
 * hanging; with torque u cut to [-2, 2], gravity g = 10, mass and length 1 and h = 0.05 s
 *
 *   w' = clip(w + (3 g / 2 sin a + 3 u) h, -8, 8),   a' = a + w' h,
 *   reward = -(a^2 + 0.1 w^2 + 0.001 u^2),  a brought to [-pi, pi), before the move.
 *
 * Observed are (cos a, sin a, w). An episode has 200 steps and never terminates.
 */
#include "base/base.h"
#include "rl/env_kinds.h"

static const double PI = 3.14159265358979323846;
static const double GRAVITY = 10.0, STEP = 0.05, TOP_TORQUE = 2.0, TOP_SPEED = 8.0;

typedef struct pendulum {
  hvi_env env;
  double angle, speed; /* what is saved */
} pendulum;

static double clip(double x, double top) { return fmax(-top, fmin(top, x)); }

static double wrap(double angle) { return angle - 2.0 * PI * floor((angle + PI) / (2.0 * PI)); }

static void reset(hvi_env *env, hvi_rng *rng) {
  pendulum *p = (pendulum *)env;
  p->angle = rng ? hvi_rng_range(rng, -PI, PI) : PI;
  p->speed = rng ? hvi_rng_range(rng, -1.0, 1.0) : 0.0;
}

static hvi_transition step(hvi_env *env, const double *action, hvi_rng *rng) {
  (void)rng;
  pendulum *p = (pendulum *)env;
  const double torque = clip(action[0], TOP_TORQUE), a = wrap(p->angle), w = p->speed;
  const double reward = -(a * a + 0.1 * w * w + 0.001 * torque * torque);
  if (!isfinite(action[0]) || !isfinite(reward)) return hvi_env_broken(env);
  p->speed = clip(w + (1.5 * GRAVITY * sin(p->angle) + 3.0 * torque) * STEP, TOP_SPEED);
  p->angle += p->speed * STEP;
  return (hvi_transition){.reward = reward};
}

static void observe(const hvi_env *env, double *obs) {
  const pendulum *p = (const pendulum *)env;
  obs[0] = cos(p->angle);
  obs[1] = sin(p->angle);
  obs[2] = p->speed;
}

static const hvi_env_ops ops = {
    .name = "pendulum", .size = sizeof(pendulum), .reset = reset, .step = step, .observe = observe};

hvi_status hvi_env_new_pendulum(hvi_env **env, const char *name, hvi_error *err) {
  pendulum p = {.env = {.ops = &ops,
                        .name = name,
                        .obs = 3,
                        .act = 1,
                        .state = 3,
                        .time_limit = 200,
                        .low = -TOP_TORQUE,
                        .high = TOP_TORQUE,
                        .dt = STEP,
                        .reward_bound = PI * PI + 0.1 * TOP_SPEED * TOP_SPEED +
                                        0.001 * TOP_TORQUE * TOP_TORQUE}};
  reset(&p.env, NULL);
  return hvi_env_clone(&p.env, env, err);
}

/* The pendulum: steps worked out by hand, its symmetry, its energy, its reward's bound. */
#include "support/check.h"

#include <hvi/env.h>

static const double PI = 3.14159265358979323846;

static hvi_env *make(void) {
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_env_new(&env, "pendulum", &err), &err);
  return env;
}

static hvi_transition move(hvi_env *env, double angle, double speed, double torque,
                           double after[3]) {
  const double state[3] = {0.0, angle, speed};
  hvi_env_restore(env, state);
  const hvi_transition t = hvi_env_step(env, &torque, NULL);
  hvi_env_observe(env, after);
  return t;
}

static void steps_by_hand(void **state) {
  (void)state;
  hvi_env *env = make();
  double obs[3];
  /* upright at rest, torque 1: 3 * 1 * 0.05 = 0.15 */
  check_near(move(env, 0.0, 0.0, 1.0, obs).reward, -0.001, 1e-16);
  check_close(obs, (double[]){cos(0.0075), sin(0.0075), 0.15}, 3, 1e-15);
  /* horizontal, no torque: 15 sin(pi/2) * 0.05 = 0.75 */
  check_near(move(env, PI / 2, 0.0, 0.0, obs).reward, -PI * PI / 4, 1e-14);
  check_near(obs[2], 0.75, 1e-15);
  /* torque beyond the limit counts as the limit, in the cost as well */
  check_near(move(env, 0.0, 0.0, 50.0, obs).reward, -0.004, 1e-16);
  check_near(obs[2], 0.3, 1e-15);
  /* speed beyond the limit */
  check_near(move(env, PI / 2, 7.9, 2.0, obs).reward, -(PI * PI / 4 + 6.241 + 0.004), 1e-13);
  check_near(obs[2], 8.0, 0.0);
  /* three turns and a bit are a bit */
  check_near(move(env, 6 * PI + 0.1, 0.0, 0.0, obs).reward, -0.01, 1e-13);
  check_near(move(env, -6 * PI - 0.1, 0.0, 0.0, obs).reward, -0.01, 1e-13);
  hvi_env_free(env);
}

static void starts_hanging(void **state) {
  (void)state;
  hvi_env *env = make();
  double obs[3];
  hvi_env_observe(env, obs);
  check_close(obs, (double[]){-1.0, 0.0, 0.0}, 3, 1e-15);
  for (size_t k = 0; k < 200; k++) {
    hvi_rng rng = hvi_rng_new(1, "tests", k);
    hvi_env_reset(env, &rng);
    hvi_env_observe(env, obs);
    check_near(obs[0] * obs[0] + obs[1] * obs[1], 1.0, 1e-14);
    assert_true(fabs(obs[2]) <= 1.0);
  }
  hvi_env_free(env);
}

static void left_is_right_in_a_mirror(void **state) {
  (void)state;
  hvi_env *a = make(), *b = make();
  double seen[3], mirrored[3], torque;
  hvi_env_restore(a, (double[]){0, 2.5, -0.4});
  hvi_env_restore(b, (double[]){0, -2.5, 0.4});
  for (int t = 0; t < 100; t++) {
    torque = 2.5 * sin(0.3 * t);
    const double r = hvi_env_step(a, &torque, NULL).reward;
    torque = -torque;
    check_near(hvi_env_step(b, &torque, NULL).reward, r, 1e-9);
    hvi_env_observe(a, seen);
    hvi_env_observe(b, mirrored);
    check_close(mirrored, (double[]){seen[0], -seen[1], -seen[2]}, 3, 1e-9);
  }
  hvi_env_free(a);
  hvi_env_free(b);
}

/* Free swings keep w^2/2 + 15 cos a: the step is symplectic, so it wavers but does not drift. */
static void energy_does_not_drift(void **state) {
  (void)state;
  hvi_env *env = make();
  double obs[3], none = 0.0, sum[2] = {0};
  hvi_env_restore(env, (double[]){0, PI - 1.0, 0});
  for (int t = 0; t < 4000; t++) {
    hvi_env_step(env, &none, NULL);
    hvi_env_observe(env, obs);
    sum[t / 2000] += (0.5 * obs[2] * obs[2] + 15.0 * obs[0]) / 2000;
  }
  check_near(sum[0], 15.0 * cos(PI - 1.0), 0.3);
  check_near(sum[1], sum[0], 0.05);
  hvi_env_free(env);
}

static void reward_is_bounded(void **state) {
  (void)state;
  hvi_env *env = make();
  double obs[3], worst = 0.0;
  hvi_rng rng = hvi_rng_new(2, "tests", 0);
  for (int k = 0; k < 2000; k++) {
    const double angle = hvi_rng_range(&rng, -20, 20), speed = hvi_rng_range(&rng, -8, 8);
    const double r = move(env, angle, speed, hvi_rng_range(&rng, -2, 2), obs).reward;
    assert_true(r <= 0.0);
    assert_true(-r <= env->reward_bound);
    worst = fmax(worst, -r);
  }
  assert_true(worst > 0.9 * env->reward_bound);
  hvi_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_by_hand),
      cmocka_unit_test(starts_hanging),
      cmocka_unit_test(left_is_right_in_a_mirror),
      cmocka_unit_test(energy_does_not_drift),
      cmocka_unit_test(reward_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

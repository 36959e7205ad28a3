/* What every environment promises: repeatable to the bit, saved and restored, cloned, broken. */
#include "support/check.h"

#include <hvi/env.h>

#include <pthread.h>
#include <stdlib.h>

enum { MOST = 256, STEPS = 40 };

typedef void (*env_check)(hvi_env *env);

static void for_each_env(env_check check) {
  size_t count;
  const hvi_env_kind *kinds = hvi_env_list(&count);
  for (size_t k = 0; k < count; k++) {
    hvi_env *env = NULL;
    if (hvi_env_available(kinds[k].name, NULL)) continue;
    check_ok(hvi_env_new(&env, kinds[k].name, NULL), &(hvi_error){HVI_OK, "new"});
    assert_true(env->obs <= MOST);
    assert_true(env->state <= MOST);
    check(env);
    hvi_env_free(env);
  }
}

/* Random actions within the range; restarts where an episode ends. Rows of observation and reward
 * go to rows[steps][MOST]. */
static void roll(hvi_env *env, hvi_rng *rng, size_t steps, double *rows) {
  double action[16];
  for (size_t t = 0; t < steps; t++) {
    const double top = isfinite(env->high) ? env->high : 1.0;
    hvi_rng_fill_uniform(rng, -top, top, env->act, action);
    const hvi_transition r = hvi_env_step(env, action, rng);
    double *row = rows + t * MOST;
    memset(row, 0, MOST * sizeof *row);
    hvi_env_observe(env, row);
    row[MOST - 1] = r.reward;
    if (r.terminated || r.truncated) hvi_env_reset(env, rng);
  }
}

static double *rows_new(void) { return calloc(STEPS * MOST, sizeof(double)); }

static void check_repeats(hvi_env *env) {
  double *a = rows_new(), *b = rows_new();
  for (int k = 0; k < 2; k++) {
    hvi_rng rng = hvi_rng_new(3, "tests", 0);
    hvi_env_reset(env, &rng);
    roll(env, &rng, STEPS, k ? b : a);
  }
  check_same_bits(a, b, STEPS * MOST);
  check_finite(a, STEPS * MOST);
  free(a), free(b);
}

static void check_seeds_differ(hvi_env *env) {
  double a[MOST] = {0}, b[MOST] = {0};
  hvi_rng one = hvi_rng_new(3, "tests", 0), other = hvi_rng_new(3, "tests", 1);
  hvi_env_reset(env, &one);
  hvi_env_observe(env, a);
  hvi_env_reset(env, &other);
  hvi_env_observe(env, b);
  for (size_t i = 0; i < 3; i++) assert_true(a[i] != b[i]);
}

typedef struct journey {
  hvi_env *env;
  const double *state;
  hvi_rng rng;
  double *rows;
} journey;

static void *travel(void *argument) {
  journey *j = argument;
  hvi_env_restore(j->env, j->state);
  roll(j->env, &j->rng, STEPS, j->rows);
  return NULL;
}

/* Goes on from a saved state in the same environment, in a clone, and in a clone on a thread. */
static void check_continues(hvi_env *env) {
  double *rows[4], state[MOST], again[MOST], seen[MOST] = {0}, observed[MOST] = {0};
  hvi_env *copy[3] = {NULL};
  pthread_t thread;
  for (size_t k = 0; k < 4; k++) rows[k] = rows_new();
  hvi_rng rng = hvi_rng_new(4, "tests", 0);
  hvi_env_reset(env, &rng);
  roll(env, &rng, 25, rows[0]);
  hvi_env_save(env, state);
  hvi_env_observe(env, observed);
  const hvi_rng here = rng;

  for (size_t k = 0; k < 3; k++) check_ok(hvi_env_clone(env, &copy[k], NULL), &(hvi_error){0});
  hvi_env_reset(copy[1], &(hvi_rng){0});
  hvi_env_restore(copy[1], state);
  hvi_env_save(copy[1], again);
  check_same_bits(state, again, env->state);
  hvi_env_observe(copy[1], seen);
  check_same_bits(observed, seen, env->obs);

  roll(env, &rng, STEPS, rows[0]);
  rng = here;
  roll(copy[0], &rng, STEPS, rows[1]);
  rng = here;
  roll(copy[1], &rng, STEPS, rows[2]);
  /* a clone that has been elsewhere meanwhile */
  journey j = {.env = copy[2], .state = state, .rng = here, .rows = rows[3]};
  roll(copy[2], &rng, 3, rows[3]);
  assert_int_equal(pthread_create(&thread, NULL, travel, &j), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  for (size_t k = 1; k < 4; k++) check_same_bits(rows[0], rows[k], STEPS * MOST);

  for (size_t k = 0; k < 3; k++) hvi_env_free(copy[k]);
  for (size_t k = 0; k < 4; k++) free(rows[k]);
}

/* A clone outlives its original. */
static void check_independent(hvi_env *env) {
  hvi_env *first = NULL, *second = NULL;
  double a[MOST] = {0}, b[MOST] = {0}, action[16] = {0.1};
  check_ok(hvi_env_clone(env, &first, NULL), &(hvi_error){0});
  check_ok(hvi_env_clone(first, &second, NULL), &(hvi_error){0});
  hvi_env_free(first);
  hvi_env_step(second, action, NULL);
  hvi_env_step(env, action, NULL);
  hvi_env_observe(second, a);
  hvi_env_observe(env, b);
  check_same_bits(a, b, env->obs);
  hvi_env_free(second);
}

static void check_broken(hvi_env *env) {
  double action[16] = {0}, fresh[MOST] = {0}, obs[MOST] = {0}, state[MOST];
  static const double bad[] = {(double)NAN, (double)INFINITY};
  hvi_env_reset(env, NULL);
  hvi_env_observe(env, fresh);
  for (size_t k = 0; k < 3; k++) {
    hvi_rng rng = hvi_rng_new(5, "tests", k);
    hvi_env_reset(env, &rng);
    hvi_env_step(env, action, &rng);
    hvi_env_save(env, state);
    action[env->act - 1] = k < 2 ? bad[k] : 0.0;
    if (k == 2) { /* a state that no step could have left */
      state[env->state > 5 ? 4 : 1] = (double)NAN;
      hvi_env_restore(env, state);
    }
    const hvi_transition t = hvi_env_step(env, action, &rng);
    assert_true(t.broken);
    assert_true(t.terminated);
    assert_true(!t.truncated);
    assert_true(t.reward == 0.0);
    hvi_env_observe(env, obs);
    check_same_bits(obs, fresh, env->obs);
    action[env->act - 1] = 0.0;
    const hvi_transition next = hvi_env_step(env, action, NULL);
    assert_false(next.broken);
    assert_true(isfinite(next.reward));
  }
}

/* Never at step time_limit - 1, always at time_limit; a saved clock counts. */
static void check_limit(hvi_env *env) {
  double state[MOST], action[16] = {0};
  hvi_env_reset(env, NULL);
  hvi_env_save(env, state);
  assert_true(state[0] == 0.0);
  state[0] = (double)(env->time_limit - 2);
  hvi_env_restore(env, state);
  hvi_transition t = hvi_env_step(env, action, NULL);
  assert_false(t.truncated);
  assert_false(t.terminated);
  t = hvi_env_step(env, action, NULL);
  assert_true(t.truncated);
  assert_false(t.terminated);
  state[0] = -1.0;
  hvi_env_restore(env, state);
  assert_false(hvi_env_step(env, action, NULL).truncated);
}

#define EACH(name)                                                                                 \
  static void each_##name(void **state) {                                                          \
    (void)state;                                                                                   \
    for_each_env(check_##name);                                                                    \
  }
EACH(repeats)
EACH(seeds_differ)
EACH(continues)
EACH(independent)
EACH(broken)
EACH(limit)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_repeats),   cmocka_unit_test(each_seeds_differ),
      cmocka_unit_test(each_continues), cmocka_unit_test(each_independent),
      cmocka_unit_test(each_broken),    cmocka_unit_test(each_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Batches of environments: the same bits on one, two and three threads, and as one by one. */
#include "support/check.h"

#include "rl/env_batch.h"

#include <stdlib.h>

enum { COUNT = 11, STEPS = 30 };

static const char *names[] = {"lqr", "pendulum",
#ifdef HVI_WITH_MUJOCO
                              "half_cheetah", "ant", "ant-v5"
#endif
};
enum { NAMES = sizeof names / sizeof names[0] };

static hvi_env *make(const char *name) {
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_env_new(&env, name, &err), &err);
  return env;
}

/* The actions of one step, wild enough that ants fall over. */
static void act(double *actions, size_t n, size_t step) {
  hvi_rng rng = hvi_rng_new(9, "actions", step);
  hvi_rng_fill_uniform(&rng, -1.0, 1.0, n, actions);
}

/* rows[STEPS][COUNT][obs + 2] */
static double *batch_rows(const hvi_env *env, size_t threads) {
  const size_t width = env->obs + 2;
  double *rows = calloc(STEPS * COUNT * width, sizeof *rows);
  double *actions = calloc(COUNT * env->act, sizeof *actions);
  hvi_env_batch *batch = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_env_batch_new(&batch, env, COUNT, 2, "batch", &err), &err);
  check_ok(hvi_env_batch_reset(batch, threads, &err), &err);
  for (size_t t = 0; t < STEPS; t++) {
    act(actions, COUNT * env->act, t);
    check_ok(hvi_env_batch_step(batch, actions, threads, &err), &err);
    for (size_t i = 0; i < COUNT; i++) {
      double *row = rows + (t * COUNT + i) * width;
      memcpy(row, batch->obs + i * env->obs, env->obs * sizeof *row);
      row[env->obs] = batch->last[i].reward;
      row[env->obs + 1] = batch->last[i].terminated;
    }
  }
  hvi_env_batch_free(batch);
  free(actions);
  return rows;
}

static void thread_counts_agree(void **state) {
  (void)state;
  for (size_t k = 0; k < NAMES; k++) {
    hvi_env *env = make(names[k]);
    double *one = batch_rows(env, 1);
    for (size_t threads = 2; threads <= 3; threads++) {
      double *many = batch_rows(env, threads);
      check_same_bits(one, many, STEPS * COUNT * (env->obs + 2));
      free(many);
    }
    free(one);
    hvi_env_free(env);
  }
}

/* Environment i alone, with the stream of its own, restarted by hand. */
static void check_alone(hvi_env *env, size_t i, const double *rows) {
  hvi_rng rng = hvi_rng_new(2, "batch", i);
  double *actions = calloc(COUNT * env->act, sizeof *actions);
  double *row = calloc(env->obs + 2, sizeof *row);
  hvi_transition last = {0};
  hvi_env_reset(env, &rng);
  for (size_t t = 0; t < STEPS; t++) {
    act(actions, COUNT * env->act, t);
    if (last.terminated || last.truncated) {
      hvi_env_reset(env, &rng);
      last = (hvi_transition){0};
    } else {
      last = hvi_env_step(env, actions + i * env->act, &rng);
    }
    hvi_env_observe(env, row);
    row[env->obs] = last.reward;
    row[env->obs + 1] = last.terminated;
    check_same_bits(row, rows + (t * COUNT + i) * (env->obs + 2), env->obs + 2);
  }
  free(actions);
  free(row);
}

static void a_batch_is_its_members(void **state) {
  (void)state;
  for (size_t k = 0; k < NAMES; k++) {
    hvi_env *env = make(names[k]);
    double *rows = batch_rows(env, 3);
    check_alone(env, 0, rows);
    check_alone(env, COUNT - 1, rows);
    hvi_env_free(env);
    free(rows);
  }
}

static hvi_status fail_at(void *context, hvi_env_batch *batch, size_t first, size_t count,
                          size_t worker, hvi_error *err) {
  (void)batch, (void)worker;
  const size_t wanted = *(size_t *)context;
  if (wanted < first || wanted >= first + count) return HVI_OK;
  err->status = HVI_ERROR_INPUT;
  strcpy(err->text, "stop here");
  return HVI_ERROR_INPUT;
}

static void errors_come_back(void **state) {
  (void)state;
  hvi_env *env = make("pendulum");
  hvi_env_batch *batch = NULL;
  hvi_error err = {HVI_OK, ""};
  size_t wanted = COUNT - 1;
  check_ok(hvi_env_batch_new(&batch, env, COUNT, 2, "batch", &err), &err);
  check_error(hvi_env_batch_each(batch, 2, fail_at, &wanted, &err), HVI_ERROR_INPUT, &err,
              "stop here");
  wanted = COUNT;
  check_ok(hvi_env_batch_each(batch, 2, fail_at, &wanted, &err), &err);
  hvi_env_batch_free(batch);
  hvi_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thread_counts_agree),
      cmocka_unit_test(a_batch_is_its_members),
      cmocka_unit_test(errors_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Roll-outs that must not change: tests/data/rl/README.md says how they were made. */
#include "support/check.h"

#include <hvi/env.h>

#ifdef HVI_WITH_MUJOCO
#include "io/npy.h"

#include <mujoco/mujoco.h>
#include <stdio.h>

/* Newer solvers stop a little earlier. */
static double tolerance(void) { return mjVERSION_HEADER < 300 ? 1e-9 : 1e-6; }

static void check_recorded(const char *name) {
  char path[512];
  double action[8], row[256];
  hvi_array recorded = {0};
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  snprintf(path, sizeof path, "%s/tests/data/rl/%s.npy", HVI_SOURCE_DIR, name);
  check_ok(hvi_npy_read(&recorded, path, 0, &err), &err);
  check_ok(hvi_env_new(&env, name, &err), &err);
  const size_t width = env->obs + 2;
  assert_int_equal(recorded.dims, 2);
  assert_int_equal(recorded.shape[0], 200);
  assert_int_equal(recorded.shape[1], width);
  for (size_t t = 0; t < 200; t++) {
    for (size_t i = 0; i < env->act; i++) action[i] = sin(0.1 * (double)t + (double)i);
    const hvi_transition r = hvi_env_step(env, action, NULL);
    hvi_env_observe(env, row);
    row[env->obs] = r.reward;
    row[env->obs + 1] = r.terminated;
    check_close(row, recorded.data + t * width, width, tolerance());
  }
  hvi_array_free(&recorded);
  hvi_env_free(env);
}
#else
static void check_recorded(const char *name) {
  hvi_env *env = NULL;
  assert_int_equal(hvi_env_new(&env, name, NULL), HVI_ERROR_UNSUPPORTED);
}
#endif

static void ant(void **state) {
  (void)state;
  check_recorded("ant");
}

static void half_cheetah(void **state) {
  (void)state;
  check_recorded("half_cheetah");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ant), cmocka_unit_test(half_cheetah)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

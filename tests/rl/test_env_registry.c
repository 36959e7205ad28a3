/* Names of environments, what they are like, and memory that runs out while one is made. */
#include "support/check.h"
#include "support/starve.h"

#include <hvi/collector.h>

static void all_listed_can_be_made_or_say_why(void **state) {
  (void)state;
  size_t count;
  const hvi_env_kind *kinds = hvi_env_list(&count);
  assert_true(count >= 5);
  for (size_t k = 0; k < count; k++) {
    hvi_env *env = NULL;
    hvi_error err = {HVI_OK, ""};
    const hvi_status status = hvi_env_new(&env, kinds[k].name, &err);
    assert_int_equal(hvi_env_available(kinds[k].name, NULL), status);
    if (!status) {
      check_ok(status, &err);
      assert_string_equal(env->name, kinds[k].name);
    } else {
      check_error(status, HVI_ERROR_UNSUPPORTED, &err, "needs MuJoCo");
      assert_null(env);
    }
    hvi_env_free(env);
  }
}

static void mujoco_is_available_as_built(void **state) {
  (void)state;
  size_t count;
  const hvi_env_kind *kinds = hvi_env_list(&count);
  for (size_t k = 0; k < count; k++) {
    hvi_error err = {HVI_OK, ""};
    const hvi_status status = hvi_env_available(kinds[k].name, &err);
#ifdef HVI_WITH_MUJOCO
    check_ok(status, &err);
#else
    assert_int_equal(status == HVI_OK, kinds[k].needs == NULL);
#endif
  }
}

static void sizes_are_those_of_the_published_versions(void **state) {
  (void)state;
  static const struct {
    const char *name, *true_name;
    size_t obs, act, limit;
    double dt;
  } rows[] = {{"lqr", "lqr", 4, 2, 1000, 0.0},
              {"pendulum", "pendulum", 3, 1, 200, 0.05},
#ifdef HVI_WITH_MUJOCO
              {"ant", "ant", 27, 8, 1000, 0.05},
              {"ant-v4", "ant", 27, 8, 1000, 0.05},
              {"ant-v5", "ant-v5", 105, 8, 1000, 0.05},
              {"half_cheetah", "half_cheetah", 17, 6, 1000, 0.05},
              {"half_cheetah-v4", "half_cheetah", 17, 6, 1000, 0.05},
              {"half_cheetah-v5", "half_cheetah", 17, 6, 1000, 0.05}
#endif
  };
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
    hvi_env *env = NULL;
    check_ok(hvi_env_new(&env, rows[k].name, NULL), &(hvi_error){HVI_OK, "new"});
    assert_string_equal(env->name, rows[k].true_name);
    assert_int_equal(env->obs, rows[k].obs);
    assert_int_equal(env->act, rows[k].act);
    assert_int_equal(env->time_limit, rows[k].limit);
    check_near(env->dt, rows[k].dt, 1e-15);
    hvi_env_free(env);
  }
}

static void wrong_names_are_refused(void **state) {
  (void)state;
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_env_new(&env, "pendulm", &err), HVI_ERROR_INPUT, &err,
              "did you mean 'pendulum'?");
  check_error(hvi_env_new(&env, "zebra-crossing", &err), HVI_ERROR_INPUT, &err,
              "there are lqr, pendulum, half_cheetah, ant, ant-v5");
  check_error(hvi_env_available("pendulm", &err), HVI_ERROR_INPUT, &err,
              "did you mean 'pendulum'?");
  check_error(hvi_env_available(NULL, &err), HVI_ERROR_ARGUMENT, &err, "name");
  check_error(hvi_env_new(&env, NULL, &err), HVI_ERROR_ARGUMENT, &err, "name");
  assert_null(env);
  hvi_env_free(NULL);
}

/* Makes an environment, a clone and a collector, which has eight more, with every allocation in
 * turn refused. */
static hvi_status make_all(void *context, hvi_error *err) {
  const char *const *name = context;
  static const double zeros[1024];
  hvi_env *env = NULL, *copy = NULL;
  hvi_policy *policy = NULL;
  hvi_collector *collector = NULL;
  hvi_status status = hvi_env_new(&env, *name, err);
  if (!status) status = hvi_env_clone(env, &copy, err);
  if (!status) status = hvi_policy_linear(&policy, env->obs, env->act, zeros, zeros, err);
  if (!status) status = hvi_collector_new(&collector, env, policy, 1, 1, 3, err);
  if (status) assert_null(collector);
  hvi_collector_free(collector);
  hvi_policy_free(policy);
  hvi_env_free(copy);
  hvi_env_free(env);
  return status;
}

static void without_memory_nothing_is_left_behind(void **state) {
  (void)state;
  size_t count;
  const hvi_env_kind *kinds = hvi_env_list(&count);
  for (size_t k = 0; k < count; k++) {
    if (hvi_env_available(kinds[k].name, NULL)) continue;
    const char *name = kinds[k].name;
    assert_true(starve(make_all, &name) >= 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_listed_can_be_made_or_say_why),
      cmocka_unit_test(mujoco_is_available_as_built),
      cmocka_unit_test(sizes_are_those_of_the_published_versions),
      cmocka_unit_test(wrong_names_are_refused),
      cmocka_unit_test(without_memory_nothing_is_left_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

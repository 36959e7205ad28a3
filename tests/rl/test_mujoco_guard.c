/* MuJoCo's errors and warnings: reported, and nothing printed, written or waited for. */
#include "support/check.h"

#include <hvi/env.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HVI_WITH_MUJOCO
#include "rl/mujoco/mujoco.h"

#include "base/embedded.h"
#include "base/module.h"
#include "rl/env_kinds.h"
#include "support/starve.h"

/* This program contains the module's functions beside the module that it loads. */
extern const hvi_module hvi_module_table;

static int start(void **state) {
  (void)state;
  return (int)hvi_mujoco_start(NULL);
}

static void raise_error(void *context) {
  int *passed = context;
  mju_error("something is wrong");
  *passed = 1;
}

static void errors_come_back(void **state) {
  (void)state;
  hvi_mujoco_model *model = NULL;
  char text[64] = "";
  int passed = 0;
  check_ok(hvi_mujoco_load(&model, "ant", hvi_embedded_models[0].text, NULL), &(hvi_error){0});
  assert_int_equal(hvi_mujoco_guard(raise_error, &passed, text, sizeof text), HVI_ERROR_INPUT);
  assert_int_equal(passed, 0);
  assert_non_null(strstr(text, "something is wrong"));
  assert_int_equal(hvi_mujoco_guard(raise_error, &passed, text, 5), HVI_ERROR_INPUT);
  assert_int_equal(strlen(text), 4);
  hvi_mujoco_leave(model);
  hvi_mujoco_leave(NULL);
}

typedef struct nest {
  hvi_status inner;
  bool after;
} nest;

static void raise_inside(void *context) {
  nest *n = context;
  char text[64];
  int passed = 0;
  n->inner = hvi_mujoco_guard(raise_error, &passed, text, sizeof text);
  mju_warning("this is dropped");
  n->after = true;
  mju_error("and now outside");
}

static void guards_nest(void **state) {
  (void)state;
  hvi_mujoco_model *model = NULL;
  nest n = {.inner = HVI_OK};
  char text[64] = "";
  check_ok(hvi_mujoco_load(&model, "ant", hvi_embedded_models[0].text, NULL), &(hvi_error){0});
  assert_int_equal(hvi_mujoco_guard(raise_inside, &n, text, sizeof text), HVI_ERROR_INPUT);
  assert_int_equal(n.inner, HVI_ERROR_INPUT);
  assert_true(n.after);
  assert_non_null(strstr(text, "outside"));
  hvi_mujoco_leave(model);
}

/* How libstdc++ throws. */
void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");
void throw_logic_error(const char *text) __asm__("_ZSt19__throw_logic_errorPKc");

static void run_out(void *context) {
  (void)context;
  throw_bad_alloc();
}

static void fail_inside(void *context) {
  char text[64];
  *(hvi_status *)context = hvi_mujoco_guard(run_out, NULL, text, sizeof text);
  throw_logic_error("not logical");
}

static void exceptions_come_back(void **state) {
  (void)state;
  char text[64] = "";
  hvi_status inner = HVI_OK;
  int passed = 0;
  assert_int_equal(hvi_mujoco_guard(run_out, NULL, text, sizeof text), HVI_ERROR_MEMORY);
  assert_string_equal(text, "out of memory");
  assert_int_equal(hvi_mujoco_guard(fail_inside, &inner, text, sizeof text), HVI_ERROR_INPUT);
  assert_int_equal(inner, HVI_ERROR_MEMORY);
  assert_string_equal(text, "not logical");
  /* and errors find their way as before */
  assert_int_equal(hvi_mujoco_guard(raise_error, &passed, text, sizeof text), HVI_ERROR_INPUT);
  assert_non_null(strstr(text, "something is wrong"));
}

static void *no_memory(size_t size) {
  (void)size;
  return NULL;
}

/* MuJoCo's own allocations: its error is one of memory here. */
static void its_memory_runs_out(void **state) {
  (void)state;
  hvi_mujoco_model *model = NULL;
  mjData *data = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_mujoco_load(&model, "ant", hvi_embedded_models[0].text, NULL), &(hvi_error){0});
  mju_user_malloc = no_memory;
  const hvi_status status = hvi_mujoco_data(&data, model, &err);
  mju_user_malloc = NULL;
  check_error(status, HVI_ERROR_MEMORY, &err, "out of memory");
  assert_null(data);
  hvi_mujoco_leave(model);
}

static hvi_status make_and_clone(void *unused, hvi_error *err) {
  (void)unused;
  const hvi_mujoco_functions *f = hvi_module_table.functions;
  hvi_env *env = NULL, *copy = NULL;
  hvi_status status = f->env_new(&env, "ant", err);
  if (!status) status = hvi_env_clone(env, &copy, err);
  hvi_env_free(copy);
  hvi_env_free(env);
  return status;
}

static void without_memory_nothing_is_left_behind(void **state) {
  (void)state;
  assert_int_equal(starve(make_and_clone, NULL), 4);
}

static void unknown_names_are_refused(void **state) {
  (void)state;
  const hvi_mujoco_functions *f = hvi_module_table.functions;
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_error(f->env_new(&env, "spider", &err), HVI_ERROR_INPUT, &err, "spider");
}

static void broken_models_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *xml, *words;
  } cases[] = {{"", "model 'bad'"},
               {"<mujoco><worldbody><geom type='sphere'", "XML"},
               {"<mujoco><nonsense/></mujoco>", "nonsense"},
               {"<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", "mass"},
               {"<mujoco><worldbody><geom type='sphere' size='-1'/></worldbody></mujoco>", "size"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    hvi_mujoco_model *model = NULL;
    hvi_error err = {HVI_OK, ""};
    check_error(hvi_mujoco_load(&model, "bad", cases[k].xml, &err), HVI_ERROR_INPUT, &err,
                cases[k].words);
    assert_null(model);
  }
}

static void shared_models_live_as_long_as_their_users(void **state) {
  (void)state;
  hvi_mujoco_model *model = NULL;
  mjData *data = NULL;
  check_ok(hvi_mujoco_load(&model, "ant", hvi_embedded_models[0].text, NULL), &(hvi_error){0});
  hvi_mujoco_share(model);
  hvi_mujoco_leave(model);
  check_ok(hvi_mujoco_data(&data, model, NULL), &(hvi_error){0});
  mj_step(model->model, data);
  mj_deleteData(data);
  hvi_mujoco_leave(model);
}

/* Everything that can go wrong, with stdin closed and the working folder watched. */
static void break_all(void) {
  static const char *names[] = {"ant", "ant-v5", "half_cheetah"};
  for (size_t k = 0; k < 3; k++) {
    hvi_env *env = NULL;
    double action[8] = {0.0}, state[256];
    if (hvi_env_new(&env, names[k], NULL)) continue;
    action[2] = (double)NAN;
    hvi_env_step(env, action, NULL);
    action[2] = 0.0;
    hvi_env_save(env, state);
    for (size_t i = 0; i < env->state; i++) state[i] = 1e30;
    hvi_env_restore(env, state);
    hvi_env_step(env, action, NULL);
    hvi_env_free(env);
  }
  broken_models_are_refused(NULL);
  errors_come_back(NULL);
}

static void nothing_is_said(void **state) {
  (void)state;
  char folder[] = "/tmp/hvi-guard-XXXXXX", before[4096];
  assert_non_null(getcwd(before, sizeof before));
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  fflush(NULL);
  const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  const int file = open("said", O_RDWR | O_CREAT, 0600);
  assert_true(dup2(file, STDOUT_FILENO) >= 0);
  assert_true(dup2(file, STDERR_FILENO) >= 0);
  break_all();
  fflush(NULL);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  const off_t said = lseek(file, 0, SEEK_END);
  close(file), close(out), close(err);
  assert_int_equal(said, 0);
  assert_int_equal(unlink("said"), 0);
  assert_int_equal(chdir(before), 0);
  assert_int_equal(rmdir(folder), 0); /* fails when a log was left in it */
}
#else
#define start NULL

static void needs_mujoco(void **state) {
  (void)state;
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_env_new(&env, "half_cheetah", &err), HVI_ERROR_UNSUPPORTED, &err, "MuJoCo");
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef HVI_WITH_MUJOCO
      cmocka_unit_test(errors_come_back),
      cmocka_unit_test(guards_nest),
      cmocka_unit_test(exceptions_come_back),
      cmocka_unit_test(its_memory_runs_out),
      cmocka_unit_test(without_memory_nothing_is_left_behind),
      cmocka_unit_test(unknown_names_are_refused),
      cmocka_unit_test(broken_models_are_refused),
      cmocka_unit_test(shared_models_live_as_long_as_their_users),
      cmocka_unit_test(nothing_is_said),
#else
      cmocka_unit_test(needs_mujoco),
#endif
  };
  return cmocka_run_group_tests(tests, start, NULL);
}

/* Problems from shared libraries: options and instances arrive, and what is wrong is refused. */
#include "support/check.h"
#include "support/starve.h"

#include <hvi/plugin.h>
#include <hvi/solver.h>

#include <math.h>

/* HVI_FIXTURES: the folder with the libraries of plugin_fixture.c. */
#define FIXTURE(name) HVI_FIXTURES "/plugin_" name ".so"

static const hvi_builtin *load(const char *path) {
  const hvi_builtin *b = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_plugin_load(&b, path, &err), &err);
  return b;
}

/* Where F(z) = z - at is zero: -F(0). */
static double at(const hvi_problem *p) {
  const double zero = 0.0;
  double f;
  p->ops->operate(p, NULL, &zero, &zero, &f);
  return -f;
}

static void options_and_instances_arrive(void **state) {
  (void)state;
  const hvi_builtin *b = load(FIXTURE("good"));
  assert_string_equal(b->name, "point");
  assert_string_equal(b->summary, "a point on a line");
  const hvi_option given[] = {{"at", "5"}, {"word", "x"}};
  static const double expected[] = {2.0, 5.25, 5.75};
  for (size_t n = 0; n < 3; n++) {
    hvi_problem *p = NULL;
    hvi_error err = {HVI_OK, ""};
    check_ok(hvi_builtin_make(&p, b, given, n, 1, 10, &err), &err);
    assert_true(at(p) == expected[n] + 10.0);
    hvi_problem_free(p);
  }
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_problem_load(&p, FIXTURE("good"), 1, 3, &err), &err);
  assert_true(at(p) == 5.0);
  hvi_solver *solver = NULL;
  const hvi_settings s = hvi_settings_defaults();
  check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
  assert_int_equal(hvi_solver_run(solver), HVI_CONVERGED);
  assert_true(fabs(hvi_solver_info(solver).last.z[0] - 5.0) < 1e-5);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

static void check_load_refused(const char *path, hvi_status status, const char *words) {
  const hvi_builtin *b = (const hvi_builtin *)(const void *)path;
  hvi_problem *p = (hvi_problem *)(void *)&b;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_plugin_load(&b, path, &err), status, &err, words);
  assert_null(b);
  check_error(hvi_problem_load(&p, path, 1, 0, &err), status, &err, words);
  assert_null(p);
  assert_int_equal(hvi_plugin_load(&b, path, NULL), status);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  check_load_refused(FIXTURE("abi"), HVI_ERROR_INPUT,
                     "plugin_abi.so' was compiled for another hvi than 0.");
  check_load_refused(FIXTURE("table"), HVI_ERROR_INPUT, "has no hvi_plugin_problem");
  check_load_refused(FIXTURE("missing"), HVI_ERROR_IO, "cannot open '");
  check_load_refused("no-such.so", HVI_ERROR_IO, "cannot open 'no-such.so'");
  const hvi_builtin *b = NULL;
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  assert_int_equal(hvi_plugin_load(NULL, "x.so", &err), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_plugin_load(&b, NULL, &err), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_builtin_make(&p, NULL, NULL, 0, 1, 0, &err), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_builtin_make(NULL, load(FIXTURE("good")), NULL, 0, 1, 0, &err),
                   HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_builtin_make(&p, load(FIXTURE("good")), NULL, 1, 1, 0, &err),
                   HVI_ERROR_ARGUMENT);
  check_error(hvi_problem_load(&p, "own.c", 1, 0, &err), HVI_ERROR_UNSUPPORTED, &err,
              "'own.c' is a C file");
}

static void check_make_refused(const char *path, const char *words) {
  hvi_problem *p = (hvi_problem *)(void *)&path;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_builtin_make(&p, load(path), NULL, 0, 1, 0, &err), HVI_ERROR_INPUT, &err, words);
  assert_null(p);
  assert_int_equal(hvi_builtin_make(&p, load(path), NULL, 0, 1, 0, NULL), HVI_ERROR_INPUT);
}

/* A leak here is one of a sanitizer's to find. */
static void a_problem_that_is_not_whole_is_refused_and_freed(void **state) {
  (void)state;
  check_make_refused(FIXTURE("set"), "its sets cover 0 of 1 outputs");
  check_make_refused(FIXTURE("nothing"), "point: what makes it left no problem");
  check_make_refused(FIXTURE("fails"), "point: ");
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  const hvi_option wrong = {"att", "5"}, text = {"at", "five"};
  check_error(hvi_builtin_make(&p, load(FIXTURE("good")), &wrong, 1, 1, 0, &err), HVI_ERROR_INPUT,
              &err, "point: unknown key 'att'; did you mean 'at'?");
  check_error(hvi_builtin_make(&p, load(FIXTURE("good")), &text, 1, 1, 0, &err), HVI_ERROR_INPUT,
              &err, "point: at: must be a number, not 'five'");
}

static hvi_status make_point(const void *b, hvi_problem **p, hvi_error *err) {
  return hvi_builtin_make(p, b, NULL, 0, 1, 0, err);
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  assert_int_equal(starve_problem(make_point, load(FIXTURE("good"))), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_and_instances_arrive),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(a_problem_that_is_not_whole_is_refused_and_freed),
      cmocka_unit_test(without_memory_it_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

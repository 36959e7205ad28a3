/* Every allocation in turn is refused: the call says so and leaves nothing behind (the sanitizers
 * and valgrind look for that). */
#include "check.h"
#include "support/starve.h"

#include "problems/document.h"

static hvi_status make_pennies(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_builtin_new(p, "pennies", NULL, 0, 1, 0, err);
}

static hvi_status make_rps(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_builtin_new(p, "rps", NULL, 0, 1, 1, err);
}

static hvi_status make_file(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_problem_load(p, HVI_SOURCE_DIR "/tests/data/games/good/arrays.yaml", 0, 0, err);
}

static hvi_status make_celu(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  hvi_option option = {"g", "celu"};
  return hvi_builtin_new(p, "quadratic", &option, 1, 1, 0, err);
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  assert_true(starve_problem(make_pennies, NULL) >= 8);
  assert_true(starve_problem(make_rps, NULL) >= 8);
  assert_true(starve_problem(make_file, NULL) >= 20);
  assert_true(starve_problem(make_celu, NULL) >= 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_left_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

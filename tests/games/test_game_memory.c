/* Every allocation in turn is refused: the call says so and leaves nothing behind (the sanitizers
 * and valgrind look for that). */
#include "check.h"

#include "base/memory.h"
#include "problems/games/file.h"

static size_t left; /* allocations still allowed */

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  if (left == 0) return false;
  left--;
  return true;
}

typedef hvi_status (*maker)(hvi_problem **p, hvi_error *err);

/* Fails at the first, second, ... allocation until there are enough; returns how many it takes. */
static size_t starve(maker make_one) {
  for (size_t allowed = 0;; allowed++) {
    hvi_problem *p = (hvi_problem *)&allowed;
    hvi_error err = {HVI_OK, ""};
    left = allowed;
    hvi_status status = make_one(&p, &err);
    left = (size_t)-1;
    if (!status) {
      hvi_problem_free(p);
      return allowed;
    }
    assert_int_equal(status, HVI_ERROR_MEMORY);
    assert_int_equal(err.status, HVI_ERROR_MEMORY);
    assert_null(p);
  }
}

static hvi_status make_pennies(hvi_problem **p, hvi_error *err) {
  return hvi_builtin_new(p, "pennies", NULL, 0, 1, 0, err);
}

static hvi_status make_rps(hvi_problem **p, hvi_error *err) {
  return hvi_builtin_new(p, "rps", NULL, 0, 1, 1, err);
}

static hvi_status make_file(hvi_problem **p, hvi_error *err) {
  return hvi_game_load(p, HVI_SOURCE_DIR "/tests/data/games/good/arrays.yaml", err);
}

static hvi_status make_bent(hvi_problem **p, hvi_error *err) {
  hvi_option options[] = {{"g", "celu"}, {"tanh", "1"}};
  return hvi_builtin_new(p, "quadratic", options, 2, 1, 0, err);
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  assert_true(starve(make_pennies) >= 8);
  assert_true(starve(make_rps) >= 8);
  assert_true(starve(make_file) >= 20);
  assert_true(starve(make_bent) >= 6);
}

static hvi_problem *shipped;

static hvi_status write_and_read(hvi_problem **p, hvi_error *err) {
  *p = NULL;
  char *text;
  hvi_status status = hvi_game_format(&text, shipped, NULL, err);
  if (!status) status = hvi_game_parse(p, text, "copy", NULL, 0, 0, err);
  hvi_free(text);
  return status;
}

static void writing_leaves_nothing_behind(void **state) {
  (void)state;
  left = (size_t)-1;
  shipped = make("rps", NULL, 0, 0, 0);
  assert_true(starve(write_and_read) >= 10);
  hvi_problem_free(shipped);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_left_behind),
      cmocka_unit_test(writing_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

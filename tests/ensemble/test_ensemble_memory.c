/* Every allocation in turn is refused: the call says so and leaves nothing behind. And once the
 * iterations run, there is none. */
#include "ensemble/games.h"

#include "base/memory.h"

#include <stdbool.h>

static size_t left = SIZE_MAX; /* allocations still allowed */
static size_t taken;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  taken++;
  if (left == 0) return false;
  left--;
  return true;
}

static size_t starve(bool scalar) {
  hvi_settings s = hvi_settings_defaults();
  s.max_outer = 3;
  const hvi_ensemble_settings es = {.count = 5, .threads = 1, .scalar = scalar};
  for (size_t allowed = 0;; allowed++) {
    hvi_error err = {0};
    hvi_ensemble *e;
    left = allowed;
    hvi_status status =
        hvi_ensemble_run(&e, make_builtin, (void *)(uintptr_t) "pennies", &s, &es, &err);
    left = SIZE_MAX;
    if (!status) {
      hvi_ensemble_free(e);
      return allowed;
    }
    assert_int_equal(status, HVI_ERROR_MEMORY);
    assert_null(e);
  }
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  assert_true(starve(false) > 20);
  assert_true(starve(true) > 20);
}

static size_t allocations_of(size_t iterations, bool scalar) {
  hvi_settings s = hvi_settings_defaults();
  hvi_method_find("gn")->apply(&s);
  s.max_outer = iterations;
  taken = 0;
  hvi_ensemble_free(
      run_ensemble(make_builtin, "rps", &s,
                   (hvi_ensemble_settings){
                       .count = 5, .threads = 1, .record_every = iterations, .scalar = scalar}));
  return taken;
}

static void iterations_do_not_allocate(void **state) {
  (void)state;
  assert_int_equal(allocations_of(1, false), allocations_of(50, false));
  assert_int_equal(allocations_of(1, true), allocations_of(50, true));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_left_behind),
      cmocka_unit_test(iterations_do_not_allocate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

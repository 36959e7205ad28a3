/* Every allocation in turn is refused: the call says so and leaves nothing behind. And once the
 * iterations run, there is none. */
#include "ensemble/games.h"

#include "support/starve.h"

static hvi_status run(void *scalar, hvi_error *err) {
  hvi_settings s = hvi_method_settings("gd");
  s.max_outer = 3;
  const hvi_ensemble_settings es = {.count = 5, .threads = 1, .scalar = *(const bool *)scalar};
  hvi_ensemble *e;
  const hvi_status status =
      hvi_ensemble_run(&e, make_builtin, (void *)(uintptr_t) "pennies", &s, &es, err);
  if (status) assert_null(e);
  hvi_ensemble_free(e);
  return status;
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  assert_true(starve(run, &(bool){false}) > 20);
  assert_true(starve(run, &(bool){true}) > 20);
}

static size_t allocations_of(size_t iterations, bool scalar) {
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, "gn", NULL);
  s.max_outer = iterations;
  allocations_made = 0;
  hvi_ensemble_free(
      run_ensemble(make_builtin, "rps", &s,
                   (hvi_ensemble_settings){
                       .count = 5, .threads = 1, .record_every = iterations, .scalar = scalar}));
  return allocations_made;
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

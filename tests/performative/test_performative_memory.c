/* Every allocation in turn is refused: the call says so and leaves nothing behind (the sanitizers
 * and valgrind look for that). */
#include "base/memory.h"
#include "performative/problems.h"

static size_t left = (size_t)-1; /* allocations still allowed */

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  if (left == 0) return false;
  left--;
  return true;
}

/* Fails at the first, second, ... allocation until there are enough; returns how many it takes. */
static size_t starve(const char *name, hvi_option option) {
  for (size_t allowed = 0;; allowed++) {
    hvi_problem *p = (hvi_problem *)&allowed;
    hvi_error err = {HVI_OK, ""};
    left = allowed;
    const hvi_status status = hvi_builtin_new(&p, name, &option, 1, 1, 0, &err);
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

static void nothing_is_left_behind(void **state) {
  (void)state;
  const char *tiny = HVI_SOURCE_DIR "/tests/data/credit/tiny.csv";
  assert_true(starve("performative-linear", (hvi_option){"kind", "orthogonal"}) >= 5);
  assert_true(starve("performative-linear", (hvi_option){"kind", "skew"}) >= 5);
  assert_true(starve("performative-mean", (hvi_option){"eps", "0.5"}) >= 3);
  assert_true(starve("credit", (hvi_option){"rows", "60"}) >= 8);
  assert_true(starve("credit", (hvi_option){"data", tiny}) >= 12);
  assert_true(starve("credit-rir", (hvi_option){"rows", "60"}) >= 6);
  assert_true(starve("credit-rir", (hvi_option){"data", tiny}) >= 10);
}

static void measures_need_memory_too(void **state) {
  (void)state;
  static const char *const names[] = {"performative-linear", "credit-rir"};
  for (size_t k = 0; k < 2; k++) {
    const hvi_option option = {k ? "rows" : "n", "60"};
    hvi_problem *p = make_problem(names[k], &option, 1, 1);
    hvi_performative_measures m;
    hvi_error err;
    left = 0;
    const hvi_status status = hvi_performative_measure(&m, p, p->theta0, &err);
    left = (size_t)-1;
    check_error(status, HVI_ERROR_MEMORY, &err, "measuring");
    hvi_problem_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_left_behind),
      cmocka_unit_test(measures_need_memory_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

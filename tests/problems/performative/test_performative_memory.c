/* Every allocation in turn is refused: the call says so and leaves nothing behind (the sanitizers
 * and valgrind look for that). */
#include "problems/performative/problems.h"
#include "support/starve.h"

typedef struct order {
  const char *name;
  hvi_option option;
} order;

static hvi_status make_order(const void *context, hvi_problem **p, hvi_error *err) {
  const order *o = context;
  return hvi_builtin_new(p, o->name, &o->option, 1, 1, 0, err);
}

static size_t needs(const char *name, const char *key, const char *value) {
  return starve_problem(make_order, &(order){name, {key, value}});
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  const char *tiny = HVI_SOURCE_DIR "/tests/data/credit/tiny.csv";
  assert_true(needs("performative-linear", "kind", "orthogonal") >= 5);
  assert_true(needs("performative-linear", "kind", "skew") >= 5);
  assert_true(needs("performative-mean", "eps", "0.5") >= 3);
  assert_true(needs("credit", "rows", "60") >= 8);
  assert_true(needs("credit", "data", tiny) >= 12);
  assert_true(needs("credit-rir", "rows", "60") >= 3);
  assert_true(needs("credit-rir", "data", tiny) >= 6);
}

static void measures_need_memory_too(void **state) {
  (void)state;
  static const char *const names[] = {"performative-linear", "credit-rir"};
  for (size_t k = 0; k < 2; k++) {
    const hvi_option option = {k ? "rows" : "n", "60"};
    hvi_problem *p = make_problem(names[k], &option, 1, 1);
    hvi_performative_measures m;
    hvi_error err;
    allocations_left = 0;
    const hvi_status status = hvi_performative_measure(&m, p, p->theta0, &err);
    allocations_left = (size_t)-1;
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

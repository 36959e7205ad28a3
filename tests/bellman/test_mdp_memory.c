/* Every allocation in turn is refused: the call says so and leaves nothing behind (the sanitizers
 * and valgrind look for that). */
#include "support/check.h"

#include "base/memory.h"

#include <hvi/builtin.h>
#include <hvi/mdp.h>

#define DATA HVI_SOURCE_DIR "/tests/data/mdp/"

static size_t left; /* allocations still allowed */

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  if (left == 0) return false;
  left--;
  return true;
}

typedef hvi_status (*maker)(hvi_problem **p, hvi_error *err);

/* Fails at the first, second, ... allocation until there are enough; returns how many it takes. */
static size_t starve(maker make) {
  for (size_t allowed = 0;; allowed++) {
    hvi_problem *p = (hvi_problem *)(void *)&allowed;
    hvi_error err = {HVI_OK, ""};
    left = allowed;
    const hvi_status status = make(&p, &err);
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

static hvi_status make_walk(hvi_problem **p, hvi_error *err) {
  return hvi_builtin_new(p, "chain", NULL, 0, 1, 0, err);
}

static hvi_status make_blocks(hvi_problem **p, hvi_error *err) {
  const hvi_option options[] = {{"kind", "blocks"}, {"features", "0"}};
  return hvi_builtin_new(p, "chain", options, 2, 1, 1, err);
}

/* large enough for the iterative ways to law and values */
static hvi_status make_random(hvi_problem **p, hvi_error *err) {
  const hvi_option options[] = {{"kind", "random"}, {"states", "3000"}, {"branch", "40"}};
  return hvi_builtin_new(p, "chain", options, 3, 1, 1, err);
}

static hvi_status make_csv(hvi_problem **p, hvi_error *err) {
  return hvi_problem_load(p, DATA "good/csv.yaml", 0, 0, err);
}

static hvi_status make_market(hvi_problem **p, hvi_error *err) {
  return hvi_problem_load(p, DATA "good/market.yaml", 0, 0, err);
}

static hvi_status make_npy(hvi_problem **p, hvi_error *err) {
  return hvi_problem_load(p, DATA "good/npy.yaml", 0, 0, err);
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  assert_true(starve(make_walk) >= 15);
  assert_true(starve(make_blocks) >= 8);
  assert_true(starve(make_random) >= 15);
  assert_true(starve(make_csv) >= 25);
  assert_true(starve(make_market) >= 25);
  assert_true(starve(make_npy) >= 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left_behind)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

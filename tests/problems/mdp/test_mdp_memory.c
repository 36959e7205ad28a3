/* Every allocation in turn is refused: the call says so and leaves nothing behind (the sanitizers
 * and valgrind look for that). */
#include "support/check.h"
#include "support/starve.h"

#include <hvi/builtin.h>
#include <hvi/mdp.h>

#define DATA HVI_SOURCE_DIR "/tests/data/mdp/"

static hvi_status make_walk(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_builtin_new(p, "chain", NULL, 0, 1, 0, err);
}

static hvi_status make_blocks(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  const hvi_option options[] = {{"kind", "blocks"}, {"features", "0"}};
  return hvi_builtin_new(p, "chain", options, 2, 1, 1, err);
}

/* large enough for the iterative ways to law and values */
static hvi_status make_random(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  const hvi_option options[] = {{"kind", "random"}, {"states", "3000"}, {"branch", "40"}};
  return hvi_builtin_new(p, "chain", options, 3, 1, 1, err);
}

static hvi_status make_csv(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_problem_load(p, DATA "good/csv.yaml", 0, 0, err);
}

static hvi_status make_market(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_problem_load(p, DATA "good/market.yaml", 0, 0, err);
}

static hvi_status make_npy(const void *context, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_problem_load(p, DATA "good/npy.yaml", 0, 0, err);
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  assert_true(starve_problem(make_walk, NULL) >= 15);
  assert_true(starve_problem(make_blocks, NULL) >= 8);
  assert_true(starve_problem(make_random, NULL) >= 15);
  assert_true(starve_problem(make_csv, NULL) >= 25);
  assert_true(starve_problem(make_market, NULL) >= 25);
  assert_true(starve_problem(make_npy, NULL) >= 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left_behind)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

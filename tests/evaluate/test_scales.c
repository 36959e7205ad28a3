/* Scales from data whose mean, spread and returns can be written down. */
#include "transitions.h"

static void test_states(void **state) {
  (void)state;
  transitions t;
  hvi_scales s;
  hvi_error err;
  transitions_init(&t);
  for (size_t i = 0; i < ROWS; i++) {
    t.observation[i][0] = i % 2 ? 7.0F : 3.0F; /* mean 5, spread 2 */
    t.observation[i][1] = 4.0F;                /* constant */
  }
  check_ok(hvi_scales_new(&s, &t.data, ROWS, 0.9, &err), &err);
  check_near(s.center[0], 5.0, 1e-12);
  check_near(s.spread[0], 2.0, 1e-12);
  check_near(s.center[1], 4.0, 1e-12);
  assert_true(s.spread[1] == 1.0);
  hvi_scales_free(&s);
}

/* Reward 2 for ever: the value is 2 / (1 - gamma), and nothing spreads. */
static void test_constant_reward(void **state) {
  (void)state;
  transitions t;
  hvi_scales s;
  hvi_error err;
  transitions_init(&t);
  for (size_t i = 0; i < ROWS; i++) {
    t.reward[i] = 2.0F;
    t.terminated[i] = false;
  }
  check_ok(hvi_scales_new(&s, &t.data, ROWS, 0.75, &err), &err);
  check_near(s.shift, 8.0, 1e-12);
  check_near(s.scale, 1.0, 0.0);
  hvi_scales_free(&s);
}

/* Episodes of two rows, rewards 1 and 3, then termination: returns 1 + 3 gamma and 3. */
static void test_returns(void **state) {
  (void)state;
  transitions t;
  hvi_scales s;
  hvi_error err;
  transitions_init(&t);
  for (size_t i = 0; i < ROWS; i++) {
    t.reward[i] = i % 2 ? 3.0F : 1.0F;
    t.terminated[i] = i % 2;
    t.truncated[i] = false;
    if (i % 2) memcpy(t.observation[i], t.next[i - 1], sizeof t.next[i]);
  }
  check_ok(hvi_scales_new(&s, &t.data, ROWS, 0.5, &err), &err);
  check_near(s.shift, 2.0 / (1.0 - 0.25), 1e-12);
  /* 2.5 and 3, half of the rows each: sample standard deviation 0.25 sqrt(n / (n - 1)) */
  check_near(s.scale, 0.25 * sqrt(ROWS / (ROWS - 1.0)), 1e-12);
  hvi_scales_free(&s);
  /* rows that do not follow one another are not chained: 1 + 0.5 shift and 3 */
  for (size_t i = 0; i < ROWS; i++) t.observation[i][0] += 1.0F;
  check_ok(hvi_scales_new(&s, &t.data, ROWS, 0.5, &err), &err);
  check_near(s.scale, 0.5 * (3.0 - (1.0 + 0.5 * s.shift)) * sqrt(ROWS / (ROWS - 1.0)), 1e-12);
  hvi_scales_free(&s);
}

static void test_refusals(void **state) {
  (void)state;
  transitions t;
  hvi_scales s;
  hvi_error err;
  transitions_init(&t);
  check_error(hvi_scales_new(&s, &t.data, 0, 0.9, &err), HVI_ERROR_INPUT, &err, "rows of data");
  check_error(hvi_scales_new(&s, &t.data, ROWS + 1, 0.9, &err), HVI_ERROR_INPUT, &err,
              "401 of 400");
  hvi_scales_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states), cmocka_unit_test(test_constant_reward),
      cmocka_unit_test(test_returns), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

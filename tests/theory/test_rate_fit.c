/* The rate of a sequence that is known to have one. */
#include "support/check.h"
#include "theory/steps.h"

enum { ROWS = 400 };

static double x[ROWS], scratch[ROWS];

static void geometric(double first, double rate) {
  for (size_t i = 0; i < ROWS; i++) x[i] = first * pow(rate, (double)i);
}

static void shrinking_and_growing(void **state) {
  (void)state;
  static const double rates[] = {0.5, 0.9, 0.9999, 1.0, 1.0156, 2.0};
  for (size_t k = 0; k < 6; k++) {
    geometric(3.0, rates[k]);
    check_near(hvi_rate_fit(x, ROWS, 0.0, scratch), rates[k], 1e-12);
  }
}

static void rounding_at_the_end_does_not_count(void **state) {
  (void)state;
  geometric(1.0, 0.7);
  for (size_t i = 0; i < ROWS; i++) x[i] = fmax(x[i], 1e-31 * (double)(1 + i % 3));
  check_near(hvi_rate_fit(x, ROWS, hvi_rate_rounding, scratch), 0.7, 1e-12);
  /* without a floor the plateau does count: the test can fail */
  assert_true(hvi_rate_fit(x, ROWS, 0.0, scratch) > 0.9);
}

static void a_transient_does_not_count(void **state) {
  (void)state;
  geometric(1.0, 0.95);
  for (size_t i = 0; i < ROWS / 4; i++) x[i] = 5.0;
  check_near(hvi_rate_fit(x, ROWS, hvi_rate_rounding, scratch), 0.95, 1e-12);
}

static void ripple_averages_out(void **state) {
  (void)state;
  geometric(1.0, 0.98);
  for (size_t i = 0; i < ROWS; i++) x[i] *= 1.0 + 0.3 * sin(0.8 * (double)i);
  check_near(hvi_rate_fit(x, ROWS, hvi_rate_rounding, scratch), 0.98, 1e-3);
}

static void too_little_to_fit(void **state) {
  (void)state;
  const double done[] = {1.0, 0.0, 0.0}, lost[] = {1.0, NAN}, two[] = {4.0, 1.0};
  assert_true(hvi_rate_fit(done, 3, 1e-26, scratch) == 0.0);
  assert_true(isnan(hvi_rate_fit(lost, 2, 1e-26, scratch)));
  assert_true(isnan(hvi_rate_fit(done, 1, 1e-26, scratch)));
  assert_true(isnan(hvi_rate_fit(done, 0, 1e-26, scratch)));
  check_near(hvi_rate_fit(two, 2, 1e-26, scratch), 0.25, 1e-15);
  assert_int_equal(hvi_rate_usable(done, 3, 1e-26), 1);
  assert_int_equal(hvi_rate_usable(lost, 2, 1e-26), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shrinking_and_growing),
      cmocka_unit_test(rounding_at_the_end_does_not_count),
      cmocka_unit_test(a_transient_does_not_count),
      cmocka_unit_test(ripple_averages_out),
      cmocka_unit_test(too_little_to_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

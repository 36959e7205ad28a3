/* Numbers as text: the same bits back, and no more digits than needed. */
#include "report/folder.h"

#include "base/number.h"

#include <hvi/rng.h>

#include <math.h>

static void every_double_reads_back(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(1, "numbers", 0);
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = hvi_rng_u64(&rng), back_bits;
    double x, back;
    char text[HVI_NUMBER_SIZE];
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) continue;
    back = strtod(hvi_number_format(text, x), NULL);
    memcpy(&back_bits, &back, sizeof back);
    assert_true(back_bits == bits);
  }
}

static void digits_are_as_few_as_can_be(void **state) {
  (void)state;
  char text[HVI_NUMBER_SIZE];
  assert_string_equal(hvi_number_format(text, 0.1), "0.1");
  assert_string_equal(hvi_number_format(text, -2), "-2");
  assert_string_equal(hvi_number_format(text, 1e-300), "1e-300");
  assert_string_equal(hvi_number_format(text, 0.1 + 0.2), "0.30000000000000004");
  assert_string_equal(hvi_number_format(text, -0.0), "-0");
}

static void what_is_not_finite_has_a_name(void **state) {
  (void)state;
  char text[HVI_NUMBER_SIZE];
  assert_string_equal(hvi_number_format(text, NAN), "nan");
  assert_string_equal(hvi_number_format(text, INFINITY), "inf");
  assert_string_equal(hvi_number_format(text, -INFINITY), "-inf");
}

static void people_get_few_digits(void **state) {
  (void)state;
  char text[HVI_NUMBER_SIZE];
  assert_string_equal(hvi_number_short(text, 1.5785223e-07, 2), "1.6e-07");
  assert_string_equal(hvi_number_short(text, 0.10677, 3), "0.107");
  assert_string_equal(hvi_number_short(text, 1000, 3), "1000");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_double_reads_back),
      cmocka_unit_test(digits_are_as_few_as_can_be),
      cmocka_unit_test(what_is_not_finite_has_a_name),
      cmocka_unit_test(people_get_few_digits),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

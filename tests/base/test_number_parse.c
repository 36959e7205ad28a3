/* Numbers from text: what is read, and what is refused. */
#include "base/number.h"

#include "base/memory.h"

#include <hvi/rng.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void reals(void **state) {
  (void)state;
  double x = 7;
  static const char *const bad[] = {"",      " 1",  "1 ", "1x", "nan", "inf",  "-inf", "0x10",
                                    "1e999", "--1", "1e", "e1", ".",   "1..2", "1,2",  "+-1"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_false(hvi_parse_real(&x, bad[i]));
    assert_true(x == 7);
  }
  assert_true(hvi_parse_real(&x, "-1.5e-3"));
  assert_true(x == -1.5e-3);
  assert_true(hvi_parse_real(&x, "+.5"));
  assert_true(x == 0.5);
  assert_true(hvi_parse_real(&x, "4.9406564584124654e-324"));
  assert_true(x > 0);
  assert_true(hvi_parse_real(&x, "0.1"));
  assert_true(x == 0.1);
}

/* Every way to a double gives the same bits as strtod. */
static void reals_are_rounded_as_strtod_does(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(3, "parse", 0);
  for (int i = 0; i < 200000; i++) {
    char text[64];
    const double m = hvi_rng_normal(&rng) * pow(10.0, floor(hvi_rng_range(&rng, -30.0, 30.0)));
    snprintf(text, sizeof text, i % 2 ? "%.*g" : "%.*e", i % 20, m);
    double x = 0.0;
    assert_true(hvi_parse_real(&x, text));
    if (x != strtod(text, NULL)) fail_msg("%s is read as %.17g", text, x);
  }
  double x, y = 0;
  const char *end = hvi_parse_decimal(&x, "0.001,inf)");
  assert_true(x == 0.001);
  assert_true(*end == ',');
  assert_non_null(hvi_parse_decimal(&y, "inf)"));
  assert_true(isinf(y));
  assert_null(hvi_parse_decimal(&y, "1e"));
  assert_null(hvi_parse_decimal(&y, "e1"));
}

static void whole_numbers(void **state) {
  (void)state;
  uint64_t x = 7;
  static const char *const bad[] = {
      "",     "-1", "-0.5",  "1.5", "1e-1", "1e17", "18446744073709551616",
      "0x10", "1 ", "1e400", "ten"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_false(hvi_parse_u64(&x, bad[i]));
    assert_int_equal(x, 7);
  }
  assert_true(hvi_parse_u64(&x, "18446744073709551615"));
  assert_true(x == UINT64_MAX);
  assert_true(hvi_parse_u64(&x, "1e3"));
  assert_true(x == 1000);
  assert_true(hvi_parse_u64(&x, "2.5e1"));
  assert_true(x == 25);
  assert_true(hvi_parse_u64(&x, "0"));
  assert_true(x == 0);
}

static void lists(void **state) {
  (void)state;
  size_t n = 0;
  double *x = hvi_parse_reals(&n, "1.25, -2  3e1,4");
  assert_non_null(x);
  assert_int_equal(n, 4);
  assert_true(x[0] == 1.25);
  assert_true(x[1] == -2);
  assert_true(x[2] == 30);
  assert_true(x[3] == 4);
  hvi_free(x);
  static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "1,x", "nan", " ", "1,2,"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_null(hvi_parse_reals(&n, bad[i]));
  /* a word too long for a number is refused and not cut short */
  char word[100];
  memset(word, '1', sizeof word);
  word[sizeof word - 1] = '\0';
  assert_null(hvi_parse_reals(&n, word));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reals),
      cmocka_unit_test(reals_are_rounded_as_strtod_does),
      cmocka_unit_test(whole_numbers),
      cmocka_unit_test(lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

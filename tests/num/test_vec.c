#include "num/vec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void elementary_operations(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0, 3.0}, y[] = {4.0, -5.0, 6.0};
  double out[3];
  hvi_vec_copy(out, x, 3);
  hvi_vec_add(out, 2.0, y, 3);
  assert_true(out[0] == 9.0);
  assert_true(out[1] == -8.0);
  assert_true(out[2] == 15.0);
  hvi_vec_scale(out, -1.0, 3);
  assert_true(out[0] == -9.0);
  assert_true(out[1] == 8.0);
  assert_true(out[2] == -15.0);
  assert_true(hvi_vec_dot(x, y, 3) == 12.0);
  assert_true(hvi_vec_norm2(x, 3) == 14.0);
  assert_true(hvi_vec_dist2(x, y, 3) == 67.0);
  hvi_vec_zero(out, 3);
  assert_true(hvi_vec_norm2(out, 3) == 0.0);
}

static void the_norm_spans_the_range_of_doubles(void **state) {
  (void)state;
  const double scales[] = {1.0, 1e150, 1e200, 1e300, 1e-150, 1e-200, 1e-300, 5e-324};
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
    double x[] = {3.0 * scales[i], -4.0 * scales[i], 0.0};
    assert_true(fabs(hvi_vec_norm(x, 3) / (5.0 * scales[i]) - 1.0) < 1e-15);
  }
  const double mixed[] = {1e-200, 1e200}, zero[] = {0.0, -0.0};
  assert_true(hvi_vec_norm(mixed, 2) == 1e200);
  assert_true(hvi_vec_norm(zero, 2) == 0.0);
  assert_true(hvi_vec_norm(zero, 0) == 0.0);
}

static void the_norm_passes_on_what_is_not_finite(void **state) {
  (void)state;
  const double inf[] = {1.0, -INFINITY}, nan[] = {1.0, NAN, 1e300};
  assert_true(hvi_vec_norm(inf, 2) == INFINITY);
  assert_true(isnan(hvi_vec_norm(nan, 3)));
}

static void finite_finds_one_bad_element_anywhere(void **state) {
  (void)state;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  double x[37] = {0};
  for (size_t n = 0; n <= 37; n++) {
    for (size_t i = 0; i < n; i++) x[i] = i % 2 ? -1.7e308 : 5e-324;
    assert_true(hvi_vec_finite(x, n));
    for (size_t i = 0; i < n; i++) {
      double kept = x[i];
      x[i] = bad[i % 3];
      assert_false(hvi_vec_finite(x, n));
      x[i] = kept;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementary_operations),
      cmocka_unit_test(the_norm_spans_the_range_of_doubles),
      cmocka_unit_test(the_norm_passes_on_what_is_not_finite),
      cmocka_unit_test(finite_finds_one_bad_element_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

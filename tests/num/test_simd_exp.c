/* The branch-free exponential against the C library's in long double. */
#include "support/check.h"

#include "num/simd_exp.h"
#include "support/ulps.h"

static void check_accuracy(double x) {
  const double y = hvi_simd_exp(x);
  if (!(ulps(y, expl(x)) < 2.0)) fail_msg("exp(%.17g) = %.17g", x, y);
}

static void accurate_to_two_ulps(void **state) {
  (void)state;
  if (!yardstick_is_finer()) skip();
  hvi_rng rng = hvi_rng_new(1, "exp", 0);
  for (int i = 0; i < 200000; i++) {
    check_accuracy(hvi_rng_range(&rng, -746.0, 0.0));
    check_accuracy(hvi_rng_range(&rng, -1.0, 0.0));
    check_accuracy(-pow(10.0, hvi_rng_range(&rng, -18.0, 1.0)));
  }
}

/* Where k changes, r is at its largest. */
static void accurate_at_the_seams(void **state) {
  (void)state;
  if (!yardstick_is_finer()) skip();
  for (int k = 0; k < 1076; k++) {
    const double seam = -0.69314718055994530942 * (k + 0.5);
    for (double x = seam - 1e-12; x < seam + 1e-12; x += 1e-13) check_accuracy(x);
  }
}

static void right_at_the_ends(void **state) {
  (void)state;
  assert_true(hvi_simd_exp(0.0) == 1.0);
  assert_true(hvi_simd_exp(-0.0) == 1.0);
  assert_true(hvi_simd_exp(-INFINITY) == 0.0);
  assert_true(hvi_simd_exp(-746.0) == 0.0);
  assert_true(hvi_simd_exp(-1e300) == 0.0);
  assert_true(hvi_simd_exp(-745.0) == 0x1p-1074);
  assert_true(isnan(hvi_simd_exp(NAN)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accurate_to_two_ulps),
      cmocka_unit_test(accurate_at_the_seams),
      cmocka_unit_test(right_at_the_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

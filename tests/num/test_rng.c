#include <hvi/rng.h>

#include "num/philox.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The known answers published with the Random123 library. */
static void philox_gives_the_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < 3; i++) {
    uint32_t out[4];
    hvi_philox_block(out, cases[i].counter, cases[i].key);
    assert_memory_equal(out, cases[i].out, sizeof out);
  }
}

static void draws_are_words_of_consecutive_blocks(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(7, "theta0", UINT64_C(0x123456789));
  for (uint32_t block = 0; block < 5; block++) {
    const uint32_t counter[4] = {block, 0, 0x23456789, 1};
    uint32_t expected[4];
    hvi_philox_block(expected, counter, rng.key);
    for (int i = 0; i < 4; i++) assert_int_equal(hvi_rng_u32(&rng), expected[i]);
  }
}

static void the_block_counter_carries(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(1, "x", 2);
  rng.counter[0] = UINT32_MAX;
  for (int i = 0; i < 4; i++) hvi_rng_u32(&rng);
  const uint32_t counter[4] = {0, 1, 2, 0};
  uint32_t expected[4];
  hvi_philox_block(expected, counter, rng.key);
  assert_int_equal(hvi_rng_u32(&rng), expected[0]);
}

static void a_copy_continues_alike(void **state) {
  (void)state;
  hvi_rng a = hvi_rng_new(3, "noise", 0);
  for (int i = 0; i < 11; i++) hvi_rng_u32(&a);
  hvi_rng b = a;
  for (int i = 0; i < 50; i++) assert_true(hvi_rng_normal(&a) == hvi_rng_normal(&b));
}

/* The name of a generator may not change from version to version: stored runs depend on it. */
static void names_give_these_bits(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(0, "theta0", 0);
  uint32_t first = hvi_rng_u32(&rng);
  hvi_rng again = hvi_rng_new(0, "theta0", 0), seed = hvi_rng_new(1, "theta0", 0);
  hvi_rng stream = hvi_rng_new(0, "theta1", 0), index = hvi_rng_new(0, "theta0", 1);
  assert_int_equal(first, hvi_rng_u32(&again));
  assert_int_not_equal(first, hvi_rng_u32(&seed));
  assert_int_not_equal(first, hvi_rng_u32(&stream));
  assert_int_not_equal(first, hvi_rng_u32(&index));
  assert_int_equal(rng.key[0], 0x3ec69d95);
  assert_int_equal(rng.key[1], 0xd405bd84);
}

enum { DRAWS = 200000 };

/* Mean, variance and fourth moment within five standard errors. */
static void normals_have_their_moments(void **state) {
  (void)state;
  double sum[5] = {0};
  hvi_rng rng = hvi_rng_new(11, "moments", 0);
  for (int i = 0; i < DRAWS; i++) {
    double x = hvi_rng_normal(&rng), power = 1.0;
    for (int p = 1; p < 5; p++) sum[p] += (power *= x) / DRAWS;
  }
  assert_true(fabs(sum[1]) < 5.0 * sqrt(1.0 / DRAWS));
  assert_true(fabs(sum[2] - 1.0) < 5.0 * sqrt(2.0 / DRAWS));
  assert_true(fabs(sum[3]) < 5.0 * sqrt(15.0 / DRAWS));
  assert_true(fabs(sum[4] - 3.0) < 5.0 * sqrt(96.0 / DRAWS));
}

/* Chi-square with 99 degrees of freedom: beyond 170 by chance once in 100,000. */
static void uniforms_fill_the_interval_evenly(void **state) {
  (void)state;
  int bins[100] = {0};
  hvi_rng rng = hvi_rng_new(12, "bins", 0);
  for (int i = 0; i < DRAWS; i++) {
    double u = hvi_rng_uniform(&rng);
    assert_true(u >= 0.0);
    assert_true(u < 1.0);
    bins[(int)(100.0 * u)]++;
  }
  double chi2 = 0.0, expected = DRAWS / 100.0;
  for (int i = 0; i < 100; i++) chi2 += (bins[i] - expected) * (bins[i] - expected) / expected;
  assert_true(chi2 > 50.0);
  assert_true(chi2 < 170.0);
}

static double correlation(hvi_rng a, hvi_rng b) {
  double sum = 0.0;
  for (int i = 0; i < DRAWS; i++) sum += hvi_rng_normal(&a) * hvi_rng_normal(&b);
  return sum / DRAWS;
}

static void neighbours_are_independent(void **state) {
  (void)state;
  hvi_rng a = hvi_rng_new(5, "noise", 9), shifted = a;
  hvi_rng_normal(&shifted);
  const hvi_rng others[] = {hvi_rng_new(6, "noise", 9), hvi_rng_new(5, "noisf", 9),
                            hvi_rng_new(5, "noise", 10), shifted};
  assert_true(fabs(correlation(a, a) - 1.0) < 5.0 * sqrt(2.0 / DRAWS));
  for (size_t i = 0; i < 4; i++)
    assert_true(fabs(correlation(a, others[i])) < 5.0 * sqrt(1.0 / DRAWS));
}

static void ranges_are_half_open(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(13, "range", 0);
  double high = nextafter(1.0, 2.0), sum = 0.0;
  for (int i = 0; i < 1000; i++) {
    assert_true(hvi_rng_range(&rng, 1.0, high) == 1.0);
    double x = hvi_rng_range(&rng, -3.0, 5.0);
    assert_true(x >= -3.0);
    assert_true(x < 5.0);
    sum += x / 1000.0;
    assert_true(hvi_rng_range(&rng, 2.0, 2.0) == 2.0);
  }
  assert_true(fabs(sum - 1.0) < 5.0 * 8.0 / sqrt(12.0 * 1000.0));
}

static void filling_equals_drawing(void **state) {
  (void)state;
  double x[20];
  hvi_rng a = hvi_rng_new(4, "fill", 1), b = a;
  hvi_rng_fill_normal(&a, 1.0, 2.0, 10, x);
  hvi_rng_fill_uniform(&a, -1.0, 1.0, 10, x + 10);
  for (int i = 0; i < 10; i++) assert_true(x[i] == 1.0 + 2.0 * hvi_rng_normal(&b));
  for (int i = 10; i < 20; i++) assert_true(x[i] == hvi_rng_range(&b, -1.0, 1.0));
  assert_memory_equal(&a, &b, sizeof a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_known_answers),
      cmocka_unit_test(draws_are_words_of_consecutive_blocks),
      cmocka_unit_test(the_block_counter_carries),
      cmocka_unit_test(a_copy_continues_alike),
      cmocka_unit_test(names_give_these_bits),
      cmocka_unit_test(normals_have_their_moments),
      cmocka_unit_test(uniforms_fill_the_interval_evenly),
      cmocka_unit_test(neighbours_are_independent),
      cmocka_unit_test(ranges_are_half_open),
      cmocka_unit_test(filling_equals_drawing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

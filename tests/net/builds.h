/*
 * What the tests of the kernels share: a loop over the builds that this CPU runs, blocks of numbers,
 * and accuracy in units in the last place of one. A number is a float; test_*_double.c include the
 * same tests with NET_TEST_DOUBLE, and there it is a double.
 */
#ifndef HVI_TESTS_NET_BUILDS_H
#define HVI_TESTS_NET_BUILDS_H

#include "support/check.h"

#include "net/kernels.h"

#include <float.h>
#include <stdlib.h>

#if defined(NET_TEST_DOUBLE)
typedef double number;
#define KERNEL_LIST hvi_net_double_kernel_list
#define UNIT        0x1p-53
#define LARGEST     DBL_MAX
#define SMALLEST    0x1p-1074
enum { DIGITS = 53, LAST_BIT = -1074 };
#else
typedef float number;
#define KERNEL_LIST hvi_net_kernel_list
#define UNIT        0x1p-24
#define LARGEST     FLT_MAX
#define SMALLEST    0x1p-149F
enum { DIGITS = 24, LAST_BIT = -149 };
#endif

#define FOR_KERNELS(k)                                                                             \
  for (const hvi_net_kernels *const *list = KERNEL_LIST(), *k = *list; k; k = *++list)

/* Blocks of exactly n numbers, so that a sanitizer sees any access beyond them. */
static inline number *numbers(size_t n) {
  number *x = malloc((n ? n : 1) * sizeof *x);
  assert_non_null(x);
  return x;
}

static inline number *random_numbers(size_t n, uint64_t index) {
  number *x = numbers(n);
  hvi_rng rng = hvi_rng_new(11, "kernels", index);
  for (size_t i = 0; i < n; i++) x[i] = (number)hvi_rng_normal(&rng);
  return x;
}

/* Whether a long double has digits to judge a number by when the program runs: valgrind computes it as a
 * double. */
static inline bool has_exact(void) {
  const volatile long double one = 1.0L, unit = (long double)UNIT / 64.0L;
  return one + unit > one;
}

/* Units in the last place of a number between y and the exact value. */
static inline double ulps(number y, long double exact) {
  if (fabsl(exact) > (long double)LARGEST * (1.0L + (long double)UNIT / 2.0L))
    return isinf(y) && (y > 0) == (exact > 0) ? 0.0 : INFINITY;
  int exponent;
  frexpl(exact, &exponent);
  const int last = exponent - DIGITS < LAST_BIT ? LAST_BIT : exponent - DIGITS;
  return (double)(fabsl((long double)y - exact) / ldexpl(1.0L, last));
}

/* The activations and their slopes by the C library, in extended precision. */
static inline long double phi(long double x) { return 0.5L * erfcl(-x * sqrtl(0.5L)); }

static inline long double activated(hvi_activation a, long double x) {
  switch (a) {
  case HVI_CELU:
    return x > 0.0L ? x : expm1l(x);
  case HVI_SIGMOID:
    return 1.0L / (1.0L + expl(-x));
  case HVI_TANH:
    return tanhl(x);
  case HVI_RELU:
    return x > 0.0L ? x : 0.0L;
  case HVI_LEAKY_RELU:
    return x > 0.0L ? x : (long double)(number)0.01 * x;
  case HVI_GELU:
    return x * phi(x);
  case HVI_SOFTPLUS:
    return x > 0.0L ? x + log1pl(expl(-x)) : log1pl(expl(x));
  default:
    return x;
  }
}

static inline long double slope_exactly(hvi_activation a, long double x) {
  const long double e = expl(-fabsl(x));
  switch (a) {
  case HVI_CELU:
    return x > 0.0L ? 1.0L : e;
  case HVI_SIGMOID:
    return e / ((1.0L + e) * (1.0L + e));
  case HVI_TANH:
    return 4.0L * e * e / ((1.0L + e * e) * (1.0L + e * e));
  case HVI_SOFTPLUS:
    return 1.0L / (1.0L + expl(-x));
  default: /* gelu */
    return phi(x) + x * expl(-0.5L * x * x) * 0.39894228040143267793994605993438187L;
  }
}

#endif

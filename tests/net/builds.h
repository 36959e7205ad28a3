/* What the tests of the kernels share: a loop over the builds that this CPU runs, blocks of floats,
 * and accuracy in units in the last place of a float. */
#ifndef HVI_TESTS_NET_BUILDS_H
#define HVI_TESTS_NET_BUILDS_H

#include "support/check.h"

#include "net/kernels.h"

#include <stdlib.h>

#define FOR_KERNELS(k)                                                                             \
  for (const hvi_net_kernels *const *list = hvi_net_kernel_list(), *k = *list; k; k = *++list)

/* Blocks of exactly n floats, so that a sanitizer sees any access beyond them. */
static inline float *floats(size_t n) {
  float *x = malloc((n ? n : 1) * sizeof *x);
  assert_non_null(x);
  return x;
}

static inline float *random_floats(size_t n, uint64_t index) {
  float *x = floats(n);
  hvi_rng rng = hvi_rng_new(11, "kernels", index);
  for (size_t i = 0; i < n; i++) x[i] = (float)hvi_rng_normal(&rng);
  return x;
}

/* Units in the last place of a float between y and the exact value. */
static inline double float_ulps(float y, double exact) {
  if (fabs(exact) > 0x1.ffffffp127) return isinf(y) && (y > 0) == (exact > 0) ? 0.0 : INFINITY;
  int exponent;
  frexp(exact, &exponent);
  const int last = exponent - 24 < -149 ? -149 : exponent - 24;
  return fabs((double)y - exact) / ldexp(1.0, last);
}

/* The activations by the C library, in double precision. */
static inline double phi(double x) { return 0.5 * erfc(-x * sqrt(0.5)); }

static inline double activated(hvi_activation a, double x) {
  switch (a) {
  case HVI_CELU:
    return x > 0.0 ? x : expm1(x);
  case HVI_SIGMOID:
    return 1.0 / (1.0 + exp(-x));
  case HVI_TANH:
    return tanh(x);
  case HVI_RELU:
    return x > 0.0 ? x : 0.0;
  case HVI_LEAKY_RELU:
    return x > 0.0 ? x : (double)0.01f * x;
  case HVI_GELU:
    return x * phi(x);
  case HVI_SOFTPLUS:
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
  default:
    return x;
  }
}

#endif

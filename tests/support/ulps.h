/* Accuracy in units in the last place, by long double as a yardstick. */
#pragma once

#include <math.h>
#include <stdbool.h>

/* Units in the last place of a double between y and the exact value. */
static inline double ulps(double y, long double exact) {
  int exponent;
  frexpl(exact, &exponent);
  const int last = exponent - 53 < -1074 ? -1074 : exponent - 53;
  return (double)(fabsl((long double)y - exact) / ldexpl(1.0L, last));
}

/* False where long double is no wider than double, as under valgrind. */
static inline bool yardstick_is_finer(void) {
  volatile long double one = 1.0L, little = 0x1p-60L;
  return one + little > one;
}

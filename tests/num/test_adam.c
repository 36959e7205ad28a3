/* Adam over many parameters has the bits of the plain loop, at every length around vectors. */
#include "num/adam.h"
#include "support/check.h"

#include <stdlib.h>

enum { MOST = 200 };

typedef struct arrays {
  double theta[MOST], g[MOST], m[MOST], v[MOST];
} arrays;

static void fill(arrays *a) {
  fill_normal(a->theta, MOST, 1);
  fill_normal(a->g, MOST, 2);
  fill_normal(a->m, MOST, 3);
  fill_normal(a->v, MOST, 4);
  for (size_t i = 0; i < MOST; i++) a->v[i] = fabs(a->v[i]);
}

static const size_t lengths[] = {0, 1, 7, 8, 15, 16, 17, 64, 100, 199, MOST};

static void check_adam(size_t n) {
  const hvi_adam_rates r = {0.9, 0.999, 1e-8, 0.01, 1.5, 0.99};
  arrays a, b;
  fill(&a), fill(&b);
  hvi_adam_update(a.theta, a.m, a.v, a.g, &r, n);
  for (size_t i = 0; i < n; i++) {
    b.m[i] = 0.9 * b.m[i] + (1.0 - 0.9) * b.g[i];
    b.v[i] = 0.999 * b.v[i] + (1.0 - 0.999) * b.g[i] * b.g[i];
    b.theta[i] = b.theta[i] * 0.99 - 0.01 * b.m[i] / (sqrt(1.5 * b.v[i]) + 1e-8);
  }
  check_same_bits(a.theta, b.theta, MOST);
  check_same_bits(a.m, b.m, MOST);
  check_same_bits(a.v, b.v, MOST);
}

static void adam_has_the_bits_of_the_plain_loop(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) check_adam(lengths[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adam_has_the_bits_of_the_plain_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

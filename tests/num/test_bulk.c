/* Long loops: every build gives the bits of the plain loop, at every length around its vectors. */
#include "num/bulk.h"
#include "support/check.h"

#include <stdlib.h>

enum { MOST = 200 };

typedef struct arrays {
  double theta[MOST], g[MOST], m[MOST], v[MOST], next[MOST];
  float p[MOST], q[MOST];
} arrays;

static void fill(arrays *a) {
  fill_normal(a->theta, MOST, 1);
  fill_normal(a->g, MOST, 2);
  fill_normal(a->m, MOST, 3);
  fill_normal(a->v, MOST, 4);
  for (size_t i = 0; i < MOST; i++) {
    a->v[i] = fabs(a->v[i]);
    a->next[i] = -7.0;
    a->p[i] = (float)a->m[i];
    a->q[i] = (float)a->g[i];
  }
}

static const size_t lengths[] = {0, 1, 7, 8, 15, 16, 17, 64, 100, 199, MOST};

static void for_every_build(void (*check)(const hvi_bulk *bulk, size_t n)) {
  const hvi_bulk *const *builds = hvi_bulk_list();
  for (size_t b = 0; builds[b]; b++)
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) check(builds[b], lengths[k]);
}

static void check_updates(const hvi_bulk *bulk, size_t n) {
  arrays a, b;
  fill(&a), fill(&b);
  bulk->descend(a.next, a.theta, a.g, 0.3, n);
  for (size_t i = 0; i < n; i++) b.next[i] = b.theta[i] - 0.3 * b.g[i];
  check_same_bits(a.next, b.next, MOST);
  bulk->momentum(a.next, a.m, a.theta, a.g, 0.9, 0.3, n);
  for (size_t i = 0; i < n; i++) {
    b.m[i] = 0.9 * b.m[i] + b.g[i];
    b.next[i] = b.theta[i] - 0.3 * b.m[i];
  }
  check_same_bits(a.next, b.next, MOST);
  check_same_bits(a.m, b.m, MOST);
}

static void check_adam(const hvi_bulk *bulk, size_t n) {
  const hvi_adam_rates r = {0.9, 0.999, 1e-8, 0.01, 1.5, 0.99};
  arrays a, b;
  fill(&a), fill(&b);
  bulk->adam(a.next, a.m, a.v, a.theta, a.g, &r, n);
  for (size_t i = 0; i < n; i++) {
    b.m[i] = 0.9 * b.m[i] + (1.0 - 0.9) * b.g[i];
    b.v[i] = 0.999 * b.v[i] + (1.0 - 0.999) * b.g[i] * b.g[i];
    b.next[i] = b.theta[i] * 0.99 - 0.01 * b.m[i] / (sqrt(1.5 * b.v[i]) + 1e-8);
  }
  check_same_bits(a.next, b.next, MOST);
  check_same_bits(a.m, b.m, MOST);
  check_same_bits(a.v, b.v, MOST);
}

static void check_floats(const hvi_bulk *bulk, size_t n) {
  arrays a, b;
  fill(&a), fill(&b);
  bulk->narrow(a.p, a.theta, n);
  for (size_t i = 0; i < n; i++) b.p[i] = (float)b.theta[i];
  assert_memory_equal(a.p, b.p, sizeof a.p);
  bulk->widen(a.next, a.q, n);
  for (size_t i = 0; i < n; i++) b.next[i] = (double)b.q[i];
  check_same_bits(a.next, b.next, MOST);
}

static void updates_have_the_bits_of_plain_loops(void **state) {
  (void)state;
  for_every_build(check_updates);
}

static void adam_has_the_bits_of_the_plain_loop(void **state) {
  (void)state;
  for_every_build(check_adam);
}

static void floats_and_doubles_meet_exactly(void **state) {
  (void)state;
  for_every_build(check_floats);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates_have_the_bits_of_plain_loops),
      cmocka_unit_test(adam_has_the_bits_of_the_plain_loop),
      cmocka_unit_test(floats_and_doubles_meet_exactly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

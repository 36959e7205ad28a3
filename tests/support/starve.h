/*
 * Memory that runs out: every allocation in turn is refused, and the call must say so and leave
 * nothing behind (the sanitizers and valgrind look for that). Include it in one file of a program,
 * since it defines the hook of base/memory.h.
 */
#ifndef HVI_TESTS_SUPPORT_STARVE_H
#define HVI_TESTS_SUPPORT_STARVE_H

#include "base/memory.h"

#include <hvi/problem.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static size_t allocations_left = (size_t)-1;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  if (allocations_left == 0) return false;
  allocations_left--;
  return true;
}

typedef hvi_status (*starved_maker)(const void *context, hvi_problem **p, hvi_error *err);

/* Fails at the first, second, ... allocation until there are enough; returns how many it takes. */
static inline size_t starve(starved_maker make_one, const void *context) {
  for (size_t allowed = 0;; allowed++) {
    hvi_problem *p = (hvi_problem *)(void *)&allowed;
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed;
    const hvi_status status = make_one(context, &p, &err);
    allocations_left = (size_t)-1;
    if (!status) {
      hvi_problem_free(p);
      return allowed;
    }
    assert_int_equal(status, HVI_ERROR_MEMORY);
    assert_int_equal(err.status, HVI_ERROR_MEMORY);
    assert_null(p);
  }
}

#endif

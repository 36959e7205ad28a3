/*
 * Memory that runs out: every allocation in turn is refused, and the call must say so and leave
 * nothing behind (the sanitizers and valgrind look for that). Include it in one file of a program,
 * since it defines the hook of base/memory.h.
 */
#pragma once

#include "base/memory.h"

#include <hvi/problem.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Several threads may allocate at once. */
static atomic_size_t allocations_left = (size_t)-1, allocations_made;

bool hvi_alloc_allowed(size_t bytes) {
  size_t left = allocations_left;
  (void)bytes;
  allocations_made++;
  while (left > 0 && !atomic_compare_exchange_weak(&allocations_left, &left, left - 1)) {
  }
  return left > 0;
}

/* Does something, and undoes it when it succeeds. */
typedef hvi_status (*starved_call)(void *context, hvi_error *err);

/* Fails at the first, second, ... allocation until there are enough; returns how many it takes. */
static inline size_t starve(starved_call call, void *context) {
  for (size_t allowed = 0;; allowed++) {
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed;
    const hvi_status status = call(context, &err);
    allocations_left = (size_t)-1;
    if (!status) return allowed;
    assert_int_equal(status, HVI_ERROR_MEMORY);
    assert_int_equal(err.status, HVI_ERROR_MEMORY);
    assert_non_null(strstr(err.text, "memory for"));
  }
}

typedef hvi_status (*starved_maker)(const void *context, hvi_problem **p, hvi_error *err);
typedef struct starved_problem {
  starved_maker make;
  const void *context;
} starved_problem;

static inline hvi_status make_starved(void *context, hvi_error *err) {
  const starved_problem *s = context;
  hvi_problem *p = (hvi_problem *)context;
  const hvi_status status = s->make(s->context, &p, err);
  if (status) assert_null(p);
  hvi_problem_free(p);
  return status;
}

/* The same for what makes a problem. */
static inline size_t starve_problem(starved_maker make_one, const void *context) {
  return starve(make_starved, &(starved_problem){make_one, context});
}

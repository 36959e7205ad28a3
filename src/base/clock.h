/* The system's clocks. */
#pragma once

#include <stddef.h>
#include <time.h>

static inline double hvi_clock_read(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds on a monotonic clock. */
static inline double hvi_clock_now(void) { return hvi_clock_read(CLOCK_MONOTONIC); }

/* What work is timed by, before and after: the processor time of the calling thread where it works
 * alone, which other programs do not add to; the monotonic clock where several threads do. */
static inline double hvi_clock_work(size_t threads) {
  return hvi_clock_read(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

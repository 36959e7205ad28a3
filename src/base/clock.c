#include "base/clock.h"

#include <time.h>

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double hvi_clock_now(void) { return seconds_of(CLOCK_MONOTONIC); }

double hvi_clock_work(size_t threads) {
  return seconds_of(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

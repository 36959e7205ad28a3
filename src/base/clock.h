/* The system's clocks. */
#ifndef HVI_BASE_CLOCK_H
#define HVI_BASE_CLOCK_H

#include <stddef.h>

/* Seconds on a monotonic clock. */
double hvi_clock_now(void);

/* What work is timed by, before and after: the processor time of the calling thread where it works
 * alone, which other programs do not add to; the monotonic clock where several threads do. */
double hvi_clock_work(size_t threads);

#endif

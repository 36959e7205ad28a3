/* The system clock. */
#ifndef HVI_BASE_CLOCK_H
#define HVI_BASE_CLOCK_H

/* Seconds on a monotonic clock. */
double hvi_clock_now(void);

#endif

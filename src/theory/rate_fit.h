/* The factor by which a sequence shrinks or grows per step. */
#ifndef HVI_THEORY_RATE_FIT_H
#define HVI_THEORY_RATE_FIT_H

#include <stddef.h>

/* Squared distances at or below this share of 1 + |z|^2 are rounding. */
extern const double hvi_rate_rounding;

/* How many of x[n] come before the first that is at or below the floor or not finite. */
size_t hvi_rate_usable(const double *x, size_t n, double floor);

/*
 * exp of the slope of log x over the later half of the usable part: transients at the start and
 * rounding at the end do not count. 0 when the floor is reached within one step, NaN when there is
 * nothing to fit. log_scratch: [n].
 */
double hvi_rate_fit(const double *x, size_t n, double floor, double *log_scratch);

#endif

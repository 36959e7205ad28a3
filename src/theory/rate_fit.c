#include "theory/rate_fit.h"

#include "num/stats.h"

#include <math.h>

const double hvi_rate_rounding = 1e-26;

size_t hvi_rate_usable(const double *x, size_t n, double floor) {
  size_t usable = 0;
  while (usable < n && isfinite(x[usable]) && x[usable] > floor) usable++;
  return usable;
}

double hvi_rate_fit(const double *x, size_t n, double floor, double *log_scratch) {
  const size_t usable = hvi_rate_usable(x, n, floor);
  if (usable < 2) return usable == 1 && n > 1 && x[1] <= floor ? 0.0 : NAN;
  size_t first = usable / 2;
  if (usable - first < 2) first = usable - 2;
  for (size_t i = first; i < usable; i++) log_scratch[i - first] = log(x[i]);
  return exp(hvi_stats_slope(log_scratch, usable - first));
}

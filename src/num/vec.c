#include "num/vec.h"

#include "base/base.h"

#include <float.h>

/* The plain sum is exact enough while no square leaves the range of doubles; otherwise the vector
 * is scaled by its largest element. */
double hvi_vec_norm(const double *x, size_t n) {
  double sum = hvi_vec_norm2(x, n);
  if (sum > 1e-280 && sum <= DBL_MAX) return sqrt(sum);
  if (isnan(sum)) return sum;
  double largest = 0.0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  if (largest == 0.0 || isinf(largest)) return largest;
  sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (x[i] / largest) * (x[i] / largest);
  return largest * sqrt(sum);
}

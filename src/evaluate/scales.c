/*
 * Scales of states and values from rows of data.
 *
 * States: mean and standard deviation, entry by entry. Values: the constant c with mean TD error 0,
 *
 *   mean r + gamma mean(f) c - c = 0,   c = mean r / (1 - gamma mean f),
 *
 * is the first guess at them all, and the spread of the returns
 *
 *   G_i = r_i + gamma G_{i+1},   gamma f_i c in place of gamma G_{i+1} where row i + 1 is not the
 *                                successor of row i
 *
 * around their mean tells how far they lie apart: too much by the noise of single returns, too
 * little where episodes are cut, and within a small factor in between.
 */
#include "base/base.h"
#include "num/stats.h"

#include <hvi/evaluate.h>

static void scale_states(hvi_scales *s, const hvi_dataset *d, size_t rows) {
  for (size_t j = 0; j < d->obs; j++) {
    double sum = 0.0, sum2 = 0.0;
    for (size_t i = 0; i < rows; i++) sum += (double)d->observation[i * d->obs + j];
    const double mean = sum / (double)rows;
    for (size_t i = 0; i < rows; i++) {
      const double x = (double)d->observation[i * d->obs + j] - mean;
      sum2 += x * x;
    }
    const double spread = sqrt(sum2 / (double)rows);
    s->center[j] = mean;
    s->spread[j] = spread > 1e-6 * fabs(mean) && spread > 1e-12 ? spread : 1.0;
  }
}

static double constant(const hvi_dataset *d, size_t rows, double gamma) {
  double reward = 0.0, future = 0.0;
  for (size_t i = 0; i < rows; i++) {
    reward += (double)d->reward[i];
    future += d->terminated[i] ? 0.0 : 1.0;
  }
  return reward / ((double)rows - gamma * future);
}

static void fill_returns(double *G, const hvi_dataset *d, size_t rows, double gamma, double c) {
  for (size_t i = rows; i-- > 0;) {
    const double future = i + 1 < rows && hvi_dataset_continues(d, i) ? G[i + 1]
                          : d->terminated[i]                          ? 0.0
                                                                      : c;
    G[i] = (double)d->reward[i] + gamma * future;
  }
}

hvi_status hvi_scales_new(hvi_scales *scales, const hvi_dataset *data, size_t rows, double gamma,
                          hvi_error *err) {
  *scales = (hvi_scales){.scale = 1.0};
  if (rows == 0 || rows > data->count)
    return hvi_error_input(err, "scales need rows of data: %zu of %zu", rows, data->count);
  HVI_NEW(double, G, rows, "the scales of a data set", err);
  HVI_TRY(hvi_new_arrays("the scales of a data set", err, {&scales->center, data->obs},
                         {&scales->spread, data->obs}));
  scale_states(scales, data, rows);
  scales->shift = constant(data, rows, gamma);
  fill_returns(G, data, rows, gamma, scales->shift);
  const double spread = sqrt(hvi_stats_variance(G, rows));
  if (spread > 1e-6 * fabs(scales->shift) && spread > 0.0) scales->scale = spread;
  return HVI_OK;
}

void hvi_scales_free(hvi_scales *scales) {
  hvi_free(scales->center); /* and spread */
  *scales = (hvi_scales){.scale = 1.0};
}

/*
 * Scores of predicted values against values y with standard errors e.
 *
 *   error    = mean (prediction - y)^2,     interval by Student's t over the states
 *   clean    = error - mean e^2,            an unbiased estimate of the error against true values
 *   relative = error / var y,               relative_clean = clean / (var y - mean e^2)
 *
 * Calibration is the least-squares line of y over the prediction p: slope = cov(p, y) / var p,
 * intercept = mean y - slope * mean p. Sums are of centred numbers.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/stats.h"
#include "num/vec.h"

#include <hvi/evaluate.h>

#include <math.h>

static double mean_square(const double *x, size_t n) {
  return x ? hvi_vec_norm2(x, n) / (double)n : 0.0;
}

static void calibrate(hvi_score *s, const double *p, const double *y, size_t n) {
  const double mean_p = hvi_stats_mean(p, n);
  double pp = 0.0, py = 0.0, yy = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double dp = p[i] - mean_p, dy = y[i] - s->mean;
    pp += dp * dp;
    py += dp * dy;
    yy += dy * dy;
  }
  s->slope = pp > 0.0 ? py / pp : NAN;
  s->intercept = s->mean - s->slope * mean_p;
  s->correlation = pp > 0.0 && yy > 0.0 ? py / sqrt(pp * yy) : NAN;
}

static hvi_status check(size_t n, const double *predicted, const double *value, hvi_error *err) {
  if (n == 0) return hvi_error_set(err, HVI_ERROR_INPUT, "there are no states to score");
  if (hvi_vec_finite(predicted, n) && hvi_vec_finite(value, n)) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT, "a value to score is not finite");
}

hvi_status hvi_score_values(hvi_score *score, size_t n, const double *predicted,
                            const double *value, const double *standard_error, hvi_error *err) {
  const hvi_status status = check(n, predicted, value, err);
  if (status) return status;
  double *square = hvi_alloc_doubles(n);
  if (!square) return hvi_error_memory(err, "the squared errors of a score");
  for (size_t i = 0; i < n; i++) {
    square[i] = (predicted[i] - value[i]) * (predicted[i] - value[i]);
  }
  *score = (hvi_score){.states = n,
                       .error = hvi_stats_mean(square, n),
                       .interval = hvi_stats_interval95(square, n),
                       .noise = mean_square(standard_error, n),
                       .variance = hvi_stats_variance(value, n),
                       .mean = hvi_stats_mean(value, n),
                       .size = sqrt(mean_square(value, n))};
  hvi_free(square);
  score->clean = score->error - score->noise;
  score->relative = score->variance > 0.0 ? score->error / score->variance : NAN;
  const double spread = score->variance - score->noise;
  score->relative_clean = spread > 0.0 ? score->clean / spread : NAN;
  calibrate(score, predicted, value, n);
  return HVI_OK;
}

/*
 * Synthetic credit records with plausible marginals.
 *
 * Every borrower has a risk r ~ N(+-1/2, 1), above zero on average for those who default, and with
 * independent standard normals e:
 *   0 utilisation       exp(-1.3 + 0.6 r + 0.9 e): a heavy tail, a few above 10
 *   1 age               52 - 4 r + 14 e, between 21 and 100
 *   2 30-59 days late   Poisson(exp(-1.1 + 0.8 r))
 *   3 debt ratio        exp(-1 + 0.1 r + 0.8 e)
 *   4 monthly income    exp(8.7 - 0.2 r + 0.6 e)
 *   5 open lines        8.5 - 0.4 r + 5 e, whole, not negative
 *   6 90 days late      Poisson(exp(-1.8 + r))
 *   7 real estate       Poisson(exp(-0.1 - 0.1 r))
 *   8 60-89 days late   Poisson(exp(-2 + 0.9 r))
 *   9 dependents        Poisson(exp(-0.2 + 0.1 r))
 * The share of defaults is the cleaned file's, 8,357 of 18,357.
 */
#include "problems/performative/credit_data.h"

#include <hvi/rng.h>

#include <math.h>

/* By counting products of uniforms; the mean stays below 100. */
static double draw_poisson(hvi_rng *rng, double log_mean) {
  const double end = exp(-fmin(exp(log_mean), 100.0));
  double product = hvi_rng_uniform(rng), count = 0.0;
  while (product > end) {
    product *= hvi_rng_uniform(rng);
    count += 1.0;
  }
  return count;
}

static void draw_borrower(double *x, double y, hvi_rng *rng) {
  const double r = y - 0.5 + hvi_rng_normal(rng);
  x[0] = exp(-1.3 + 0.6 * r + 0.9 * hvi_rng_normal(rng));
  x[1] = round(fmin(fmax(52.0 - 4.0 * r + 14.0 * hvi_rng_normal(rng), 21.0), 100.0));
  x[2] = draw_poisson(rng, -1.1 + 0.8 * r);
  x[3] = exp(-1.0 + 0.1 * r + 0.8 * hvi_rng_normal(rng));
  x[4] = round(exp(8.7 - 0.2 * r + 0.6 * hvi_rng_normal(rng)));
  x[5] = round(fmax(8.5 - 0.4 * r + 5.0 * hvi_rng_normal(rng), 0.0));
  x[6] = draw_poisson(rng, -1.8 + r);
  x[7] = draw_poisson(rng, -0.1 - 0.1 * r);
  x[8] = draw_poisson(rng, -2.0 + 0.9 * r);
  x[9] = draw_poisson(rng, -0.2 + 0.1 * r);
}

void hvi_credit_draw(hvi_credit_data *data, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "credit-records", 0);
  const double share = 8357.0 / 18357.0;
  for (size_t i = 0; i < data->rows; i++) {
    /* spread evenly, so that any first part of the rows has the same share */
    const double k = (double)i;
    data->y[i] = floor((k + 1.0) * share + 0.5) - floor(k * share + 0.5);
    draw_borrower(data->x + i * HVI_CREDIT_WIDTH, data->y[i], &rng);
  }
}

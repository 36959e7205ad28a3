/*
 * Every statement is made of four numbers a method: where it ends, slope and fit of log10 of the
 * squared distance, and the largest rise, max over s < t of dist2[t] / dist2[s].
 *
 *   linear     a falling line with R^2 >= 0.95 that ends below 1e-3 (by a factor of margin)
 *   unstable   it rises again by a factor of two or more
 *   better     ends lower, by a factor of margin
 */
#include "experiments/rps_judge.h"

#include "experiments/curve.h"

#include <math.h>

enum { PHGD, LM1, LM5, GD10, GD100, GDA };

const char *const hvi_rps_methods[HVI_RPS_METHODS] = {"PHGD",   "LM(1)",   "LM(5)",
                                                      "GD(10)", "GD(100)", "GDA"};

const hvi_rps_claim hvi_rps_claims[HVI_RPS_CLAIMS] = {
    {"phgd-linear", "phgd_linear", "PHGD achieves linear convergence."},
    {"lm1-linear", "lm1_linear", "LM with one inner step achieves linear convergence."},
    {"gda-poor", "gda_poor", "GDA performs poorly: worse than PHGD and LM(1)."},
    {"gda-unstable", "gda_unstable", "GDA behaves in an unstable way."},
    {"gd10-beats-gda", "gd10_beats_gda",
     "More inner steps for GD improve stability and performance: GD(10) beats GDA."},
    {"gd10-beats-gd100", "gd10_beats_gd100",
     "GD degrades if too many inner steps are taken: 10 outperform 100."},
    {"lm1-beats-lm5", "lm1_beats_lm5",
     "LM degrades if too many inner steps are taken: one outperforms 5."},
};

/* Where rounding decides, everyone is equally near. */
static double largest_rise(const double *y, size_t rows) {
  double lowest = INFINITY, rise = 1;
  for (size_t i = 0; i < rows; i++) {
    if (!isfinite(y[i])) return INFINITY;
    double x = fmax(y[i], HVI_ROUNDING);
    if (x < lowest) lowest = x;
    if (x / lowest > rise) rise = x / lowest;
  }
  return rise;
}

hvi_rps_measures hvi_rps_measure(const hvi_rps_game *game) {
  hvi_rps_measures m;
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) {
    const double *y = game->dist2[k];
    hvi_fit fit = hvi_fit_log(y, 0, game->rows - 1, HVI_ROUNDING);
    m.end[k] = isfinite(y[game->rows - 1]) ? fmax(y[game->rows - 1], HVI_ROUNDING) : INFINITY;
    m.slope[k] = fit.slope / HVI_RPS_EVERY;
    m.r2[k] = fit.r2;
    m.rise[k] = largest_rise(y, game->rows);
  }
  return m;
}

static bool is_linear(const hvi_rps_measures *m, size_t k, double margin) {
  return m->slope[k] < 0 && m->r2[k] >= 0.95 && m->end[k] * margin <= 1e-3;
}

static bool beats(const hvi_rps_measures *m, size_t better, size_t worse, double margin) {
  return m->end[better] * margin < m->end[worse];
}

void hvi_rps_judge(bool holds[HVI_RPS_CLAIMS], const hvi_rps_measures *m, double margin) {
  holds[0] = is_linear(m, PHGD, margin);
  holds[1] = is_linear(m, LM1, margin);
  holds[2] = beats(m, PHGD, GDA, margin) && beats(m, LM1, GDA, margin);
  holds[3] = m->rise[GDA] >= 2;
  holds[4] = beats(m, GD10, GDA, margin) && m->rise[GD10] <= m->rise[GDA];
  holds[5] = beats(m, GD10, GD100, margin);
  holds[6] = beats(m, LM1, LM5, margin);
}

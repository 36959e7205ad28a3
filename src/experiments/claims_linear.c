/*
 * Section 4.2.1 and its figure: Surr-GD converges to the exact update, faster with more inner
 * steps; the linear case of the appendix. Judged on each chain alone, with 95 % intervals over the
 * trajectories.
 */
#include "experiments/linear_stats.h"

#include <math.h>
#include <stdio.h>

enum { EARLY = 100, LATE = 1000 }; /* where falls and slopes are measured from */

static hvi_claim *add(hvi_claims *claims, const hvi_linear_summary *s, const char *name,
                      const char *where, const char *text) {
  char id[64], whole[384];
  snprintf(id, sizeof id, "%s-%s", name, s->chain);
  snprintf(whole, sizeof whole, "%s (chain '%s')", text, s->chain);
  return hvi_claims_add(claims, id, where, whole);
}

static void measure(hvi_claim *c, const char *format, size_t number, double value) {
  char name[64];
  snprintf(name, sizeof name, format, number);
  hvi_claim_measure(c, name, value);
}

static void converges(hvi_claims *claims, const hvi_linear_summary *s) {
  hvi_claim *c = add(claims, s, "surr-gd-to-exact", "Section 4.2.1, Figure (linear)",
                     "GD on the stochastic surrogate converges to the exact update.");
  const size_t early = hvi_linear_row(s, EARLY), late = hvi_linear_row(s, LATE);
  bool holds = true;
  for (size_t m = 0; m < HVI_SURR_COUNT; m++) {
    const hvi_estimate fall = hvi_linear_fall(s, HVI_LINEAR_THETA + m, early);
    const hvi_estimate slope = hvi_linear_slope(s, HVI_LINEAR_THETA + m, late);
    const size_t steps = hvi_linear_inner[m];
    measure(c, "M = %zu: end / start", steps, pow(10.0, fall.value));
    measure(c, "M = %zu: its upper end", steps, pow(10.0, fall.value + fall.half));
    measure(c, "M = %zu: slope", steps, slope.value);
    measure(c, "M = %zu: slope's half width", steps, slope.half);
    holds = holds && fall.value + fall.half < 0.0 && slope.value + slope.half < 0.0;
  }
  hvi_claim_judge(c, holds);
  hvi_claim_note(c,
                 "Mean of |theta - theta_LSPE| over %zu trajectories: at t = %zu over t = %zu, and "
                 "decades per decade of t from t = %zu on, with 95 %% intervals.",
                 s->runs.runs, s->time[s->runs.rows - 1], s->time[early], s->time[late]);
}

/* Whether each count is nearer to the exact update than the one before, beyond the interval of the
 * difference on the same trajectory. */
static bool in_order(const hvi_linear_summary *s, size_t row) {
  for (size_t m = 0; m + 1 < HVI_SURR_COUNT; m++) {
    const hvi_estimate gain =
        hvi_linear_difference(s, row, HVI_LINEAR_THETA + m, HVI_LINEAR_THETA + m + 1);
    if (!(gain.value - gain.half > 0.0)) return false;
  }
  return true;
}

static void more_is_faster(hvi_claims *claims, const hvi_linear_summary *s) {
  hvi_claim *c = add(claims, s, "more-steps-faster", "Section 4.2.1, Figure (linear)",
                     "More inner steps converge faster to the exact update.");
  const size_t last = s->runs.rows - 1, late = hvi_linear_row(s, LATE);
  const double level = 0.01 * hvi_linear_mean(s, hvi_linear_row(s, EARLY), 0).value;
  size_t ordered = 0;
  for (size_t m = 0; m < HVI_SURR_COUNT; m++) {
    const hvi_estimate end = hvi_linear_mean(s, last, HVI_LINEAR_THETA + m);
    measure(c, "M = %zu: error at the end", hvi_linear_inner[m], end.value);
    measure(c, "M = %zu: half width", hvi_linear_inner[m], end.half);
    measure(c, "M = %zu: t to a hundredth", hvi_linear_inner[m],
            hvi_linear_below(s, HVI_LINEAR_THETA + m, level));
  }
  for (size_t row = late; row <= last; row++) ordered += in_order(s, row);
  hvi_claim_measure(c, "share of times in order", (double)ordered / (double)(last - late + 1));
  hvi_claim_judge(c, in_order(s, last));
  hvi_claim_note(
      c,
      "In order: every count is nearer than the next smaller one, and the 95 %% interval "
      "of the difference on the same trajectory is above zero; judged at t = %zu, the "
      "share is of the times from t = %zu on. A hundredth: of the error of M = 1 at "
      "t = %zu.",
      s->time[last], s->time[late], s->time[hvi_linear_row(s, EARLY)]);
}

static void finds_fixed_point(hvi_claims *claims, const hvi_linear_summary *s) {
  hvi_claim *c = add(claims, s, "to-fixed-point", "Appendix, The Linear Case",
                     "The stochastic iteration tends to the projected fixed point, and so does "
                     "Surr-GD on its surrogate.");
  const size_t curves[] = {HVI_LINEAR_GOAL + HVI_LEARNER_LSPE,
                           HVI_LINEAR_GOAL + HVI_LEARNER_SURR_10};
  const char *const names[] = {"LSPE", "Surr-GD(10)"};
  bool holds = true;
  for (size_t k = 0; k < 2; k++) {
    char name[64];
    const hvi_estimate slope = hvi_linear_slope(s, curves[k], hvi_linear_row(s, LATE));
    snprintf(name, sizeof name, "%s: distance at the end", names[k]);
    hvi_claim_measure(c, name, hvi_linear_mean(s, s->runs.rows - 1, curves[k]).value);
    snprintf(name, sizeof name, "%s: slope", names[k]);
    hvi_claim_measure(c, name, slope.value);
    snprintf(name, sizeof name, "%s: slope's half width", names[k]);
    hvi_claim_measure(c, name, slope.half);
    holds = holds && slope.value + slope.half < 0.0;
  }
  hvi_claim_measure(c, "LSTD: distance at the end",
                    hvi_linear_mean(s, s->runs.rows - 1, HVI_LINEAR_LSTD).value);
  hvi_claim_judge(c, holds);
  hvi_claim_note(c,
                 "Distances of values in the norm of the stationary law; slopes from t = %zu on.",
                 s->time[hvi_linear_row(s, LATE)]);
}

static void residual_differs(hvi_claims *claims, const hvi_linear_summary *s) {
  hvi_claim *c =
      add(claims, s, "bellman-error-elsewhere", "Appendix, Policy Evaluation",
          "Minimising the Bellman error itself leads to another point than the projected "
          "fixed point, even with linear values.");
  const size_t residual = HVI_LINEAR_GOAL + HVI_LEARNER_RESIDUAL;
  hvi_claim_measure(c, "Bellman error's minimiser to the fixed point", s->bellman_limit);
  hvi_claim_measure(c, "residual gradient's limit to it", s->residual_limit);
  hvi_claim_measure(c, "residual gradient at the end to it",
                    hvi_linear_mean(s, s->runs.rows - 1, residual).value);
  hvi_claim_judge(c, s->bellman_limit > 1e-6 && s->residual_limit > 1e-6);
  hvi_claim_note(c, "The first two in closed form. The residual gradient on single transitions has "
                    "a limit of its own: both of its factors see the same successor.");
}

void hvi_claims_linear(hvi_claims *claims, const hvi_linear_summary *s) {
  converges(claims, s);
  more_is_faster(claims, s);
  finds_fixed_point(claims, s);
  residual_differs(claims, s);
}

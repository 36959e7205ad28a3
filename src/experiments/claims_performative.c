/* The appendix on performative prediction, and what the built-in problems show of it. */
#include "experiments/performative.h"

#include <math.h>
#include <stdio.h>

static const char where[] = "Appendix, Applications to Performative Prediction";

static void linear_converges(hvi_claims *claims, const hvi_linear_figures *f) {
  static const char *const names[HVI_LINEAR_METHODS] = {"RRM", "RGD", "Surr-GD(10)", "LM(1)"};
  hvi_claim *claim = hvi_claims_add(claims, "linear-stable", where,
                                    "The surrogate method converges to the performatively stable "
                                    "point whenever beta / mu < 1.");
  bool holds = true;
  for (size_t m = 0; m < HVI_LINEAR_METHODS; m++) {
    hvi_claim_measure(claim, names[m], f->end[m]);
    holds &= f->end[m] < 1e-8;
  }
  hvi_claim_measure(claim, "runs", (double)f->runs);
  hvi_claim_judge(claim, holds);
  hvi_claim_note(claim, "performative-linear, eps = beta / mu in {0.3, 0.6, 0.9}: the largest "
                        "squared distance at the end over that at the start.");
}

static void linear_rate(hvi_claims *claims, const hvi_linear_figures *f) {
  hvi_claim *claim = hvi_claims_add(claims, "linear-rate", where,
                                    "It does so at the rate of the theorem or better, and repeated "
                                    "risk minimisation at (beta / mu)^2 per deployment.");
  hvi_claim_measure(claim, "RRM: contraction / (beta/mu)^2", f->rrm_over);
  hvi_claim_measure(claim, "Surr-GD: contraction / (1 - mu^2/5L^2)", f->theorem_over);
  hvi_claim_judge(claim, f->rrm_over < 1.0 + 1e-4 && f->theorem_over < 1.0 + 1e-9);
  hvi_claim_note(claim, "Largest contraction of |z - z*|^2 in any step: RRM with eta = 1 and alpha "
                        "= 1e-5; Surr-GD with the theorem's eta and alpha.");
}

static void beyond_one(hvi_claims *claims, const hvi_linear_figures *f) {
  static const char *const names[2][3] = {
      {"orthogonal, eta 0.45", "orthogonal, optimistic", "orthogonal, mean of 3"},
      {"skew, eta 0.45", "skew, optimistic", "skew, mean of 3"}};
  hvi_claim *claim =
      hvi_claims_add(claims, "linear-beyond", where,
                     "Beyond beta / mu = 1 nothing is promised: at 1.1 repeated risk "
                     "minimisation diverges; a smaller eta, an optimistic and an "
                     "averaged target save it where F is still monotone.");
  bool holds = true;
  hvi_claim_measure(claim, "RRM growth, orthogonal", f->beyond_growth[0]);
  hvi_claim_measure(claim, "RRM growth, skew", f->beyond_growth[1]);
  for (size_t k = 0; k < 2; k++) {
    holds &= f->beyond_growth[k] > 1.0;
    for (size_t m = 0; m < 3; m++) {
      hvi_claim_measure(claim, names[k][m], f->beyond_end[k][m]);
      holds &= k == 0 ? f->beyond_end[k][m] > 1.0 : f->beyond_end[k][m] < 1e-6;
    }
  }
  hvi_claim_judge(claim, holds);
  hvi_claim_note(claim, "Ours, not the paper's. Growth of |z - z*|^2 per deployment, and its end "
                        "over its start. With M skew F has mu = 1 for every eps; with M orthogonal "
                        "F has directions of mu = -0.1.");
}

void hvi_claims_performative_linear(hvi_claims *claims, const hvi_linear_figures *f) {
  linear_converges(claims, f);
  linear_rate(claims, f);
  beyond_one(claims, f);
}

static void mean_is_stable(hvi_claims *claims, const hvi_mean_figures *f) {
  hvi_claim *claim = hvi_claims_add(claims, "mean-stable", where,
                                    "With samples the stable point is reached within the sampling "
                                    "error: performative-mean ends at 100.");
  hvi_claim_measure(claim, "greedy, mean over seeds", f->mean[HVI_GREEDY]);
  hvi_claim_measure(claim, "its standard error", f->error[HVI_GREEDY]);
  hvi_claim_measure(claim, "lazy, mean over seeds", f->mean[HVI_LAZY]);
  hvi_claim_measure(claim, "its standard error ", f->error[HVI_LAZY]);
  hvi_claim_measure(claim, "seeds", (double)f->seeds);
  bool holds = true;
  for (size_t k = 0; k < HVI_MEAN_PLANS; k++) {
    /* what is left of the start, besides the noise */
    holds &= fabs(f->mean[k] - f->stable) <= 4.0 * f->error[k] + 1e-3;
  }
  hvi_claim_judge(claim, holds);
  hvi_claim_note(claim, "Within 4 standard errors, and 0.001 for what is left of the start.");
}

static void greedy_and_lazy(hvi_claims *claims, const hvi_mean_figures *f) {
  hvi_claim *claim = hvi_claims_add(claims, "mean-greedy-lazy", "Mendler-Duenner et al. (2020)",
                                    "Lazy deployment needs fewer deployments, greedy deployment "
                                    "fewer observations.");
  hvi_claim_measure(claim, "root mean square error asked for", f->goal);
  hvi_claim_measure(claim, "greedy: deployments", f->deployments[HVI_GREEDY]);
  hvi_claim_measure(claim, "lazy: deployments", f->deployments[HVI_LAZY]);
  hvi_claim_measure(claim, "greedy: observations", f->samples[HVI_GREEDY]);
  hvi_claim_measure(claim, "lazy: observations", f->samples[HVI_LAZY]);
  hvi_claim_measure(claim, "greedy: exponent in observations", f->slope[HVI_GREEDY]);
  hvi_claim_measure(claim, "lazy: exponent in observations", f->slope[HVI_LAZY]);
  hvi_claim_judge(claim, f->deployments[HVI_LAZY] < 0.5 * f->deployments[HVI_GREEDY] &&
                             f->samples[HVI_GREEDY] < 0.5 * f->samples[HVI_LAZY] &&
                             fabs(f->slope[HVI_GREEDY] + 1.0) < 0.2 &&
                             fabs(f->slope[HVI_LAZY] + 0.5) < 0.2);
  hvi_claim_note(claim,
                 "Exponents of the mean square error: -1 for greedy, -1/2 for lazy with 10 k "
                 "observations at the k-th deployment.");
}

void hvi_claims_performative_mean(hvi_claims *claims, const hvi_mean_figures *f) {
  mean_is_stable(claims, f);
  greedy_and_lazy(claims, f);
}

static void measure_cases(hvi_claim *claim, const char *name, const char *key, const double *at,
                          const double *value, size_t count) {
  for (size_t c = 0; c < count; c++) {
    char text[64];
    snprintf(text, sizeof text, "%s, %s %g", name, key, at[c]);
    hvi_claim_measure(claim, text, value[c]);
  }
}

static void credit_settles(hvi_claims *claims, const hvi_credit_figures *f) {
  hvi_claim *claim = hvi_claims_add(claims, "credit-rrm", "Perdomo et al. (2020)",
                                    "Exact repeated risk minimisation is stable after two rounds "
                                    "for every eps: the bias takes up what the borrowers do.");
  bool holds = true;
  for (size_t c = 0; c < HVI_CREDIT_CASES; c++) holds &= f->rrm_second[c] < 1e-8;
  measure_cases(claim, "RRM", "eps", f->eps, f->rrm_second, HVI_CREDIT_CASES);
  hvi_claim_judge(claim, holds);
  hvi_claim_note(claim, "Ours: squared distance to the stable point after round 2 over that at the "
                        "start. Every borrower moves alike, so in the outputs beta is 0. Failures "
                        "of repeated training at large eps are those of its solver.");
}

static void credit_converges(hvi_claims *claims, const hvi_credit_figures *f) {
  hvi_claim *claim = hvi_claims_add(claims, "credit-stable", where,
                                    "With one outer step a deployment, the surrogate method "
                                    "converges on the credit problem where beta / mu < 1 in the "
                                    "parameters.");
  bool holds = true;
  for (size_t c = 0; c < HVI_CREDIT_CASES; c++) {
    if (f->eps[c] < f->parameter_limit) holds &= f->lm_end[c] < 1e-6 && f->gd_end[c] < 1e-6;
  }
  hvi_claim_measure(claim, "eps covered", f->parameter_limit);
  measure_cases(claim, "LM(1)", "eps", f->eps, f->lm_end, HVI_CREDIT_CASES);
  measure_cases(claim, "Surr-GD(20)", "eps", f->eps, f->gd_end, HVI_CREDIT_CASES);
  measure_cases(claim, "RGD", "eps", f->eps, f->rgd_end, HVI_CREDIT_CASES);
  hvi_claim_judge(claim, holds && f->eps[0] < f->parameter_limit);
  hvi_claim_note(claim, "Performative gap after 25 rounds over that at the start. Beyond, at eps = "
                        "100 and 1000, one step does not undo what its deployment does, and all "
                        "three run away.");
}

void hvi_claims_performative_credit(hvi_claims *claims, const hvi_credit_figures *f) {
  credit_settles(claims, f);
  credit_converges(claims, f);
}

void hvi_claims_performative_rir(hvi_claims *claims, const hvi_rir_figures *f) {
  hvi_claim *claim = hvi_claims_add(claims, "rir-stable", "Mofakhami et al. (2023)",
                                    "Where beta / mu < 1 (delta > 1/2), repeated training of the "
                                    "network becomes stable: retraining gains nothing but noise.");
  bool holds = true;
  for (size_t c = 0; c < HVI_RIR_CASES; c++) {
    if (f->delta[c] <= 0.5) continue;
    holds &= f->gap_end[c] < 2.5 * f->noise[c] && f->gap_end[c] < f->gap_start[c] / 1.5;
  }
  measure_cases(claim, "gap, start", "delta", f->delta, f->gap_start, HVI_RIR_CASES);
  measure_cases(claim, "gap, end", "delta", f->delta, f->gap_end, HVI_RIR_CASES);
  measure_cases(claim, "noise in it", "delta", f->delta, f->noise, HVI_RIR_CASES);
  measure_cases(claim, "|step|, first", "delta", f->delta, f->step_start, HVI_RIR_CASES);
  measure_cases(claim, "|step|, last", "delta", f->delta, f->step_end, HVI_RIR_CASES);
  hvi_claim_judge(claim, holds);
  hvi_claim_note(claim,
                 "Gaps are taken on a fresh draw, as far as Levenberg-Marquardt finds them. "
                 "Fitting d parameters to its n rows gains about d / n of the loss, and a model "
                 "that was fitted to n other rows is off by as much again.");
}

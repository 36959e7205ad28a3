/* The paragraph "Hidden Matching Pennies" of Section 4.1, sentence by sentence. */
#include "experiments/kinds.h"

#include <math.h>
#include <string.h>

enum { JUDGED_AT = 1000 }; /* outer iteration at which methods are compared */

static const char where[] = "Section 4.1, Hidden Matching Pennies";

static double at_end(const hvi_curves *c, const char *label) {
  return hvi_curve_at(hvi_curves_find(c, label), JUDGED_AT);
}

static void measure_end(hvi_claim *claim, const hvi_curves *c, const char *label) {
  hvi_claim_measure(claim, label, at_end(c, label));
}

static double eta_of(const hvi_curves *c, const char *label) {
  const hvi_curve *curve = hvi_curves_find(c, label);
  return curve ? curve->contender->settings.eta : NAN;
}

static void phgd_is_linear(hvi_claims *claims, const hvi_curves *c) {
  const hvi_curve *phgd = hvi_curves_find(c, "PHGD");
  hvi_claim *claim = hvi_claims_add(claims, "phgd-linear", where,
                                    "PHGD converges linearly in the squared distance to the "
                                    "equilibrium.");
  hvi_fit fit = hvi_curve_fit(phgd, JUDGED_AT / 10, JUDGED_AT);
  measure_end(claim, c, "PHGD");
  hvi_claim_measure(claim, "decades per iteration", fit.slope);
  hvi_claim_measure(claim, "R^2 of the line", fit.r2);
  hvi_claim_judge(claim, fit.slope < 0 && fit.r2 > 0.99 && at_end(c, "PHGD") < 1e-4);
  hvi_claim_note(claim, "Line through log10 of the squared distance, iterations %d to %d.",
                 JUDGED_AT / 10, JUDGED_AT);
}

static void gn5_is_poor(hvi_claims *claims, const hvi_curves *c) {
  hvi_claim *claim = hvi_claims_add(claims, "gn5-poor", where,
                                    "PHGD performs poorly if several inner steps are taken: GN "
                                    "with 5 inner steps.");
  measure_end(claim, c, "GN(5)");
  measure_end(claim, c, "PHGD");
  hvi_claim_judge(claim, at_end(c, "GN(5)") > 1e3 * at_end(c, "PHGD"));
  hvi_claim_note(claim, "A player slides into the flat tail of CELU, where z tends to "
                        "sigmoid(-1) and the squared distance to 0.107.");
}

static void phgd_diverges(hvi_claims *claims, const hvi_curves *c) {
  const hvi_curve *fast = hvi_curves_find(c, "PHGD x10");
  hvi_claim *claim = hvi_claims_add(claims, "phgd-diverges", where,
                                    "If eta is increased by an order of magnitude, PHGD "
                                    "diverges.");
  hvi_claim_measure(claim, "eta", eta_of(c, "PHGD x10"));
  hvi_claim_measure(claim, "at the start", hvi_curve_at(fast, 0));
  hvi_claim_measure(claim, "last", fast ? fast->dist2[fast->rows - 1] : NAN);
  hvi_claim_measure(claim, "iterations", fast ? (double)(fast->rows - 1) : NAN);
  hvi_claim_judge(claim, fast && hvi_curve_diverged(fast));
  hvi_claim_note(claim, "Outputs are bounded, so diverging means ending farther away than at the "
                        "start. The exact step contracts only for eta < 2 mu / L^2 = 0.0906.");
}

static void dgn_converges(hvi_claims *claims, const hvi_curves *c) {
  hvi_claim *claim = hvi_claims_add(claims, "dgn-converges", where,
                                    "With the same larger eta, DGN converges, given several inner "
                                    "steps and a suitable eta_DGN.");
  hvi_claim_measure(claim, "eta", eta_of(c, "DGN"));
  measure_end(claim, c, "DGN");
  hvi_claim_judge(claim, eta_of(c, "DGN") == eta_of(c, "PHGD x10") && at_end(c, "DGN") < 1e-6);
}

static void lm_is_stable(hvi_claims *claims, const hvi_curves *c) {
  hvi_claim *claim = hvi_claims_add(claims, "lm-stable-and-fast", where,
                                    "LM is stable with the larger eta and converges faster than "
                                    "PHGD/GN.");
  hvi_claim_measure(claim, "eta", eta_of(c, "LM"));
  measure_end(claim, c, "LM");
  measure_end(claim, c, "PHGD");
  hvi_claim_judge(claim, eta_of(c, "LM") == eta_of(c, "PHGD x10") &&
                             at_end(c, "LM") < 0.1 * at_end(c, "PHGD"));
}

static void gda_is_slow(hvi_claims *claims, const hvi_curves *c) {
  const hvi_curve *gda = hvi_curves_find(c, "GDA");
  double start = hvi_curve_at(gda, 0), end = at_end(c, "GDA");
  hvi_fit fit = hvi_curve_fit(gda, JUDGED_AT / 2, JUDGED_AT);
  hvi_claim *claim = hvi_claims_add(claims, "gda-slow", where, "GDA converges, albeit slowly.");
  hvi_claim_measure(claim, "at the start", start);
  hvi_claim_measure(claim, "GDA", end);
  hvi_claim_measure(claim, "decades per iteration, second half", fit.slope);
  measure_end(claim, c, "PHGD");
  hvi_claim_judge(claim, fit.slope < 0 && end < start && end > 1e3 * at_end(c, "PHGD"));
}

static void gd10_beats_phgd(hvi_claims *claims, const hvi_curves *c) {
  hvi_claim *claim = hvi_claims_add(claims, "gd10-beats-phgd", where,
                                    "The benefit of several steps is clear: 10 inner steps "
                                    "outperform PHGD (and one step, GDA).");
  measure_end(claim, c, "GD(10)");
  measure_end(claim, c, "PHGD");
  measure_end(claim, c, "GDA");
  hvi_claim_judge(claim, at_end(c, "GD(10)") < 0.1 * at_end(c, "PHGD") &&
                             at_end(c, "GD(10)") < 0.1 * at_end(c, "GDA"));
}

static void only_lm_is_better(hvi_claims *claims, const hvi_curves *c) {
  hvi_claim *claim = hvi_claims_add(claims, "gd10-second-to-lm", where,
                                    "GD with 10 inner steps is surpassed only by LM.");
  double gd10 = at_end(c, "GD(10)");
  bool holds = at_end(c, "LM") < gd10;
  measure_end(claim, c, "GD(10)");
  for (size_t i = 0; i < c->count; i++) {
    const char *label = c->items[i].contender->label;
    if (strcmp(label, "GD(10)") == 0) continue;
    measure_end(claim, c, label);
    if (strcmp(label, "LM") != 0 && !(at_end(c, label) > gd10)) holds = false;
  }
  hvi_claim_judge(claim, holds);
}

static void ratio_is_not_speed(hvi_claims *claims, const hvi_curves *c) {
  const hvi_curve *gd10 = hvi_curves_find(c, "GD(10)"), *gd100 = hvi_curves_find(c, "GD(100)");
  double ratio10 = hvi_curve_ratio(gd10, 1, JUDGED_AT);
  double ratio100 = hvi_curve_ratio(gd100, 1, JUDGED_AT);
  hvi_claim *claim = hvi_claims_add(claims, "gd10-larger-ratio-yet-faster", where,
                                    "GD with 10 inner steps has a larger loss ratio than with 100 "
                                    "but converges faster.");
  hvi_claim_measure(claim, "GD(10) median loss ratio", ratio10);
  hvi_claim_measure(claim, "GD(100) median loss ratio", ratio100);
  measure_end(claim, c, "GD(10)");
  measure_end(claim, c, "GD(100)");
  hvi_claim_judge(claim, ratio10 > ratio100 && at_end(c, "GD(10)") < 0.1 * at_end(c, "GD(100)"));
  hvi_claim_note(claim,
                 "At eta = 0.1 the exact step expands (kappa^2 = 1.0156): an imperfect inner "
                 "solve damps it.");
}

static void several_are_linear(hvi_claims *claims, const hvi_curves *c) {
  static const char *const labels[] = {"PHGD", "LM", "GD(10)", "GD(100)", "DGN"};
  hvi_claim *claim = hvi_claims_add(claims, "several-linear", "Figure 1, caption",
                                    "Linear convergence to the equilibrium is observed for several "
                                    "methods, with LM and GD outperforming the rest.");
  size_t linear = 0;
  double worse = 0, rest = INFINITY;
  for (size_t i = 0; i < c->count; i++) {
    const char *label = c->items[i].contender->label;
    bool favoured = strcmp(label, "LM") == 0 || strcmp(label, "GD(10)") == 0;
    double end = at_end(c, label);
    if (favoured && !(end <= worse)) worse = end;
    if (!favoured && end < rest) rest = end;
  }
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    hvi_fit fit = hvi_curve_fit(hvi_curves_find(c, labels[i]), JUDGED_AT / 10, JUDGED_AT);
    hvi_claim_measure(claim, labels[i], fit.r2);
    linear += fit.slope < 0 && fit.r2 > 0.99;
  }
  hvi_claim_measure(claim, "worse of LM and GD(10)", worse);
  hvi_claim_measure(claim, "best of the rest", rest);
  hvi_claim_judge(claim, linear >= 3 && worse < rest);
  hvi_claim_note(claim, "The methods' figures are R^2 of a line through log10 of the squared "
                        "distance.");
}

void hvi_claims_pennies(hvi_claims *claims, const hvi_curves *c) {
  several_are_linear(claims, c);
  phgd_is_linear(claims, c);
  gn5_is_poor(claims, c);
  phgd_diverges(claims, c);
  dgn_converges(claims, c);
  lm_is_stable(claims, c);
  gda_is_slow(claims, c);
  gd10_beats_phgd(claims, c);
  only_lm_is_better(claims, c);
  ratio_is_not_speed(claims, c);
}

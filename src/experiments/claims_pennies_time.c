/* What the appendix' timing figure is cited for: the price of inner steps beside that of F. */
#include "experiments/kinds.h"

#include <math.h>

static const char where[] = "Section 4.1 and the appendix' timing figure";

static double nanoseconds(const hvi_timings *t, const char *label) {
  const hvi_timing *item = hvi_timings_find(t, label);
  return item ? 1e9 * item->seconds / (double)t->iterations : NAN;
}

static void more_steps_cost_more(hvi_claims *claims, const hvi_timings *t) {
  static const char *const labels[] = {"GDA",   "GD(10)", "GD(100)", "PHGD",
                                       "GN(5)", "LM(1)",  "LM(5)"};
  hvi_claim *claim = hvi_claims_add(claims, "inner-steps-cost", where,
                                    "More inner steps increase the computational cost.");
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    const hvi_timing *item = hvi_timings_find(t, labels[i]);
    hvi_claim_measure(claim, labels[i], item ? 1e3 * item->seconds : NAN);
  }
  hvi_claim_judge(claim, nanoseconds(t, "GDA") < nanoseconds(t, "GD(10)") &&
                             nanoseconds(t, "GD(10)") < nanoseconds(t, "GD(100)") &&
                             nanoseconds(t, "PHGD") < nanoseconds(t, "GN(5)") &&
                             nanoseconds(t, "LM(1)") < nanoseconds(t, "LM(5)"));
  hvi_claim_note(claim, "Milliseconds for %zu outer iterations, one thread.", t->iterations);
}

/* Marginal: the nine further steps of GD(10) take at most a tenth of what F takes. */
static void cost_is_marginal(hvi_claims *claims, const hvi_timings *t) {
  double step = (nanoseconds(t, "GD(100)") - nanoseconds(t, "GD(10)")) / 90;
  double further = nanoseconds(t, "GD(10)") - nanoseconds(t, "GDA");
  double f = 1e9 * t->f_seconds;
  hvi_claim *claim = hvi_claims_add(claims, "inner-steps-marginal", where,
                                    "The extra cost of inner steps is marginal compared with "
                                    "evaluating F.");
  hvi_claim_measure(claim, "one F, ns", f);
  hvi_claim_measure(claim, "one further inner step of GD, ns", step);
  hvi_claim_measure(claim, "nine further steps of GD(10), ns", further);
  hvi_claim_measure(claim, "further steps / F", further / f);
  hvi_claim_measure(claim, "F at which they are a tenth of it, ns", 10 * further);
  hvi_claim_judge(claim, further <= 0.1 * f);
  hvi_claim_note(
      claim,
      "In this game F is two multiplications and the model two exponentials, so in "
      "compiled code the inner steps dominate. The claim is about problems whose F needs "
      "data or a simulator: from %.2g microseconds per F on, it is true of GD(10).",
      10 * further * 1e-3);
}

void hvi_claims_pennies_time(hvi_claims *claims, const hvi_timings *t) {
  more_steps_cost_more(claims, t);
  cost_is_marginal(claims, t);
}

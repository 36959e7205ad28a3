/*
 * The appendix, offline: full-batch methods on a fixed data set, by gradient computations and by
 * seconds. Every method computes as many gradients; equal seconds are those of the first to end.
 */
#include "experiments/claims_value.h"

#include <math.h>
#include <stdio.h>

static const char *const needed[] = {"TD(0)", "Surr 10", "Surr 50", NULL};
static const char where[] = "Appendix, offline policy evaluation";

static const char *word(hvi_study_measure m) { return m == HVI_OF_GAP ? "Bellman gap" : "error"; }

static void falls(hvi_claims *claims, const hvi_study_results *r, size_t place) {
  hvi_claim *c = hvi_study_claim(claims, r, place, "gap-falls", where,
                                 "The Bellman gap falls with the number of inner steps.", needed);
  if (!c) return;
  hvi_judgement all = HVI_HOLDS;
  size_t before = hvi_study_who(r, "TD(0)");
  for (size_t k = 0; k < 3; k++) {
    char name[64];
    const size_t who = hvi_study_who(r, needed[k]);
    snprintf(name, sizeof name, "%s: gap at the end", needed[k]);
    hvi_study_add_mean(c, name,
                       hvi_study_mean_at(r, place, who, HVI_BY_OUTER, HVI_OF_GAP, INFINITY));
    if (k == 0) continue;
    const hvi_study_ratio q = hvi_study_compare_ends(r, place, who, before, HVI_OF_GAP);
    snprintf(name, sizeof name, "%s over %s", needed[k], needed[k - 1]);
    hvi_study_add_ratio(c, name, q);
    all = hvi_study_both(all, hvi_study_below(q));
    before = who;
  }
  hvi_claim_decide(c, all);
  hvi_claim_note(c, "After the same number of gradient computations, seed by seed.");
}

static void per_gradient(hvi_claims *claims, const hvi_study_results *r, size_t place,
                         hvi_study_measure m) {
  char id[48], text[160];
  snprintf(id, sizeof id, "%s-per-gradient", m == HVI_OF_GAP ? "gap" : "error");
  snprintf(text, sizeof text, "10 inner steps have a lower %s than TD(0) per gradient computation.",
           word(m));
  hvi_claim *c = hvi_study_claim(claims, r, place, id, where, text, needed);
  if (!c) return;
  const size_t td = hvi_study_who(r, "TD(0)"), ten = hvi_study_who(r, "Surr 10");
  const double most = fmin(hvi_study_end(r, place, td, HVI_BY_GRADIENTS),
                           hvi_study_end(r, place, ten, HVI_BY_GRADIENTS));
  const hvi_study_ratio q = hvi_study_compare(r, place, ten, most, td, most, HVI_BY_GRADIENTS, m);
  hvi_claim_measure(c, "gradient computations", most);
  hvi_study_add_mean(c, "TD(0)", hvi_study_mean_at(r, place, td, HVI_BY_GRADIENTS, m, most));
  hvi_study_add_mean(c, "10", hvi_study_mean_at(r, place, ten, HVI_BY_GRADIENTS, m, most));
  hvi_study_add_ratio(c, "10 over TD(0)", q);
  hvi_claim_decide(c, hvi_study_below(q));
}

static void per_second(hvi_claims *claims, const hvi_study_results *r, size_t place,
                       hvi_study_measure m) {
  char id[48], text[160];
  snprintf(id, sizeof id, "%s-per-second", m == HVI_OF_GAP ? "gap" : "error");
  snprintf(text, sizeof text, "10 and 50 inner steps have a lower %s than TD(0) per second.",
           word(m));
  hvi_claim *c = hvi_study_claim(claims, r, place, id, where, text, needed);
  if (!c) return;
  double seconds = INFINITY;
  for (size_t k = 0; k < 3; k++)
    seconds = fmin(seconds, hvi_study_end(r, place, hvi_study_who(r, needed[k]), HVI_BY_SECONDS));
  const size_t td = hvi_study_who(r, "TD(0)");
  hvi_judgement all = HVI_HOLDS;
  hvi_claim_measure(c, "seconds", seconds);
  hvi_study_add_mean(c, "TD(0)", hvi_study_mean_at(r, place, td, HVI_BY_SECONDS, m, seconds));
  for (size_t k = 1; k < 3; k++) {
    char name[64];
    const size_t who = hvi_study_who(r, needed[k]);
    const hvi_study_ratio q =
        hvi_study_compare(r, place, who, seconds, td, seconds, HVI_BY_SECONDS, m);
    hvi_study_add_mean(c, needed[k], hvi_study_mean_at(r, place, who, HVI_BY_SECONDS, m, seconds));
    snprintf(name, sizeof name, "%s over TD(0)", needed[k]);
    hvi_study_add_ratio(c, name, q);
    all = hvi_study_both(all, hvi_study_below(q));
  }
  hvi_claim_decide(c, all);
  hvi_claim_note(c, "After the seconds that the fastest of the runs took.");
}

void hvi_claims_value_offline(hvi_claims *claims, const hvi_study_results *r, size_t place,
                              hvi_study_measure m) {
  if (m == HVI_OF_GAP) falls(claims, r, place);
  per_gradient(claims, r, place, m);
  per_second(claims, r, place, m);
}

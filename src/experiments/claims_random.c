/*
 * The averages over random games of the appendix. The paper shows these figures without a
 * sentence about them, and the figures are not available: what its text says of the fixed games is
 * judged here on the ensembles, by mean and by median, which differ greatly.
 */
#include "experiments/kinds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const hvi_summary *find(const hvi_summary *items, size_t count, const char *label) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(items[i].contender->label, label) == 0) return &items[i];
  return NULL;
}

/* `better` ends nearer than `worse` in mean and in median. */
static void compare(hvi_claims *claims, const hvi_summary *items, size_t count, const char *id,
                    const char *where, const char *text, const char *better, const char *worse) {
  hvi_claim *claim = hvi_claims_add(claims, id, where, text);
  const hvi_summary *pair[] = {find(items, count, better), find(items, count, worse)};
  if (!pair[0] || !pair[1]) return;
  for (size_t i = 0; i < 2; i++) {
    size_t last = pair[i]->rows - 1;
    const struct {
      const char *name;
      double value;
    } figures[] = {{"mean", pair[i]->mean[last]},
                   {"median", pair[i]->median[last]},
                   {"share below 1e-6", pair[i]->solved[last]}};
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
      char name[64];
      snprintf(name, sizeof name, "%s %s", pair[i]->contender->label, figures[k].name);
      hvi_claim_measure(claim, name, figures[k].value);
    }
  }
  size_t a = pair[0]->rows - 1, b = pair[1]->rows - 1;
  bool mean = pair[0]->mean[a] < pair[1]->mean[b];
  bool median = pair[0]->median[a] < pair[1]->median[b];
  /* below rounding a median says nothing, and the mean decides alone */
  bool rounded = pair[0]->median[a] < HVI_ROUNDING && pair[1]->median[b] < HVI_ROUNDING;
  hvi_claim_judge(claim, mean && (median || rounded));
  hvi_claim_note(claim,
                 "Stated of the fixed game; on random ones, after %zu iterations, %s of the "
                 "mean and %s of the median.",
                 pair[0]->outer[a], mean ? "true" : "not true",
                 rounded  ? "undecided (rounding)"
                 : median ? "true"
                          : "not true");
}

void hvi_claims_pennies_random(hvi_claims *claims, const hvi_summary *items, size_t count) {
  static const char where[] = "Section 4.1 on the appendix' random pennies";
  compare(claims, items, count, "gd10-beats-gda", where,
          "On average too, 10 inner steps of GD beat one (GDA).", "GD(10)", "GDA");
  compare(claims, items, count, "gd10-beats-phgd", where, "On average too, GD(10) beats PHGD.",
          "GD(10)", "PHGD");
  compare(claims, items, count, "lm-beats-phgd", where, "On average too, LM beats PHGD.", "LM",
          "PHGD");
  compare(claims, items, count, "phgd-beats-gn5", where, "On average too, PHGD beats GN(5).",
          "PHGD", "GN(5)");
  compare(claims, items, count, "gd10-beats-gd100", where, "On average too, GD(10) beats GD(100).",
          "GD(10)", "GD(100)");
}

void hvi_claims_rps_random(hvi_claims *claims, const hvi_summary *items, size_t count) {
  static const char where[] = "Section 4.1 on the appendix' random rock-paper-scissors";
  compare(claims, items, count, "gd10-beats-gda", where, "On average too, GD(10) beats GDA.",
          "GD(10)", "GDA");
  compare(claims, items, count, "phgd-beats-gda", where, "On average too, PHGD beats GDA.", "PHGD",
          "GDA");
  compare(claims, items, count, "lm1-beats-gda", where, "On average too, LM(1) beats GDA.", "LM(1)",
          "GDA");
  compare(claims, items, count, "gd10-beats-gd100", where, "On average too, GD(10) beats GD(100).",
          "GD(10)", "GD(100)");
  compare(claims, items, count, "lm1-beats-lm5", where, "On average too, LM(1) beats LM(5).",
          "LM(1)", "LM(5)");
}

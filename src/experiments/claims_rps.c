/* The paragraph "Hidden rock-paper-scissors" of Section 4.1 on the fixed game. */
#include "base/memory.h"
#include "experiments/kinds.h"
#include "experiments/rps_judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char where[] = "Section 4.1, Hidden rock-paper-scissors";

/* Every tenth row of each curve, as the scan sees it; the columns lie in store. */
static bool thin_out(hvi_rps_game *game, double **store, const hvi_curves *curves, size_t last) {
  game->rows = last / HVI_RPS_EVERY + 1;
  *store = hvi_alloc_doubles(HVI_RPS_METHODS * game->rows);
  if (!*store) return false;
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) {
    double *y = *store + k * game->rows;
    const hvi_curve *c = hvi_curves_find(curves, hvi_rps_methods[k]);
    for (size_t i = 0; i < game->rows; i++) y[i] = hvi_curve_at(c, i * HVI_RPS_EVERY);
    game->dist2[k] = y;
  }
  return true;
}

/* Which methods' figures stand beside which claim; the rest are noise there. */
static bool concerns(size_t claim, size_t method) {
  static const char *const methods[HVI_RPS_CLAIMS] = {
      "PHGD", "LM(1)", "PHGD LM(1) GDA", "GDA", "GD(10) GDA", "GD(10) GD(100)", "LM(1) LM(5)"};
  const char *found = methods[claim], *name = hvi_rps_methods[method];
  size_t length = strlen(name);
  while ((found = strstr(found, name)))
    if (found[length] == '\0' || found[length] == ' ')
      return true;
    else
      found += length;
  return false;
}

static void add_measures(hvi_claim *claim, size_t index, const hvi_rps_measures *m) {
  bool line = index < 2, rises = index == 3 || index == 4;
  char name[64];
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) {
    if (!concerns(index, k)) continue;
    hvi_claim_measure(claim, hvi_rps_methods[k], m->end[k]);
    if (line) hvi_claim_measure(claim, "decades per iteration", m->slope[k]);
    if (line) hvi_claim_measure(claim, "R^2 of the line", m->r2[k]);
    snprintf(name, sizeof name, "%s largest rise", hvi_rps_methods[k]);
    if (rises) hvi_claim_measure(claim, name, m->rise[k]);
  }
}

static void best_has_not_lowest_ratio(hvi_claims *claims, const hvi_curves *curves, size_t last) {
  size_t best = 0, lowest = 0;
  hvi_claim *claim = hvi_claims_add(claims, "best-is-not-lowest-ratio", where,
                                    "The best performance need not belong to the method with the "
                                    "lowest loss ratio.");
  for (size_t i = 0; i < curves->count; i++) {
    const hvi_curve *c = &curves->items[i];
    double ratio = hvi_curve_ratio(c, 1, last);
    char name[64];
    snprintf(name, sizeof name, "%s median loss ratio", c->contender->label);
    hvi_claim_measure(claim, name, ratio);
    if (ratio < hvi_curve_ratio(&curves->items[lowest], 1, last)) lowest = i;
    if (hvi_curve_at(c, last) < hvi_curve_at(&curves->items[best], last)) best = i;
  }
  hvi_claim_judge(claim, best != lowest);
  hvi_claim_note(claim, "Nearest at the end: %s. Lowest loss ratio: %s.",
                 curves->items[best].contender->label, curves->items[lowest].contender->label);
}

void hvi_claims_rps(hvi_claims *claims, const hvi_curves *curves) {
  hvi_rps_game game;
  double *store = NULL;
  size_t last = 1000;
  if (!thin_out(&game, &store, curves, last)) {
    claims->failed = true;
    return;
  }
  hvi_rps_measures m = hvi_rps_measure(&game);
  bool holds[HVI_RPS_CLAIMS];
  hvi_rps_judge(holds, &m, 1);
  for (size_t i = 0; i < HVI_RPS_CLAIMS; i++) {
    hvi_claim *claim = hvi_claims_add(claims, hvi_rps_claims[i].id, where, hvi_rps_claims[i].text);
    add_measures(claim, i, &m);
    hvi_claim_judge(claim, holds[i]);
    hvi_claim_note(claim, "The game, problems/rps.yaml, was chosen so that these claims hold; "
                          "the scan below reports how often they do.");
  }
  best_has_not_lowest_ratio(claims, curves, last);
  hvi_free(store);
}

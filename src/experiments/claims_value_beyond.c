/* Beyond the paper: steps of second order, the threshold, a faster outer loop, other learners. */
#include "experiments/claims_value.h"

#include <math.h>
#include <stdio.h>

static const char where[] = "Beyond the paper";

/* a against b at one point of an axis: both errors, and their ratio. */
static hvi_judgement versus(hvi_claim *c, const hvi_study_results *r, size_t place, const char *a,
                            const char *b, hvi_study_axis axis, double x) {
  char name[64];
  const size_t one = hvi_study_who(r, a), two = hvi_study_who(r, b);
  const hvi_study_ratio q = hvi_study_compare(r, place, one, x, two, x, axis, HVI_OF_ERROR);
  hvi_study_add_mean(c, a, hvi_study_mean_at(r, place, one, axis, HVI_OF_ERROR, x));
  hvi_study_add_mean(c, b, hvi_study_mean_at(r, place, two, axis, HVI_OF_ERROR, x));
  snprintf(name, sizeof name, "%s over %s", a, b);
  hvi_study_add_ratio(c, name, q);
  return hvi_study_below(q);
}

void hvi_claims_value_second_order(hvi_claims *claims, const hvi_study_results *r, size_t place) {
  static const char *const needed[] = {"AdamW 50", "LM 5", NULL};
  hvi_claim *c = hvi_study_claim(
      claims, r, place, "lm-per-data", where,
      "At equal data five Levenberg-Marquardt steps have a lower error than 50 of AdamW.", needed);
  if (c) {
    hvi_claim_decide(c, versus(c, r, place, "LM 5", "AdamW 50", HVI_BY_OUTER, INFINITY));
    hvi_claim_note(c, "At the last iteration, seed by seed.");
  }
  c = hvi_study_claim(claims, r, place, "lm-per-second", where,
                      "At equal time five Levenberg-Marquardt steps have a lower error than 50 of "
                      "AdamW.",
                      needed);
  if (!c) return;
  double seconds = INFINITY;
  for (size_t k = 0; k < 2; k++)
    seconds = fmin(seconds, hvi_study_end(r, place, hvi_study_who(r, needed[k]), HVI_BY_SECONDS));
  hvi_claim_measure(c, "seconds", seconds);
  hvi_claim_decide(c, versus(c, r, place, "LM 5", "AdamW 50", HVI_BY_SECONDS, seconds));
  hvi_claim_note(c, "When the faster of the two has ended.");
}

/* Share of the measured steps whose ratio is at most the threshold, over all seeds. */
static double reached(const hvi_study_results *r, size_t place, size_t contender) {
  const double alpha = r->experiment->contenders[contender].settings.alpha;
  double good = 0.0, all = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    for (size_t i = 0; i < c->count; i++) {
      if (isnan(c->rows[i].ratio)) continue;
      all += 1.0;
      good += c->rows[i].ratio <= alpha * alpha ? 1.0 : 0.0;
    }
  }
  return good / all;
}

void hvi_claims_value_alpha(hvi_claims *claims, const hvi_study_results *r, size_t place) {
  static const char *const none[] = {NULL};
  hvi_claim *c =
      hvi_study_claim(claims, r, place, "threshold-matters-little", where,
                      "From the best threshold to the worst the final error grows by less than a "
                      "factor of two.",
                      none);
  if (!c) return;
  size_t best = r->contenders, worst = r->contenders;
  double low = INFINITY, high = -INFINITY;
  for (size_t m = 0; m < r->contenders; m++) {
    char name[64];
    if (!(r->experiment->contenders[m].settings.alpha > 0.0)) continue;
    const double y = hvi_study_mean_at(r, place, m, HVI_BY_OUTER, HVI_OF_ERROR, INFINITY).value;
    snprintf(name, sizeof name, "%s: error", r->experiment->contenders[m].label);
    hvi_claim_measure(c, name, y);
    snprintf(name, sizeof name, "%s: reached, share", r->experiment->contenders[m].label);
    hvi_claim_measure(c, name, reached(r, place, m));
    if (best == r->contenders || y < low) best = m, low = y;
    if (worst == r->contenders || y > high) worst = m, high = y;
  }
  if (best == r->contenders) return;
  const hvi_study_ratio q = hvi_study_compare_ends(r, place, worst, best, HVI_OF_ERROR);
  hvi_study_add_ratio(c, "worst over best", q);
  const bool fails = q.low > 2.0 || isinf(q.ratio);
  hvi_claim_decide(c, q.high < 2.0 ? HVI_HOLDS : fails ? HVI_HOLDS_NOT : HVI_NOT_DECIDED);
  hvi_claim_note(c,
                 "%s against %s, chosen on the seeds that they are judged by. Reached: the loss "
                 "ratio came to the "
                 "threshold before the cap.",
                 r->experiment->contenders[worst].label, r->experiment->contenders[best].label);
}

/* A loop against the plain one: lower at a tenth of the way, no higher at the end. */
typedef struct faster_loop {
  const char *label, *early, *late; /* and the claims' names */
  const char *how;
} faster_loop;

static void judge_faster(hvi_claims *claims, const hvi_study_results *r, size_t place,
                         const faster_loop *loop) {
  const char *const needed[] = {"50", loop->label, NULL};
  char text[200];
  snprintf(text, sizeof text, "%s, the error is lower at a tenth of the outer iterations.",
           loop->how);
  hvi_claim *c = hvi_study_claim(claims, r, place, loop->early, where, text, needed);
  if (c) {
    const double tenth = floor(0.1 * hvi_study_end(r, place, hvi_study_who(r, "50"), HVI_BY_OUTER));
    hvi_claim_measure(c, "outer iteration", tenth);
    hvi_claim_decide(c, versus(c, r, place, loop->label, "50", HVI_BY_OUTER, tenth));
  }
  snprintf(text, sizeof text, "%s, the error is no higher at the end.", loop->how);
  c = hvi_study_claim(claims, r, place, loop->late, where, text, needed);
  if (!c) return;
  versus(c, r, place, loop->label, "50", HVI_BY_OUTER, INFINITY);
  const double steps = hvi_study_end(r, place, hvi_study_who(r, "50"), HVI_BY_OUTER);
  hvi_claim_measure(c, "share of the level's error that value iteration has left",
                    pow(r->experiment->study->value.gamma, 2.0 * steps));
  hvi_claim_decide(
      c, hvi_study_not_above(hvi_study_compare_ends(r, place, hvi_study_who(r, loop->label),
                                                    hvi_study_who(r, "50"), HVI_OF_ERROR)));
  hvi_claim_note(c, "No higher: the upper end of the ratio is below 1.05. While the plain loop has "
                    "much of its level to go, this says little.");
}

void hvi_claims_value_accelerated(hvi_claims *claims, const hvi_study_results *r, size_t place) {
  static const faster_loop loops[] = {
      {"50 mode", "mode-early", "mode-late", "With the slow mode corrected"},
      {"50, λ = 0.98", "lambda-early", "lambda-late", "With targets that look further ahead"},
      {"50 mode, λ = 0.98", "mode-lambda-early", "mode-lambda-late", "With both"}};
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    judge_faster(claims, r, place, &loops[i]);
  }
}

/* Ends of `who` and `other`, and the worse end of their ratio. */
static hvi_judgement beats(hvi_claim *c, const hvi_study_results *r, size_t place, size_t who,
                           size_t other) {
  const hvi_study_ratio q = hvi_study_compare_ends(r, place, who, other, HVI_OF_ERROR);
  const char *label = r->experiment->contenders[other].label;
  char name[64];
  hvi_claim_measure(c, label,
                    hvi_study_mean_at(r, place, other, HVI_BY_OUTER, HVI_OF_ERROR, INFINITY).value);
  snprintf(name, sizeof name, "ratio to %s, upper end", label);
  hvi_claim_measure(c, name, q.high);
  return hvi_study_below(q);
}

void hvi_claims_value_baselines(hvi_claims *claims, const hvi_study_results *r, size_t place) {
  static const char *const needed[] = {"Surr 10", "returns", NULL};
  hvi_claim *c =
      hvi_study_claim(claims, r, place, "below-baselines", where,
                      "Ten inner steps end below every learner by temporal differences.", needed);
  if (c) {
    const size_t ours = hvi_study_who(r, "Surr 10");
    hvi_judgement all = HVI_HOLDS;
    hvi_study_add_mean(c, "Surr 10",
                       hvi_study_mean_at(r, place, ours, HVI_BY_OUTER, HVI_OF_ERROR, INFINITY));
    for (size_t m = 0; m < r->contenders; m++)
      if (!r->experiment->contenders[m].value.returns && !hvi_study_is_surrogate(r, m))
        all = hvi_study_both(all, beats(c, r, place, ours, m));
    hvi_claim_decide(c, all);
    hvi_claim_note(c, "At the last iteration, seed by seed.");
  }
  c = hvi_study_claim(claims, r, place, "returns-floor", where,
                      "Regression on Monte-Carlo returns ends below ten inner steps on Bellman "
                      "targets: the network can do better than bootstrapping makes it do.",
                      needed);
  if (!c) return;
  hvi_claim_decide(c, versus(c, r, place, "returns", "Surr 10", HVI_BY_OUTER, INFINITY));
  hvi_claim_measure(c, "Monte-Carlo noise", r->noise[place]);
  hvi_claim_note(c, "At the last iteration, seed by seed. Returns are those of the same rows.");
}

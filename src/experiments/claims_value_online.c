/*
 * Section 4.2.2, online: more inner steps are better at equal outer iterations, the lowest error is
 * a surrogate method's, and the lead stays on the clock; with two layers and with sixteen.
 */
#include "experiments/claims_value.h"

#include <math.h>
#include <stdio.h>

static const char *const three[] = {"TD(0)", "Surr 10", "Surr 50", NULL};

/* Share of the measured iterations at which the means stand in order 50 <= 10 < 1. */
static double in_order(const hvi_study_results *r, size_t place, const size_t who[3]) {
  const hvi_study_curve *c = hvi_study_at(r, place, who[0], 0);
  double ordered = 0.0, all = 0.0;
  for (size_t i = 1; i < c->count; i++) {
    double y[3];
    for (size_t k = 0; k < 3; k++)
      y[k] =
          hvi_study_mean_at(r, place, who[k], HVI_BY_OUTER, HVI_OF_ERROR, (double)c->rows[i].outer)
              .value;
    all += 1.0;
    ordered += y[2] <= y[1] && y[1] < y[0] ? 1.0 : 0.0;
  }
  return ordered / all;
}

static void more_inner_steps(hvi_claims *claims, const hvi_study_results *r, size_t place,
                             bool deep) {
  hvi_claim *c = hvi_study_claim(
      claims, r, place, deep ? "deep-more-steps" : "more-steps",
      "Section 4.2.2, Figure (non-linear)",
      deep ? "With 16 hidden layers as with two: at equal outer iterations 50 inner steps are no "
             "worse than 10, and 10 better than TD(0)."
           : "At equal outer iterations 50 inner steps are no worse than 10, and 10 better than "
             "TD(0).",
      three);
  if (!c) return;
  size_t who[3];
  for (size_t k = 0; k < 3; k++) {
    char name[64];
    who[k] = hvi_study_who(r, three[k]);
    snprintf(name, sizeof name, "%s: error at the end", three[k]);
    hvi_study_add_mean(c, name,
                       hvi_study_mean_at(r, place, who[k], HVI_BY_OUTER, HVI_OF_ERROR, INFINITY));
  }
  const hvi_study_ratio ten = hvi_study_compare_ends(r, place, who[1], who[0], HVI_OF_ERROR);
  const hvi_study_ratio fifty = hvi_study_compare_ends(r, place, who[2], who[1], HVI_OF_ERROR);
  hvi_study_add_ratio(c, "10 over TD(0)", ten);
  hvi_study_add_ratio(c, "50 over 10", fifty);
  hvi_claim_measure(c, "share of iterations in order", in_order(r, place, who));
  hvi_claim_decide(c, hvi_study_both(hvi_study_below(ten), hvi_study_not_above(fifty)));
  hvi_claim_note(c,
                 "Judged at the last iteration by ratios on the same seed, %zu of them, with 95 %% "
                 "intervals; no worse: the upper end is below 1.05.",
                 ten.seeds);
}

/* The contender, surrogate or not, whose mean error is least at any time. */
static size_t best_of(const hvi_study_results *r, size_t place, bool surrogate,
                      hvi_study_least *least) {
  size_t best = r->contenders;
  *least = (hvi_study_least){NAN, INFINITY};
  for (size_t m = 0; m < r->contenders; m++) {
    if (hvi_study_is_surrogate(r, m) != surrogate || r->experiment->contenders[m].value.returns)
      continue;
    const hvi_study_least l = hvi_study_least_of(r, place, m, HVI_OF_ERROR);
    if (best < r->contenders && !(l.value < least->value)) continue;
    best = m;
    *least = l;
  }
  return best;
}

static void lowest_error(hvi_claims *claims, const hvi_study_results *r, size_t place, bool deep) {
  hvi_claim *c = hvi_study_claim(
      claims, r, place, deep ? "deep-lowest" : "lowest", "Section 4.2.2, Figure (non-linear)",
      deep ? "With 16 hidden layers as with two: the lowest error belongs to a surrogate method."
           : "The lowest error belongs to a surrogate method.",
      three);
  if (!c) return;
  hvi_study_least ours, theirs;
  const size_t a = best_of(r, place, true, &ours), b = best_of(r, place, false, &theirs);
  const hvi_study_ratio q =
      hvi_study_compare(r, place, a, ours.x, b, theirs.x, HVI_BY_OUTER, HVI_OF_ERROR);
  hvi_claim_measure(c, "lowest of the surrogate methods", ours.value);
  hvi_claim_measure(c, "at outer iteration", ours.x);
  hvi_claim_measure(c, "lowest of the others", theirs.value);
  hvi_claim_measure(c, "their outer iteration", theirs.x);
  hvi_claim_measure(c, "Monte-Carlo noise", r->noise[place]);
  hvi_study_add_ratio(c, "ratio", q);
  hvi_claim_decide(c, hvi_study_below(q));
  hvi_claim_note(c,
                 "%s against %s, each where its mean over the seeds is least: chosen on the seeds "
                 "that they are judged by, among more surrogate methods than others.",
                 r->experiment->contenders[a].label, r->experiment->contenders[b].label);
}

/* The method, surrogate or not, of least mean error after that many seconds. */
static size_t best_at(const hvi_study_results *r, size_t place, bool surrogate, double seconds) {
  size_t best = r->contenders;
  double least = INFINITY;
  for (size_t m = 0; m < r->contenders; m++) {
    if (hvi_study_is_surrogate(r, m) != surrogate || r->experiment->contenders[m].value.returns)
      continue;
    const double y = hvi_study_mean_at(r, place, m, HVI_BY_SECONDS, HVI_OF_ERROR, seconds).value;
    if (best < r->contenders && !(y < least)) continue;
    best = m;
    least = y;
  }
  return best;
}

/* Of a contender's seconds, as a mean over the seeds. */
static double collection_share(const hvi_study_results *r, size_t place, size_t contender) {
  double sum = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    const hvi_evaluation_row *last = &c->rows[c->count - 1];
    sum += last->seconds_collect / last->seconds;
  }
  return sum / (double)r->seeds;
}

static void on_the_clock(hvi_claims *claims, const hvi_study_results *r, size_t place) {
  hvi_claim *c = hvi_study_claim(claims, r, place, "clock", "Section 4.2.2, Figure (non-linear)",
                                 "Surrogate methods win on wall-clock time too, where collecting "
                                 "data is the bottleneck.",
                                 three);
  if (!c) return;
  const size_t td = hvi_study_who(r, "TD(0)");
  const double seconds = hvi_study_end(r, place, td, HVI_BY_SECONDS);
  const size_t best = best_at(r, place, true, seconds), other = best_at(r, place, false, seconds);
  const hvi_study_ratio q =
      hvi_study_compare(r, place, best, seconds, other, seconds, HVI_BY_SECONDS, HVI_OF_ERROR);
  hvi_claim_measure(c, "seconds of TD(0), its fastest run", seconds);
  hvi_claim_measure(c, "share of collection", collection_share(r, place, td));
  hvi_study_add_mean(c, "the others: error then",
                     hvi_study_mean_at(r, place, other, HVI_BY_SECONDS, HVI_OF_ERROR, seconds));
  hvi_study_add_mean(c, "surrogate: error then",
                     hvi_study_mean_at(r, place, best, HVI_BY_SECONDS, HVI_OF_ERROR, seconds));
  hvi_study_add_ratio(c, "ratio", q);
  hvi_claim_decide(c, hvi_study_below(q));
  hvi_claim_note(
      c,
      "%s against %s, the best of each kind when the first run of TD(0) has used all its data; "
      "each "
      "method "
      "is charged for the batches it has used. The best are chosen on the seeds that they are "
      "judged by, among more surrogate methods than others. Seconds are processor time of one "
      "core.",
      r->experiment->contenders[best].label, r->experiment->contenders[other].label);
}

void hvi_claims_value_online(hvi_claims *claims, const hvi_study_results *r, size_t place,
                             bool deep) {
  more_inner_steps(claims, r, place, deep);
  lowest_error(claims, r, place, deep);
  if (!deep) on_the_clock(claims, r, place);
}

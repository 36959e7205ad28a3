/*
 * Claims about policy evaluation, judged seed by seed: methods of one seed share stream and start,
 * so the ratio of their errors is what has an interval. A claim holds when the interval says so,
 * does not hold when it says the contrary, and is not decided otherwise.
 */
#include "experiments/claims_value.h"

#include "experiments/value_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double margin = 1.05;

size_t hvi_study_who(const hvi_study_results *r, const char *label) {
  size_t i = 0;
  while (i < r->contenders && strcmp(r->experiment->contenders[i].label, label) != 0) i++;
  return i;
}

hvi_claim *hvi_study_claim(hvi_claims *claims, const hvi_study_results *r, size_t place,
                           const char *name, const char *where, const char *text,
                           const char *const *needs) {
  char id[64], slug[32], whole[384];
  hvi_study_slug(slug, sizeof slug, r->names[place]);
  snprintf(id, sizeof id, "%s-%s", name, slug);
  snprintf(whole, sizeof whole, "%s (%s)", text, r->names[place]);
  hvi_claim *c = hvi_claims_add(claims, id, where, whole);
  if (r->missing[place]) {
    hvi_claim_note(c, "Not run: %s.", r->missing[place]);
    return NULL;
  }
  for (; *needs; needs++) {
    if (hvi_study_who(r, *needs) < r->contenders) continue;
    hvi_claim_note(c, "There is no method '%s'.", *needs);
    return NULL;
  }
  return c;
}

bool hvi_study_is_surrogate(const hvi_study_results *r, size_t contender) {
  const hvi_contender *c = &r->experiment->contenders[contender];
  const hvi_settings *s = &c->settings;
  return !c->value.returns && !s->baseline && (s->inner_steps > 1 || s->alpha > 0.0);
}

void hvi_study_add_ratio(hvi_claim *c, const char *name, hvi_study_ratio q) {
  char end[64];
  hvi_claim_measure(c, name, q.ratio);
  snprintf(end, sizeof end, "%s, lower end", name);
  hvi_claim_measure(c, end, q.low);
  snprintf(end, sizeof end, "%s, upper end", name);
  hvi_claim_measure(c, end, q.high);
}

void hvi_study_add_mean(hvi_claim *c, const char *name, hvi_study_mean m) {
  char half[64];
  hvi_claim_measure(c, name, m.value);
  snprintf(half, sizeof half, "%s, half width", name);
  hvi_claim_measure(c, half, m.half);
}

hvi_judgement hvi_study_below(hvi_study_ratio q) {
  return q.less > 0 ? HVI_HOLDS : q.less < 0 ? HVI_HOLDS_NOT : HVI_NOT_DECIDED;
}

hvi_judgement hvi_study_not_above(hvi_study_ratio q) {
  if (q.high < margin || q.less > 0) return HVI_HOLDS;
  return q.low > margin || q.ratio == INFINITY ? HVI_HOLDS_NOT : HVI_NOT_DECIDED;
}

hvi_judgement hvi_study_both(hvi_judgement a, hvi_judgement b) {
  if (a == HVI_HOLDS_NOT || b == HVI_HOLDS_NOT) return HVI_HOLDS_NOT;
  return a == HVI_HOLDS && b == HVI_HOLDS ? HVI_HOLDS : HVI_NOT_DECIDED;
}

void hvi_claims_study(hvi_claims *claims, const hvi_study_results *r) {
  const char *id = r->experiment->id;
  for (size_t p = 0; p < r->places; p++) {
    if (strcmp(id, "half-cheetah") == 0 || strcmp(id, "ant") == 0)
      hvi_claims_value_online(claims, r, p, false);
    if (strcmp(id, "ant-deep") == 0) hvi_claims_value_online(claims, r, p, true);
    if (strcmp(id, "offline-gap") == 0) hvi_claims_value_offline(claims, r, p, HVI_OF_GAP);
    if (strcmp(id, "offline-error") == 0) hvi_claims_value_offline(claims, r, p, HVI_OF_ERROR);
    if (strcmp(id, "second-order") == 0) hvi_claims_value_second_order(claims, r, p);
    if (strcmp(id, "alpha") == 0) hvi_claims_value_alpha(claims, r, p);
    if (strcmp(id, "baselines") == 0) hvi_claims_value_baselines(claims, r, p);
    if (strcmp(id, "accelerated") == 0) hvi_claims_value_accelerated(claims, r, p);
  }
}

/* What the judges of studies share. */
#ifndef HVI_EXPERIMENTS_CLAIMS_VALUE_H
#define HVI_EXPERIMENTS_CLAIMS_VALUE_H

#include "experiments/value_stats.h"

/* A claim about one place, `name`-ENVIRONMENT. NULL where the place was not run, or a method of
 * `needs` (labels, ending in NULL) is not there: it is then not judged, and its note says why. */
hvi_claim *hvi_study_claim(hvi_claims *claims, const hvi_study_results *r, size_t place,
                           const char *name, const char *where, const char *text,
                           const char *const *needs);
/* The contender with that label, which is there. */
size_t hvi_study_who(const hvi_study_results *r, const char *label);
/* Whether it minimises surrogates: more than one inner step, or a threshold. */
bool hvi_study_is_surrogate(const hvi_study_results *r, size_t contender);

/* Three measures: "NAME", its lower and its upper end. */
void hvi_study_add_ratio(hvi_claim *c, const char *name, hvi_study_ratio q);
/* Two: "NAME" and "NAME +-". */
void hvi_study_add_mean(hvi_claim *c, const char *name, hvi_study_mean m);

/* a below b; a no more than 5 % above b. */
hvi_judgement hvi_study_below(hvi_study_ratio q);
hvi_judgement hvi_study_not_above(hvi_study_ratio q);
/* Of two parts of a claim: both hold, one fails, or it is open. */
hvi_judgement hvi_study_both(hvi_judgement a, hvi_judgement b);

/* The judges: online, offline, and beyond the paper. */
void hvi_claims_value_online(hvi_claims *claims, const hvi_study_results *r, size_t place,
                             bool deep);
void hvi_claims_value_offline(hvi_claims *claims, const hvi_study_results *r, size_t place,
                              hvi_study_measure measure);
void hvi_claims_value_second_order(hvi_claims *claims, const hvi_study_results *r, size_t place);
void hvi_claims_value_alpha(hvi_claims *claims, const hvi_study_results *r, size_t place);
void hvi_claims_value_baselines(hvi_claims *claims, const hvi_study_results *r, size_t place);
void hvi_claims_value_accelerated(hvi_claims *claims, const hvi_study_results *r, size_t place);

#endif

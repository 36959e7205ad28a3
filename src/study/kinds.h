/* The kinds of study. */
#pragma once

#include "study/study.h"

/* One list makes the declarations here and the table in kinds.c: hvi_kind_NAME in kind_NAME.c, or with
 * the kinds that it is akin to. */
/* clang-format off */
#define HVI_KINDS(KIND) \
  KIND(trajectory) KIND(timing) KIND(ensemble) KIND(rps_scan) \
  KIND(deployment) KIND(deployment_seeds) KIND(linear) KIND(value) \
  KIND(theory_steps) KIND(theory_vanishing) KIND(theory_descent) \
  KIND(theory_noise) KIND(theory_pl) KIND(theory_inner) KIND(theory_exact) KIND(theory_alpha)
/* clang-format on */
#define HVI_KIND_DECLARE(name) extern const hvi_kind hvi_kind_##name;
HVI_KINDS(HVI_KIND_DECLARE)

HVI_RELEASE(hvi_problem)

/* hvi_outcome in words, for a column. */
extern const char *const hvi_outcome_words[];

/* The level of a factor, or what holds without it; that of `instance`, 0 without it. */
double hvi_cell_number_or(const hvi_cell *c, const char *factor, double otherwise);
uint64_t hvi_cell_instance(const hvi_cell *c);

/* The place of the method with that label; method_count: there is none. */
size_t hvi_part_method(const hvi_part *p, const char *label);

/* A method's settings that nothing ends before so many outer steps; and those of the cell's level of
 * `method`, where there is one. */
hvi_settings hvi_settings_to_end(const char *method, double eta, size_t steps);
hvi_status hvi_cell_apply_method(hvi_settings *s, const hvi_cell *c, hvi_error *err);
/* A solve to its end, seen by an observer or NULL, and what it ended with; vectors of info are gone. */
hvi_status hvi_solve(hvi_info *info, const hvi_problem *p, const hvi_settings *s,
                     hvi_observer observe, void *context, hvi_error *err);

/* Where a part has these factors a method's eta is the one, of so many from low to high and evenly on
 * a logarithmic axis, whose score is least: the first of equal ones. `score` runs a method. */
#define HVI_TUNED "eta_low eta_high eta_levels"
typedef hvi_status hvi_score_fn(double *score, void *context, const hvi_settings *s,
                                hvi_error *err);
hvi_status hvi_cell_tune(hvi_settings *s, const hvi_cell *c, hvi_score_fn *score, void *context,
                         hvi_error *err);

/* For work that tells how many of the part's instances are done: hvi_cell_tick of the cell. */
bool hvi_cell_tick_instances(void *cell, size_t done);

/* Makes and derives the tables of kind value; value_tables.c. */
hvi_status hvi_value_extend(hvi_study *study, hvi_part *part, hvi_error *err);
hvi_status hvi_value_derive(hvi_study *study, hvi_part *part, hvi_error *err);

/* The kinds of study. */
#pragma once

#include "base/memory.h"
#include "study/study.h"

#include <hvi/ensemble.h>

/* One list makes the declarations here and the table in kinds.c: hvi_kind_NAME in kind_NAME.c, or with
 * the kinds that it is akin to. */
/* clang-format off */
#define HVI_KINDS(KIND) \
  KIND(trajectory) KIND(timing) KIND(ensemble) KIND(rps_scan) \
  KIND(deployment) KIND(deployment_seeds) KIND(linear) KIND(value) \
  KIND(theory_steps) KIND(theory_counterexample) KIND(theory_vanishing) KIND(theory_descent) \
  KIND(theory_noise) KIND(theory_pl) KIND(theory_exact) KIND(theory_alpha)
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

/* A solve to its end, seen by an observer or NULL, and what it ended with; vectors of info are gone. */
hvi_status hvi_solve(hvi_info *info, const hvi_problem *p, const hvi_settings *s,
                     hvi_observer observe, void *context, hvi_error *err);

/* For work that tells how many of the part's instances are done: hvi_cell_tick of the cell. */
bool hvi_cell_tick_instances(void *cell, size_t done);
/* A method on the part's instances 1, 2, ..., as many as its size says, over all threads. */
hvi_status hvi_ensemble_of_cell(hvi_ensemble **out, const hvi_cell *c, const hvi_settings *method,
                                size_t record_every, hvi_error *err);

/* Makes and derives the tables of kind value; value_tables.c. */
hvi_status hvi_value_extend(hvi_study *study, hvi_part *part, hvi_error *err);
hvi_status hvi_value_derive(hvi_study *study, hvi_part *part, hvi_error *err);
/* Those about the cost of data, online; value_clock.c. */
hvi_status hvi_value_clock_extend(hvi_study *study, const hvi_part *part, hvi_error *err);
hvi_status hvi_value_clock_derive(hvi_study *study, const hvi_part *part, hvi_error *err);

/* The kinds of study. */
#pragma once

#include "study/study.h"

#include <hvi/ensemble.h>

/* One list makes the declarations here and the table in kinds.c: hvi_kind_NAME in kind_NAME.c. */
/* clang-format off */
#define HVI_KINDS(KIND) \
  KIND(trajectory) \
  KIND(timing) \
  KIND(ensemble) \
  KIND(rps_scan) \
  KIND(deployment) \
  KIND(deployment_seeds) \
  KIND(linear) \
  KIND(value) \
  KIND(theory_steps) \
  KIND(theory_counterexample) \
  KIND(theory_vanishing) \
  KIND(theory_descent) \
  KIND(theory_noise) \
  KIND(theory_pl) \
  KIND(theory_exact) \
  KIND(theory_alpha)
/* clang-format on */
#define HVI_KIND_DECLARE(name) extern const hvi_kind hvi_kind_##name;
HVI_KINDS(HVI_KIND_DECLARE)

/* hvi_outcome in words, for a column. */
extern const char *const hvi_outcome_words[];

/* A method on the part's instances 1, 2, ..., as many as its size says, over all threads. */
hvi_status hvi_ensemble_of_cell(hvi_ensemble **out, const hvi_cell *c, const hvi_settings *method,
                                size_t record_every, hvi_error *err);

/* The kinds of study. */
#ifndef HVI_STUDY_KINDS_H
#define HVI_STUDY_KINDS_H

#include "study/study.h"

#include <hvi/ensemble.h>

extern const hvi_kind hvi_kind_trajectory, hvi_kind_timing, hvi_kind_ensemble, hvi_kind_rps_scan,
    hvi_kind_deployment, hvi_kind_deployment_seeds, hvi_kind_linear, hvi_kind_value;

/* hvi_outcome in words, for a column. */
extern const char *const hvi_outcome_words[];

/* A method on the part's instances 1, 2, ..., as many as its size says, over all threads. */
hvi_status hvi_ensemble_of_cell(hvi_ensemble **out, const hvi_cell *c, const hvi_settings *method,
                                size_t record_every, hvi_error *err);

#endif

/* What the problems of this package share: measures, and the contraction test. */
#pragma once

#include <hvi/performative.h>

typedef struct hvi_performative_kind {
  const hvi_problem_ops *ops; /* beta and mu come from its sensitivity */
  /* Measures that it does not set are NaN. */
  hvi_status (*measure)(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                        hvi_error *err);
  hvi_performative_coverage cover; /* what is the same for all problems of the kind */
  size_t value;                    /* offset of the key's value, a double, in the problem */
  void (*in_parameters)(hvi_performative_coverage *out, const hvi_problem *p); /* optional */
} hvi_performative_kind;

extern const hvi_performative_kind hvi_performative_linear, hvi_performative_mean, hvi_credit,
    hvi_credit_rir;

/* Built-in problems from inside: a struct of options of each one's own, filled from its table and
 * what was given, and what makes the problem of them. */
#pragma once

#include <hvi/builtin.h>

#include <stddef.h>

enum { HVI_OPTIONS_MAX = 16, HVI_OPTIONS_BYTES = 256 };

typedef struct hvi_options {
  _Alignas(max_align_t) unsigned char values[HVI_OPTIONS_BYTES]; /* the problem's struct */
  bool given[HVI_OPTIONS_MAX]; /* by the user; in the order of the rows */
  uint64_t seed, instance;
} hvi_options;

/* Where it fails it may leave an unfinished problem, which is then freed for it. */
typedef hvi_status hvi_builtin_fn(hvi_problem **problem, const hvi_options *o, hvi_error *err);

extern const hvi_setting_table hvi_pennies_options, hvi_rps_options, hvi_quadratic_options,
    hvi_counterexample_options, hvi_chain_options, hvi_performative_linear_options,
    hvi_performative_mean_options, hvi_credit_options, hvi_credit_rir_options;
hvi_builtin_fn hvi_pennies_new, hvi_rps_new, hvi_quadratic_new, hvi_counterexample_new,
    hvi_chain_new, hvi_performative_linear_new, hvi_performative_mean_new, hvi_credit_new,
    hvi_credit_rir_new;

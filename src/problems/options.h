/* Built-in problems from inside, and what a name says about a problem. */
#pragma once

#include <hvi/builtin.h>

#include <stddef.h>

extern const hvi_setting_table hvi_pennies_options, hvi_rps_options, hvi_quadratic_options,
    hvi_counterexample_options, hvi_chain_options, hvi_performative_linear_options,
    hvi_performative_mean_options, hvi_credit_options, hvi_credit_rir_options;
hvi_builtin_fn hvi_pennies_new, hvi_rps_new, hvi_quadratic_new, hvi_counterexample_new,
    hvi_chain_new, hvi_performative_linear_new, hvi_performative_mean_new, hvi_credit_new,
    hvi_credit_rir_new;

/* The table of its options; where it has none, one without rows. */
hvi_setting_table hvi_builtin_table(const hvi_builtin *b);

/* Whether a name is that of code: NAME.c or NAME.so. */
bool hvi_names_code(const char *name);

/* The built-in problems of performative prediction: what each can be told, and how it is made. */
#ifndef HVI_PROBLEMS_PERFORMATIVE_BUILTINS_H
#define HVI_PROBLEMS_PERFORMATIVE_BUILTINS_H

#include "problems/options.h"

extern const hvi_setting_table hvi_performative_linear_options, hvi_performative_mean_options,
    hvi_credit_options, hvi_credit_rir_options;
hvi_status hvi_performative_linear_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                                       uint64_t instance, hvi_error *err);
hvi_status hvi_performative_mean_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                                     uint64_t instance, hvi_error *err);
hvi_status hvi_credit_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                          uint64_t instance, hvi_error *err);
hvi_status hvi_credit_rir_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                              uint64_t instance, hvi_error *err);

#endif

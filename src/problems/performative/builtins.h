/* The built-in problems of performative prediction: what each can be told, and how it is made. */
#ifndef HVI_PROBLEMS_PERFORMATIVE_BUILTINS_H
#define HVI_PROBLEMS_PERFORMATIVE_BUILTINS_H

#include "problems/options.h"

extern const hvi_key hvi_performative_linear_keys[], hvi_performative_mean_keys[],
    hvi_credit_keys[], hvi_credit_rir_keys[];
hvi_status hvi_performative_linear_new(hvi_problem **problem, const hvi_values *values,
                                       uint64_t seed, uint64_t instance, hvi_error *err);
hvi_status hvi_performative_mean_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                                     uint64_t instance, hvi_error *err);
hvi_status hvi_credit_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                          uint64_t instance, hvi_error *err);
hvi_status hvi_credit_rir_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                              uint64_t instance, hvi_error *err);

#endif

/* The built-in games: what each can be told, and how it is made. */
#ifndef HVI_PROBLEMS_GAMES_BUILTINS_H
#define HVI_PROBLEMS_GAMES_BUILTINS_H

#include "problems/options.h"

extern const hvi_setting_table hvi_pennies_options, hvi_rps_options, hvi_quadratic_options,
    hvi_counterexample_options;
hvi_status hvi_pennies_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                           uint64_t instance, hvi_error *err);
hvi_status hvi_rps_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                       uint64_t instance, hvi_error *err);
hvi_status hvi_quadratic_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                             uint64_t instance, hvi_error *err);
hvi_status hvi_counterexample_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                                  uint64_t instance, hvi_error *err);

#endif

/* The built-in games: what each can be told, and how it is made. */
#ifndef HVI_PROBLEMS_GAMES_BUILTINS_H
#define HVI_PROBLEMS_GAMES_BUILTINS_H

#include "problems/options.h"

extern const hvi_key hvi_pennies_keys[], hvi_rps_keys[], hvi_quadratic_keys[],
    hvi_counterexample_keys[];
hvi_status hvi_pennies_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                           uint64_t instance, hvi_error *err);
hvi_status hvi_rps_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                       uint64_t instance, hvi_error *err);
hvi_status hvi_quadratic_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                             uint64_t instance, hvi_error *err);
hvi_status hvi_counterexample_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                                  uint64_t instance, hvi_error *err);

#endif

/* The built-in processes: what each can be told, and how it is made. */
#ifndef HVI_PROBLEMS_MDP_BUILTINS_H
#define HVI_PROBLEMS_MDP_BUILTINS_H

#include "problems/options.h"

#include <hvi/mdp.h>

extern const hvi_key hvi_chain_keys[];
hvi_status hvi_chain_new(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                         uint64_t instance, hvi_error *err);

#endif

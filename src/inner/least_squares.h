/*
 * The linear least-squares problem inside every Gauss-Newton-like step:
 *
 *   lambda > 0   delta = argmin |J delta - r|^2 + lambda |delta|^2
 *   lambda = 0   delta = J^+ r, of minimum norm and with a relative cut-off
 *
 * with J at `now`, both it and r scaled by sqrt(Xi).
 */
#pragma once

#include <hvi/optimizer.h>

/* Whether the model has the form that is asked for, within the limit of memory; before the rest. */
hvi_status hvi_least_squares_check(const hvi_optimizer_settings *s, const hvi_model *m,
                                   hvi_error *err);

/* Operations of a damped step of all players, and the name of the form that takes most of them. */
double hvi_least_squares_cost(const hvi_optimizer_settings *s, const hvi_model *m,
                              const char **name);

/* Doubles of state; the layout is private. */
size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m);

/* Writes delta[d]; false when there is no finite result. `again`: J is that of the last call, lambda
 * another one above 0, and adapt_damping set in s. */
bool hvi_least_squares_solve(double *delta, const hvi_optimizer_settings *s, double lambda,
                             bool again, double *state, hvi_surrogate *l, const double *residual);

/*
 * The linear least-squares problem inside every Gauss-Newton-like step.
 *
 *   gauss_newton   delta = J^+ r                         (minimum norm, relative cut-off)
 *   damped         delta = argmin |J delta - r|^2 + lambda |delta|^2
 *
 * with J and r at `now`, both scaled by sqrt(Xi). J is block-diagonal over players: the dense form
 * decomposes player by player, the matrix-free form multiplies player by player.
 */
#ifndef HVI_INNER_LEAST_SQUARES_H
#define HVI_INNER_LEAST_SQUARES_H

#include <hvi/optimizer.h>

/* Whether the model has the form that is asked for, within the limit of memory; before the rest. */
hvi_status hvi_least_squares_check(const hvi_optimizer_settings *s, const hvi_model *m,
                                   hvi_error *err);

/* Doubles of state; the layout is private. */
size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m);

/* Both write delta[d] and return false when there is no finite result. */
bool hvi_least_squares_gauss_newton(double *delta, const hvi_optimizer_settings *s, double *state,
                                    hvi_surrogate *l, const double *residual);
bool hvi_least_squares_damped(double *delta, const hvi_optimizer_settings *s, double lambda,
                              double *state, hvi_surrogate *l, const double *residual);

#endif

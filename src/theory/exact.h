/* The exact projected step z <- Pi(z - eta F(z)), iterated in the space of outputs. */
#ifndef HVI_THEORY_EXACT_H
#define HVI_THEORY_EXACT_H

#include <hvi/solver.h>

/* Its observed rate per step: of |z - z*|^2 near z* when that is known, otherwise of the squared
 * residual from g(theta0) on. */
hvi_status hvi_exact_rate(double *rate, const hvi_problem *p, const hvi_settings *settings,
                          double eta, size_t steps, hvi_error *err);

#endif

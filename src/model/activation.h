/*
 * Activations: value and slope side by side.
 *
 *   y = s(a), slope = s'(a) elementwise; softmax is the one that mixes its inputs and has the
 *   products  J'u = J u = y * (u - <u, y>)  instead of a slope.
 */
#ifndef HVI_MODEL_ACTIVATION_H
#define HVI_MODEL_ACTIVATION_H

#include <hvi/model.h>

/* y[n] holds a on entry and s(a) on return; slope[n] is filled but for identity and softmax. */
void hvi_activation_apply(hvi_activation kind, double *y, double *slope, size_t n);

/* u[n] <- (ds/da)' u, in place; the same for ds/da, since every Jacobian here is symmetric. */
void hvi_activation_pull(hvi_activation kind, double *u, const double *y, const double *slope,
                         size_t n);

#endif

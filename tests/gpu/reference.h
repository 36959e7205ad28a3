/*
 * Networks of a device (gpu/device.h) by plain loops in double precision: what a device is compared
 * with. Nothing here is shared with the library or with a device, but the shape and the descent's
 * description.
 */
#pragma once

#include "gpu/device.h"

typedef struct reference {
  const hvi_device_shape *shape;
  double *block; /* that the rest lies in */
  double *value[HVI_DEVICE_MOST_LAYERS + 1], *slope[HVI_DEVICE_MOST_LAYERS + 1];
  double *delta[HVI_DEVICE_MOST_LAYERS + 1];
} reference;

/* False when there is no memory. */
bool reference_new(reference *r, const hvi_device_shape *shape);
void reference_free(reference *r);

/* theta, v and gradient are laid out as the device's; x has rows of padded length. `size` may be NULL:
 * the root of the sum of squares of the terms that each output is the sum of, a measure of what its
 * rounding is relative to. */
void reference_eval(reference *r, const double *theta, size_t rows, const float *x, double *y,
                    double *size);
void reference_pull(reference *r, const double *theta, size_t rows, const float *x, const double *u,
                    double *gradient);
void reference_push(reference *r, const double *theta, size_t rows, const float *x, const double *v,
                    double *y);

/* The least |a| / |terms of a| of each row over all hidden units: how far it is from a kink. At most
 * REFERENCE_LANES rows. */
enum { REFERENCE_LANES = 8 };
void reference_margin(reference *r, const double *theta, size_t rows, const float *x,
                      double *margin);

/* l of the descent at outputs y; u[rows], if not NULL, becomes dl/dy. *size: how much l changes, at most,
 * when all that r_i is made of changes by a share 1e-5 of itself, over that share. */
double reference_loss(const hvi_device_descent *d, size_t rows, const double *y, double *u,
                      double *size);

typedef struct reference_state {
  double power[2];
  double *m, *v; /* laid out as theta */
} reference_state;

/* As the device's: theta moves, d's outputs are filled in, y are the outputs where it ends. losses[most +
 * 1], if not NULL: along the way. u[rows] and gradient are scratch. */
typedef struct reference_run {
  size_t rows;
  const float *x;
  double *theta, *y, *u, *gradient, *losses;
  reference_state *state;
} reference_run;
void reference_descend(reference *r, reference_run *run, hvi_device_descent *d);

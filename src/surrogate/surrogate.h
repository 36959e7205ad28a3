/* Making and freezing surrogates: the outer loop's side of surrogate.h. */
#pragma once

#include "base/memory.h"

#include <hvi/surrogate.h>

/* Takes the surrogate's arrays from an arena, which may be one that only counts. */
void hvi_surrogate_place(hvi_surrogate *l, const hvi_model *m, const double *weights,
                         hvi_counts *counts, hvi_arena *arena);

/* Goes over to a new sample, if the model is one of samples, and to theta, and evaluates the model
 * there. NULL: the sample or theta stays what it is. */
void hvi_surrogate_start(hvi_surrogate *l, const double *theta, const void *sample);
/* Residual and loss of a point whose z is known. */
double hvi_surrogate_measure(const hvi_surrogate *l, hvi_point *p);
/* Freezes l->target: residual, loss and loss0 at `now`, without a model pass. */
void hvi_surrogate_freeze(hvi_surrogate *l);

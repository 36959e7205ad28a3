/* Making and freezing surrogates: the outer loop's side of surrogate.h. */
#pragma once

#include "base/memory.h"

#include <hvi/surrogate.h>

/* Takes the surrogate's arrays from an arena, which may be one that only counts. */
void hvi_surrogate_place(hvi_surrogate *l, const hvi_model *m, const double *weights,
                         hvi_counts *counts, hvi_arena *arena);

/* Stands at theta: evaluates the model there. */
void hvi_surrogate_start(hvi_surrogate *l, const double *theta);
/* Goes over to a new sample, and evaluates the model where it stands. */
void hvi_surrogate_rebind(hvi_surrogate *l, const void *sample);
/* Residual and loss at `now`, after a change of target. */
void hvi_surrogate_measure(hvi_surrogate *l);
/* Freezes l->target: residual, loss and loss0 at `now`, without a model pass. */
void hvi_surrogate_freeze(hvi_surrogate *l);

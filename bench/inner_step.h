/* A frozen surrogate of a model, and an inner optimizer at work on it. */
#pragma once

#include <hvi/optimizer.h>

typedef struct inner_step {
  hvi_model *model; /* its own */
  hvi_surrogate l;
  hvi_counts counts;
  const hvi_optimizer *optimizer;
  hvi_optimizer_settings settings;
  double *memory, *state;
} inner_step;

/* Memory for the surrogate of w->model and for the optimizer, whose names and settings are there. */
hvi_status inner_step_place(inner_step *w, hvi_error *err);
/* Freezes the surrogate at theta[d] with target[n]. */
void inner_step_freeze(inner_step *w, const double *theta, const double *target);
/* Takes a step; *seconds becomes what it took, if that is less. */
void inner_step_time(double *seconds, inner_step *w);
void inner_step_free(inner_step *w);

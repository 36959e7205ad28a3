/* Making and freezing surrogates: the outer loop's side of surrogate.h. */
#pragma once

#include "base/memory.h"
#include "model/mlp.h"

#include <hvi/surrogate.h>

/* Takes the surrogate's arrays from an arena, which may be one that only counts. */
void hvi_surrogate_place(hvi_surrogate *l, const hvi_model *m, const double *weights,
                         hvi_counts *counts, hvi_arena *arena);

/* Evaluates the model at a point, and J'u there. */
static inline void hvi_surrogate_eval(const hvi_surrogate *l, hvi_point *p) {
  l->model->ops->eval(l->model, p->cache, p->theta, p->z);
  l->counts->model_passes++;
}

static inline void hvi_surrogate_pull(const hvi_surrogate *l, const hvi_point *p, const double *u,
                                      double *x) {
  l->model->ops->vjp(l->model, p->cache, p->theta, u, x);
  l->counts->grad_evals++;
}

/* Goes over to a new sample, if the model is one of samples, and to theta, and evaluates the model
 * there. NULL: the sample or theta stays what it is. */
void hvi_surrogate_start(hvi_surrogate *l, const double *theta, const void *sample);
/* Residual and loss of a point whose z is known. */
double hvi_surrogate_measure(const hvi_surrogate *l, hvi_point *p);
/* J' Xi r at `now`, piece by piece: g[n] are its numbers from `first` on. What needs each of them once need
 * not wait for all. */
void hvi_surrogate_gradient_by(hvi_surrogate *l, hvi_gradient_piece take, void *context);
/* Steps that the model takes itself, by ops->descend: weights and targets are the surrogate's, and
 * `now` is where they end. */
void hvi_surrogate_descend(hvi_surrogate *l, hvi_device_descent *d);
/* Freezes l->target: residual, loss and loss0 at `now`, without a model pass. */
void hvi_surrogate_freeze(hvi_surrogate *l);

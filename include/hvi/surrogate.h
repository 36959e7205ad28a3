/*
 * The surrogate: one frozen least-squares problem, and the only thing an inner optimizer sees.
 *
 *   l(theta) = 1/2 | g(theta) - v |^2_Xi,   v = z_t - eta F(z_t)
 *
 * An output of weight zero has no square and enters by <eta F(z_t), z - z_t> alone.
 *
 * It holds two points: `now`, where the optimizer stands, and `next`, where it wants to go. An
 * optimizer writes next->theta, probes it, and accepts it or not. One that takes every step writes
 * now->theta and says so, which needs half the memory. Nothing is evaluated twice.
 */
#ifndef HVI_SURROGATE_H
#define HVI_SURROGATE_H

#include <hvi/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What things cost, counted. */
typedef struct hvi_counts {
  size_t f_evals;      /* evaluations of the operator F */
  size_t model_passes; /* evaluations of g and products J v */
  size_t grad_evals;   /* products J'u: gradient computations */
  size_t env_steps;    /* steps in an environment */
} hvi_counts;

typedef struct hvi_point {
  double *theta;    /* [d] */
  double *z;        /* [n] g(theta) */
  double *residual; /* [n] z - v */
  double *cache;    /* the model's */
  double loss;
} hvi_point;

typedef struct hvi_surrogate {
  const hvi_model *model;
  const double *weights; /* [n], or NULL */
  double *target;        /* [n] v */
  double *linear;        /* [n] eta F where the weight is zero: the term <eta F, z - v>; or NULL */
  hvi_point points[2];
  hvi_point *now, *next; /* one of the points each */
  double *gradient;      /* [d] */
  double *weighted;      /* [n] scratch: Xi r */
  bool unseen;  /* the sample changes before every step: probes evaluate nothing, loss is NaN */
  double loss0; /* loss at the start of this surrogate, l(theta_t) */
  hvi_counts *counts;
} hvi_surrogate;

/* Evaluates g and the loss at next->theta; returns that loss. */
HVI_API double hvi_surrogate_probe(hvi_surrogate *l);
/* Goes to `next`: now and next change places. */
HVI_API void hvi_surrogate_accept(hvi_surrogate *l);
/* Evaluates g and the loss at now->theta, which has changed; returns that loss. */
HVI_API double hvi_surrogate_moved(hvi_surrogate *l);
/* J' Xi r at `now`; the result is l->gradient. */
HVI_API const double *hvi_surrogate_gradient(hvi_surrogate *l);

#ifdef __cplusplus
}
#endif

#endif

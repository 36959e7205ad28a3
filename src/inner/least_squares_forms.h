/*
 * The forms of a least-squares step. Each is a pair of functions over a private state; which one
 * serves a model is decided in least_squares.c.
 */
#ifndef HVI_INNER_LEAST_SQUARES_FORMS_H
#define HVI_INNER_LEAST_SQUARES_FORMS_H

#include <hvi/optimizer.h>

/* One step: what to solve and where to put it. */
typedef struct hvi_linear_step {
  const hvi_optimizer_settings *settings;
  hvi_surrogate *l;
  const double *residual; /* [n] */
  double lambda;          /* 0: the pseudo-inverse */
  double *state;
  double *delta; /* [d] result */
} hvi_linear_step;

/* False when there is no finite result. */
typedef struct hvi_linear_form {
  size_t (*state)(const hvi_model *m);
  bool (*solve)(const hvi_linear_step *step);
} hvi_linear_form;

extern const hvi_linear_form hvi_linear_dense;       /* a player's Jacobian, decomposed */
extern const hvi_linear_form hvi_linear_diagonal;    /* one parameter and one output a player */
extern const hvi_linear_form hvi_linear_gram;        /* J constant and tall */
extern const hvi_linear_form hvi_linear_outer;       /* J J', where a model has it */
extern const hvi_linear_form hvi_linear_matrix_free; /* products only */

#endif

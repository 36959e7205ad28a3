/* Which form of the least-squares step serves a model. */
#include "inner/least_squares.h"

#include "base/error.h"
#include "inner/least_squares_forms.h"

/* Above this many entries in a player's Jacobian the automatic choice is not dense, and above these
 * sizes not a Gram matrix. MOST_STATE doubles are the most that any form may take. */
enum { DENSE_ENTRIES = 1 << 20, GRAM_LIMIT = 4096, OUTER_LIMIT = 8192, MOST_STATE = 1 << 29 };

static bool small(const hvi_model *m) {
  for (size_t k = 0; k < m->block_count; k++) {
    if (m->blocks[k].out > DENSE_ENTRIES / m->blocks[k].dim) return false;
  }
  return true;
}

/* The Gram form of this model, or NULL. */
static const hvi_linear_form *gram_of(const hvi_model *m) {
  if (m->ops->outer_gram && m->block_count == 1) return &hvi_linear_outer;
  return m->ops->gram ? &hvi_linear_gram : NULL;
}

static const hvi_linear_form *form_of(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (s->linear == HVI_LINEAR_MATRIX_FREE) return &hvi_linear_matrix_free;
  if (m->dim == m->block_count && m->out == m->block_count) return &hvi_linear_diagonal;
  if (s->linear == HVI_LINEAR_DENSE) return &hvi_linear_dense;
  const hvi_linear_form *gram = gram_of(m);
  if (s->linear == HVI_LINEAR_GRAM && gram) return gram;
  if (gram == &hvi_linear_outer && m->out < m->dim && m->out <= OUTER_LIMIT) return gram;
  if (small(m)) return &hvi_linear_dense;
  return gram == &hvi_linear_gram && m->dim <= GRAM_LIMIT ? gram : &hvi_linear_matrix_free;
}

/* Squares and products of sizes beyond this are not taken. */
static bool countable(const hvi_linear_form *form, const hvi_model *m) {
  const double n = (double)m->out, d = (double)m->dim;
  if (form == &hvi_linear_outer) return n * n <= (double)MOST_STATE;
  if (form == &hvi_linear_gram) return d * d <= (double)MOST_STATE;
  if (form != &hvi_linear_dense) return true;
  double entries = 0.0;
  for (size_t k = 0; k < m->block_count; k++) {
    entries += (double)m->blocks[k].out * (double)m->blocks[k].dim;
  }
  return entries <= (double)MOST_STATE;
}

static const char *name_of(const hvi_linear_form *form) {
  if (form == &hvi_linear_dense) return "dense";
  return form == &hvi_linear_outer || form == &hvi_linear_gram ? "gram" : "matrix-free";
}

hvi_status hvi_least_squares_check(const hvi_optimizer_settings *s, const hvi_model *m,
                                   hvi_error *err) {
  if (s->linear == HVI_LINEAR_GRAM && !gram_of(m)) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "this model has no Gram matrix of its own: the linear solver must be "
                         "dense or matrix-free");
  }
  const hvi_linear_form *form = form_of(s, m);
  if (countable(form, m) && form->state(m) <= MOST_STATE) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                       "the %s form of a step with %zu outputs and %zu parameters needs over 4 "
                       "GiB: %s",
                       name_of(form), m->out, m->dim,
                       form == &hvi_linear_matrix_free ? "it is too large"
                                                       : "the linear solver must be matrix-free");
}

size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return form_of(s, m)->state(m);
}

bool hvi_least_squares_gauss_newton(double *delta, const hvi_optimizer_settings *s, double *state,
                                    hvi_surrogate *l, const double *residual) {
  return hvi_least_squares_damped(delta, s, 0.0, state, l, residual);
}

bool hvi_least_squares_damped(double *delta, const hvi_optimizer_settings *s, double lambda,
                              double *state, hvi_surrogate *l, const double *residual) {
  const hvi_linear_step step = {.settings = s,
                                .l = l,
                                .residual = residual,
                                .lambda = lambda,
                                .state = state,
                                .delta = delta};
  return form_of(s, l->model)->solve(&step);
}

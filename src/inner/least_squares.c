/* Which form of the least-squares step serves a model. */
#include "inner/least_squares.h"

#include "inner/least_squares_forms.h"

/* Above this many entries in a player's Jacobian the automatic choice is not dense. */
enum { DENSE_ENTRIES = 1 << 20, GRAM_LIMIT = 4096 };

static bool small(const hvi_model *m) {
  for (size_t k = 0; k < m->block_count; k++) {
    if (m->blocks[k].out > DENSE_ENTRIES / m->blocks[k].dim) return false;
  }
  return true;
}

static const hvi_linear_form *form_of(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (s->linear == HVI_LINEAR_MATRIX_FREE) return &hvi_linear_matrix_free;
  if (m->dim == m->block_count && m->out == m->block_count) return &hvi_linear_diagonal;
  if (s->linear == HVI_LINEAR_DENSE || small(m)) return &hvi_linear_dense;
  return m->ops->gram && m->dim <= GRAM_LIMIT ? &hvi_linear_gram : &hvi_linear_matrix_free;
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

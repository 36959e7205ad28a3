/*
 * Dense: each player's Jacobian J_k (n_k x d_k) is formed by products with unit vectors and
 * decomposed alone. The pseudo-inverse's cut-off is relative to the largest singular value over all
 * players, as it would be for the whole J: factor every block first, then solve.
 */
#include "inner/least_squares_forms.h"

#include "num/dense.h"
#include "num/vec.h"

#include <math.h>

/*
 * The dense state: {r[n] | scratch[d + n] | J and its factors, player by player}. One walk over the
 * players finds every piece.
 */
static size_t factors_at(const hvi_block *b) { return b->out * b->dim; }

static size_t block_room(const hvi_block *b) {
  const size_t svd = hvi_dense_svd_work(b->out, b->dim);
  const size_t chol = hvi_dense_damped_work(b->out, b->dim);
  return factors_at(b) + (svd > chol ? svd : chol);
}

static double *first_block(const hvi_model *m, double *state) {
  return state + m->dim + 2 * m->out;
}

static size_t state_size(const hvi_model *m) {
  size_t total = m->dim + 2 * m->out;
  for (size_t k = 0; k < m->block_count; k++) total += block_room(&m->blocks[k]);
  return total;
}

/* J_k and r_k, scaled by sqrt(Xi). */
static void form_block(double *J, double *state, hvi_surrogate *l, const double *residual,
                       size_t k) {
  const hvi_block *b = &l->model->blocks[k];
  double *r = state + b->z;
  hvi_model_jacobian(l->model, l->now->cache, l->now->theta, k, J, state + l->model->out);
  for (size_t i = 0; i < b->out; i++) r[i] = residual[b->z + i];
  for (size_t i = 0; l->weights && i < b->out; i++) {
    const double root = sqrt(l->weights[b->z + i]);
    hvi_vec_scale(J + i * b->dim, root, b->dim);
    r[i] *= root;
  }
}

/* Players share a pass: the whole Jacobian costs as many products as its widest block. */
static void count_jacobian(hvi_surrogate *l) {
  size_t back = 0, forth = 0;
  for (size_t k = 0; k < l->model->block_count; k++) {
    const hvi_block *b = &l->model->blocks[k];
    if (b->out <= b->dim && b->out > back) back = b->out;
    if (b->out > b->dim && b->dim > forth) forth = b->dim;
  }
  l->counts->grad_evals += back;
  l->counts->model_passes += forth;
}

static bool gauss_newton(const hvi_linear_step *step) {
  hvi_surrogate *l = step->l;
  const hvi_model *m = l->model;
  double *state = step->state, *J = first_block(m, state), largest = 0.0;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    form_block(J, state, l, step->residual, k);
    const double top = hvi_dense_svd_factor(J, b->out, b->dim, J + factors_at(b));
    if (isnan(top)) return false;
    largest = top > largest ? top : largest;
    J += block_room(b);
  }
  count_jacobian(l);
  J = first_block(m, state);
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    hvi_dense_svd_solve(step->delta + b->theta, state + b->z, step->settings->rank_tol * largest,
                        b->out, b->dim, J + factors_at(b));
    J += block_room(b);
  }
  return true;
}

static bool damped(const hvi_linear_step *step) {
  hvi_surrogate *l = step->l;
  const hvi_model *m = l->model;
  double *state = step->state, *J = first_block(m, state);
  bool good = true;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    form_block(J, state, l, step->residual, k);
    good &= hvi_dense_damped_solve(step->delta + b->theta, J, state + b->z, step->lambda, b->out,
                                   b->dim, J + factors_at(b));
    J += block_room(b);
  }
  count_jacobian(l);
  return good;
}

static bool solve(const hvi_linear_step *step) {
  return step->lambda > 0.0 ? damped(step) : gauss_newton(step);
}

const hvi_linear_form hvi_linear_dense = {state_size, solve};

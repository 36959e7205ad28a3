/*
 * Dense: each player's Jacobian J_k (n_k x d_k) is formed by products with unit vectors and
 * decomposed alone. The pseudo-inverse's cut-off is relative to the largest singular value over all
 * players, as it would be for the whole J: factor every block first, then solve.
 *
 * When every player has one parameter and one output J is diagonal: one product J'1 gives it all.
 *
 * When J is constant and tall, G = J' Xi J = V S V' is formed and decomposed once, and a step is
 * V (S + lambda)^+ V' J' Xi r: one product J'u. The cut-off applies to sqrt(S), the singular
 * values.
 *
 * Matrix-free: LSMR on J v and J'u of the whole model, damped by sqrt(lambda).
 */
#include "inner/least_squares.h"

#include "num/dense.h"
#include "num/lsmr.h"
#include "num/vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(sizeof(void *) <= sizeof(double), "a pointer fits into a double of state");

/* Above this many entries in a player's Jacobian the automatic choice is matrix-free. */
enum { DENSE_ENTRIES = 1 << 20, GRAM_LIMIT = 4096 };

static bool dense(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (s->linear != HVI_LINEAR_AUTO) return s->linear == HVI_LINEAR_DENSE;
  for (size_t k = 0; k < m->block_count; k++) {
    if (m->blocks[k].out > DENSE_ENTRIES / m->blocks[k].dim) return false;
  }
  return true;
}

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

/* Whether a step goes through the Gram matrix. */
static bool tall(const hvi_optimizer_settings *s, const hvi_model *m) {
  return s->linear == HVI_LINEAR_AUTO && m->ops->gram && m->dim <= GRAM_LIMIT && !dense(s, m);
}

/* {whose G, S[d], V[d][d], J'Xi r [d], V'J'Xi r [d], Xi r [n] | LAPACK's} */
static size_t gram_state(const hvi_model *m) {
  const size_t d = m->dim;
  return 1 + 3 * d + d * d + m->out + hvi_dense_eigen_work(d);
}

size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (tall(s, m)) return gram_state(m);
  if (!dense(s, m)) return hvi_lsmr_work(m->out, m->dim) + 2 * m->out;
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

static bool dense_gauss_newton(double *delta, const hvi_optimizer_settings *s, double *state,
                               hvi_surrogate *l, const double *residual) {
  const hvi_model *m = l->model;
  double *J = first_block(m, state), largest = 0.0;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    form_block(J, state, l, residual, k);
    const double top = hvi_dense_svd_factor(J, b->out, b->dim, J + factors_at(b));
    if (isnan(top)) return false;
    largest = top > largest ? top : largest;
    J += block_room(b);
  }
  count_jacobian(l);
  J = first_block(m, state);
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    hvi_dense_svd_solve(delta + b->theta, state + b->z, s->rank_tol * largest, b->out, b->dim,
                        J + factors_at(b));
    J += block_room(b);
  }
  return true;
}

static bool dense_damped(double *delta, double lambda, double *state, hvi_surrogate *l,
                         const double *residual) {
  const hvi_model *m = l->model;
  double *J = first_block(m, state);
  bool good = true;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    form_block(J, state, l, residual, k);
    good &= hvi_dense_damped_solve(delta + b->theta, J, state + b->z, lambda, b->out, b->dim,
                                   J + factors_at(b));
    J += block_room(b);
  }
  count_jacobian(l);
  return good;
}

static bool diagonal(const hvi_optimizer_settings *s, const hvi_model *m) {
  return m->dim == m->block_count && m->out == m->block_count &&
         s->linear != HVI_LINEAR_MATRIX_FREE;
}

/* The diagonal of J into J[d]; ones[n] is scratch. */
static void form_diagonal(double *J, double *ones, hvi_surrogate *l) {
  for (size_t i = 0; i < l->model->out; i++) ones[i] = 1.0;
  l->model->ops->vjp(l->model, l->now->cache, l->now->theta, ones, J);
  l->counts->grad_evals++;
}

/* Xi cancels in r / J but for its part in what counts as the largest singular value. */
static bool diagonal_gauss_newton(double *delta, const hvi_optimizer_settings *s, double *state,
                                  hvi_surrogate *l, const double *residual) {
  const size_t n = l->model->out;
  double *J = state + n, largest = 0.0;
  form_diagonal(J, state, l);
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * (l->weights ? sqrt(l->weights[i]) : 1.0);
    if (!(size <= DBL_MAX)) return false;
    largest = size > largest ? size : largest;
  }
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * (l->weights ? sqrt(l->weights[i]) : 1.0);
    delta[i] = size > s->rank_tol * largest ? residual[i] / J[i] : 0.0;
  }
  return true;
}

static bool diagonal_damped(double *delta, double lambda, double *state, hvi_surrogate *l,
                            const double *residual) {
  const size_t n = l->model->out;
  double *J = state + n;
  form_diagonal(J, state, l);
  bool good = true;
  for (size_t i = 0; i < n; i++) {
    const double weighted = l->weights ? l->weights[i] * J[i] : J[i];
    delta[i] = weighted * residual[i] / (weighted * J[i] + lambda);
    good &= fabs(delta[i]) <= DBL_MAX;
  }
  return good;
}

/* sqrt(Xi) J as a linear map; `room` holds n doubles. */
typedef struct jacobian_map {
  hvi_surrogate *l;
  double *room;
} jacobian_map;

static void apply(void *context, const double *x, double *y) {
  const jacobian_map *map = context;
  hvi_surrogate *l = map->l;
  l->model->ops->jvp(l->model, l->now->cache, l->now->theta, x, y);
  for (size_t i = 0; l->weights && i < l->model->out; i++) y[i] *= sqrt(l->weights[i]);
  l->counts->model_passes++;
}

static void apply_t(void *context, const double *y, double *x) {
  const jacobian_map *map = context;
  hvi_surrogate *l = map->l;
  for (size_t i = 0; l->weights && i < l->model->out; i++)
    map->room[i] = sqrt(l->weights[i]) * y[i];
  l->model->ops->vjp(l->model, l->now->cache, l->now->theta, l->weights ? map->room : y, x);
  l->counts->grad_evals++;
}

static bool matrix_free(double *delta, const hvi_optimizer_settings *s, double lambda,
                        double *state, hvi_surrogate *l, const double *residual) {
  const size_t n = l->model->out, d = l->model->dim;
  double *r = state, *work = state + 2 * n;
  jacobian_map map = {l, state + n};
  const hvi_linear_map J = {n, d, apply, apply_t, &map};
  for (size_t i = 0; i < n; i++) r[i] = residual[i] * (l->weights ? sqrt(l->weights[i]) : 1.0);
  const size_t most = s->linear_iters ? s->linear_iters : 4 * (n + d);
  hvi_lsmr_solve(delta, &J, r, sqrt(lambda), s->linear_tol, most, work);
  return hvi_vec_finite(delta, d);
}

/* Both kinds of step: with lambda zero the pseudo-inverse, otherwise damped. */
static bool gram_step(double *delta, const hvi_optimizer_settings *s, double lambda, double *state,
                      hvi_surrogate *l, const double *residual) {
  const hvi_model *m = l->model;
  const size_t d = m->dim, n = m->out;
  double *S = state + 1, *V = S + d, *g = V + d * d, *c = g + d, *u = c + d;
  if (memcmp(state, &m, sizeof m) != 0) {
    m->ops->gram(m, l->weights, V);
    if (!hvi_dense_eigen(S, V, d, u + n)) return false;
    memcpy(state, &m, sizeof m);
  }
  for (size_t i = 0; i < n; i++) u[i] = l->weights ? l->weights[i] * residual[i] : residual[i];
  m->ops->vjp(m, l->now->cache, l->now->theta, u, g);
  l->counts->grad_evals++;
  /* row k of V is the eigenvector of S[k], largest last */
  hvi_dense_mul(c, V, g, d, d);
  const double least = s->rank_tol * s->rank_tol * S[d - 1];
  for (size_t k = 0; k < d; k++) c[k] = lambda > 0.0 || S[k] > least ? c[k] / (S[k] + lambda) : 0.0;
  hvi_dense_mul_t(delta, V, c, d, d);
  return hvi_vec_finite(delta, d);
}

bool hvi_least_squares_gauss_newton(double *delta, const hvi_optimizer_settings *s, double *state,
                                    hvi_surrogate *l, const double *residual) {
  if (diagonal(s, l->model)) return diagonal_gauss_newton(delta, s, state, l, residual);
  if (tall(s, l->model)) return gram_step(delta, s, 0.0, state, l, residual);
  if (!dense(s, l->model)) return matrix_free(delta, s, 0.0, state, l, residual);
  return dense_gauss_newton(delta, s, state, l, residual);
}

bool hvi_least_squares_damped(double *delta, const hvi_optimizer_settings *s, double lambda,
                              double *state, hvi_surrogate *l, const double *residual) {
  if (diagonal(s, l->model)) return diagonal_damped(delta, lambda, state, l, residual);
  if (tall(s, l->model)) return gram_step(delta, s, lambda, state, l, residual);
  if (!dense(s, l->model)) return matrix_free(delta, s, lambda, state, l, residual);
  return dense_damped(delta, lambda, state, l, residual);
}

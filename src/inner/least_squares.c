/*
 * Dense: each player's Jacobian J_k (n_k x d_k) is formed by products with unit vectors and
 * decomposed alone. The pseudo-inverse's cut-off is relative to the largest singular value over all
 * players, as it would be for the whole J: factor every block first, then solve.
 *
 * Matrix-free: LSMR on J v and J'u of the whole model, damped by sqrt(lambda).
 */
#include "inner/least_squares.h"

#include "num/dense.h"
#include "num/lsmr.h"
#include "num/vec.h"

#include <math.h>

/* Above this many entries in a player's Jacobian the automatic choice is matrix-free. */
enum { DENSE_ENTRIES = 1 << 20 };

static bool dense(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (s->linear != HVI_LINEAR_AUTO) return s->linear == HVI_LINEAR_DENSE;
  for (size_t k = 0; k < m->block_count; k++) {
    if (m->blocks[k].out > DENSE_ENTRIES / m->blocks[k].dim) return false;
  }
  return true;
}

/* Where the pieces of the dense state begin: {J | scratch | r | work of block 0 | block 1 | ...}.
 */
typedef struct dense_layout {
  size_t scratch, residual, work, total;
} dense_layout;

static size_t block_work(const hvi_block *b) {
  const size_t svd = hvi_dense_svd_work(b->out, b->dim),
               chol = hvi_dense_damped_work(b->out, b->dim);
  return svd > chol ? svd : chol;
}

static dense_layout lay_out(const hvi_model *m) {
  size_t jacobian = 0, work = 0;
  for (size_t k = 0; k < m->block_count; k++) {
    const size_t entries = m->blocks[k].out * m->blocks[k].dim;
    jacobian = entries > jacobian ? entries : jacobian;
    work += block_work(&m->blocks[k]);
  }
  dense_layout at = {.scratch = jacobian};
  at.residual = at.scratch + m->dim + m->out;
  at.work = at.residual + m->out;
  at.total = at.work + work;
  return at;
}

size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (dense(s, m)) return lay_out(m).total;
  return hvi_lsmr_work(m->out, m->dim) + 2 * m->out;
}

/* J_k and r_k, scaled by sqrt(Xi). */
static void form_block(double *J, double *r, double *scratch, hvi_surrogate *l,
                       const double *residual, size_t k) {
  const hvi_block *b = &l->model->blocks[k];
  hvi_model_jacobian(l->model, l->now->cache, l->now->theta, k, J, scratch);
  hvi_vec_copy(r + b->z, residual + b->z, b->out);
  for (size_t i = 0; l->weights && i < b->out; i++) {
    const double root = sqrt(l->weights[b->z + i]);
    hvi_vec_scale(J + i * b->dim, root, b->dim);
    r[b->z + i] *= root;
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
  const dense_layout at = lay_out(m);
  double *work = state + at.work, largest = 0.0;
  for (size_t k = 0; k < m->block_count; k++) {
    form_block(state, state + at.residual, state + at.scratch, l, residual, k);
    const double top = hvi_dense_svd_factor(state, m->blocks[k].out, m->blocks[k].dim, work);
    if (isnan(top)) return false;
    largest = top > largest ? top : largest;
    work += block_work(&m->blocks[k]);
  }
  count_jacobian(l);
  work = state + at.work;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    hvi_dense_svd_solve(delta + b->theta, state + at.residual + b->z, s->rank_tol * largest, b->out,
                        b->dim, work);
    work += block_work(b);
  }
  return true;
}

static bool dense_damped(double *delta, double lambda, double *state, hvi_surrogate *l,
                         const double *residual) {
  const hvi_model *m = l->model;
  const dense_layout at = lay_out(m);
  bool good = true;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    form_block(state, state + at.residual, state + at.scratch, l, residual, k);
    good &= hvi_dense_damped_solve(delta + b->theta, state, state + at.residual + b->z, lambda,
                                   b->out, b->dim, state + at.work);
  }
  count_jacobian(l);
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

bool hvi_least_squares_gauss_newton(double *delta, const hvi_optimizer_settings *s, double *state,
                                    hvi_surrogate *l, const double *residual) {
  return dense(s, l->model) ? dense_gauss_newton(delta, s, state, l, residual)
                            : matrix_free(delta, s, 0.0, state, l, residual);
}

bool hvi_least_squares_damped(double *delta, const hvi_optimizer_settings *s, double lambda,
                              double *state, hvi_surrogate *l, const double *residual) {
  return dense(s, l->model) ? dense_damped(delta, lambda, state, l, residual)
                            : matrix_free(delta, s, lambda, state, l, residual);
}

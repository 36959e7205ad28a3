/*
 * The least-squares step in five forms, and which of them serves a model.
 *
 *   dense        each player's Jacobian formed and decomposed alone: J is block-diagonal
 *   diagonal     one parameter and one output a player: J is a vector
 *   matrix-free  LSMR on J v and J'u of the whole model
 *   gram         J constant and tall: J'J decomposed once
 *   outer gram   a model with fewer outputs than parameters that has J J' without J
 */
#include "inner/least_squares.h"

#include "base/base.h"
#include "num/dense.h"
#include "num/lsmr.h"
#include "num/vec.h"
#include "surrogate/surrogate.h"

#include <float.h>

/* One step: what to solve and where to put it. */
typedef struct linear_step {
  const hvi_optimizer_settings *settings;
  hvi_surrogate *l;
  const double *residual; /* [n] */
  double lambda;          /* 0: the pseudo-inverse */
  double *state;
  double *delta; /* [d] result */
} linear_step;

/* False when there is no finite result. */
typedef struct form {
  const char *name;
  size_t (*state)(const hvi_model *m);
  bool (*solve)(const linear_step *step);
} form;

static double root_weight(const hvi_surrogate *l, size_t i) {
  return l->weights ? sqrt(l->weights[i]) : 1.0;
}

/*
 * Dense: each player's Jacobian J_k (n_k x d_k) is formed by products with unit vectors and
 * decomposed alone. The pseudo-inverse's cut-off is relative to the largest singular value over all
 * players, as it would be for the whole J: factor every block first, then solve.
 *
 * State: {r[n] | scratch[d + n] | J and its factors, player by player}. One walk over the players
 * finds every array.
 */
static size_t block_size(const hvi_block *b) {
  const size_t svd = hvi_dense_svd_work(b->out, b->dim);
  const size_t chol = hvi_dense_damped_work(b->out, b->dim);
  return b->out * b->dim + (svd > chol ? svd : chol);
}

static double *first_block(const hvi_model *m, double *state) {
  return state + m->dim + 2 * m->out;
}

static size_t dense_state(const hvi_model *m) {
  size_t total = m->dim + 2 * m->out;
  for (size_t k = 0; k < m->block_count; k++) total += block_size(&m->blocks[k]);
  return total;
}

/* J_k and r_k, scaled by sqrt(Xi). */
static void form_block(double *J, const linear_step *step, size_t k) {
  const hvi_surrogate *l = step->l;
  const hvi_block *b = &l->model->blocks[k];
  double *r = step->state + b->z;
  hvi_model_jacobian(l->model, l->now->cache, l->now->theta, k, J, step->state + l->model->out);
  for (size_t i = 0; i < b->out; i++) {
    const double root = root_weight(l, b->z + i);
    r[i] = step->residual[b->z + i] * root;
    if (l->weights) hvi_vec_scale(J + i * b->dim, root, b->dim);
  }
}

static bool dense_solve(const linear_step *step) {
  const hvi_model *m = step->l->model;
  const bool damped = step->lambda > 0.0;
  double *J = first_block(m, step->state), largest = 0.0;
  size_t back = 0, forth = 0;
  bool good = true;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    double *factors = J + b->out * b->dim;
    form_block(J, step, k);
    if (damped) {
      good &= hvi_dense_damped_solve(step->delta + b->theta, J, step->state + b->z, step->lambda,
                                     b->out, b->dim, factors);
    } else {
      const double top = hvi_dense_svd_factor(J, b->out, b->dim, factors);
      if (isnan(top)) return false;
      largest = top > largest ? top : largest;
    }
    if (b->out <= b->dim && b->out > back) back = b->out;
    if (b->out > b->dim && b->dim > forth) forth = b->dim;
    J += block_size(b);
  }
  /* players share a pass: the whole Jacobian costs as many products as its widest block */
  step->l->counts->grad_evals += back;
  step->l->counts->model_passes += forth;
  J = first_block(m, step->state);
  for (size_t k = 0; k < m->block_count && !damped; k++) {
    const hvi_block *b = &m->blocks[k];
    hvi_dense_svd_solve(step->delta + b->theta, step->state + b->z,
                        step->settings->rank_tol * largest, b->out, b->dim, J + b->out * b->dim);
    J += block_size(b);
  }
  return good;
}

/* Diagonal: one product J'1 gives all of J. State: {1[n] | J[d]}. */
static size_t diagonal_state(const hvi_model *m) { return m->out + m->dim; }

/* Xi cancels in r / J but for its part in what counts as the largest singular value. */
static bool diagonal_solve(const linear_step *step) {
  hvi_surrogate *l = step->l;
  const size_t n = l->model->out;
  const double lambda = step->lambda, *r = step->residual;
  double *ones = step->state, *J = ones + n, largest = 0.0;
  bool good = true;
  for (size_t i = 0; i < n; i++) ones[i] = 1.0;
  hvi_surrogate_pull(l, l->now, ones, J);
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * root_weight(l, i);
    largest = size > largest ? size : largest;
  }
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * root_weight(l, i);
    const double weighted = l->weights ? l->weights[i] * J[i] : J[i];
    if (lambda > 0.0)
      step->delta[i] = weighted * r[i] / (weighted * J[i] + lambda);
    else
      step->delta[i] = size > step->settings->rank_tol * largest ? r[i] / J[i] : 0.0;
    good &= (lambda > 0.0 ? fabs(step->delta[i]) : size) <= DBL_MAX;
  }
  return good;
}

/* Matrix-free: LSMR, damped by sqrt(lambda). Started at zero it tends to the minimum-norm solution,
 * so no cut-off is needed. State: {sqrt(Xi) r[n] | scratch[n] | LSMR's}. */
static size_t free_state(const hvi_model *m) { return hvi_lsmr_work(m->out, m->dim) + 2 * m->out; }

/* sqrt(Xi) J x and J' sqrt(Xi) y */
static void apply(void *context, const double *x, double *y) {
  const linear_step *step = context;
  hvi_surrogate *l = step->l;
  l->model->ops->jvp(l->model, l->now->cache, l->now->theta, x, y);
  for (size_t i = 0; i < l->model->out; i++) y[i] *= root_weight(l, i);
  l->counts->model_passes++;
}

static void apply_t(void *context, const double *y, double *x) {
  const linear_step *step = context;
  hvi_surrogate *l = step->l;
  double *scaled = step->state + l->model->out;
  for (size_t i = 0; i < l->model->out; i++) scaled[i] = root_weight(l, i) * y[i];
  hvi_surrogate_pull(l, l->now, scaled, x);
}

static bool free_solve(const linear_step *step) {
  const hvi_optimizer_settings *s = step->settings;
  const hvi_model *m = step->l->model;
  const size_t n = m->out, d = m->dim;
  double *r = step->state, *work = r + 2 * n;
  linear_step map = *step;
  const hvi_linear_map J = {n, d, apply, apply_t, &map};
  for (size_t i = 0; i < n; i++) r[i] = step->residual[i] * root_weight(step->l, i);
  const size_t most = s->linear_iters ? s->linear_iters : 4 * (n + d);
  /* beyond the rounding of its products there is nothing to gain */
  const double tol = fmax(s->linear_tol, m->noise);
  hvi_lsmr_solve(step->delta, &J, r, sqrt(step->lambda), tol, most, work);
  return hvi_vec_finite(step->delta, d);
}

/*
 * Gram: G = J' Xi J = V S V' is formed and decomposed once, and a step is V (S + lambda)^+ V' J' Xi
 * r: one product J'u. The cut-off applies to sqrt(S), the singular values.
 *
 * State: {whose G, S[d], V[d][d], J'Xi r [d], V'J'Xi r [d], Xi r [n] | LAPACK's}.
 */
_Static_assert(sizeof(void *) <= sizeof(double), "a pointer fits into a double of state");

static size_t gram_state(const hvi_model *m) {
  const size_t d = m->dim;
  return 1 + 3 * d + d * d + m->out + hvi_dense_eigen_work(d);
}

static bool gram_solve(const linear_step *step) {
  hvi_surrogate *l = step->l;
  const hvi_model *m = l->model;
  const size_t d = m->dim, n = m->out;
  const double *residual = step->residual, lambda = step->lambda;
  double *state = step->state;
  double *S = state + 1, *V = S + d, *g = V + d * d, *c = g + d, *u = c + d;
  if (memcmp(state, &m, sizeof m) != 0) {
    m->ops->gram(m, l->weights, V);
    if (!hvi_dense_eigen(S, V, d, u + n)) return false;
    memcpy(state, &m, sizeof m);
  }
  for (size_t i = 0; i < n; i++) u[i] = l->weights ? l->weights[i] * residual[i] : residual[i];
  hvi_surrogate_pull(l, l->now, u, g);
  /* row k of V is the eigenvector of S[k], largest last */
  hvi_dense_mul(c, V, g, d, d);
  const double least = step->settings->rank_tol * step->settings->rank_tol * S[d - 1];
  for (size_t k = 0; k < d; k++) c[k] = lambda > 0.0 || S[k] > least ? c[k] / (S[k] + lambda) : 0.0;
  hvi_dense_mul_t(step->delta, V, c, d, d);
  return hvi_vec_finite(step->delta, d);
}

/*
 * Outer Gram: with K = J J' and S = sqrt(Xi),
 *
 *   (S K S + lambda I) w = S r,   delta = J' S w:
 *
 * a Cholesky factor of an n x n matrix and one product J'u. Without damping K may be singular, and
 * it is only known up to the model's rounding: a Gauss-Newton step is then the damped one with
 *
 *   lambda = max(rank_tol^2, noise) * largest eigenvalue of S K S,
 *
 * singular values of J below the root of that share of the largest being rounding. State: {K[n][n],
 * w[n], scratch[n] | the model's}.
 */
enum { POWER_STEPS = 6, MOST_TRIES = 4 };

static size_t outer_state(const hvi_model *m) {
  return m->out * m->out + 2 * m->out + m->outer_work;
}

/* The lower triangle of K, scaled by S from both sides; scratch[n] and the model's work follow. */
static void form_outer(double *K, double *scratch, hvi_surrogate *l) {
  const size_t n = l->model->out;
  l->model->ops->outer_gram(l->model, l->now->cache, l->now->theta, K, scratch + n);
  l->counts->grad_evals++;
  if (!l->weights) return;
  for (size_t i = 0; i < n; i++) scratch[i] = sqrt(l->weights[i]);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) K[i * n + j] *= scratch[i] * scratch[j];
}

/* The largest eigenvalue, by the power method: a share of it is all that is needed. x, y: n each */
static double largest_eigenvalue(const double *K, double *x, double *y, size_t n) {
  double top = 0.0;
  for (size_t i = 0; i < n; i++) x[i] = 1.0;
  for (int power = 0; power < POWER_STEPS; power++) {
    const double norm = hvi_vec_norm(x, n);
    if (!(norm > 0.0)) return top;
    hvi_vec_scale(x, 1.0 / norm, n);
    for (size_t i = 0; i < n; i++) { /* y = K x by the lower triangle */
      y[i] = hvi_vec_dot(K + i * n, x, i + 1);
      hvi_vec_add(y, x[i], K + i * n, i);
    }
    top = hvi_vec_norm(y, n);
    hvi_vec_copy(x, y, n);
  }
  return top;
}

static bool outer_solve(const linear_step *step) {
  hvi_surrogate *l = step->l;
  const size_t n = l->model->out;
  const bool damped = step->lambda > 0.0;
  const double tol = step->settings->rank_tol, noise = fmax(l->model->noise, DBL_EPSILON);
  double *K = step->state, *w = K + n * n, share = fmax(tol * tol, noise);
  bool solved = false;
  for (int tries = 0; !solved && tries < (damped ? 1 : MOST_TRIES); tries++, share *= 10.0) {
    form_outer(K, w + n, l);
    const double top = damped ? 0.0 : largest_eigenvalue(K, w, w + n, n);
    if (!damped && !(top > 0.0 && top <= DBL_MAX)) return false;
    for (size_t i = 0; i < n; i++) {
      w[i] = step->residual[i] * root_weight(l, i);
      K[i * n + i] += damped ? step->lambda : share * top;
    }
    solved = hvi_dense_cholesky_solve(w, K, n, w + n);
  }
  if (!solved) return false;
  for (size_t i = 0; i < n; i++) w[i] *= root_weight(l, i);
  hvi_surrogate_pull(l, l->now, w, step->delta);
  return hvi_vec_finite(step->delta, l->model->dim);
}

static const form dense = {"dense", dense_state, dense_solve};
static const form diagonal = {"diagonal", diagonal_state, diagonal_solve};
static const form matrix_free = {"matrix-free", free_state, free_solve};
static const form gram = {"gram", gram_state, gram_solve};
static const form outer_gram = {"gram", outer_state, outer_solve};

/* Above this many entries in a player's Jacobian the automatic choice is not dense, and above these
 * sizes not a Gram matrix. MOST_STATE doubles are the most that any form may take. */
enum { DENSE_ENTRIES = 1 << 20, GRAM_LIMIT = 4096, OUTER_LIMIT = 8192, MOST_STATE = 1 << 29 };

static bool small(const hvi_model *m) {
  for (size_t k = 0; k < m->block_count; k++)
    if (m->blocks[k].out > DENSE_ENTRIES / m->blocks[k].dim) return false;
  return true;
}

/* The Gram form of this model, or NULL. */
static const form *gram_of(const hvi_model *m) {
  if (m->ops->outer_gram && m->block_count == 1) return &outer_gram;
  return m->ops->gram ? &gram : NULL;
}

static const form *form_of(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (s->linear == HVI_SOLVE_MATRIX_FREE) return &matrix_free;
  if (m->dim == m->block_count && m->out == m->block_count) return &diagonal;
  if (s->linear == HVI_SOLVE_DENSE) return &dense;
  const form *own = gram_of(m);
  if (s->linear == HVI_SOLVE_GRAM && own) return own;
  if (own == &outer_gram && m->out < m->dim && m->out <= OUTER_LIMIT) return own;
  if (small(m)) return &dense;
  return own == &gram && m->dim <= GRAM_LIMIT ? own : &matrix_free;
}

/* The largest matrix of a form, in doubles that do not overflow as sizes would. */
static double entries(const form *f, const hvi_model *m) {
  const double n = (double)m->out, d = (double)m->dim;
  double sum = f == &outer_gram ? n * n : f == &gram ? d * d : 0.0;
  for (size_t k = 0; k < m->block_count && f == &dense; k++)
    sum += (double)m->blocks[k].out * (double)m->blocks[k].dim;
  return sum;
}

hvi_status hvi_least_squares_check(const hvi_optimizer_settings *s, const hvi_model *m,
                                   hvi_error *err) {
  if (s->linear == HVI_SOLVE_GRAM && !gram_of(m)) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "this model has no Gram matrix of its own: the linear solver must be "
                         "dense or matrix-free");
  }
  const form *f = form_of(s, m);
  if (entries(f, m) <= (double)MOST_STATE && f->state(m) <= MOST_STATE) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                       "the %s form of a step with %zu outputs and %zu parameters needs over 4 "
                       "GiB: %s",
                       f->name, m->out, m->dim,
                       f == &matrix_free ? "it is too large"
                                         : "the linear solver must be matrix-free");
}

size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return form_of(s, m)->state(m);
}

bool hvi_least_squares_solve(double *delta, const hvi_optimizer_settings *s, double lambda,
                             double *state, hvi_surrogate *l, const double *residual) {
  const linear_step step = {s, l, residual, lambda, state, delta};
  return form_of(s, l->model)->solve(&step);
}

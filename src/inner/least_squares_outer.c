/*
 * Outer Gram: fewer outputs than parameters, and a model that has K = J J' without J. With S =
 * sqrt(Xi),
 *
 *   (S K S + lambda I) w = S r,   delta = J' S w:
 *
 * a Cholesky factor of an n x n matrix and one product J'u. Without damping K may be singular, and
 * it is only known up to the model's rounding: a Gauss-Newton step is then the damped one with
 *
 *   lambda = max(rank_tol^2, noise) * largest eigenvalue of S K S,
 *
 * singular values of J below the root of that share of the largest being rounding. State: {K[n][n],
 * w[n], room[n] | the model's}.
 */
#include "inner/least_squares_forms.h"

#include "num/dense.h"
#include "num/vec.h"

#include <float.h>
#include <math.h>

enum { POWER_STEPS = 6, MOST_TRIES = 4 };

static size_t state_size(const hvi_model *m) {
  const size_t n = m->out;
  return n * n + 2 * n + m->outer_work;
}

/* The lower triangle of K, scaled by S from both sides; room[n] and the model's work follow. */
static void form(double *K, double *room, hvi_surrogate *l) {
  const size_t n = l->model->out;
  l->model->ops->outer_gram(l->model, l->now->cache, l->now->theta, K, room + n);
  l->counts->grad_evals++;
  if (!l->weights) return;
  for (size_t i = 0; i < n; i++) room[i] = sqrt(l->weights[i]);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) K[i * n + j] *= room[i] * room[j];
  }
}

/* y = K x by the lower triangle */
static void multiply(double *y, const double *K, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const double *row = K + i * n;
    y[i] = hvi_vec_dot(row, x, i + 1);
    hvi_vec_add(y, x[i], row, i);
  }
}

/* The largest eigenvalue, by the power method: a share of it is all that is needed. x, y: n each */
static double largest_eigenvalue(const double *K, double *x, double *y, size_t n) {
  double top = 0.0;
  for (size_t i = 0; i < n; i++) x[i] = 1.0;
  for (int step = 0; step < POWER_STEPS; step++) {
    const double norm = hvi_vec_norm(x, n);
    if (!(norm > 0.0)) return top;
    hvi_vec_scale(x, 1.0 / norm, n);
    multiply(y, K, x, n);
    top = hvi_vec_norm(y, n);
    hvi_vec_copy(x, y, n);
  }
  return top;
}

/* w with (K + lambda I) w = S r; K is lost. */
static bool solve_for(double *w, double *K, const hvi_linear_step *step, double lambda) {
  const double *weights = step->l->weights;
  const size_t n = step->l->model->out;
  for (size_t i = 0; i < n; i++) {
    w[i] = step->residual[i] * (weights ? sqrt(weights[i]) : 1.0);
    K[i * n + i] += lambda;
  }
  return hvi_dense_cholesky_solve(w, K, n, w + n);
}

static bool gauss_newton(const hvi_linear_step *step, double *w, double *K) {
  const hvi_model *m = step->l->model;
  const size_t n = m->out;
  const double tol = step->settings->rank_tol, noise = fmax(m->noise, DBL_EPSILON);
  double share = fmax(tol * tol, noise);
  for (int tries = 0; tries < MOST_TRIES; tries++) {
    form(K, w + n, step->l);
    const double top = largest_eigenvalue(K, w, w + n, n);
    if (!(top > 0.0 && top <= DBL_MAX)) break;
    if (solve_for(w, K, step, share * top)) return true;
    share *= 10.0;
  }
  return false;
}

static bool damped(const hvi_linear_step *step, double *w, double *K) {
  form(K, w + step->l->model->out, step->l);
  return solve_for(w, K, step, step->lambda);
}

static bool solve(const hvi_linear_step *step) {
  hvi_surrogate *l = step->l;
  const hvi_model *m = l->model;
  const size_t n = m->out;
  double *K = step->state, *w = K + n * n;
  if (!(step->lambda > 0.0 ? damped(step, w, K) : gauss_newton(step, w, K))) return false;
  for (size_t i = 0; l->weights && i < n; i++) w[i] *= sqrt(l->weights[i]);
  m->ops->vjp(m, l->now->cache, l->now->theta, w, step->delta);
  l->counts->grad_evals++;
  return hvi_vec_finite(step->delta, m->dim);
}

const hvi_linear_form hvi_linear_outer = {state_size, solve};

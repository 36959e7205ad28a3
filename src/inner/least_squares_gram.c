/*
 * Gram: J is constant and tall. G = J' Xi J = V S V' is formed and decomposed once, and a step is
 * V (S + lambda)^+ V' J' Xi r: one product J'u. The cut-off applies to sqrt(S), the singular
 * values.
 *
 * State: {whose G, S[d], V[d][d], J'Xi r [d], V'J'Xi r [d], Xi r [n] | LAPACK's}.
 */
#include "inner/least_squares_forms.h"

#include "num/dense.h"
#include "num/vec.h"

#include <string.h>

_Static_assert(sizeof(void *) <= sizeof(double), "a pointer fits into a double of state");

static size_t state_size(const hvi_model *m) {
  const size_t d = m->dim;
  return 1 + 3 * d + d * d + m->out + hvi_dense_eigen_work(d);
}

static bool solve(const hvi_linear_step *step) {
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
  m->ops->vjp(m, l->now->cache, l->now->theta, u, g);
  l->counts->grad_evals++;
  /* row k of V is the eigenvector of S[k], largest last */
  hvi_dense_mul(c, V, g, d, d);
  const double least = step->settings->rank_tol * step->settings->rank_tol * S[d - 1];
  for (size_t k = 0; k < d; k++) c[k] = lambda > 0.0 || S[k] > least ? c[k] / (S[k] + lambda) : 0.0;
  hvi_dense_mul_t(step->delta, V, c, d, d);
  return hvi_vec_finite(step->delta, d);
}

const hvi_linear_form hvi_linear_gram = {state_size, solve};

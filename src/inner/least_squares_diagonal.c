/*
 * Diagonal: every player has one parameter and one output, so J is a vector, and one product J'1
 * gives all of it. State: {1[n] | J[d]}.
 */
#include "inner/least_squares_forms.h"

#include <float.h>
#include <math.h>

static size_t state_size(const hvi_model *m) { return m->out + m->dim; }

/* The diagonal of J into J[d]; ones[n] is scratch. */
static void form_diagonal(double *J, double *ones, hvi_surrogate *l) {
  for (size_t i = 0; i < l->model->out; i++) ones[i] = 1.0;
  l->model->ops->vjp(l->model, l->now->cache, l->now->theta, ones, J);
  l->counts->grad_evals++;
}

/* Xi cancels in r / J but for its part in what counts as the largest singular value. */
static bool gauss_newton(const hvi_linear_step *step, const double *J) {
  const hvi_surrogate *l = step->l;
  const size_t n = l->model->out;
  double largest = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * (l->weights ? sqrt(l->weights[i]) : 1.0);
    if (!(size <= DBL_MAX)) return false;
    largest = size > largest ? size : largest;
  }
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * (l->weights ? sqrt(l->weights[i]) : 1.0);
    step->delta[i] = size > step->settings->rank_tol * largest ? step->residual[i] / J[i] : 0.0;
  }
  return true;
}

static bool damped(const hvi_linear_step *step, const double *J) {
  const hvi_surrogate *l = step->l;
  const size_t n = l->model->out;
  bool good = true;
  for (size_t i = 0; i < n; i++) {
    const double weighted = l->weights ? l->weights[i] * J[i] : J[i];
    step->delta[i] = weighted * step->residual[i] / (weighted * J[i] + step->lambda);
    good &= fabs(step->delta[i]) <= DBL_MAX;
  }
  return good;
}

static bool solve(const hvi_linear_step *step) {
  double *J = step->state + step->l->model->out;
  form_diagonal(J, step->state, step->l);
  return step->lambda > 0.0 ? damped(step, J) : gauss_newton(step, J);
}

const hvi_linear_form hvi_linear_diagonal = {state_size, solve};

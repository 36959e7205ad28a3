/*
 * Gauss-Newton steps on the surrogate.
 *
 *   gn    theta <- theta - J^+ r                 one step of it is PHGD
 *   dgn   theta <- theta - factor J^+ r          or Armijo: the first t = 1, 1/2, 1/4, ... with
 *         l(theta - t J^+ r) <= l(theta) - c t <grad, J^+ r>,  c = 1e-4
 *
 * J^+ is the pseudo-inverse with a relative cut-off; (J'J)^+ J' = J^+. State: {delta[d] | linear}.
 */
#include "inner/least_squares.h"
#include "inner/optimizers.h"
#include "num/vec.h"

static size_t gn_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return m->dim + hvi_least_squares_state(s, m);
}

static void gn_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m, (void)state;
}

static double probe_along(hvi_surrogate *l, const double *delta, double t) {
  const double *theta = l->now->theta;
  for (size_t i = 0; i < l->model->dim; i++) l->next->theta[i] = theta[i] - t * delta[i];
  return hvi_surrogate_probe(l);
}

static bool direction(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return hvi_least_squares_solve(state, s, 0.0, state + l->model->dim, l, l->now->residual);
}

static bool fixed_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l, double t) {
  if (!direction(s, state, l)) return false;
  probe_along(l, state, t);
  hvi_surrogate_accept(l);
  return true;
}

static bool gn_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return fixed_step(s, state, l, 1.0);
}

static bool armijo_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  if (!direction(s, state, l)) return false;
  const double slope = hvi_vec_dot(hvi_surrogate_gradient(l), state, l->model->dim);
  for (double t = 1.0; t > 1e-12; t *= 0.5) {
    if (probe_along(l, state, t) <= l->now->loss - 1e-4 * t * slope) {
      hvi_surrogate_accept(l);
      return true;
    }
  }
  return false;
}

static bool dgn_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return s->line_search ? armijo_step(s, state, l) : fixed_step(s, state, l, s->factor);
}

const hvi_optimizer hvi_optimizer_gn = {.name = "gn",
                                        .summary = "Gauss-Newton, full steps (one step: PHGD)",
                                        .state = gn_state,
                                        .reset = gn_reset,
                                        .step = gn_step};
const hvi_optimizer hvi_optimizer_dgn = {
    .name = "dgn",
    .summary = "damped Gauss-Newton: a fixed factor, or Armijo line search",
    .state = gn_state,
    .reset = gn_reset,
    .step = dgn_step};

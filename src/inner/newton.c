/*
 * Steps that solve a linear least-squares problem on the surrogate, with r = g(theta) - v.
 *
 *   gn    theta <- theta - J^+ r                 one step of it is PHGD
 *   dgn   theta <- theta - factor J^+ r          or Armijo: the first t = 1, 1/2, 1/4, ... with
 *         l(theta - t J^+ r) <= l(theta) - c t <grad, J^+ r>,  c = 1e-4
 *   lm    theta <- theta - (J'J + lambda I)^-1 J' r
 *
 * J^+ is the pseudo-inverse with a relative cut-off; (J'J)^+ J' = J^+.
 *
 * Levenberg-Marquardt with fixed lambda takes every step. With gain-ratio control (Nielsen, 1999)
 * the step delta is taken when it lowers the loss, and lambda follows the ratio of the actual to
 * the predicted gain, the latter being 1/2 <delta, lambda delta + J'r>:
 *   taken:   lambda <- lambda max(1/3, 1 - (2 ratio - 1)^3),  nu <- 2
 *   refused: lambda <- lambda nu,  nu <- 2 nu,  try again
 *
 * The adversary is the worst optimizer that still satisfies alpha-descent, the paper's
 * counterexample:
 *
 *   g(theta) = v + alpha Q (z_t - v),   Q the rotation by `angle` of each pair of outputs
 *
 * so l = alpha^2 l0 exactly. With F(z) = [[1, 1], [-1, 1]] z, alpha = 1/sqrt(2) and 45 degrees this
 * is gradient descent-ascent on x y, which diverges for every eta. The point is reached by one
 * Gauss-Newton step, which is exact on an affine model that can reach it.
 */
#include "inner/least_squares.h"
#include "inner/optimizers.h"
#include "num/vec.h"

#include <math.h>

/* The loss at now->theta - t delta, which becomes next->theta. */
static double probe_along(hvi_surrogate *l, const double *delta, double t) {
  const double *theta = l->now->theta;
  for (size_t i = 0; i < l->model->dim; i++) l->next->theta[i] = theta[i] - t * delta[i];
  return hvi_surrogate_probe(l);
}

static void forget_nothing(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m, (void)state;
}

/* Gauss-Newton. State: {delta[d] | linear}. */
static size_t gn_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return m->dim + hvi_least_squares_state(s, m);
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

/* Levenberg-Marquardt. State: {lambda, nu, delta[d] | linear}. */
enum { LAMBDA, NU, DELTA, MOST_TRIES = 40 };

static size_t lm_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return DELTA + gn_state(s, m);
}

static void lm_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)m;
  state[LAMBDA] = s->damping;
  state[NU] = 2.0;
}

/* Computes delta for the current lambda and the loss after it. */
static bool try_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  double *delta = state + DELTA, *linear = delta + l->model->dim;
  if (!hvi_least_squares_solve(delta, s, state[LAMBDA], linear, l, l->now->residual)) return false;
  probe_along(l, delta, 1.0);
  return true;
}

static const double least_share = 1e-20; /* of the damping asked for */

static double predicted_gain(const double *state, hvi_surrogate *l, const double *g) {
  const double *delta = state + DELTA;
  double sum = 0.0;
  for (size_t i = 0; i < l->model->dim; i++) sum += delta[i] * (state[LAMBDA] * delta[i] + g[i]);
  return 0.5 * sum;
}

static bool adaptive_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  const double *g = hvi_surrogate_gradient(l), first = state[LAMBDA];
  for (int tries = 0; tries < MOST_TRIES; tries++) {
    /* without a solution lambda is too small for this J */
    const bool solved = try_step(s, state, l);
    const double gain = solved ? l->now->loss - l->next->loss : -1.0;
    const double expected = solved ? predicted_gain(state, l, g) : 1.0;
    if (gain > 0.0 && expected > 0.0) {
      const double swing = 2.0 * gain / expected - 1.0;
      /* not to where no number of refusals would bring it back */
      state[LAMBDA] = fmax(state[LAMBDA] * fmax(1.0 / 3.0, 1.0 - swing * swing * swing),
                           least_share * s->damping);
      state[NU] = 2.0;
      hvi_surrogate_accept(l);
      return true;
    }
    state[LAMBDA] *= state[NU];
    state[NU] *= 2.0;
  }
  /* nothing left to gain here; the next surrogate must not pay for it */
  state[LAMBDA] = first;
  state[NU] = 2.0;
  return false;
}

static bool lm_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  if (s->adapt_damping) return adaptive_step(s, state, l);
  if (!try_step(s, state, l)) return false;
  hvi_surrogate_accept(l);
  return true;
}

/* The adversary. State: {delta[d], wanted residual[n] | linear}. */
static size_t adversary_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return m->out + gn_state(s, m);
}

static bool adversary_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  const size_t n = l->model->out;
  const double *r = l->now->residual, c = cos(s->error_angle), q = sin(s->error_angle);
  double *gap = state + l->model->dim; /* now - wanted = r - alpha Q r */
  for (size_t i = 0; i + 1 < n; i += 2) {
    /* a rotation in the norm of Xi */
    const double stretch = l->weights ? sqrt(l->weights[i + 1] / l->weights[i]) : 1.0;
    gap[i] = r[i] - s->error_alpha * (c * r[i] - q * stretch * r[i + 1]);
    gap[i + 1] = r[i + 1] - s->error_alpha * (q / stretch * r[i] + c * r[i + 1]);
  }
  if (n % 2 == 1) gap[n - 1] = r[n - 1] * (1.0 - s->error_alpha);
  if (!hvi_least_squares_solve(state, s, 0.0, gap + n, l, gap)) return false;
  probe_along(l, state, 1.0);
  hvi_surrogate_accept(l);
  return true;
}

const hvi_optimizer hvi_optimizer_gn = {.name = "gn",
                                        .summary = "Gauss-Newton, full steps (one step: PHGD)",
                                        .state = gn_state,
                                        .reset = forget_nothing,
                                        .step = gn_step};
const hvi_optimizer hvi_optimizer_dgn = {
    .name = "dgn",
    .summary = "damped Gauss-Newton: a fixed factor, or Armijo line search",
    .state = gn_state,
    .reset = forget_nothing,
    .step = dgn_step};
const hvi_optimizer hvi_optimizer_lm = {
    .name = "lm",
    .summary = "Levenberg-Marquardt: fixed lambda, or gain-ratio control",
    .state = lm_state,
    .reset = lm_reset,
    .step = lm_step};
const hvi_optimizer hvi_optimizer_adversary = {
    .name = "adversary",
    .summary = "errs by exactly alpha in a rotated direction (the paper's counterexample)",
    .state = adversary_state,
    .reset = forget_nothing,
    .step = adversary_step};

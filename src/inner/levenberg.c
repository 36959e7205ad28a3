/*
 * Levenberg-Marquardt steps on the surrogate.
 *
 *   theta <- theta - (J'J + lambda I)^-1 J' r
 *
 * With fixed lambda every step is taken. With gain-ratio control (Nielsen, 1999) the step delta is
 * taken when it lowers the loss, and lambda follows the ratio of the actual to the predicted gain,
 * the latter being 1/2 <delta, lambda delta + J'r>:
 *   taken:   lambda <- lambda max(1/3, 1 - (2 ratio - 1)^3),  nu <- 2
 *   refused: lambda <- lambda nu,  nu <- 2 nu,  try again
 *
 * State: {lambda, nu, delta[d] | linear}.
 */
#include "inner/least_squares.h"
#include "inner/optimizers.h"
#include "num/vec.h"

#include <math.h>

enum { LAMBDA, NU, DELTA, MOST_TRIES = 40 };

static size_t lm_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return DELTA + m->dim + hvi_least_squares_state(s, m);
}

static void lm_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)m;
  state[LAMBDA] = s->damping;
  state[NU] = 2.0;
}

/* Computes delta for the current lambda and the loss after it. */
static bool try_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  double *delta = state + DELTA;
  const size_t d = l->model->dim;
  if (!hvi_least_squares_solve(delta, s, state[LAMBDA], delta + d, l, l->now->residual)) {
    return false;
  }
  for (size_t i = 0; i < d; i++) l->next->theta[i] = l->now->theta[i] - delta[i];
  hvi_surrogate_probe(l);
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

const hvi_optimizer hvi_optimizer_lm = {
    .name = "lm",
    .summary = "Levenberg-Marquardt: fixed lambda, or gain-ratio control",
    .state = lm_state,
    .reset = lm_reset,
    .step = lm_step};

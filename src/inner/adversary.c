/*
 * The worst optimizer that still satisfies alpha-descent: the paper's counterexample.
 *
 *   g(theta) = v + alpha Q (z_t - v),   Q the rotation by `angle` of each pair of outputs
 *
 * so l = alpha^2 l0 exactly. With F(z) = [[1, 1], [-1, 1]] z, alpha = 1/sqrt(2) and 45 degrees this
 * is gradient descent-ascent on x y, which diverges for every eta. The point is reached by one
 * Gauss-Newton step, which is exact on an affine model that can reach it.
 * State: {delta[d], wanted residual[n] | linear}.
 */
#include "inner/least_squares.h"
#include "inner/optimizers.h"

#include <math.h>

static size_t adversary_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return m->dim + m->out + hvi_least_squares_state(s, m);
}

static void adversary_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m, (void)state;
}

static bool adversary_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  const size_t d = l->model->dim, n = l->model->out;
  const double *r = l->now->residual, c = cos(s->error_angle), q = sin(s->error_angle);
  double *gap = state + d; /* now - wanted = r - alpha Q r */
  for (size_t i = 0; i + 1 < n; i += 2) {
    /* a rotation in the norm of Xi */
    const double stretch = l->weights ? sqrt(l->weights[i + 1] / l->weights[i]) : 1.0;
    gap[i] = r[i] - s->error_alpha * (c * r[i] - q * stretch * r[i + 1]);
    gap[i + 1] = r[i + 1] - s->error_alpha * (q / stretch * r[i] + c * r[i + 1]);
  }
  if (n % 2 == 1) gap[n - 1] = r[n - 1] * (1.0 - s->error_alpha);
  if (!hvi_least_squares_solve(state, s, 0.0, gap + n, l, gap)) return false;
  for (size_t i = 0; i < d; i++) l->next->theta[i] = l->now->theta[i] - state[i];
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

const hvi_optimizer hvi_optimizer_adversary = {
    .name = "adversary",
    .summary = "errs by exactly alpha in a rotated direction (the paper's counterexample)",
    .state = adversary_state,
    .reset = adversary_reset,
    .step = adversary_step};

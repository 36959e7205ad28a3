/*
 * First-order steps with one rate.
 *
 *   gd        theta <- theta - lr g
 *   momentum  v <- beta v + g,  theta <- theta - lr v
 *
 * gd is the paper's Surr-GD. g = J' Xi (g(theta) - v) is the surrogate's gradient.
 */
#include "inner/optimizers.h"
#include "num/bulk.h"
#include "num/vec.h"

static size_t no_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s, (void)m;
  return 0;
}

static void forget_nothing(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m, (void)state;
}

static bool gd_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  (void)state;
  const double *g = hvi_surrogate_gradient(l), *theta = l->now->theta;
  const size_t d = l->model->dim;
  double *next = l->next->theta;
  if (d >= HVI_BULK_LEAST) {
    hvi_bulk_best()->descend(next, theta, g, s->lr, d);
  } else {
    for (size_t i = 0; i < d; i++) next[i] = theta[i] - s->lr * g[i];
  }
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

static size_t velocity_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s;
  return m->dim;
}

static void forget_velocity(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s;
  hvi_vec_zero(state, m->dim);
}

static bool momentum_step(const hvi_optimizer_settings *s, double *velocity, hvi_surrogate *l) {
  const double *g = hvi_surrogate_gradient(l), *theta = l->now->theta;
  const size_t d = l->model->dim;
  double *next = l->next->theta;
  if (d >= HVI_BULK_LEAST) {
    hvi_bulk_best()->momentum(next, velocity, theta, g, s->momentum, s->lr, d);
  } else {
    for (size_t i = 0; i < d; i++) {
      velocity[i] = s->momentum * velocity[i] + g[i];
      next[i] = theta[i] - s->lr * velocity[i];
    }
  }
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

const hvi_optimizer hvi_optimizer_gd = {.name = "gd",
                                        .summary = "gradient descent (the paper's Surr-GD)",
                                        .state = no_state,
                                        .reset = forget_nothing,
                                        .step = gd_step};
const hvi_optimizer hvi_optimizer_momentum = {.name = "momentum",
                                              .summary =
                                                  "gradient descent with heavy-ball momentum",
                                              .state = velocity_state,
                                              .reset = forget_velocity,
                                              .step = momentum_step};

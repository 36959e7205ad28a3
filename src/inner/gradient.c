/*
 * First-order steps. g = J' Xi (g(theta) - v) is the surrogate's gradient.
 *
 *   gd        theta <- theta - lr g                    the paper's Surr-GD
 *   momentum  v <- beta v + g,  theta <- theta - lr v
 *   adam      m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2        (Kingma and Ba, 2015)
 *             theta <- theta - lr (m / (1 - b1^k)) / (sqrt(v / (1 - b2^k)) + eps)
 *   adamw     adam, after theta has shrunk by lr * weight_decay   (Loshchilov and Hutter, 2019)
 *
 * State: none; v[d]; {b1^k, b2^k, m[d], v[d]}. Long loops are built per instruction set, with the
 * same bits.
 */
#include "inner/optimizers.h"
#include "num/bulk.h"
#include "num/vec.h"

#include <math.h>

/* Every step counts, whether it lowers the loss or not. */
static bool go_to_next(hvi_surrogate *l) {
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

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
  return go_to_next(l);
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
  return go_to_next(l);
}

static size_t adam_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s;
  return 2 + 2 * m->dim;
}

static void adam_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s;
  hvi_vec_zero(state, 2 + 2 * m->dim);
  state[0] = state[1] = 1.0;
}

static bool adam_update(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l,
                        double decay) {
  const size_t d = l->model->dim;
  const double *g = hvi_surrogate_gradient(l), *theta = l->now->theta;
  double *m = state + 2, *v = m + d, *next = l->next->theta;
  state[0] *= s->beta1;
  state[1] *= s->beta2;
  const hvi_adam_rates r = {.beta1 = s->beta1,
                            .beta2 = s->beta2,
                            .epsilon = s->epsilon,
                            .rate = s->lr / (1.0 - state[0]),
                            .scale = 1.0 / (1.0 - state[1]),
                            .keep = 1.0 - s->lr * decay};
  if (d >= HVI_BULK_LEAST) {
    hvi_bulk_best()->adam(next, m, v, theta, g, &r, d);
    return go_to_next(l);
  }
  for (size_t i = 0; i < d; i++) {
    m[i] = r.beta1 * m[i] + (1.0 - r.beta1) * g[i];
    v[i] = r.beta2 * v[i] + (1.0 - r.beta2) * g[i] * g[i];
    next[i] = theta[i] * r.keep - r.rate * m[i] / (sqrt(r.scale * v[i]) + r.epsilon);
  }
  return go_to_next(l);
}

static bool adam_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return adam_update(s, state, l, 0.0);
}

static bool adamw_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return adam_update(s, state, l, s->weight_decay);
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
const hvi_optimizer hvi_optimizer_adam = {
    .name = "adam", .summary = "Adam", .state = adam_state, .reset = adam_reset, .step = adam_step};
const hvi_optimizer hvi_optimizer_adamw = {.name = "adamw",
                                           .summary = "Adam with decoupled weight decay",
                                           .state = adam_state,
                                           .reset = adam_reset,
                                           .step = adamw_step};

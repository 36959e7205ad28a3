/*
 * Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).
 *
 *   m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2
 *   theta <- theta - lr (m / (1 - b1^k)) / (sqrt(v / (1 - b2^k)) + eps)
 *
 * AdamW first shrinks theta by lr * weight_decay. State: {b1^k, b2^k, m[d], v[d]}.
 */
#include "inner/optimizers.h"
#include "num/vec.h"

#include <math.h>

static size_t adam_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s;
  return 2 + 2 * m->dim;
}

static void adam_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s;
  hvi_vec_zero(state, 2 + 2 * m->dim);
  state[0] = state[1] = 1.0;
}

static void adam_update(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l,
                        double decay) {
  const size_t d = l->model->dim;
  const double *g = hvi_surrogate_gradient(l), *theta = l->now->theta;
  double *m = state + 2, *v = m + d;
  state[0] *= s->beta1;
  state[1] *= s->beta2;
  const double rate = s->lr / (1.0 - state[0]), scale = 1.0 / (1.0 - state[1]);
  for (size_t i = 0; i < d; i++) {
    m[i] = s->beta1 * m[i] + (1.0 - s->beta1) * g[i];
    v[i] = s->beta2 * v[i] + (1.0 - s->beta2) * g[i] * g[i];
    l->next->theta[i] =
        theta[i] * (1.0 - s->lr * decay) - rate * m[i] / (sqrt(scale * v[i]) + s->epsilon);
  }
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
}

static bool adam_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  adam_update(s, state, l, 0.0);
  return true;
}

static bool adamw_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  adam_update(s, state, l, s->weight_decay);
  return true;
}

const hvi_optimizer hvi_optimizer_adam = {
    .name = "adam", .summary = "Adam", .state = adam_state, .reset = adam_reset, .step = adam_step};
const hvi_optimizer hvi_optimizer_adamw = {.name = "adamw",
                                           .summary = "Adam with decoupled weight decay",
                                           .state = adam_state,
                                           .reset = adam_reset,
                                           .step = adamw_step};

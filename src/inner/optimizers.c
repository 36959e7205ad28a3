/*
 * The inner optimizers: theta <- A(l, theta).
 *
 * First-order steps, with g = J' Xi (g(theta) - v) the surrogate's gradient:
 *
 *   gd        theta <- theta - lr g                    the paper's Surr-GD
 *   momentum  v <- beta v + g,  theta <- theta - lr v
 *   adam      m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2        (Kingma and Ba, 2015)
 *             theta <- theta - lr (m / (1 - b1^k)) / (sqrt(v / (1 - b2^k)) + eps)
 *   adamw     adam, after theta has shrunk by lr * weight_decay   (Loshchilov and Hutter, 2019)
 *
 * Steps that solve a linear least-squares problem, with r = g(theta) - v:
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
#include "inner/optimizers.h"

#include "base/base.h"
#include "inner/least_squares.h"
#include "num/adam.h"
#include "num/vec.h"
#include "surrogate/surrogate.h"

/* A first-order step on its way through the gradient. */
typedef struct descent {
  const hvi_optimizer_settings *s;
  double *theta, *state;
  hvi_adam_rates rates;
  size_t dim;
} descent;

/* Every step counts, whether it lowers the loss or not: theta is written in place, as the gradient comes. */
static bool take_step(hvi_surrogate *l, descent *d, hvi_gradient_piece update) {
  d->theta = l->now->theta;
  d->dim = l->model->dim;
  hvi_surrogate_gradient_by(l, update, d);
  hvi_surrogate_moved(l);
  return true;
}

static void gd_update(void *context, size_t first, const double *g, size_t n) {
  const descent *d = context;
  hvi_vec_add(d->theta + first, -d->s->lr, g, n);
}

static bool gd_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return take_step(l, &(descent){.s = s, .state = state}, gd_update);
}

/* Momentum. State: v[d]. */
static size_t velocity_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s;
  return m->dim;
}

static void forget_velocity(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  hvi_vec_zero(state, velocity_state(s, m));
}

static void momentum_update(void *context, size_t first, const double *g, size_t n) {
  const descent *d = context;
  double *v = d->state + first, *theta = d->theta + first;
  for (size_t i = 0; i < n; i++) {
    v[i] = d->s->momentum * v[i] + g[i];
    theta[i] -= d->s->lr * v[i];
  }
}

static bool momentum_step(const hvi_optimizer_settings *s, double *velocity, hvi_surrogate *l) {
  return take_step(l, &(descent){.s = s, .state = velocity}, momentum_update);
}

/* Adam. State: {b1^k, b2^k, m[d], v[d]}. */
static size_t adam_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s;
  return 2 + 2 * m->dim;
}

static void adam_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  hvi_vec_zero(state, adam_state(s, m));
  state[0] = state[1] = 1.0;
}

static void adam_update(void *context, size_t first, const double *g, size_t n) {
  const descent *d = context;
  double *m = d->state + 2 + first;
  hvi_adam_update(d->theta + first, m, m + d->dim, g, &d->rates, n);
}

static bool decayed_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l,
                         double decay) {
  state[0] *= s->beta1;
  state[1] *= s->beta2;
  const hvi_adam_rates r = {.beta1 = s->beta1,
                            .beta2 = s->beta2,
                            .epsilon = s->epsilon,
                            .rate = s->lr / (1.0 - state[0]),
                            .scale = 1.0 / (1.0 - state[1]),
                            .keep = 1.0 - s->lr * decay};
  return take_step(l, &(descent){.s = s, .state = state, .rates = r}, adam_update);
}

static bool adam_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return decayed_step(s, state, l, 0.0);
}

static bool adamw_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return decayed_step(s, state, l, s->weight_decay);
}

/* The loss at now->theta - t delta, which becomes next->theta. */
static double probe_along(hvi_surrogate *l, const double *delta, double t) {
  const double *theta = l->now->theta;
  for (size_t i = 0; i < l->model->dim; i++) l->next->theta[i] = theta[i] - t * delta[i];
  return hvi_surrogate_probe(l);
}

static bool go_along(hvi_surrogate *l, const double *delta, double t) {
  probe_along(l, delta, t);
  hvi_surrogate_accept(l);
  return true;
}

/* Gauss-Newton. State: {delta[d] | linear}. */
static size_t gn_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return m->dim + hvi_least_squares_state(s, m);
}

static bool direction(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return hvi_least_squares_solve(state, s, 0.0, false, state + l->model->dim, l, l->now->residual);
}

static bool gn_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  return direction(s, state, l) && go_along(l, state, 1.0);
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
  if (s->line_search) return armijo_step(s, state, l);
  return direction(s, state, l) && go_along(l, state, s->factor);
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

/* Computes delta for the current lambda and the loss after it; again: at the same J. */
static bool try_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l, bool again) {
  double *delta = state + DELTA, *linear = delta + l->model->dim;
  if (!hvi_least_squares_solve(delta, s, state[LAMBDA], again, linear, l, l->now->residual))
    return false;
  probe_along(l, delta, 1.0);
  return true;
}

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
    const bool solved = try_step(s, state, l, tries > 0);
    const double gain = solved ? l->now->loss - l->next->loss : -1.0;
    const double expected = solved ? predicted_gain(state, l, g) : 1.0;
    if (gain > 0.0 && expected > 0.0) {
      const double swing = 2.0 * gain / expected - 1.0;
      /* not to where no number of refusals would bring it back */
      state[LAMBDA] =
          fmax(state[LAMBDA] * fmax(1.0 / 3.0, 1.0 - swing * swing * swing), 1e-20 * s->damping);
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
  if (!try_step(s, state, l, false)) return false;
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
  return hvi_least_squares_solve(state, s, 0.0, false, gap + n, l, gap) && go_along(l, state, 1.0);
}

const hvi_optimizer hvi_optimizer_gd = {"gd", "gradient descent (the paper's Surr-GD)", NULL, NULL,
                                        gd_step};
const hvi_optimizer hvi_optimizer_momentum = {"momentum",
                                              "gradient descent with heavy-ball momentum",
                                              velocity_state, forget_velocity, momentum_step};
const hvi_optimizer hvi_optimizer_adam = {"adam", "Adam", adam_state, adam_reset, adam_step};
const hvi_optimizer hvi_optimizer_adamw = {"adamw", "Adam with decoupled weight decay", adam_state,
                                           adam_reset, adamw_step};
const hvi_optimizer hvi_optimizer_gn = {"gn", "Gauss-Newton, full steps (one step: PHGD)", gn_state,
                                        NULL, gn_step};
const hvi_optimizer hvi_optimizer_dgn = {
    "dgn", "damped Gauss-Newton: a fixed factor, or Armijo line search", gn_state, NULL, dgn_step};
const hvi_optimizer hvi_optimizer_lm = {
    "lm", "Levenberg-Marquardt: fixed lambda, or gain-ratio control", lm_state, lm_reset, lm_step};
const hvi_optimizer hvi_optimizer_adversary = {
    "adversary", "errs by exactly alpha in a rotated direction (the paper's counterexample)",
    adversary_state, NULL, adversary_step};

bool hvi_optimizer_descent(hvi_device_descent *d, const hvi_optimizer *o,
                           const hvi_optimizer_settings *s) {
  const bool momentum = o == &hvi_optimizer_momentum, decays = o == &hvi_optimizer_adamw;
  const bool adam = o == &hvi_optimizer_adam || decays;
  const hvi_device_rule plain = momentum ? HVI_DEVICE_MOMENTUM : HVI_DEVICE_GD;
  *d = (hvi_device_descent){.rule = adam ? HVI_DEVICE_ADAM : plain,
                            .lr = s->lr,
                            .lr_factor = 1.0,
                            .beta1 = momentum ? s->momentum : s->beta1,
                            .beta2 = s->beta2,
                            .epsilon = s->epsilon,
                            .decay = decays ? s->weight_decay : 0.0,
                            .goal = -INFINITY};
  return adam || momentum || o == &hvi_optimizer_gd;
}

/* Adaptive Levenberg-Marquardt ends where it gets no further; first-order steps may rise on the way. */
double hvi_optimizer_search(hvi_surrogate *l, const hvi_optimizer *o, hvi_optimizer_settings s,
                            double *state, size_t steps, double lr_factor) {
  double least = l->loss0;
  hvi_device_descent d;
  if (hvi_optimizer_descent(&d, o, &s) && l->model->ops->descend) {
    d.forget = d.least_wanted = true;
    d.lr_factor = lr_factor;
    d.most = steps;
    hvi_surrogate_descend(l, &d);
    return fmin(least, d.least);
  }
  const double lr = s.lr;
  if (o->reset) o->reset(&s, l->model, state);
  for (size_t k = 0; k < steps; k++) {
    const double before = l->now->loss;
    s.lr = lr * pow(lr_factor, (double)k);
    if (!o->step(&s, state, l)) break;
    least = fmin(least, l->now->loss);
    if (o == &hvi_optimizer_lm && before - l->now->loss <= 1e-14 * l->loss0) break;
  }
  return least;
}

static const hvi_optimizer *const optimizers[] = {
    &hvi_optimizer_gd,    &hvi_optimizer_momentum,  &hvi_optimizer_adam,
    &hvi_optimizer_adamw, &hvi_optimizer_gn,        &hvi_optimizer_dgn,
    &hvi_optimizer_lm,    &hvi_optimizer_adversary, NULL,
};

const hvi_optimizer *const *hvi_optimizer_list(void) { return optimizers; }

const hvi_optimizer *hvi_optimizer_find(const char *name) {
  for (size_t i = 0; name && optimizers[i]; i++)
    if (strcmp(optimizers[i]->name, name) == 0) return optimizers[i];
  return NULL;
}

/* Default settings, and the one place where settings are refused. */
#include "base/error.h"
#include "inner/least_squares.h"
#include "inner/optimizers.h"
#include "num/vec.h"
#include "outer/solver.h"

#include <math.h>

enum { MOST_TARGETS = 1000000 };

hvi_settings hvi_settings_defaults(void) {
  return (hvi_settings){.optimizer = &hvi_optimizer_gd,
                        .inner = hvi_optimizer_defaults(),
                        .eta = 0.1,
                        .average = 10,
                        .memory = 5,
                        .rule_settings = {.second_rate = 1.0},
                        .inner_steps = 1,
                        .max_outer = 1000,
                        .stall_window = 200,
                        .growth_bound = 1e8};
}

static hvi_status need_positive(double x, const char *name, hvi_error *err) {
  if (x > 0.0 && isfinite(x)) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%s = %g: it must be a positive number", name, x);
}

static hvi_status need_share(double x, const char *name, hvi_error *err) {
  if (x >= 0.0 && x < 1.0) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%s = %g: it must be at least 0 and below 1", name,
                       x);
}

static hvi_status check_inner(const hvi_optimizer_settings *s, hvi_error *err) {
  hvi_status status = need_positive(s->lr, "inner step size", err);
  if (!status) status = need_share(s->momentum, "momentum", err);
  if (!status) status = need_share(s->beta1, "beta1", err);
  if (!status) status = need_share(s->beta2, "beta2", err);
  if (!status) status = need_positive(s->epsilon, "epsilon", err);
  if (!status) status = need_positive(s->damping, "damping", err);
  if (!status) status = need_positive(s->factor, "factor", err);
  if (!status) status = need_share(s->rank_tol, "rank tolerance", err);
  if (!status) status = need_share(s->linear_tol, "linear tolerance", err);
  if (!status) status = need_share(s->error_alpha, "the adversary's alpha", err);
  if (!status && !isfinite(s->error_angle)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "the adversary's angle must be a number");
  }
  if (!status && !(s->weight_decay >= 0.0 && isfinite(s->weight_decay))) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "weight decay = %g: it must not be negative",
                         s->weight_decay);
  }
  return status;
}

static hvi_status check_steps(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  hvi_status status = HVI_OK;
  if (s->step_rule == HVI_STEP_FIXED && !s->player_eta) status = need_positive(s->eta, "eta", err);
  for (size_t k = 0; !status && s->player_eta && k < p->model->block_count; k++) {
    status = need_positive(s->player_eta[k], "a player's eta", err);
  }
  if (status) return status;
  if (!(s->eta_decay >= 0.0 && isfinite(s->eta_decay))) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "eta decay = %g: it must not be negative",
                         s->eta_decay);
  }
  if (s->alpha != 0.0 && !(s->alpha > 0.0 && s->alpha < 1.0)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "alpha = %g: it must lie strictly between 0 and 1", s->alpha);
  }
  if (s->inner_steps == 0) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "the inner loop needs at least one step");
  }
  if (!(s->inner_growth >= 0.0 && isfinite(s->inner_growth))) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "inner growth = %g: it must not be negative",
                         s->inner_growth);
  }
  if (s->target == HVI_TARGET_AVERAGED && (s->average == 0 || s->average > MOST_TARGETS)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "an averaged target is the mean of 1 to %d targets, not of %zu",
                         (int)MOST_TARGETS, s->average);
  }
  return HVI_OK;
}

static hvi_status check_stops(const hvi_settings *s, hvi_error *err) {
  if (!(s->tol >= 0.0)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "tolerance = %g: it must not be negative",
                         s->tol);
  }
  if (!(s->max_seconds >= 0.0)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "time limit = %g: it must not be negative",
                         s->max_seconds);
  }
  if (!(s->growth_bound >= 0.0)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "growth bound = %g: it must not be negative",
                         s->growth_bound);
  }
  if (s->max_outer == 0 && s->max_f_evals == 0 && s->max_seconds == 0.0 && s->tol == 0.0 &&
      !s->observe) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "nothing ends this solve: set a limit, a tolerance or an observer");
  }
  return HVI_OK;
}

/* The problem as such: Z covers the outputs, weights are weights. */
static hvi_status check_problem(const hvi_problem *p, hvi_error *err) {
  size_t covered = 0;
  for (size_t k = 0; k < p->set_count; k++) {
    if (p->sets[k].begin != covered || p->sets[k].rank > HVI_SET_RANK) break;
    covered += p->sets[k].len;
  }
  if (covered != p->model->out) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%s: its sets cover %zu of %zu outputs, in order",
                         p->ops->name, covered, p->model->out);
  }
  for (size_t i = 0; p->weights && i < p->model->out; i++) {
    if (p->weights[i] > 0.0 && isfinite(p->weights[i])) continue;
    if (p->weights[i] == 0.0 && p->ops->resample) continue;
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s: weight %zu is %g: it must be positive",
                         p->ops->name, i + 1, p->weights[i]);
  }
  return HVI_OK;
}

static bool has_rule(const hvi_problem *p, const hvi_rule *rule) {
  for (size_t k = 0; p->ops->rules && p->ops->rules[k]; k++) {
    if (p->ops->rules[k] == rule) return true;
  }
  return false;
}

static hvi_status check_acceleration(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  if (!s->accelerate || s->baseline) return HVI_OK;
  if (s->accelerate == HVI_ACCELERATE_MODE && !p->ops->slow_mode) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "%s knows no slow mode to correct: Anderson acceleration needs none",
                         p->ops->name);
  }
  if (s->accelerate == HVI_ACCELERATE_ANDERSON &&
      (s->memory == 0 || s->memory > HVI_MEMORY_MOST || p->ops->resample)) {
    return hvi_error_set(
        err, HVI_ERROR_ARGUMENT,
        "Anderson acceleration looks back at 1 to %d iterates, not at %zu, and does "
        "not go with double sampling",
        (int)HVI_MEMORY_MOST, s->memory);
  }
  if (s->alternating || s->player_eta || s->target != HVI_TARGET_PLAIN) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "acceleration goes with plain targets, one eta and players at once");
  }
  if (s->redraw_every > 1 && p->ops->draw) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "acceleration learns from samples, and needs a new one at each step");
  }
  return HVI_OK;
}

static hvi_status check_fit(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  if (s->tol > 0.0 && p->ops->draw) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "%s is stochastic and has no residual to test: set a limit instead of a "
                         "tolerance",
                         p->ops->name);
  }
  const bool in_turn = s->alternating || s->baseline == HVI_BASELINE_ALTERNATING_GDA;
  if (in_turn && p->model->block_count < 2) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "%s has one player: alternating needs at least two", p->ops->name);
  }
  if (in_turn && p->ops->draw && p->model->ops->bind) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "%s: a model of samples cannot alternate between its players",
                         p->ops->name);
  }
  if (s->baseline == HVI_BASELINE_RULE && !has_rule(p, s->rule)) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "%s does not apply to %s",
                         s->rule ? s->rule->name : "a missing rule", p->ops->name);
  }
  if (s->baseline && s->player_eta) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "a baseline takes one eta for all players");
  }
  if (p->ops->resample && s->redraw_every > 1) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "double sampling needs a new sample at each step");
  }
  const double *theta0 = s->theta0 ? s->theta0 : p->theta0;
  if (!theta0) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "there is no start: give theta0");
  if (!hvi_vec_finite(theta0, p->model->dim)) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "theta0 holds a number that is not finite");
  }
  return HVI_OK;
}

/* Steps that solve a linear system need room for it. */
static hvi_status check_linear(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  const hvi_optimizer *o = s->optimizer;
  const bool solves = o == &hvi_optimizer_gn || o == &hvi_optimizer_dgn || o == &hvi_optimizer_lm ||
                      o == &hvi_optimizer_adversary || s->floor == HVI_FLOOR_ESTIMATED;
  if (p->ops->resample && !s->baseline && (solves || s->alpha > 0.0 || s->inner.line_search)) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "%s samples anew for every inner step: that goes with gd, momentum, adam "
                         "and adamw, and a fixed number of steps",
                         p->ops->name);
  }
  return solves && !s->baseline ? hvi_least_squares_check(&s->inner, p->model, err) : HVI_OK;
}

hvi_status hvi_settings_check(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  if (!s->optimizer) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "the settings name no inner optimizer");
  }
  hvi_status status = check_inner(&s->inner, err);
  if (!status) status = check_steps(s, p, err);
  if (!status) status = check_stops(s, err);
  if (!status) status = check_problem(p, err);
  if (!status) status = check_fit(s, p, err);
  if (!status) status = check_acceleration(s, p, err);
  if (!status) status = check_linear(s, p, err);
  return status;
}

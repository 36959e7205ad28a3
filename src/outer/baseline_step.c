/*
 * Methods for comparison that work on the vector field V(theta) = J(theta)' F(g(theta)) in the
 * parameters, with step h = eta * lr. None of them sees a surrogate.
 *
 *   extragradient     theta' = theta - h V(theta),  theta <- theta - h V(theta')
 *   optimistic GDA    theta <- theta - h (2 V_t - V_{t-1})
 *   alternating GDA   theta_k <- theta_k - h V_k(theta), player by player
 *   Adam-GDA          theta <- theta - h Adam(V)
 */
#include "base/base.h"
#include "num/vec.h"
#include "outer/solver.h"

/* V = J'f at a point */
static const double *field_at(const hvi_solver *s, hvi_surrogate *l, const hvi_point *p) {
  hvi_surrogate_pull(l, p, s->f, l->gradient);
  return l->gradient;
}

static void extragradient(hvi_solver *s, hvi_surrogate *l, double h) {
  const size_t d = l->model->dim;
  const double *field = field_at(s, l, l->now);
  for (size_t i = 0; i < d; i++) l->next->theta[i] = l->now->theta[i] - h * field[i];
  hvi_surrogate_eval(l, l->next);
  s->theta = l->next->theta;
  s->z = l->next->z;
  hvi_solver_operate(s);
  hvi_vec_add(l->now->theta, -h, field_at(s, l, l->next), d);
}

static void optimistic(hvi_solver *s, hvi_surrogate *l, double h) {
  const double *field = field_at(s, l, l->now);
  const double *last = s->row.outer == 0 ? field : s->baseline;
  for (size_t i = 0; i < l->model->dim; i++) l->now->theta[i] -= h * (2.0 * field[i] - last[i]);
  hvi_vec_copy(s->baseline, field, l->model->dim);
}

static void alternating(hvi_solver *s, hvi_surrogate *l, double h) {
  const hvi_model *m = l->model;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    const hvi_model *one = m->ops->player(m, k);
    double *cache = l->now->cache + b->cache, *theta = l->now->theta + b->theta;
    if (k > 0) hvi_solver_operate(s);
    one->ops->vjp(one, cache, theta, s->f + b->z, l->gradient);
    hvi_vec_add(theta, -h, l->gradient, b->dim);
    one->ops->eval(one, cache, theta, l->now->z + b->z);
    s->row.counts.grad_evals++;
    s->row.counts.model_passes++;
  }
}

static void adam(hvi_solver *s, hvi_surrogate *l, double h) {
  const hvi_optimizer_settings *set = &s->settings.inner;
  const size_t d = l->model->dim;
  double *power = s->baseline, *m = power + 2, *v = m + d;
  const double *field = field_at(s, l, l->now);
  power[0] *= set->beta1;
  power[1] *= set->beta2;
  for (size_t i = 0; i < d; i++) {
    const double g = field[i];
    m[i] = set->beta1 * m[i] + (1.0 - set->beta1) * g;
    v[i] = set->beta2 * v[i] + (1.0 - set->beta2) * g * g;
    l->now->theta[i] -=
        h * (m[i] / (1.0 - power[0])) / (sqrt(v[i] / (1.0 - power[1])) + set->epsilon);
  }
}

/* The theta of `now` is the solver's own, and a rule writes it in place. */
static void rule(hvi_solver *s, hvi_surrogate *l, double h) {
  const hvi_settings *set = &s->settings;
  set->rule->step(&set->rule_settings, s->problem, s->sample, h, s->baseline, l->now->theta);
  s->row.counts.model_passes += set->rule->passes;
  s->row.counts.grad_evals += set->rule->gradients;
}

void hvi_solver_baseline_step(hvi_solver *s) {
  static void (*const steps[])(hvi_solver *, hvi_surrogate *,
                               double) = {[HVI_BASELINE_EXTRAGRADIENT] = extragradient,
                                          [HVI_BASELINE_OPTIMISTIC_GDA] = optimistic,
                                          [HVI_BASELINE_ALTERNATING_GDA] = alternating,
                                          [HVI_BASELINE_ADAM_GDA] = adam,
                                          [HVI_BASELINE_RULE] = rule};
  hvi_surrogate *l = &s->parts[0].l;
  steps[s->settings.baseline](s, l, s->shrink * s->info.eta * s->settings.inner.lr);
  /* a model that is bound to a sample is evaluated on the next one */
  const bool rebound = l->model->ops->bind && hvi_solver_draws(s, s->row.outer + 1);
  if (s->settings.baseline != HVI_BASELINE_ALTERNATING_GDA && !rebound)
    hvi_surrogate_eval(l, l->now);
  s->theta = l->now->theta;
  s->z = l->now->z;
  s->row.inner = 1;
}

/*
 * The outer loop around the step: evaluate F, take the step, record, decide whether to go on.
 *
 * F is evaluated once per outer step: F(z_{t+1}) gives the residual of row t + 1 and the target of
 * the step after it. The model is never evaluated twice at the same theta on the same sample.
 */
#include "outer/solver.h"

#include "base/clock.h"
#include "num/vec.h"

#include <float.h>
#include <math.h>

static const char *const outcome_names[HVI_OUTCOME_COUNT] = {
    [HVI_RUNNING] = "running", [HVI_CONVERGED] = "converged", [HVI_LIMIT] = "limit",
    [HVI_STALLED] = "stalled", [HVI_DIVERGED] = "diverged",   [HVI_STOPPED] = "stopped",
};

const char *hvi_outcome_name(hvi_outcome o) {
  return (unsigned)o < HVI_OUTCOME_COUNT ? outcome_names[o] : "unknown";
}

void hvi_solver_set_rates(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  const double t = (double)s->row.outer;
  if (set->eta_decay > 0.0) s->shrink = 1.0 / (1.0 + set->eta_decay * t);
  if (set->inner_lr_decay > 0.0) s->inner.lr = set->inner.lr / (1.0 + set->inner_lr_decay * t);
}

void hvi_solver_operate(hvi_solver *s) {
  s->problem->ops->operate(s->problem, s->sample, s->theta, s->z, s->f);
  s->row.counts.f_evals++;
}

static void end(hvi_solver *s, hvi_outcome outcome, const char *reason) {
  s->outcome = outcome;
  s->reason = reason;
}

/* The one place that tests for values that are not finite: they make the sum so, and a sum that
 * overflows is far beyond use as well. */
static bool sound(const hvi_solver *s) {
  const hvi_model *m = s->problem->model;
  double sum = 0.0;
  for (size_t i = 0; i < m->out; i++) sum += s->z[i] + s->f[i];
  for (size_t i = 0; i < m->dim; i++) sum += s->theta[i];
  return fabs(sum) <= DBL_MAX;
}

/* Fills the row for the current theta and keeps the best iterate. */
static void record(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  hvi_record *row = &s->row;
  row->theta = s->theta;
  row->z = s->z;
  if (p->ops->dist2) {
    row->dist2 = p->ops->dist2(p, s->theta);
  } else {
    row->dist2 = p->solution ? hvi_vec_dist2(s->z, p->solution, n) : NAN;
  }
  s->sound = sound(s);
  row->residual = s->sample || !s->sound ? NAN : hvi_problem_residual(p, s->z, s->f);
  if (s->settings.observe || s->settings.max_seconds > 0.0) {
    row->seconds = hvi_clock_now() - s->start;
  }
  if (!s->sound) return;
  /* without a residual the latest iterate is as good a guess as any */
  if (row->outer > 0 && !s->sample && !(row->residual < s->best.residual)) return;
  s->best.outer = row->outer;
  s->best.residual = row->residual;
  s->best.dist2 = row->dist2;
  hvi_vec_copy(s->best.theta, s->theta, p->model->dim);
  hvi_vec_copy(s->best.z, s->z, n);
}

static void report(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  if (!set->observe) return;
  s->row.alpha = sqrt(s->alpha2);
  if (!set->observe(set->observer_context, &s->row) && s->outcome == HVI_RUNNING) {
    end(s, HVI_STOPPED, "stopped by the observer");
  }
}

/* Whether the residual is more than rounding. */
static bool matters(const hvi_solver *s) {
  return s->row.residual > hvi_rounding * (1.0 + sqrt(hvi_vec_norm2(s->z, s->problem->model->out)));
}

/* The largest alpha while there is something left to solve. */
static void keep_worst_alpha(hvi_solver *s) {
  if (s->alpha2 <= s->alpha2_worst || isnan(s->alpha2)) return;
  if (s->sample || matters(s)) s->alpha2_worst = s->alpha2;
}

static void count_standing_still(hvi_solver *s) {
  const size_t n = s->problem->model->out;
  const double residual = s->row.residual, exact = hvi_still_share * s->eta[0] * residual;
  const bool still = hvi_vec_dist2(s->z, s->z_last, n) <= exact * exact && matters(s);
  s->still = still ? s->still + 1 : 0;
}

static void decide(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  const double residual = s->row.residual;
  if (!s->sound) {
    end(s, HVI_DIVERGED, "a value is not finite");
  } else if (set->growth_bound > 0.0 && residual > set->growth_bound * (1.0 + s->first_residual)) {
    end(s, HVI_DIVERGED, "the residual grew beyond its bound");
  } else if (residual <= set->tol) {
    end(s, HVI_CONVERGED, "residual within the tolerance");
  } else if (set->stall_window > 0 && s->still >= set->stall_window) {
    end(s, HVI_STALLED, "the outputs stopped moving although the residual is not small");
  } else if (set->max_outer > 0 && s->row.outer >= set->max_outer) {
    end(s, HVI_LIMIT, "iteration limit");
  } else if (set->max_f_evals > 0 && s->row.counts.f_evals >= set->max_f_evals) {
    end(s, HVI_LIMIT, "evaluation limit");
  } else if (set->max_seconds > 0.0 && s->row.seconds >= set->max_seconds) {
    end(s, HVI_LIMIT, "time limit");
  }
}

bool hvi_solver_draws(const hvi_solver *s, size_t outer) {
  const size_t every = s->settings.redraw_every ? s->settings.redraw_every : 1;
  if (!s->sample || outer % every != 0) return false;
  return outer == 0 || !s->problem->one_sample;
}

/* The next sample, where this step is due for one. */
static void draw(hvi_solver *s) {
  if (!hvi_solver_draws(s, s->row.outer)) return;
  s->rng_before = s->rng;
  s->problem->ops->draw(s->problem, s->theta, s->sample, &s->rng);
  s->row.counts.env_steps += s->problem->draw_steps;
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_surrogate *l = &s->parts[k].l;
    if (l->model->ops->bind) hvi_surrogate_rebind(l, s->sample);
  }
}

/* Row 0: the start. */
static void begin(hvi_solver *s) {
  s->start = hvi_clock_now();
  draw(s);
  hvi_solver_operate(s);
  record(s);
  s->first_residual = s->sample ? 0.0 : s->row.residual;
  decide(s);
  report(s);
}

/* Algorithm 1's body, from an iterate that an acceleration may have corrected. */
static void take_surrogate_step(hvi_solver *s) {
  s->origin = (hvi_origin){.z = s->z, .f = s->f};
  if (s->past.theta) hvi_past_renew(s);
  if (s->settings.accelerate) hvi_solver_correct(s);
  hvi_solver_surrogate_step(s);
  if (s->settings.accelerate) hvi_solver_learn(s);
}

static void advance(hvi_solver *s) {
  const bool watch = s->settings.stall_window > 0;
  if (watch) hvi_vec_copy(s->z_last, s->z, s->problem->model->out);
  if (s->settings.baseline) {
    hvi_solver_baseline_step(s);
  } else {
    take_surrogate_step(s);
  }
  s->row.outer++;
  s->inner_total += s->row.inner;
  hvi_solver_set_rates(s);
  draw(s);
  hvi_solver_operate(s);
  record(s);
  keep_worst_alpha(s);
  if (watch) count_standing_still(s);
  decide(s);
  report(s);
}

hvi_outcome hvi_solver_step(hvi_solver *s) {
  if (s->outcome == HVI_RUNNING && s->row.counts.f_evals == 0) begin(s);
  if (s->outcome == HVI_RUNNING) advance(s);
  return s->outcome;
}

hvi_outcome hvi_solver_run(hvi_solver *s) {
  while (hvi_solver_step(s) == HVI_RUNNING) continue;
  s->row.seconds = hvi_clock_now() - s->start;
  return s->outcome;
}

hvi_info hvi_solver_info(const hvi_solver *s) {
  hvi_info info = {.outcome = s->outcome,
                   .reason = s->reason,
                   .last = s->row,
                   .eta = s->eta[0],
                   .inner_total = s->inner_total,
                   .alpha_worst = sqrt(s->alpha2_worst),
                   .best_outer = s->best.outer,
                   .best_residual = s->best.residual,
                   .best_dist2 = s->best.dist2,
                   .best_theta = s->best.theta,
                   .best_z = s->best.z};
  info.last.alpha = sqrt(s->alpha2);
  return info;
}

/*
 * The outer loop: the paper's Algorithm 1, alpha-descent on surrogates.
 *
 *   for t = 0, 1, 2, ...:
 *     v <- z_t - eta Xi^-1 F(z_t)                                          the target, frozen
 *     l(theta) = 1/2 |g(theta) - v|^2_Xi                                   the surrogate
 *     while l(theta) - l* > alpha^2 (l(theta_t) - l*), and fewer than M steps were taken:
 *       theta <- A(l, theta)
 *     theta_{t+1} <- theta
 *
 * Simultaneous players share one surrogate. Alternating players have one each, and each sees the
 * outputs that the players before it have just reached.
 *
 * F is evaluated once per outer step: F(z_{t+1}) gives the residual of row t + 1 and the target of
 * the step after it. The model is never evaluated twice at the same theta on the same sample.
 */
#include "outer/solver.h"

#include "base/base.h"
#include "inner/optimizers.h"
#include "model/mlp.h"
#include "num/vec.h"

#include <float.h>

void hvi_solver_operate(hvi_solver *s) {
  s->problem->ops->operate(s->problem, s->sample, s->theta, s->z, s->f);
  s->row.counts.f_evals++;
}

/* Double sampling: other states for the square terms of inner step m. Where the weight is positive
 * the target is theta_t's output there. */
static void resample(hvi_solver *s, hvi_surrogate *l, size_t m) {
  s->problem->ops->resample(s->problem, s->sample, m);
  hvi_surrogate_start(l, NULL, s->sample);
  l->model->ops->eval(l->model, l->next->cache, s->anchor, l->next->z);
  for (size_t i = 0; i < l->model->out; i++)
    if (l->weights[i] > 0.0) l->target[i] = l->next->z[i] + s->origin.shift;
  s->row.counts.model_passes++;
  hvi_surrogate_measure(l, l->now);
}

/* theta <- A(l, theta), one step or the descent of a model that takes steps itself; how many, with
 * their seconds where they are asked for. */
static size_t inner_steps(hvi_solver *s, hvi_subproblem *part, hvi_device_descent *there) {
  const size_t timed = s->settings.time_inner;
  const hvi_member *m = timed ? hvi_mlp_member(part->l.model) : NULL;
  const double start = timed ? hvi_clock_work(timed) + hvi_member_seconds(m) : 0.0;
  if (there) hvi_surrogate_descend(&part->l, there);
  const size_t steps =
      there ? there->steps : s->settings.optimizer->step(&s->inner, part->state, &part->l);
  if (timed) s->row.seconds_inner += hvi_clock_work(timed) + hvi_member_seconds(m) - start;
  return steps;
}

/* Adaptive steps: an inner loop ends after so many steps in a row that leave this much of the loss. */
enum { MOST_POOR = 3 };
static const double poor_step = 0.95;

/* Descends one surrogate; returns the number of steps taken. */
static size_t descend(hvi_solver *s, hvi_subproblem *part, double floor) {
  const hvi_settings *set = &s->settings;
  hvi_surrogate *l = &part->l;
  const double grown = set->inner_growth * (double)s->row.outer + s->adaptation.more;
  const size_t most = set->inner_steps + (size_t)(grown < 1e15 ? grown : 1e15); /* M */
  const double goal = floor + set->alpha * set->alpha * (l->loss0 - floor);
  if (!set->keep_state && set->optimizer->reset)
    set->optimizer->reset(&s->inner, l->model, part->state);
  const bool resamples = s->problem->ops->resample;
  l->unseen = resamples;
  if (resamples) hvi_vec_copy(s->anchor, l->now->theta, l->model->dim);
  /* a target that lies off the model's range is left once it is as near as it comes */
  const bool patient = set->step_rule != HVI_STEP_ADAPTIVE || !set->inner.adapt_damping;
  size_t steps = 0, poor = 0;
  /* a floor of an earlier batch may lie above this one's start: one step is taken all the same */
  const size_t least = set->floor == HVI_FLOOR_RUNNING;
  hvi_device_descent d;
  const bool there = l->model->ops->descend && hvi_optimizer_descent(&d, set->optimizer, &s->inner);
  if (there && set->alpha > 0.0) d.goal = goal;
  while (steps < most && (set->alpha == 0.0 || steps < least || l->now->loss > goal)) {
    if (resamples) resample(s, l, steps);
    const double before = l->now->loss;
    if (there) {
      d.forget = !set->keep_state && steps == 0;
      d.most = resamples ? 1 : most - steps;
      d.at_least = steps < least;
    }
    const size_t taken = inner_steps(s, part, there ? &d : NULL);
    if (taken == 0) break;
    steps += taken;
    if (patient) continue;
    poor = l->now->loss > poor_step * before ? poor + 1 : 0;
    if (poor >= MOST_POOR) break;
  }
  return steps;
}

void hvi_solver_gather(hvi_solver *s, const hvi_subproblem *part) {
  const hvi_point *now = part->l.now;
  const bool whole = s->part_count == 1;
  s->theta = whole ? now->theta : s->all_theta;
  s->z = whole ? now->z : s->all_z;
  if (whole) return;
  hvi_vec_copy(s->all_theta + part->block.theta, now->theta, part->block.dim);
  hvi_vec_copy(s->all_z + part->block.z, now->z, part->block.out);
}

/* theta_t -> theta_{t+1}, from a point that an acceleration may have corrected. */
static void surrogate_step(hvi_solver *s) {
  double loss0 = 0.0, loss = 0.0, floor = 0.0;
  s->row.inner = 0;
  s->origin = (hvi_origin){.z = s->z, .f = s->f};
  if (s->past.theta) hvi_past_renew(s);
  if (s->settings.accelerate) hvi_solver_correct(s);
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_subproblem *part = &s->parts[k];
    if (k > 0) hvi_solver_operate(s);
    hvi_solver_set_target(s, part);
    const double least = hvi_solver_floor(s, part);
    const size_t steps = descend(s, part, least);
    hvi_solver_gather(s, part);
    floor += least;
    loss0 += part->l.loss0;
    loss += part->l.now->loss;
    if (steps > s->row.inner) s->row.inner = steps;
  }
  s->row.loss0 = loss0;
  s->row.loss = loss;
  s->row.ratio = loss / loss0;
  s->alpha2 = floor == 0.0 ? s->row.ratio : fmax(loss - floor, 0.0) / (loss0 - floor);
  if (s->settings.accelerate) hvi_solver_learn(s);
}

const char *hvi_outcome_name(hvi_outcome o) {
  static const char *const names[HVI_OUTCOME_COUNT] = {
      [HVI_RUNNING] = "running", [HVI_CONVERGED] = "converged", [HVI_LIMIT] = "limit",
      [HVI_STALLED] = "stalled", [HVI_DIVERGED] = "diverged",   [HVI_STOPPED] = "stopped"};
  return (unsigned)o < HVI_OUTCOME_COUNT ? names[o] : "unknown";
}

static void end(hvi_solver *s, hvi_outcome outcome, const char *reason) {
  s->info.outcome = outcome;
  s->info.reason = reason;
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
void hvi_solver_record(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  hvi_record *row = &s->row;
  row->theta = s->theta;
  row->z = s->z;
  row->dist2 = p->solution ? hvi_vec_dist2(s->z, p->solution, n) : NAN;
  if (p->ops->dist2) row->dist2 = p->ops->dist2(p, s->theta);
  s->sound = sound(s);
  row->residual = s->sample || !s->sound ? NAN : hvi_problem_residual(p, s->z, s->f);
  if (s->settings.observe || s->settings.max_seconds > 0.0)
    row->seconds = hvi_clock_now() - s->start;
  if (!s->sound) return;
  /* without a residual the latest iterate is as good a guess as any */
  if (row->outer > 0 && !s->sample && !(row->residual < s->info.best_residual)) return;
  s->info.best_outer = row->outer;
  s->info.best_residual = row->residual;
  s->info.best_dist2 = row->dist2;
  hvi_vec_copy(s->best_theta, s->theta, p->model->dim);
  hvi_vec_copy(s->best_z, s->z, n);
}

static void report(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  if (!set->observe) return;
  s->row.alpha = sqrt(s->alpha2);
  if (set->observe(set->observer_context, &s->row) || s->info.outcome != HVI_RUNNING) return;
  end(s, HVI_STOPPED, "stopped by the observer");
  hvi_solver_settle(s);
}

double hvi_solver_rounding(const hvi_model *m, const double *z) {
  const double unit = fmax(hvi_rounding, 4.0 * m->noise); /* a few layers of it */
  return unit * (1.0 + sqrt(hvi_vec_norm2(z, m->out)));
}

/* Whether the residual is more than rounding. */
static bool matters(const hvi_solver *s) {
  return s->row.residual > hvi_solver_rounding(s->problem->model, s->z);
}

static void count_standing_still(hvi_solver *s) {
  const size_t n = s->problem->model->out;
  const double residual = s->row.residual, exact = hvi_still_share * s->info.eta * residual;
  const bool still = hvi_vec_dist2(s->z, s->z_last, n) <= exact * exact && matters(s);
  s->still = still ? s->still + 1 : 0;
}

static void decide(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  const double residual = s->row.residual;
  const double unit = set->tol_relative ? fmin(s->first_residual, 1.0) : 1.0;
  if (!s->sound)
    end(s, HVI_DIVERGED, "a value is not finite");
  else if (set->growth_bound > 0.0 && residual > set->growth_bound * (1.0 + s->first_residual))
    end(s, HVI_DIVERGED, "the residual grew beyond its bound");
  else if (residual <= set->tol * unit)
    end(s, HVI_CONVERGED, "residual within the tolerance");
  else if (set->rounding && (set->tol == 0.0 || set->tol_relative) && !s->sample && !matters(s))
    end(s, HVI_CONVERGED, "residual at rounding");
  else if (set->stall_window > 0 && s->still >= set->stall_window)
    end(s, HVI_STALLED, "the outputs stopped moving although the residual is not small");
  else if (set->max_outer > 0 && s->row.outer >= set->max_outer)
    end(s, HVI_LIMIT, "iteration limit");
  else if (set->max_f_evals > 0 && s->row.counts.f_evals >= set->max_f_evals)
    end(s, HVI_LIMIT, "evaluation limit");
  else if (set->max_seconds > 0.0 && s->row.seconds >= set->max_seconds)
    end(s, HVI_LIMIT, "time limit");
}

bool hvi_solver_draws(const hvi_solver *s, size_t outer) {
  if (!s->sample || outer % s->settings.redraw_every != 0) return false;
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
    if (l->model->ops->bind) hvi_surrogate_start(l, NULL, s->sample);
  }
}

void hvi_solver_set_rates(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  const double t = (double)s->row.outer;
  if (set->eta_decay > 0.0) s->shrink = 1.0 / (1.0 + set->eta_decay * t);
  if (set->inner_lr_decay > 0.0) s->inner.lr = set->inner.lr / (1.0 + set->inner_lr_decay * t);
}

/* At theta_t: its sample, F(z_t) and its row; whether to go on. */
static void arrive(hvi_solver *s) {
  hvi_solver_set_rates(s);
  draw(s);
  hvi_solver_operate(s);
  hvi_solver_record(s);
  /* the largest alpha while there is something left to solve */
  if (!(s->alpha2 <= s->alpha2_worst) && !isnan(s->alpha2) && (s->sample || matters(s)))
    s->alpha2_worst = s->alpha2;
  if (s->row.outer == 0)
    s->first_residual = s->sample ? 0.0 : s->row.residual;
  else if (s->settings.stall_window > 0)
    count_standing_still(s);
  decide(s);
  if (s->settings.step_rule == HVI_STEP_ADAPTIVE) hvi_solver_adapt(s);
  hvi_solver_settle(s);
  report(s);
}

hvi_outcome hvi_solver_step(hvi_solver *s) {
  if (s->info.outcome == HVI_RUNNING && s->row.counts.f_evals == 0) {
    s->start = hvi_clock_now();
    arrive(s);
  }
  if (s->info.outcome != HVI_RUNNING) return s->info.outcome;
  hvi_vec_copy(s->z_last, s->z, s->settings.stall_window > 0 ? s->problem->model->out : 0);
  if (s->settings.baseline)
    hvi_solver_baseline_step(s);
  else
    surrogate_step(s);
  s->row.outer++;
  s->info.inner_total += s->row.inner;
  arrive(s);
  return s->info.outcome;
}

hvi_outcome hvi_solver_run(hvi_solver *s) {
  while (hvi_solver_step(s) == HVI_RUNNING) continue;
  s->row.seconds = hvi_clock_now() - s->start;
  return s->info.outcome;
}

hvi_info hvi_solver_info(const hvi_solver *s) {
  hvi_info info = s->info;
  info.last = s->row;
  info.last.alpha = sqrt(s->alpha2);
  info.alpha_worst = sqrt(s->alpha2_worst);
  return info;
}

const hvi_settings *hvi_solver_settings(const hvi_solver *s) { return &s->settings; }

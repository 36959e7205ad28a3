/*
 * One outer step of alpha-descent on surrogates: the body of the paper's Algorithm 1.
 *
 *   v <- z_t - eta Xi^-1 F(z_t)
 *   l(theta) = 1/2 |g(theta) - v|^2_Xi
 *   while l(theta) - l* > alpha^2 (l(theta_t) - l*), and fewer than M steps were taken:
 *     theta <- A(l, theta)
 *
 * Simultaneous players share one surrogate. Alternating players have one each, and each sees the
 * outputs that the players before it have just reached.
 */
#include "base/clock.h"
#include "num/vec.h"
#include "outer/solver.h"

#include <math.h>

/* M */
static size_t most_inner_steps(const hvi_solver *s) {
  if (s->settings.inner_growth == 0.0) return s->settings.inner_steps;
  const double grown = s->settings.inner_growth * (double)s->row.outer;
  return s->settings.inner_steps + (size_t)fmin(grown, 1e15);
}

/* Double sampling: other states for the square terms of inner step m. Where the weight is positive
 * the target is theta_t's output there. */
static void resample(hvi_solver *s, hvi_surrogate *l, size_t m) {
  s->problem->ops->resample(s->problem, s->sample, m);
  l->model->ops->bind(l->model, l->next->cache, s->sample);
  l->model->ops->eval(l->model, l->next->cache, s->anchor, l->next->z);
  for (size_t i = 0; i < l->model->out; i++) {
    if (l->weights[i] > 0.0) l->target[i] = l->next->z[i] + s->origin.shift;
  }
  s->row.counts.model_passes++;
  hvi_surrogate_rebind(l, s->sample);
  hvi_surrogate_measure(l);
}

/* theta <- A(l, theta), with its seconds where they are asked for. */
static bool inner_step(hvi_solver *s, hvi_subproblem *part) {
  const hvi_settings *set = &s->settings;
  if (set->time_inner == 0) return set->optimizer->step(&s->inner, part->state, &part->l);
  const double start = hvi_clock_work(set->time_inner);
  const bool more = set->optimizer->step(&s->inner, part->state, &part->l);
  s->row.seconds_inner += hvi_clock_work(set->time_inner) - start;
  return more;
}

/* Descends one surrogate; returns the number of steps taken. */
static size_t descend(hvi_solver *s, hvi_subproblem *part, double floor) {
  const hvi_settings *set = &s->settings;
  hvi_surrogate *l = &part->l;
  const size_t most = most_inner_steps(s);
  const double goal = floor + set->alpha * set->alpha * (l->loss0 - floor);
  if (!set->keep_state) set->optimizer->reset(&s->inner, l->model, part->state);
  const bool resamples = s->problem->ops->resample;
  l->unseen = resamples;
  if (resamples) hvi_vec_copy(s->anchor, l->now->theta, l->model->dim);
  size_t steps = 0;
  while (steps < most && (set->alpha == 0.0 || l->now->loss > goal)) {
    if (resamples) resample(s, l, steps);
    if (!inner_step(s, part)) break;
    steps++;
  }
  return steps;
}

void hvi_solver_gather(hvi_solver *s, const hvi_subproblem *part) {
  const hvi_point *now = part->l.now;
  if (s->part_count == 1) {
    s->theta = now->theta;
    s->z = now->z;
    return;
  }
  s->theta = s->all_theta;
  s->z = s->all_z;
  hvi_vec_copy(s->all_theta + part->block.theta, now->theta, part->block.dim);
  hvi_vec_copy(s->all_z + part->block.z, now->z, part->block.out);
}

void hvi_solver_surrogate_step(hvi_solver *s) {
  double loss0 = 0.0, loss = 0.0, floor = 0.0;
  size_t inner = 0;
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_subproblem *part = &s->parts[k];
    if (k > 0) hvi_solver_operate(s);
    hvi_solver_set_target(s, part);
    const double least = s->settings.floor == HVI_FLOOR_ZERO ? 0.0 : hvi_solver_floor(s, part);
    const size_t steps = descend(s, part, least);
    hvi_solver_gather(s, part);
    floor += least;
    loss0 += part->l.loss0;
    loss += part->l.now->loss;
    inner = steps > inner ? steps : inner;
  }
  s->row.inner = inner;
  s->row.loss0 = loss0;
  s->row.loss = loss;
  s->row.ratio = loss / loss0;
  s->alpha2 = floor == 0.0 ? s->row.ratio : fmax(loss - floor, 0.0) / (loss0 - floor);
}

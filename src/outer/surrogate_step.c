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
#include "inner/optimizers.h"
#include "num/vec.h"
#include "outer/solver.h"
#include "problem/sets.h"

#include <math.h>

/* Steps of the side solve behind an estimated floor. */
enum { SCOUT_STEPS = 50 };

/* l* from the projection of the target onto Z, factor by factor. */
static double known_floor(const hvi_solver *s, const hvi_turn *turn) {
  const hvi_problem *p = s->problem;
  const hvi_block *b = &turn->block;
  double sum = 0.0;
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    if (set->begin < b->z || set->begin + set->len > b->z + b->out) continue;
    const double *v = turn->room.l.target + (set->begin - b->z);
    const double *w = p->weights ? p->weights + set->begin : NULL;
    hvi_set_project(set, w, v, s->projected);
    for (size_t i = 0; i < set->len; i++) {
      sum += (w ? w[i] : 1.0) * (v[i] - s->projected[i]) * (v[i] - s->projected[i]);
    }
  }
  return 0.5 * sum;
}

/* l* as adaptive Levenberg-Marquardt finds it from theta_t: never below the true one. */
static double estimated_floor(hvi_solver *s, hvi_turn *turn) {
  hvi_surrogate *l = &turn->scout.l;
  hvi_optimizer_settings lm = s->settings.inner;
  lm.adapt_damping = true;
  if (s->sample && l->model->ops->bind) {
    l->model->ops->bind(l->model, l->now->cache, s->sample);
    l->model->ops->bind(l->model, l->next->cache, s->sample);
  }
  hvi_vec_copy(l->target, turn->room.l.target, l->model->out);
  hvi_surrogate_start(l, turn->room.l.now->theta);
  hvi_surrogate_freeze(l);
  hvi_optimizer_lm.reset(&lm, l->model, turn->scout_state);
  for (int i = 0; i < SCOUT_STEPS; i++) {
    const double before = l->now->loss;
    if (!hvi_optimizer_lm.step(&lm, turn->scout_state, l)) break;
    if (before - l->now->loss <= 1e-14 * l->loss0) break;
  }
  return l->now->loss;
}

static double floor_of(hvi_solver *s, hvi_turn *turn) {
  switch (s->settings.floor) {
  case HVI_FLOOR_KNOWN:
    return known_floor(s, turn);
  case HVI_FLOOR_ESTIMATED:
    return estimated_floor(s, turn);
  case HVI_FLOOR_ZERO:
    break;
  }
  return 0.0;
}

/* Double sampling: other states for the square terms of inner step m. Where the weight is positive
 * the target is theta_t's output there, moved as far as the acceleration moved the others. */
static void resample(hvi_solver *s, hvi_turn *turn, size_t m) {
  hvi_surrogate *l = &turn->room.l;
  s->problem->ops->resample(s->problem, s->sample, m);
  l->model->ops->bind(l->model, l->next->cache, s->sample);
  l->model->ops->eval(l->model, l->next->cache, s->anchor, l->next->z);
  for (size_t i = 0; i < l->model->out; i++) {
    if (l->weights[i] > 0.0) l->target[i] = l->next->z[i] + s->shift;
  }
  s->row.counts.model_passes++;
  hvi_surrogate_rebind(l, s->sample);
  hvi_surrogate_measure(l);
}

static size_t most_inner_steps(const hvi_solver *s) {
  if (s->settings.inner_growth == 0.0) return s->settings.inner_steps;
  const double grown = s->settings.inner_growth * (double)s->row.outer;
  return s->settings.inner_steps + (size_t)fmin(grown, 1e15);
}

/* Descends one surrogate; returns the number of steps taken. */
static size_t descend(hvi_solver *s, hvi_turn *turn, double floor) {
  const hvi_settings *set = &s->settings;
  hvi_surrogate *l = &turn->room.l;
  const size_t most = most_inner_steps(s);
  const double goal = floor + set->alpha * set->alpha * (l->loss0 - floor);
  if (!set->keep_state) set->optimizer->reset(&set->inner, l->model, turn->state);
  const bool resamples = s->problem->ops->resample;
  l->unseen = resamples;
  if (resamples) hvi_vec_copy(s->anchor, l->now->theta, l->model->dim);
  size_t steps = 0;
  while (steps < most && (set->alpha == 0.0 || l->now->loss > goal)) {
    if (resamples) resample(s, turn, steps);
    if (!set->optimizer->step(&set->inner, turn->state, l)) break;
    steps++;
  }
  return steps;
}

void hvi_solver_gather(hvi_solver *s, const hvi_turn *turn) {
  const hvi_point *now = turn->room.l.now;
  if (s->turn_count == 1) {
    s->theta = now->theta;
    s->z = now->z;
    return;
  }
  hvi_vec_copy(s->all_theta + turn->block.theta, now->theta, turn->block.dim);
  hvi_vec_copy(s->all_z + turn->block.z, now->z, turn->block.out);
}

void hvi_solver_surrogate_step(hvi_solver *s) {
  double loss0 = 0.0, loss = 0.0, floor = 0.0;
  size_t inner = 0;
  for (size_t k = 0; k < s->turn_count; k++) {
    hvi_turn *turn = &s->turns[k];
    if (k > 0) hvi_solver_operate(s);
    hvi_solver_set_target(s, turn);
    const double least = floor_of(s, turn);
    const size_t steps = descend(s, turn, least);
    if (s->settings.accelerate && s->problem->ops->slow_mode) hvi_solver_note_mode(s, turn);
    if (steps == 0 && s->lifted) hvi_surrogate_start(&turn->room.l, turn->room.l.now->theta);
    hvi_solver_gather(s, turn);
    floor += least;
    loss0 += turn->room.l.loss0;
    loss += turn->room.l.now->loss;
    inner = steps > inner ? steps : inner;
  }
  s->row.inner = inner;
  s->row.loss0 = loss0;
  s->row.loss = loss;
  s->row.ratio = loss / loss0;
  s->alpha2 = floor == 0.0 ? s->row.ratio : fmax(loss - floor, 0.0) / (loss0 - floor);
}

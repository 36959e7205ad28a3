/*
 * The surrogate l(theta) = 1/2 sum_i xi_i (g_i(theta) - v_i)^2 + sum_i c_i (g_i(theta) - v_i) and
 * its gradient J' (Xi (g - v) + c). c is zero but for outputs of weight zero, which have no square.
 */
#include "surrogate/surrogate.h"

#include "base/base.h"
#include "gpu/device.h"
#include "num/vec.h"

void hvi_surrogate_place(hvi_surrogate *l, const hvi_model *m, const double *weights,
                         hvi_counts *counts, hvi_arena *arena) {
  const size_t n = m->out;
  *l = (hvi_surrogate){.model = m, .weights = weights, .counts = counts};
  for (int i = 0; i < 2; i++)
    l->points[i] = (hvi_point){.theta = hvi_arena_take(arena, m->dim),
                               .z = hvi_arena_take(arena, n),
                               .residual = hvi_arena_take(arena, n),
                               .cache = hvi_arena_take(arena, m->cache)};
  l->now = &l->points[0];
  l->next = &l->points[1];
  l->target = hvi_arena_take(arena, n);
  l->gradient = hvi_arena_take(arena, m->dim);
  l->weighted = hvi_arena_take(arena, n);
  bool some_are_zero = false;
  for (size_t i = 0; weights && i < n; i++) some_are_zero |= weights[i] == 0.0;
  if (some_are_zero) l->linear = hvi_arena_take(arena, n);
}

double hvi_surrogate_measure(const hvi_surrogate *l, hvi_point *p) {
  const size_t n = l->model->out;
  const double *z = p->z, *v = l->target, *w = l->weights;
  double *r = p->residual, sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    r[i] = z[i] - v[i];
    sum += (w ? w[i] * r[i] : r[i]) * r[i];
  }
  p->loss = 0.5 * sum;
  for (size_t i = 0; l->linear && i < n; i++) p->loss += l->linear[i] * r[i];
  return p->loss;
}

void hvi_surrogate_start(hvi_surrogate *l, const double *theta, const void *sample) {
  const hvi_model *m = l->model;
  for (int i = 0; i < 2 && sample && m->ops->bind; i++) m->ops->bind(m, l->points[i].cache, sample);
  if (theta) hvi_vec_copy(l->now->theta, theta, m->dim);
  hvi_surrogate_eval(l, l->now);
}

void hvi_surrogate_freeze(hvi_surrogate *l) { l->loss0 = hvi_surrogate_measure(l, l->now); }

void hvi_surrogate_descend(hvi_surrogate *l, hvi_device_descent *d) {
  d->target = l->target;
  d->weight = l->weights;
  d->linear = l->linear;
  l->model->ops->descend(l->model, l->now->cache, l->now->theta, d, l->now->z);
  hvi_surrogate_measure(l, l->now);
  if (l->unseen) l->now->loss = NAN;
  l->counts->grad_evals += d->steps;
  l->counts->model_passes += l->unseen ? 0 : d->steps;
}

static double evaluate(hvi_surrogate *l, hvi_point *p) {
  if (l->unseen) return p->loss = NAN;
  hvi_surrogate_eval(l, p);
  return hvi_surrogate_measure(l, p);
}

double hvi_surrogate_probe(hvi_surrogate *l) { return evaluate(l, l->next); }

double hvi_surrogate_moved(hvi_surrogate *l) { return evaluate(l, l->now); }

void hvi_surrogate_accept(hvi_surrogate *l) {
  hvi_point *reached = l->next;
  l->next = l->now;
  l->now = reached;
}

/* Xi r + c at `now` */
static const double *weighted_residual(hvi_surrogate *l) {
  const double *u = l->now->residual;
  if (!l->weights) return u;
  for (size_t i = 0; i < l->model->out; i++) l->weighted[i] = l->weights[i] * u[i];
  for (size_t i = 0; l->linear && i < l->model->out; i++) l->weighted[i] += l->linear[i];
  return l->weighted;
}

const double *hvi_surrogate_gradient(hvi_surrogate *l) {
  hvi_surrogate_pull(l, l->now, weighted_residual(l), l->gradient);
  return l->gradient;
}

void hvi_surrogate_gradient_by(hvi_surrogate *l, hvi_gradient_piece take, void *context) {
  if (!hvi_mlp_of(l->model) || hvi_mlp_member(l->model)) {
    take(context, 0, hvi_surrogate_gradient(l), l->model->dim);
    return;
  }
  hvi_mlp_pull_by(l->model, l->now->cache, weighted_residual(l), take, context);
  l->counts->grad_evals++;
}

/*
 * The Bellman gap BE(theta, theta) - inf BE(theta', theta).
 *
 * With Xi = 1/n and v the targets of the value problem at eta = 1, BE(theta', theta) is twice the
 * surrogate's loss at theta'. So the infimum is an inner solve like any other: AdamW from theta on,
 * step k at the rate lr * decay^k, and the least loss that was seen on the way.
 */
#include "base/base.h"
#include "evaluate/evaluation.h"
#include "inner/optimizers.h"
#include "num/stats.h"

/* The targets of theta on all of the data; f[out] is scratch. */
static void freeze(hvi_surrogate *l, const hvi_problem *p, const double *theta, void *sample,
                   double *f) {
  hvi_rng rng = hvi_rng_new(0, "gap", 0);
  p->ops->draw(p, theta, sample, &rng);
  hvi_surrogate_start(l, theta, sample);
  p->ops->operate(p, sample, theta, l->now->z, f);
  for (size_t i = 0; i < p->model->out; i++) l->target[i] = l->now->z[i] - f[i] / l->weights[i];
  hvi_surrogate_freeze(l);
}

static bool fits(const hvi_problem *p) {
  if (!p->ops->draw || !p->model->ops->bind || !p->weights) return false;
  for (size_t i = 0; i < p->model->out; i++)
    if (!(p->weights[i] > 0.0)) return false;
  return true;
}

hvi_status hvi_gap_problem(hvi_problem **value, const hvi_value_spec *spec, const hvi_dataset *data,
                           hvi_error *err) {
  hvi_value_spec s = *spec;
  s.data = data;
  s.draw = HVI_VALUE_ALL;
  s.returns = false;
  s.buffer = s.replay = 0;
  s.lambda = 0.0;
  return hvi_value_new(value, &s, 0, err);
}

hvi_status hvi_bellman_gap(hvi_gap *gap, const hvi_problem *value, const double *theta,
                           const hvi_gap_settings *s, hvi_error *err) {
  hvi_optimizer_settings o = hvi_optimizer_defaults();
  const hvi_model *m = value->model;
  hvi_counts counts = {0};
  hvi_surrogate l;
  hvi_arena arena = {0};
  if (!fits(value))
    return hvi_error_unsupported(err,
                                 "a Bellman gap needs a value problem without double sampling");
  hvi_surrogate_place(&l, m, value->weights, &counts, &arena);
  HVI_OWN double *memory = hvi_alloc_doubles(arena.used), *f = hvi_alloc_doubles(m->out);
  HVI_OWN double *state = hvi_alloc_doubles(hvi_optimizer_adamw.state(&o, m));
  HVI_OWN void *sample = hvi_alloc(1, value->sample_bytes);
  if (!memory || !f || !state || !sample) return hvi_error_memory(err, "the Bellman gap");
  arena = (hvi_arena){.base = memory, .size = arena.used};
  hvi_surrogate_place(&l, m, value->weights, &counts, &arena);
  freeze(&l, value, theta, sample, f);
  gap->error = 2.0 * l.loss0;
  o.lr = s->lr;
  const hvi_optimizer *adamw = &hvi_optimizer_adamw;
  gap->least = 2.0 * hvi_optimizer_search(&l, adamw, o, state, s->steps, s->lr_decay);
  gap->gap = gap->error - gap->least;
  gap->relative = gap->gap / hvi_stats_variance(l.target, m->out);
  return HVI_OK;
}

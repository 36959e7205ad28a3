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
#include "num/vec.h"
#include "surrogate/surrogate.h"

typedef struct workspace {
  hvi_surrogate l;
  hvi_counts counts;
  double *memory, *state, *f;
  void *sample;
} workspace;

static void take(workspace *w, hvi_arena *arena, const hvi_problem *p,
                 const hvi_optimizer_settings *o) {
  hvi_surrogate_place(&w->l, p->model, p->weights, &w->counts, arena);
  w->state = hvi_arena_take(arena, hvi_optimizer_adamw.state(o, p->model));
  w->f = hvi_arena_take(arena, p->model->out);
}

static hvi_status make_workspace(workspace *w, const hvi_problem *p,
                                 const hvi_optimizer_settings *o, hvi_error *err) {
  hvi_arena arena = {0};
  take(w, &arena, p, o);
  arena = (hvi_arena){.size = arena.used};
  arena.base = w->memory = hvi_alloc_doubles(arena.size);
  w->sample = hvi_alloc(1, p->sample_bytes);
  if (!w->memory || !w->sample) return hvi_error_memory(err, "the Bellman gap");
  take(w, &arena, p, o);
  return HVI_OK;
}

/* Targets of theta on all of the data. */
static void freeze(workspace *w, const hvi_problem *p, const double *theta) {
  hvi_surrogate *l = &w->l;
  hvi_rng rng = hvi_rng_new(0, "gap", 0);
  p->ops->draw(p, theta, w->sample, &rng);
  hvi_vec_copy(l->now->theta, theta, p->model->dim);
  hvi_surrogate_rebind(l, w->sample);
  p->ops->operate(p, w->sample, theta, l->now->z, w->f);
  for (size_t i = 0; i < p->model->out; i++) l->target[i] = l->now->z[i] - w->f[i] / l->weights[i];
  hvi_surrogate_freeze(l);
}

static double infimum(workspace *w, const hvi_problem *p, hvi_optimizer_settings o,
                      const hvi_gap_settings *s) {
  hvi_surrogate *l = &w->l;
  double least = l->loss0;
  hvi_optimizer_adamw.reset(&o, p->model, w->state);
  for (size_t k = 0; k < s->steps; k++) {
    o.lr = s->lr * pow(s->lr_decay, (double)k);
    hvi_optimizer_adamw.step(&o, w->state, l);
    least = fmin(least, l->now->loss);
  }
  return least;
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
  const hvi_optimizer_settings o = hvi_optimizer_defaults();
  workspace w = {0};
  if (!fits(value)) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "a Bellman gap needs a value problem without double sampling");
  }
  const hvi_status status = make_workspace(&w, value, &o, err);
  if (!status) {
    freeze(&w, value, theta);
    gap->error = 2.0 * w.l.loss0;
    gap->least = 2.0 * infimum(&w, value, o, s);
    gap->gap = gap->error - gap->least;
  }
  hvi_free(w.memory);
  hvi_free(w.sample);
  return status;
}

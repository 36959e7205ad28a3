#include "inner_step.h"

#include "base/base.h"
#include "base/clock.h"
#include "num/vec.h"
#include "surrogate/surrogate.h"

hvi_status inner_step_place(inner_step *w, hvi_error *err) {
  const hvi_optimizer *o = w->optimizer;
  hvi_arena arena = {0};
  hvi_surrogate_place(&w->l, w->model, NULL, &w->counts, &arena);
  arena = (hvi_arena){.size = arena.used};
  arena.base = w->memory = hvi_alloc_doubles(arena.size);
  w->state = hvi_alloc_doubles(o->state ? o->state(&w->settings, w->model) : 0);
  if (!w->memory || !w->state) return hvi_error_memory(err, "the benchmark's step");
  hvi_surrogate_place(&w->l, w->model, NULL, &w->counts, &arena);
  return HVI_OK;
}

void inner_step_freeze(inner_step *w, const double *theta, const double *target) {
  hvi_surrogate_start(&w->l, theta, NULL);
  hvi_vec_copy(w->l.target, target, w->model->out);
  hvi_surrogate_freeze(&w->l);
  if (w->optimizer->reset) w->optimizer->reset(&w->settings, w->model, w->state);
}

void inner_step_time(double *seconds, inner_step *w) {
  const double start = hvi_clock_work(1);
  w->optimizer->step(&w->settings, w->state, &w->l);
  *seconds = fmin(*seconds, hvi_clock_work(1) - start);
}

void inner_step_free(inner_step *w) {
  hvi_free(w->state);
  hvi_free(w->memory);
  hvi_model_free(w->model);
}

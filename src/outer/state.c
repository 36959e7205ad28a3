/*
 * A solver's state as a row of doubles: everything between two outer steps that the next one
 * depends on. Outputs, F and the sample are not in it; they are worked out again from theta and the
 * generator's state before the last draw, to the same bits.
 */
#include "base/clock.h"
#include "base/error.h"
#include "num/vec.h"
#include "outer/solver.h"

#include <math.h>
#include <string.h>

/* Walks over the state in one order, counting, copying out or copying in. */
typedef struct walker {
  double *row; /* NULL: only counts */
  size_t at;
  bool in;
} walker;

static void walk(walker *w, double *x, size_t n) {
  if (w->row && x) {
    double *here = w->row + w->at;
    hvi_vec_copy(w->in ? x : here, w->in ? here : x, n);
  }
  w->at += n;
}

static void walk_count(walker *w, size_t *n) {
  double x = (double)*n;
  walk(w, &x, 1);
  if (w->in && w->row) *n = (size_t)x;
}

static void walk_words(walker *w, uint32_t *words, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double x = words[i];
    walk(w, &x, 1);
    if (w->in && w->row) words[i] = (uint32_t)x;
  }
}

static void walk_rng(walker *w, hvi_rng *rng) {
  walk_words(w, rng->key, 2);
  walk_words(w, rng->counter, 4);
  walk_words(w, rng->buffer, 4);
  walk_words(w, &rng->used, 1);
}

static void walk_record(walker *w, hvi_solver *s) {
  hvi_record *r = &s->row;
  size_t *const counts[] = {&r->outer,
                            &r->inner,
                            &r->counts.f_evals,
                            &r->counts.model_passes,
                            &r->counts.grad_evals,
                            &r->counts.env_steps,
                            &s->inner_total,
                            &s->still,
                            &s->best.outer};
  double *const reals[] = {&r->loss0,        &r->loss,           &r->ratio,         &r->dist2,
                           &r->residual,     &r->seconds,        &r->seconds_inner, &s->alpha2,
                           &s->alpha2_worst, &s->first_residual, &s->best.residual, &s->best.dist2};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) walk_count(w, counts[i]);
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) walk(w, reals[i], 1);
}

static void walk_all(walker *w, hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  const hvi_model *m = s->problem->model;
  const size_t n = m->out, d = m->dim;
  walk_record(w, s);
  walk_rng(w, &s->rng);
  walk_rng(w, &s->rng_before);
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_subproblem *part = &s->parts[k];
    walk(w, part->l.now->theta, part->block.dim);
    walk(w, part->state, set->optimizer->state(&set->inner, part->l.model));
  }
  walk(w, s->best.theta, d);
  walk(w, s->best.z, n);
  if (set->stall_window > 0) walk(w, s->z_last, n);
  if (s->past.depth > 0) {
    walk(w, s->past.z, s->past.depth * n);
    walk(w, s->past.f, s->past.depth * n);
    if (s->past.theta) walk(w, s->past.theta, s->past.depth * d);
  }
  if (set->accelerate) walk(w, (double *)(void *)&s->accelerator.filter, HVI_FILTER_DOUBLES);
  if (set->baseline) {
    walk(w, s->baseline.field_last, d);
    walk(w, s->baseline.adam, 2 + 2 * d);
  }
  if (set->baseline == HVI_BASELINE_RULE) walk(w, s->baseline.rule, set->rule->state(s->problem));
}

size_t hvi_solver_state(const hvi_solver *s) {
  walker w = {0};
  walk_all(&w, (hvi_solver *)(uintptr_t)s); /* a walker without a row reads and writes nothing */
  return w.at;
}

void hvi_solver_save(const hvi_solver *s, double *state) {
  walker w = {.row = state};
  walk_all(&w, (hvi_solver *)(uintptr_t)s); /* one that copies out only reads */
}

/* Draws the current sample again. */
static void redraw(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const size_t every = s->settings.redraw_every ? s->settings.redraw_every : 1;
  const hvi_rng after = s->rng;
  memset(s->sample, 0, p->sample_bytes);
  p->ops->seek(p, s->sample, s->row.outer / every);
  s->rng = s->rng_before;
  p->ops->draw(p, s->theta, s->sample, &s->rng);
  s->rng = after;
}

hvi_status hvi_solver_restore(hvi_solver *s, const double *state, hvi_error *err) {
  const hvi_problem *p = s->problem;
  if (s->sample && !p->ops->seek) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "a solve of %s cannot be taken up again",
                         p->ops->name);
  }
  if (!hvi_vec_finite(state, 9)) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "the saved state of the solve makes no sense");
  }
  walker w = {.row = (double *)(uintptr_t)state, .in = true}; /* one that copies in only reads it */
  walk_all(&w, s);
  hvi_solver_set_rates(s);
  const hvi_counts counts = s->row.counts;
  if (counts.f_evals == 0) return HVI_OK; /* saved before its first step */
  if (s->sample) redraw(s);
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_surrogate *l = &s->parts[k].l;
    if (s->sample && l->model->ops->bind) {
      hvi_surrogate_rebind(l, s->sample);
    } else {
      hvi_surrogate_start(l, l->now->theta);
    }
    hvi_solver_gather(s, &s->parts[k]);
  }
  hvi_solver_operate(s);
  s->row.counts = counts;
  s->row.theta = s->theta;
  s->row.z = s->z;
  s->outcome = HVI_RUNNING;
  s->start = hvi_clock_now() - s->row.seconds;
  return HVI_OK;
}

/* One frozen surrogate with an optimizer at work on it, and its gradient by another route. */
#pragma once

#include "support/check.h"
#include "surrogate/surrogate.h"

#include <hvi/optimizer.h>

#include <stdlib.h>

typedef struct rig {
  hvi_surrogate l;
  hvi_counts counts;
  hvi_optimizer_settings settings;
  const hvi_optimizer *optimizer;
  double *memory, *state;
} rig;

/* Stands at theta with `target` frozen. The model and the weights stay the caller's. */
static inline void rig_init(rig *r, const hvi_model *m, const double *weights, const double *theta,
                            const double *target) {
  *r = (rig){.settings = hvi_optimizer_defaults()};
  hvi_arena arena = {0};
  hvi_surrogate_place(&r->l, m, NULL, NULL, &arena);
  arena = (hvi_arena){.size = arena.used};
  arena.base = r->memory = hvi_alloc_doubles(arena.size);
  assert_non_null(r->memory);
  hvi_surrogate_place(&r->l, m, weights, &r->counts, &arena);
  hvi_surrogate_start(&r->l, theta, NULL);
  memcpy(r->l.target, target, m->out * sizeof *target);
  hvi_surrogate_freeze(&r->l);
}

static inline void rig_use(rig *r, const char *name) {
  const hvi_model *m = r->l.model;
  r->optimizer = hvi_optimizer_find(name);
  assert_non_null(r->optimizer);
  hvi_free(r->state);
  r->state = hvi_alloc_doubles(r->optimizer->state ? r->optimizer->state(&r->settings, m) : 0);
  assert_non_null(r->state);
  if (r->optimizer->reset) r->optimizer->reset(&r->settings, m, r->state);
}

static inline bool rig_step(rig *r) { return r->optimizer->step(&r->settings, r->state, &r->l); }

static inline void rig_free(rig *r) {
  hvi_free(r->state);
  hvi_free(r->memory);
}

/* z, J (multiplied out over all players, [n][d]) and r = z - v at theta, by unit vectors. */
typedef struct linearised {
  double *z, *J, *r, *memory;
} linearised;

static inline linearised linearise(const hvi_model *m, const double *theta, const double *target) {
  const size_t n = m->out, d = m->dim;
  double *memory = calloc(m->cache + 2 * n + n * d + 2 * d, sizeof *memory);
  assert_non_null(memory);
  linearised at = {.memory = memory, .z = memory + m->cache};
  at.r = at.z + n, at.J = at.r + n;
  double *unit = at.J + n * d, *column = malloc(n * sizeof *column);
  m->ops->eval(m, memory, theta, at.z);
  for (size_t i = 0; i < n; i++) at.r[i] = at.z[i] - target[i];
  for (size_t j = 0; j < d; j++) {
    unit[j] = 1.0;
    m->ops->jvp(m, memory, theta, unit, column);
    unit[j] = 0.0;
    for (size_t i = 0; i < n; i++) at.J[i * d + j] = column[i];
  }
  free(column);
  return at;
}

/* g = J' Xi r, and the loss */
static inline double gradient_of(const hvi_model *m, const double *theta, const double *target,
                                 const double *w, double *g) {
  const size_t n = m->out, d = m->dim;
  linearised at = linearise(m, theta, target);
  double loss = 0.0;
  for (size_t j = 0; j < d; j++) {
    g[j] = 0.0;
    for (size_t i = 0; i < n; i++) g[j] += at.J[i * d + j] * (w ? w[i] : 1.0) * at.r[i];
  }
  for (size_t i = 0; i < n; i++) loss += 0.5 * (w ? w[i] : 1.0) * at.r[i] * at.r[i];
  free(at.memory);
  return loss;
}

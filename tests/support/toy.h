/*
 * A problem made for tests: F(z) = A z + b + cubic z^3 over any model, any sets and weights, with
 * an F that can be told to go wrong and one that is noisy.
 */
#pragma once

#include "support/check.h"

#include <hvi/problem.h>

#include <stdlib.h>

typedef struct toy {
  hvi_problem base;
  hvi_set sets[4];
  const double *A, *b;
  double cubic;
  size_t *calls;   /* counts evaluations of F when set */
  size_t spoil_at; /* the first evaluation, from 1, at which F is `spoiled`; 0: never */
  double spoiled;
  double noise; /* standard deviation of what a draw adds to each component */
} toy;

static inline void toy_operate(const hvi_problem *p, const void *sample, const double *theta,
                               const double *z, double *f) {
  const toy *t = (const toy *)p;
  const size_t n = p->model->out;
  (void)theta;
  for (size_t i = 0; i < n; i++) {
    f[i] = t->b[i] + t->cubic * z[i] * z[i] * z[i];
    for (size_t j = 0; j < n; j++) f[i] += t->A[i * n + j] * z[j];
    if (sample) f[i] += *(const double *)sample;
  }
  if (t->calls) ++*t->calls;
  if (!t->spoil_at || *t->calls < t->spoil_at) return;
  for (size_t i = 0; i < n; i++) f[i] = t->spoiled;
}

static inline void toy_affine(const hvi_problem *p, double *A, double *b) {
  const toy *t = (const toy *)p;
  const size_t n = p->model->out;
  memcpy(A, t->A, n * n * sizeof *A);
  memcpy(b, t->b, n * sizeof *b);
}

static inline void toy_draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  *(double *)sample = ((const toy *)p)->noise * hvi_rng_normal(rng);
}

static const hvi_problem_ops toy_affine_ops = {
    .name = "toy", .operate = toy_operate, .affine = toy_affine};
/* the same F, but nobody is told that it is affine */
static const hvi_problem_ops toy_opaque_ops = {.name = "toy", .operate = toy_operate};
static const hvi_problem_ops toy_noisy_ops = {
    .name = "toy", .operate = toy_operate, .draw = toy_draw};

/* Takes the model over; A, b and theta0 must outlive it. Z is everything unless changed. */
static inline void toy_init(toy *t, hvi_model *m, const double *A, const double *b,
                            const double *theta0) {
  *t = (toy){.A = A, .b = b};
  t->base = (hvi_problem){
      .ops = &toy_affine_ops, .model = m, .theta0 = theta0, .set_count = 1, .sets = t->sets};
  t->sets[0] = (hvi_set){.kind = HVI_SET_FREE, .len = m->out};
  (void)toy_opaque_ops, (void)toy_noisy_ops;
}

/* z = theta */
static inline hvi_model *identity_model(size_t n) {
  double *identity = calloc(n * n, sizeof *identity);
  hvi_model *m;
  hvi_error err;
  for (size_t i = 0; i < n; i++) identity[i * n + i] = 1.0;
  check_ok(hvi_affine_new(&m, n, n, identity, NULL, &err), &err);
  free(identity);
  return m;
}

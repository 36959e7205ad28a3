/* A problem of one player that is one struct, with its model and its set inside. */
#pragma once

#include "base/memory.h"

#include <hvi/problem.h>

#include <string.h>

typedef struct hvi_single {
  hvi_problem base;
  hvi_model model;
  hvi_block block;
  hvi_set set;    /* free, until the problem says otherwise */
  void *owned[3]; /* freed with it */
} hvi_single;

/* What frees most problems of the kind. */
static inline void hvi_single_free(hvi_problem *p) {
  for (size_t i = 0; i < 3; i++) hvi_free(((hvi_single *)p)->owned[i]);
  hvi_free(p);
}

/* d parameters, n outputs, and a cache that begins with the address of the sample it is bound to;
 * without ops of its own the model is not part of the struct, and the caller's to make. */
static inline void hvi_single_init(hvi_single *s, const hvi_problem_ops *ops,
                                   const hvi_model_ops *model, size_t d, size_t n, size_t cache) {
  s->base = (hvi_problem){.ops = ops, .eta = 1.0, .set_count = 1, .sets = &s->set};
  if (model) s->base.model = &s->model;
  s->model = (hvi_model){model, d, n, cache, .block_count = 1, .blocks = &s->block};
  s->block = (hvi_block){.dim = d, .out = n};
  s->set = (hvi_set){.kind = HVI_SET_FREE, .len = n};
}

/* The problem that a model is part of. */
static inline const void *hvi_single_of(const hvi_model *m) {
  return (const char *)m - offsetof(hvi_single, model);
}

_Static_assert(sizeof(void *) <= sizeof(double), "an address fits where a double does");

static inline void hvi_single_bind(const hvi_model *m, double *cache, const void *sample) {
  (void)m;
  memcpy(cache, &sample, sizeof sample);
}

/* NULL, which zeros are: the mean. */
static inline const void *hvi_single_sample(const double *cache) {
  const void *sample;
  memcpy(&sample, cache, sizeof sample);
  return sample;
}

/* Ends a constructor: hands the problem out, or frees it when filling it has failed. */
static inline hvi_status hvi_problem_settle(hvi_problem **out, hvi_problem *p, hvi_status status) {
  *out = status ? NULL : p;
  if (status) hvi_problem_free(p);
  return status;
}

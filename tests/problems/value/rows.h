/* Transitions by hand, and the operator on a sample of them. */
#ifndef HVI_TESTS_VALUE_ROWS_H
#define HVI_TESTS_VALUE_ROWS_H

#include "problems/value/values.h"

enum { ROWS = 60, OBS = 3 };

/* Rows by hand: every fourth or so ends an episode, one way or the other. */
typedef struct rows {
  hvi_dataset data;
  float obs[ROWS * OBS], next[ROWS * OBS], action[ROWS], reward[ROWS];
  bool terminated[ROWS], truncated[ROWS];
} rows;

static inline const hvi_dataset *fill_rows(rows *r, uint64_t seed, double end) {
  hvi_rng rng = hvi_rng_new(seed, "tests", 0);
  *r = (rows){.data = {.count = ROWS, .obs = OBS, .act = 1}};
  for (size_t i = 0; i < ROWS * OBS; i++) {
    r->obs[i] = (float)hvi_rng_normal(&rng);
    r->next[i] = (float)hvi_rng_normal(&rng);
  }
  for (size_t i = 0; i < ROWS; i++) {
    r->reward[i] = (float)hvi_rng_normal(&rng);
    r->terminated[i] = hvi_rng_uniform(&rng) < end;
    r->truncated[i] = hvi_rng_uniform(&rng) < end;
    if (i + 1 < ROWS && !r->terminated[i] && !r->truncated[i])
      memcpy(r->obs + (i + 1) * OBS, r->next + i * OBS, OBS * sizeof *r->obs);
  }
  r->data.observation = r->obs, r->data.next = r->next, r->data.action = r->action;
  r->data.reward = r->reward, r->data.terminated = r->terminated, r->data.truncated = r->truncated;
  return &r->data;
}

/* z = V(s) of the sample, and F */
static inline void field_of(const hvi_problem *p, hvi_value_sample *s, double *z, double *f) {
  const hvi_model *m = p->model;
  double *cache = calloc(m->cache, sizeof *cache);
  assert_non_null(cache);
  m->ops->bind(m, cache, s);
  m->ops->eval(m, cache, p->theta0, z);
  p->ops->operate(p, s, p->theta0, z, f);
  free(cache);
}

#endif

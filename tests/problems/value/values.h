/*
 * Policy evaluation in tests: transitions of lqr, and the same network in double precision on any
 * states, as a stack of layers.
 */
#ifndef HVI_TESTS_VALUE_VALUES_H
#define HVI_TESTS_VALUE_VALUES_H

#include "problems/value/value.h"
#include "support/solve.h"

#include <hvi/collector.h>

typedef struct source {
  hvi_env *env;
  hvi_policy *policy;
  hvi_collector *collector;
  const hvi_dataset *data;
} source;

/* The first rows of lqr under its own policy, in episodes of `limit` steps. */
static inline source lqr_episodes(uint64_t seed, size_t rows, size_t limit) {
  source s;
  hvi_error err;
  check_ok(hvi_env_new(&s.env, "lqr", &err), &err);
  check_ok(hvi_policy_of_env(&s.policy, s.env, &err), &err);
  s.env->time_limit = limit;
  check_ok(hvi_collector_new(&s.collector, s.env, s.policy, seed, 1, rows, &err), &err);
  check_ok(hvi_collector_need(s.collector, rows, &err), &err);
  s.data = hvi_collector_data(s.collector);
  return s;
}

static inline source lqr_rows(uint64_t seed, size_t rows) { return lqr_episodes(seed, rows, 1000); }

static inline void source_free(source s) {
  hvi_collector_free(s.collector);
  hvi_policy_free(s.policy);
  hvi_env_free(s.env);
}

/* 4-16-12-1 tanh, gamma 0.9 */
static inline hvi_value_spec small_spec(const hvi_dataset *data, size_t batch) {
  hvi_value_spec s = hvi_value_defaults();
  s.data = data;
  s.gamma = 0.9;
  s.batch = batch;
  s.hidden[0] = 16, s.hidden[1] = 12;
  s.activation = HVI_TANH;
  return s;
}

static inline hvi_problem *value_problem(const hvi_value_spec *spec) {
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_value_new(&p, spec, 3, &err), &err);
  return p;
}

/* The reference: a network of that shape on count given rows of states, in double precision. */
static inline hvi_model *reference(const hvi_value *v, const float *states, size_t first,
                                   size_t count) {
  hvi_layer layers[HVI_VALUE_MOST_LAYERS + 1];
  const size_t depth = v->spec.hidden_count;
  for (size_t l = 0; l <= depth; l++) {
    layers[l] = (hvi_layer){.out = l < depth ? v->spec.hidden[l] : 1,
                            .train_bias = true,
                            .activation = l < depth ? v->spec.activation : HVI_IDENTITY};
  }
  double *x = malloc(count * v->obs * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < count * v->obs; i++) {
    const size_t j = i % v->obs;
    x[i] = states[first * v->obs + i];
    if (v->center) x[i] = (x[i] - v->center[j]) * v->inverse[j];
  }
  const hvi_stack_spec spec = {
      .in = v->obs, .input = x, .rows = count, .layer_count = depth + 1, .layers = layers};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  free(x);
  return m;
}

/* V of count rows from `first` on, and where out is given J'u as well. */
static inline void reference_pass(const hvi_value *v, const float *states, size_t first,
                                  size_t count, const double *theta, double *values,
                                  const double *u, double *out) {
  hvi_model *m = reference(v, states, first, count);
  double *cache = calloc(m->cache + 1, sizeof *cache);
  assert_non_null(cache);
  m->ops->eval(m, cache, theta, values);
  for (size_t i = 0; i < count; i++) values[i] = v->spec.shift + v->spec.scale * values[i];
  if (out) m->ops->vjp(m, cache, theta, u, out);
  for (size_t j = 0; out && j < m->dim; j++) out[j] *= v->spec.scale;
  free(cache);
  hvi_model_free(m);
}

/* r + gamma f V(s') of count rows from `first` on */
static inline void reference_targets(const hvi_value *v, size_t first, size_t count,
                                     const double *theta, double *y) {
  const hvi_dataset *d = v->spec.data;
  reference_pass(v, d->next, first, count, theta, y, NULL, NULL);
  for (size_t i = 0; i < count; i++) {
    const size_t row = first + i;
    y[i] = (double)d->reward[row] + (d->terminated[row] ? 0.0 : v->spec.gamma * y[i]);
  }
}

/* A sample of its own, outside any solver. */
static inline hvi_value_sample *new_sample(const hvi_problem *p) {
  hvi_value_sample *s = calloc(1, p->sample_bytes);
  assert_non_null(s);
  return s;
}

static inline void draw_next(const hvi_problem *p, hvi_value_sample *s, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "solver", 0);
  p->ops->draw(p, p->theta0, s, &rng);
}

#endif

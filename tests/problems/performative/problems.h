/* What the tests of performative prediction share. */
#ifndef HVI_TESTS_PERFORMATIVE_PROBLEMS_H
#define HVI_TESTS_PERFORMATIVE_PROBLEMS_H

#include "support/solve.h"

#include <hvi/performative.h>

static inline hvi_problem *make_problem(const char *name, const hvi_option *options, size_t count,
                                        uint64_t seed) {
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, name, options, count, seed, 0, &err), &err);
  return p;
}

/* theta[d] at the end of a solve. */
static inline void solve_to_theta(const hvi_problem *p, const hvi_settings *s, double *theta) {
  hvi_solver *solver = solver_for(p, s);
  hvi_solver_run(solver);
  memcpy(theta, hvi_solver_info(solver).last.theta, p->model->dim * sizeof *theta);
  hvi_solver_free(solver);
}

static inline hvi_performative_measures measure_at(const hvi_problem *p, const double *theta) {
  hvi_performative_measures m;
  hvi_error err;
  check_ok(hvi_performative_measure(&m, p, theta, &err), &err);
  return m;
}

static inline hvi_performative_coverage coverage_of(const hvi_problem *p) {
  hvi_performative_coverage c;
  assert_true(hvi_performative_cover(&c, p));
  return c;
}

/*
 * A model bound to a sample at theta: <u, Jv> = <J'u, v>, and J v against central differences of
 * its values.
 */
static inline void check_bound_model(const hvi_problem *p, const void *sample, const double *theta,
                                     double step, double tolerance) {
  const hvi_model *m = p->model;
  const size_t n = m->out, d = m->dim;
  double *memory = calloc(2 * m->cache + 4 * n + 3 * d, sizeof *memory);
  double *cache = memory, *other = cache + m->cache, *u = other + m->cache, *forth = u + n;
  double *up = forth + n, *down = up + n, *v = down + n, *back = v + d, *moved = back + d;
  fill_normal(u, n, 1);
  fill_normal(v, d, 2);
  m->ops->bind(m, cache, sample);
  m->ops->bind(m, other, sample);
  m->ops->eval(m, cache, theta, up);
  m->ops->jvp(m, cache, theta, v, forth);
  m->ops->vjp(m, cache, theta, u, back);
  check_near(dot(u, forth, n), dot(back, v, d), 1e-12 * (1.0 + fabs(dot(u, forth, n))));
  for (size_t i = 0; i < d; i++) moved[i] = theta[i] + step * v[i];
  m->ops->eval(m, other, moved, up);
  for (size_t i = 0; i < d; i++) moved[i] = theta[i] - step * v[i];
  m->ops->eval(m, other, moved, down);
  for (size_t i = 0; i < n; i++) up[i] = (up[i] - down[i]) / (2.0 * step);
  check_relative(up, forth, n, tolerance);
  free(memory);
}

#endif

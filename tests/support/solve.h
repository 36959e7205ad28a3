/* Running the solver in tests: problems by name, settings by method, every row kept. */
#pragma once

#include "support/check.h"

#include <hvi/builtin.h>
#include <hvi/solver.h>

#include <stdlib.h>

enum { TRACE_ROWS = 1200, TRACE_SIZE = 16 };

/* Rows as the observer saw them, with theta and z copied when they fit. */
typedef struct trace {
  size_t count;
  size_t stop_at; /* rows after which the observer says stop; 0: never */
  hvi_record rows[TRACE_ROWS];
  double theta[TRACE_ROWS][TRACE_SIZE], z[TRACE_ROWS][TRACE_SIZE];
  size_t dim, out;
} trace;

static inline bool trace_row(void *context, const hvi_record *row) {
  trace *t = context;
  assert_true(t->count < TRACE_ROWS);
  t->rows[t->count] = *row;
  memcpy(t->theta[t->count], row->theta, t->dim * sizeof(double));
  memcpy(t->z[t->count], row->z, t->out * sizeof(double));
  t->count++;
  return t->stop_at == 0 || t->count < t->stop_at;
}

static inline hvi_problem *builtin(const char *name, uint64_t instance) {
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, name, NULL, 0, 1, instance, &err), &err);
  return p;
}

/* A method with this step and number of outer steps: no stall, no growth bound, no end at rounding,
 * so that there are as many rows as steps. */
static inline hvi_settings settings_for(const char *method, double eta, size_t outer) {
  hvi_settings s = hvi_method_settings("gd");
  assert_true(hvi_method_apply(&s, method, NULL));
  s.eta = eta;
  s.max_outer = outer;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  s.rounding = false;
  return s;
}

static inline hvi_solver *solver_for(const hvi_problem *p, const hvi_settings *s) {
  hvi_solver *solver;
  hvi_error err;
  check_ok(hvi_solver_new(&solver, p, s, &err), &err);
  return solver;
}

/* A solver that is made and freed, for starve(): a failed one leaves nothing. */
typedef struct solver_order {
  const hvi_problem *problem;
  hvi_settings settings;
} solver_order;

static inline hvi_status make_solver(void *context, hvi_error *err) {
  const solver_order *o = context;
  hvi_solver *solver = NULL;
  const hvi_status status = hvi_solver_new(&solver, o->problem, &o->settings, err);
  if (status) assert_null(solver);
  hvi_solver_free(solver);
  return status;
}

/* Solves with every row kept; the caller frees the solver. */
static inline hvi_solver *solve_traced(const hvi_problem *p, hvi_settings s, trace *t) {
  t->count = 0;
  t->dim = p->model->dim <= TRACE_SIZE ? p->model->dim : 0;
  t->out = p->model->out <= TRACE_SIZE ? p->model->out : 0;
  s.observe = trace_row;
  s.observer_context = t;
  hvi_solver *solver = solver_for(p, &s);
  hvi_solver_run(solver);
  return solver;
}

/* z = g(theta), f = F(z) and J[n][d] multiplied out, computed apart from the solver. */
typedef struct field {
  double z[TRACE_SIZE], f[TRACE_SIZE], J[TRACE_SIZE * TRACE_SIZE];
} field;

static inline void field_at(const hvi_problem *p, const double *theta, field *at) {
  const hvi_model *m = p->model;
  double *cache = calloc(m->cache + 1, sizeof *cache), unit[TRACE_SIZE] = {0.0}, column[TRACE_SIZE];
  assert_non_null(cache);
  m->ops->eval(m, cache, theta, at->z);
  p->ops->operate(p, NULL, theta, at->z, at->f);
  for (size_t j = 0; j < m->dim; j++) {
    unit[j] = 1.0;
    m->ops->jvp(m, cache, theta, unit, column);
    unit[j] = 0.0;
    for (size_t i = 0; i < m->out; i++) at->J[i * m->dim + j] = column[i];
  }
  free(cache);
}

/* V = J'F */
static inline void pull_back(const hvi_model *m, const double *J, const double *f, double *V) {
  for (size_t j = 0; j < m->dim; j++) {
    V[j] = 0.0;
    for (size_t i = 0; i < m->out; i++) V[j] += J[i * m->dim + j] * f[i];
  }
}

/* Independent checks that several tests of games share. */
#ifndef HVI_TESTS_GAMES_CHECK_H
#define HVI_TESTS_GAMES_CHECK_H

#include "support/check.h"

#include <hvi/builtin.h>
#include <hvi/game.h>

#include <stdlib.h>

static inline hvi_problem *make(const char *name, const hvi_option *options, size_t count,
                                uint64_t seed, uint64_t instance) {
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_builtin_new(&p, name, options, count, seed, instance, &err)) fail_msg("%s", err.text);
  return p;
}

static inline double *doubles(size_t n) {
  double *x = calloc(n ? n : 1, sizeof *x);
  assert_non_null(x);
  return x;
}

static inline void operate(const hvi_problem *p, const double *z, double *f) {
  p->ops->operate(p, NULL, p->theta0, z, f);
}

/* affine() against operate: b = F(0), column j of A = F(e_j) - F(0); F is affine, so a difference
 * over a step of 1 is exact up to rounding. */
static inline void check_affine(const hvi_problem *p) {
  size_t n = p->model->out;
  double *A = doubles(n * n), *b = doubles(n), *z = doubles(n), *f = doubles(n);
  assert_non_null(p->ops->affine);
  p->ops->affine(p, A, b);
  operate(p, z, f);
  for (size_t i = 0; i < n; i++) assert_true(f[i] == b[i]);
  for (size_t j = 0; j < n; j++) {
    z[j] = 1.0;
    operate(p, z, f);
    for (size_t i = 0; i < n; i++)
      assert_true(fabs(f[i] - b[i] - A[i * n + j]) <= 1e-13 * (1.0 + fabs(f[i]) + fabs(b[i])));
    z[j] = 0.0;
  }
  free(A);
  free(b);
  free(z);
  free(f);
}

/* Residual at the known solution. */
static inline double residual_at_solution(const hvi_problem *p) {
  size_t n = p->model->out;
  double *f = doubles(n);
  assert_non_null(p->solution);
  operate(p, p->solution, f);
  double residual = hvi_problem_residual(p, p->solution, f);
  free(f);
  return residual;
}

/* The same start, solution, sets, operator and model, bit by bit. */
static inline void check_same_problem(const hvi_problem *p, const hvi_problem *q) {
  size_t n = p->model->out, d = p->model->dim;
  assert_int_equal(q->model->out, n);
  assert_int_equal(q->model->dim, d);
  check_same_bits(p->theta0, q->theta0, d);
  assert_int_equal(p->solution == NULL, q->solution == NULL);
  if (p->solution) check_same_bits(p->solution, q->solution, n);
  assert_int_equal(p->set_count, q->set_count);
  for (size_t i = 0; i < p->set_count; i++) {
    assert_int_equal(p->sets[i].kind, q->sets[i].kind);
    assert_int_equal(p->sets[i].begin, q->sets[i].begin);
    assert_int_equal(p->sets[i].len, q->sets[i].len);
    if (p->sets[i].kind != HVI_SET_BOX) continue;
    check_same_bits(p->sets[i].lower, q->sets[i].lower, p->sets[i].len);
    check_same_bits(p->sets[i].upper, q->sets[i].upper, p->sets[i].len);
  }
  double *a = doubles(n), *b = doubles(n), *f = doubles(n), *g = doubles(n);
  double *cache_p = doubles(p->model->cache), *cache_q = doubles(q->model->cache);
  p->model->ops->eval(p->model, cache_p, p->theta0, a);
  q->model->ops->eval(q->model, cache_q, q->theta0, b);
  check_same_bits(a, b, n);
  operate(p, a, f);
  operate(q, b, g);
  check_same_bits(f, g, n);
  free(a);
  free(b);
  free(f);
  free(g);
  free(cache_p);
  free(cache_q);
}

/* One line, with the words in it. */
static inline void check_text(const hvi_error *err, const char *words) {
  if (!strstr(err->text, words)) fail_msg("'%s' lacks '%s'", err->text, words);
  assert_null(strchr(err->text, '\n'));
}

#endif

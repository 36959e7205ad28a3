/* Ensembles of the tests: instances, and how two runs compare. */
#ifndef HVI_TESTS_ENSEMBLE_GAMES_H
#define HVI_TESTS_ENSEMBLE_GAMES_H

#include "support/check.h"

#include <hvi/builtin.h>
#include <hvi/ensemble.h>
#include <hvi/game.h>

/* Instance 1, 2, ... of a built-in problem; the context is its name. */
static inline hvi_status make_builtin(void *context, size_t index, hvi_problem **p,
                                      hvi_error *err) {
  return hvi_builtin_new(p, context, NULL, 0, 7, index + 1, err);
}

/*
 * Three players with every activation that lanes know, own payoffs, and all three kinds of set: 3
 * outputs of 3 numbers on a simplex, 2 of 3 in a box, 2 of 2 anywhere.
 */
enum { ZOO_PLAYERS = 3, ZOO_HIDDEN = 4, ZOO_N = 7, ZOO_D = 8 };

static inline hvi_status zoo_model(hvi_model **model, size_t k, hvi_rng *rng, hvi_error *err) {
  static const size_t in[] = {3, 3, 2}, out[] = {3, 2, 2};
  static const hvi_activation first[] = {HVI_TANH, HVI_SIGMOID, HVI_CELU};
  static const hvi_activation last[] = {HVI_SOFTMAX, HVI_SIGMOID, HVI_IDENTITY};
  double A[3 * ZOO_HIDDEN], B[ZOO_HIDDEN * ZOO_HIDDEN], C[3 * ZOO_HIDDEN];
  hvi_rng_fill_uniform(rng, -1.0, 1.0, in[k] * ZOO_HIDDEN, A);
  hvi_rng_fill_uniform(rng, -1.0, 1.0, sizeof B / sizeof *B, B);
  hvi_rng_fill_uniform(rng, -1.0, 1.0, out[k] * ZOO_HIDDEN, C);
  const hvi_layer layers[] = {
      {.out = ZOO_HIDDEN, .matrix = A, .activation = first[k]},
      {.out = ZOO_HIDDEN, .matrix = B, .activation = k == 2 ? HVI_TANH : HVI_CELU},
      {.out = out[k], .matrix = C, .activation = last[k]}};
  const hvi_stack_spec spec = {.in = in[k], .rows = 1, .layer_count = 3, .layers = layers};
  return hvi_stack_new(model, &spec, err);
}

static inline hvi_status make_zoo(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  (void)context;
  static const size_t n[] = {3, 2, 2}, z[] = {0, 3, 5}, d[] = {0, 3, 6};
  hvi_rng rng = hvi_rng_new(3, "zoo", index);
  double theta0[ZOO_D], A[9][9], lower[2] = {0.2, 0.3}, upper[2] = {0.8, 0.7}, q[ZOO_N];
  hvi_player players[ZOO_PLAYERS] = {{.set = HVI_SET_SIMPLEX, .weight = 1.0},
                                     {.set = HVI_SET_BOX, .weight = 1.5},
                                     {.set = HVI_SET_FREE, .weight = 2.0}};
  hvi_payoff payoffs[9];
  hvi_rng_fill_normal(&rng, 0.0, 1.0, ZOO_D, theta0);
  hvi_rng_fill_normal(&rng, 0.0, 0.3, ZOO_N, q);
  for (size_t k = 0; k < ZOO_PLAYERS; k++) {
    players[k].theta0 = theta0 + d[k];
    players[k].linear = q + z[k];
    players[k].lower = lower;
    players[k].upper = upper;
    hvi_status status = zoo_model(&players[k].model, k, &rng, err);
    if (status) return status;
    for (size_t j = 0; j < ZOO_PLAYERS; j++) {
      double *matrix = A[3 * k + j];
      hvi_rng_fill_uniform(&rng, -0.5, 0.5, n[k] * n[j], matrix);
      payoffs[3 * k + j] = (hvi_payoff){.row = k, .column = j, .matrix = matrix};
    }
  }
  const hvi_game_spec spec = {
      .player_count = ZOO_PLAYERS, .players = players, .payoff_count = 9, .payoffs = payoffs};
  return hvi_game_new(p, &spec, err);
}

static inline hvi_ensemble *run_ensemble(hvi_instance_fn make, const char *name,
                                         const hvi_settings *method, hvi_ensemble_settings s) {
  hvi_ensemble *e;
  hvi_error err = {0};
  if (hvi_ensemble_run(&e, make, (void *)(uintptr_t)name, method, &s, &err))
    fail_msg("%s", err.text);
  return e;
}

/* Relative difference, zero for equal values, infinities and NaNs; small numbers are rounding. */
static inline double difference(double x, double y) {
  if (x == y || (isnan(x) && isnan(y))) return 0.0;
  if (!isfinite(x) || !isfinite(y)) return INFINITY;
  return fabs(x - y) / (fabs(x) + fabs(y) + 1e-14);
}

/* How many instances differ by more than the tolerance in a row. */
static inline size_t count_different(const double *x, const double *y, const hvi_ensemble *e,
                                     size_t row, double tolerance) {
  size_t count = 0;
  for (size_t i = row * e->count; i < (row + 1) * e->count; i++)
    count += difference(x[i], y[i]) > tolerance;
  return count;
}

static inline void check_same_ensemble(const hvi_ensemble *a, const hvi_ensemble *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->rows, b->rows);
  check_same_bits(a->dist2, b->dist2, a->rows * a->count);
  check_same_bits(a->residual, b->residual, a->rows * a->count);
  check_same_bits(a->ratio, b->ratio, a->rows * a->count);
  for (size_t i = 0; i < a->count; i++) assert_int_equal(a->outcome[i], b->outcome[i]);
}

#endif

/*
 * The linear-quadratic environment: its steps against its matrices, its value against an iteration
 * of Bellman's equation in long double, against a policy worked out by hand, and against
 * simulation.
 */
#include "support/check.h"

#include <hvi/env.h>

enum { N = 4, M = 2 };

static hvi_env *make(const hvi_lqr **l) {
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_env_new(&env, "lqr", &err), &err);
  *l = hvi_env_lqr(env);
  assert_non_null(*l);
  assert_int_equal((*l)->n, N);
  assert_int_equal((*l)->m, M);
  return env;
}

static void place(hvi_env *env, const double *x) {
  double state[1 + N] = {0.0};
  memcpy(state + 1, x, N * sizeof *x);
  hvi_env_restore(env, state);
}

static long double cost_of(const hvi_lqr *l, const double *x, const double *u) {
  long double sum = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) sum += (long double)x[i] * l->Q[i * N + j] * x[j];
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) sum += (long double)u[i] * l->R[i * M + j] * u[j];
  return sum;
}

static void a_step_is_linear(void **state) {
  (void)state;
  const hvi_lqr *l;
  hvi_env *env = make(&l);
  const double x[N] = {0.3, -1.2, 0.7, 2.0}, u[M] = {-0.4, 1.1};
  double expected[N] = {0}, next[N];
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) expected[i] += l->A[i * N + j] * x[j];
    for (int j = 0; j < M; j++) expected[i] += l->B[i * M + j] * u[j];
  }
  place(env, x);
  const hvi_transition t = hvi_env_step(env, u, NULL);
  hvi_env_observe(env, next);
  check_close(next, expected, N, 1e-14);
  check_near(t.reward, -(double)cost_of(l, x, u), 1e-13);
  assert_false(t.terminated);
  assert_false(t.truncated);
  assert_false(t.broken);
  hvi_env_free(env);
}

/* The noise of many steps from one state has the standard deviations that it says. */
static void noise_has_its_size(void **state) {
  (void)state;
  enum { DRAWS = 20000 };
  const hvi_lqr *l;
  hvi_env *env = make(&l);
  const double x[N] = {0}, u[M] = {0};
  double sum[N] = {0}, square[N] = {0}, next[N];
  hvi_rng rng = hvi_rng_new(11, "tests", 0);
  for (int k = 0; k < DRAWS; k++) {
    place(env, x);
    hvi_env_step(env, u, &rng);
    hvi_env_observe(env, next);
    for (int i = 0; i < N; i++) sum[i] += next[i], square[i] += next[i] * next[i];
  }
  for (int i = 0; i < N; i++) {
    check_near(sum[i] / DRAWS, 0.0, 5.0 * l->W[i] / sqrt(DRAWS));
    check_near(square[i] / DRAWS / (l->W[i] * l->W[i]), 1.0, 5.0 * sqrt(2.0 / DRAWS));
  }
  hvi_env_free(env);
}

/* P and c by repeating Bellman's equation until it stands still. */
static void iterate(const hvi_lqr *l, const double *K, const double *std, long double gamma,
                    long double P[N][N], long double *c) {
  long double T[N][N];
  *c = 0;
  memset(P, 0, N * sizeof *P);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      T[i][j] = l->A[i * N + j];
      for (int k = 0; k < M; k++) T[i][j] += (long double)l->B[i * M + k] * K[k * N + j];
    }
  for (int round = 0; round < 20000; round++) {
    long double next[N][N], constant = 0;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        next[i][j] = l->Q[i * N + j];
        for (int a = 0; a < M; a++)
          for (int b = 0; b < M; b++)
            next[i][j] += (long double)K[a * N + i] * l->R[a * M + b] * K[b * N + j];
        for (int a = 0; a < N; a++)
          for (int b = 0; b < N; b++) next[i][j] += gamma * T[a][i] * P[a][b] * T[b][j];
      }
    for (int a = 0; a < M; a++) constant += (long double)l->R[a * M + a] * std[a] * std[a];
    for (int i = 0; i < N; i++) {
      constant += gamma * P[i][i] * l->W[i] * l->W[i];
      for (int j = 0; j < N; j++)
        for (int a = 0; a < M; a++)
          constant +=
              gamma * P[i][j] * l->B[i * M + a] * l->B[j * M + a] * (long double)std[a] * std[a];
    }
    *c = constant + gamma * *c;
    memcpy(P, next, sizeof next);
  }
}

static void value_solves_the_bellman_equation(void **state) {
  (void)state;
  const hvi_lqr *l;
  hvi_env *env = make(&l);
  static const double other[M * N] = {-1, -0.2, -1.5, 0.1, 0, -2, 0.3, -2};
  const double *gains[] = {l->K, other};
  static const double gammas[] = {0.0, 0.9, 0.99, 0.995};
  for (int g = 0; g < 2; g++) {
    for (int k = 0; k < 4; k++) {
      double P[N * N], c, expected[N * N];
      long double Q[N][N], d;
      hvi_error err = {HVI_OK, ""};
      check_ok(hvi_lqr_value(l, gains[g], l->std, gammas[k], P, &c, &err), &err);
      iterate(l, gains[g], l->std, gammas[k], Q, &d);
      for (int i = 0; i < N * N; i++) expected[i] = (double)Q[i / N][i % N];
      check_relative(P, expected, N * N, 1e-12);
      check_near(c / (double)d, 1.0, 1e-12);
    }
  }
  hvi_env_free(env);
}

/* Average discounted return of roll-outs from one state under u = K x + e. */
static void simulate(hvi_env *env, const hvi_lqr *l, const double *x0, double gamma, double *mean,
                     double *error) {
  enum { EPISODES = 3000, HORIZON = 250 };
  double sum = 0.0, square = 0.0;
  for (size_t k = 0; k < EPISODES; k++) {
    hvi_rng rng = hvi_rng_new(12, "tests", k);
    double total = 0.0, weight = 1.0, x[N], u[M];
    place(env, x0);
    for (int t = 0; t < HORIZON; t++, weight *= gamma) {
      hvi_env_observe(env, x);
      for (int j = 0; j < M; j++) u[j] = dot(l->K + j * N, x, N) + l->std[j] * hvi_rng_normal(&rng);
      total += weight * hvi_env_step(env, u, &rng).reward;
    }
    sum += total;
    square += total * total;
  }
  *mean = sum / EPISODES;
  *error = sqrt((square / EPISODES - *mean * *mean) / EPISODES);
}

static void value_is_what_simulation_finds(void **state) {
  (void)state;
  const hvi_lqr *l;
  hvi_env *env = make(&l);
  static const double starts[3][N] = {{0}, {1, -0.5, 0.3, 0.2}, {-0.4, 1.2, -1, 0.6}};
  const double gamma = 0.9; /* 0.9^250 is nothing */
  double P[N * N], c, mean, error;
  check_ok(hvi_lqr_value(l, l->K, l->std, gamma, P, &c, NULL), &(hvi_error){0});
  for (int s = 0; s < 3; s++) {
    double value = -c;
    for (int i = 0; i < N; i++) value -= starts[s][i] * dot(P + i * N, starts[s], N);
    simulate(env, l, starts[s], gamma, &mean, &error);
    assert_true(error < 0.02 * fabs(value));
    check_near(mean, value, 4.0 * error);
  }
  hvi_env_free(env);
}

/* The environment's own policy keeps the state in bounds for a whole episode. */
static void own_policy_is_stable(void **state) {
  (void)state;
  const hvi_lqr *l;
  hvi_env *env = make(&l);
  hvi_rng rng = hvi_rng_new(13, "tests", 0);
  double x[N], u[M], square = 0.0;
  hvi_transition t = {0};
  hvi_env_reset(env, &rng);
  for (int k = 0; !t.truncated; k++) {
    hvi_env_observe(env, x);
    for (int j = 0; j < M; j++) u[j] = dot(l->K + j * N, x, N) + l->std[j] * hvi_rng_normal(&rng);
    t = hvi_env_step(env, u, &rng);
    assert_false(t.terminated);
    if (k >= 100) square += dot(x, x, N);
  }
  /* the stationary covariance has a trace of 0.079 */
  check_near(square / 900.0, 0.079, 0.03);
  hvi_env_free(env);
}

static void infinite_values_are_refused(void **state) {
  (void)state;
  const hvi_lqr *l;
  hvi_env *env = make(&l), *pendulum = NULL;
  static const double none[M * N] = {0};
  double bad[M * N] = {0}, P[N * N], c;
  hvi_error err = {HVI_OK, ""};
  /* without control the state grows by 1.054 a step: finite up to gamma = 1 / 1.054^2 = 0.900 */
  check_ok(hvi_lqr_value(l, none, l->std, 0.895, P, &c, &err), &err);
  check_error(hvi_lqr_value(l, none, l->std, 0.905, P, &c, &err), HVI_ERROR_INPUT, &err,
              "infinite");
  check_error(hvi_lqr_value(l, l->K, l->std, 1.0, P, &c, &err), HVI_ERROR_ARGUMENT, &err, "[0, 1)");
  bad[3] = (double)NAN;
  check_error(hvi_lqr_value(l, bad, l->std, 0.5, P, &c, &err), HVI_ERROR_INPUT, &err, "not finite");
  check_ok(hvi_env_new(&pendulum, "pendulum", &err), &err);
  assert_null(hvi_env_lqr(pendulum));
  hvi_env_free(pendulum);
  hvi_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_is_linear),
      cmocka_unit_test(noise_has_its_size),
      cmocka_unit_test(value_solves_the_bellman_equation),
      cmocka_unit_test(value_is_what_simulation_finds),
      cmocka_unit_test(own_policy_is_stable),
      cmocka_unit_test(infinite_values_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

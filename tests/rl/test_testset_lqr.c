/*
 * Monte-Carlo values of lqr against the closed form, calibrated.
 *
 * The return of H steps has a quadratic expectation of its own, V_H(x) = -(x'P_H x + c_H):
 *   P_{k+1} = Q + K'R K + g T'P_k T,   c_{k+1} = tr(R S) + g (tr(P_k N) + c_k),   T = A + B K,
 *   N = diag(W^2) + B S B',   S = diag(std^2),   P_0 = 0, c_0 = 0.
 * With d_i = value_i - V_H(x_i) - gamma^H tail: E d_i = 0, and E d_i^2 = E se_i^2 whatever the law
 * of the returns. So over n independent states bias  = sum d_i / sqrt(sum se_i^2)   is about N(0,
 * 1), and ratio = sum d_i^2 / sum se_i^2       is about 1, with a spread of sqrt(2 (1 + 1/(R-1)) /
 * n) for normal returns and somewhat more for these. Bounds are at four and at six of these
 * spreads; faults that are planted must break them.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "rollout_folder.h"

#include <hvi/testset.h>

enum { N = 4, M = 2, STATES = 1500, ROLLOUTS = 10 };
static const double GAMMA = 0.95;

typedef struct quadratic {
  double P[N][N], c;
} quadratic;

typedef struct loop {
  double T[N][N], C[N][N], noise[N][N], now;
} loop;

/* T, Q + K'R K, the noise of a step and its cost, entry by entry. */
static loop closed_loop(const hvi_lqr *l) {
  loop o = {.now = 0.0};
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < N; j++) {
      o.T[i][j] = l->A[i * N + j];
      o.C[i][j] = l->Q[i * N + j];
      o.noise[i][j] = i == j ? l->W[i] * l->W[i] : 0.0;
      for (size_t a = 0; a < M; a++) {
        o.T[i][j] += l->B[i * M + a] * l->K[a * N + j];
        o.noise[i][j] += l->B[i * M + a] * l->std[a] * l->std[a] * l->B[j * M + a];
        for (size_t b = 0; b < M; b++)
          o.C[i][j] += l->K[a * N + i] * l->R[a * M + b] * l->K[b * N + j];
      }
    }
  }
  for (size_t a = 0; a < M; a++) o.now += l->R[a * M + a] * l->std[a] * l->std[a];
  return o;
}

static quadratic one_step_more(const quadratic *q, const loop *o) {
  quadratic next = {.c = o->now + GAMMA * q->c};
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < N; j++) {
      next.P[i][j] = o->C[i][j];
      next.c += GAMMA * q->P[i][j] * o->noise[j][i];
      for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++) next.P[i][j] += GAMMA * o->T[a][i] * q->P[a][b] * o->T[b][j];
    }
  }
  return next;
}

static quadratic truncated_value(const hvi_lqr *l, size_t horizon) {
  const loop o = closed_loop(l);
  quadratic q = {.c = 0.0};
  for (size_t k = 0; k < horizon; k++) q = one_step_more(&q, &o);
  return q;
}

static double value_at(const quadratic *q, const double *x) {
  double sum = q->c;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) sum += x[i] * q->P[i][j] * x[j];
  return -sum;
}

typedef struct verdict {
  double bias, ratio;
} verdict;

/* lqr's saved state is its clock and x. `shift` and `stretch` plant faults. */
static verdict judge(const hvi_testset *t, const quadratic *q, double shift, double stretch) {
  double sum = 0.0, squares = 0.0, errors = 0.0;
  for (size_t i = 0; i < t->count; i++) {
    const double se = stretch * t->standard_error[i];
    const double d = t->value[i] + shift - value_at(q, t->states + i * t->state + 1);
    sum += d;
    squares += d * d;
    errors += se * se;
  }
  return (verdict){sum / sqrt(errors), squares / errors};
}

static bool unbiased(verdict v) { return fabs(v.bias) < 4.0; }
static bool calibrated(verdict v) { return fabs(v.ratio - 1.0) < 6.0 * sqrt(2.2 / STATES); }

static hvi_env *new_lqr(void) {
  hvi_env *env;
  hvi_error err;
  check_ok(hvi_env_new(&env, "lqr", &err), &err);
  assert_true(hvi_env_lqr(env)->n == N);
  assert_true(hvi_env_lqr(env)->m == M);
  return env;
}

static hvi_testset *make(const hvi_env *env, size_t horizon, uint64_t seed) {
  hvi_testset_settings s = hvi_testset_defaults();
  hvi_policy *policy;
  hvi_testset *t;
  hvi_error err;
  s.states = STATES;
  s.rollouts = ROLLOUTS;
  s.horizon = horizon;
  s.gamma = GAMMA;
  s.run.seed = seed;
  check_ok(hvi_policy_of_env(&policy, env, &err), &err);
  check_ok(hvi_testset_make(here.file, env, policy, &s, NULL, &err), &err);
  check_ok(hvi_testset_load(&t, here.file, &err), &err);
  hvi_policy_free(policy);
  return t;
}

static void the_recursion_tends_to_the_closed_form(void **state) {
  (void)state;
  hvi_env *env = new_lqr();
  const hvi_lqr *l = hvi_env_lqr(env);
  const quadratic q = truncated_value(l, 2000);
  double P[N * N], c;
  hvi_error err;
  check_ok(hvi_lqr_value(l, l->K, l->std, GAMMA, P, &c, &err), &err);
  check_relative(&q.P[0][0], P, N * N, 1e-12);
  check_relative(&q.c, &c, 1, 1e-12);
  hvi_env_free(env);
}

static void values_agree_within_their_standard_errors(void **state) {
  (void)state;
  static const size_t horizons[] = {20, 60};
  hvi_env *env = new_lqr();
  for (size_t k = 0; k < 2; k++) {
    const quadratic exact = truncated_value(hvi_env_lqr(env), horizons[k]);
    const quadratic endless = truncated_value(hvi_env_lqr(env), 2000);
    hvi_testset *t = make(env, horizons[k], 1 + k);
    const double mean_error = hvi_testset_judge(t).mean_error;
    const double rest = -pow(GAMMA, (double)horizons[k]) * t->tail;
    const verdict v = judge(t, &exact, rest, 1.0);
    if (!unbiased(v) || !calibrated(v)) fail_msg("bias %g, ratio %g", v.bias, v.ratio);
    /* a bias of a quarter of a standard error, and errors that are a fifth too small or large */
    assert_false(unbiased(judge(t, &exact, rest + 0.25 * mean_error, 1.0)));
    assert_false(unbiased(judge(t, &exact, rest - 0.25 * mean_error, 1.0)));
    assert_false(calibrated(judge(t, &exact, rest, 0.8)));
    assert_false(calibrated(judge(t, &exact, rest, 1.25)));
    /* and what the horizon cuts off, were it not put back */
    assert_false(unbiased(judge(t, &endless, rest, 1.0)));
    if (horizons[k] == 60) assert_true(calibrated(judge(t, &endless, 0.0, 1.0)));
    hvi_testset_free(t);
  }
  hvi_env_free(env);
}

/* What is put back against its exact mean, gamma^H E V(x_H), and what is still lacking. */
static void what_the_horizon_cuts_off_is_put_back(void **state) {
  (void)state;
  hvi_env *env = new_lqr();
  hvi_testset *t = make(env, 60, 9);
  const quadratic exact = truncated_value(hvi_env_lqr(env), 60);
  const quadratic endless = truncated_value(hvi_env_lqr(env), 2000);
  const hvi_testset_figures f = hvi_testset_judge(t);
  double cut = 0.0, most = 0.0;
  for (size_t i = 0; i < t->count; i++) {
    const double *x = t->states + i * t->state + 1;
    const double here_cut = value_at(&endless, x) - value_at(&exact, x);
    cut += here_cut / (double)t->count;
    most = fmax(most, fabs(here_cut - f.put_back));
  }
  assert_true(cut < 0.0);
  check_near(f.put_back, cut, 0.15 * fabs(cut));
  assert_true(most <= f.missing_most);
  assert_true(isinf(f.missing_bound));
  assert_true(f.terminated_share == 0.0);
  assert_true(f.mean_length == 60.0);
  assert_true(f.below_error == (f.missing_typical < f.mean_error));
  hvi_testset_free(t);
  hvi_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_recursion_tends_to_the_closed_form),
      cmocka_unit_test_setup_teardown(values_agree_within_their_standard_errors, enter, leave),
      cmocka_unit_test_setup_teardown(what_the_horizon_cuts_off_is_put_back, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

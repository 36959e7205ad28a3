/*
 * Lambda moves the projected fixed point: z_lambda solves Phi' Xi K (I - gamma P) Phi theta =
 * Phi' Xi K r with K = (I - gamma lambda P)^-1. The table of docs/acceleration.md is printed here.
 * TD(lambda) targets of value problems settle there too.
 */
#include "problems/mdp/chains.h"
#include "problems/mdp/mdp.h"
#include "problems/value/values.h"

#include "num/dense.h"

enum { MOST = 100 };

typedef struct chain {
  size_t n, d;
  double gamma;
  double P[MOST * MOST], law[MOST], reward[MOST], phi[MOST * 4];
} chain;

/* z_lambda, or the true values for d = n features */
static void fixed_point(double *z, const chain *c, double lambda) {
  static double B[MOST * MOST], rhs[MOST], Y[MOST];
  const size_t n = c->n, d = c->d;
  double A[16] = {0}, b[4] = {0}, theta[4];
  hvi_error err;
  for (size_t k = 0; k <= d; k++) { /* column k of K (I - gamma P) Phi, and K r */
    for (size_t i = 0; i < n; i++) {
      rhs[i] = k < d ? c->phi[i * d + k] : c->reward[i];
      for (size_t j = 0; j < n; j++) {
        if (k < d) rhs[i] -= c->gamma * c->P[i * n + j] * c->phi[j * d + k];
        B[i * n + j] = (i == j) - c->gamma * lambda * c->P[i * n + j];
      }
    }
    check_ok(hvi_dense_solve(Y, B, rhs, n, &err), &err);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < d; j++)
        *(k < d ? &A[j * d + k] : &b[j]) += c->law[i] * c->phi[i * d + j] * Y[i];
  }
  check_ok(hvi_dense_solve(theta, A, b, d, &err), &err);
  hvi_dense_mul(z, c->phi, theta, n, d);
}

static double apart(const chain *c, const double *x, const double *y) {
  double sum = 0.0;
  for (size_t i = 0; i < c->n; i++) sum += c->law[i] * (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}

/* The walk of 100 states in d bins of the same value each. */
static void fill_walk(chain *c, size_t d, double *truth) {
  hvi_mdp *m = walk_mdp(MOST, 0.99);
  double unit[MOST] = {0}, column[MOST];
  *c = (chain){.n = MOST, .d = d, .gamma = 0.99};
  for (size_t j = 0; j < MOST; j++) {
    unit[j] = 1.0;
    hvi_mdp_transit(column, m, unit);
    unit[j] = 0.0;
    for (size_t i = 0; i < MOST; i++) c->P[i * MOST + j] = column[i];
    c->phi[j * d + j * d / MOST] = 1.0;
    c->law[j] = hvi_mdp_law(m)[j];
    c->reward[j] = hvi_mdp_reward(m)[j];
    truth[j] = hvi_mdp_true_values(m)[j];
  }
  hvi_mdp_free(m);
}

static void lambda_moves_the_fixed_point(void **state) {
  (void)state;
  static chain c;
  double truth[MOST], z[3][MOST];
  static const double lambdas[] = {0.0, 0.9, 0.98};
  print_message("    bins  |z_0 - v|  |z_.9 - v|  |z_.98 - v|  |z_0 - z_.98|\n");
  for (size_t d = 1; d <= 4; d++) {
    fill_walk(&c, d, truth);
    for (size_t k = 0; k < 3; k++) fixed_point(z[k], &c, lambdas[k]);
    print_message("%8zu  %9.3f  %10.3f  %11.3f  %13.3f\n", d, apart(&c, z[0], truth),
                  apart(&c, z[1], truth), apart(&c, z[2], truth), apart(&c, z[0], z[2]));
    /* nearer to the truth, and not the same point unless the constant is all there is */
    assert_true(apart(&c, z[2], truth) <= apart(&c, z[0], truth) + 1e-9);
    assert_true(d == 1 || apart(&c, z[0], z[2]) > 0.01);
  }
}

enum { CYCLE = 8, TURNS = 100, ROWS = CYCLE * TURNS };

/* A cycle has no noise, so that its rows tell everything: values a, and a + b on the first state. */
static void fill_cycle(chain *c, hvi_dataset *d, float *obs, float *next, float *reward) {
  *c = (chain){.n = CYCLE, .d = 2, .gamma = 0.9};
  for (size_t i = 0; i < CYCLE; i++) {
    c->P[i * CYCLE + (i + 1) % CYCLE] = 1.0;
    c->law[i] = 1.0 / CYCLE;
    c->reward[i] = i == 3 ? 40.0 : 0.0;
    c->phi[2 * i] = 1.0;
    c->phi[2 * i + 1] = i == 0;
  }
  for (size_t i = 0; i < ROWS; i++) {
    obs[i] = (float)c->phi[2 * (i % CYCLE) + 1];
    next[i] = (float)c->phi[2 * ((i + 1) % CYCLE) + 1];
    reward[i] = (float)c->reward[i % CYCLE];
  }
  d->observation = obs, d->next = next, d->reward = reward;
}

static void targets_settle_at_their_own_fixed_point(void **state) {
  (void)state;
  static chain c;
  static float obs[ROWS], next[ROWS], reward[ROWS], action[ROWS];
  static bool terminated[ROWS], truncated[ROWS];
  hvi_dataset data = {.count = ROWS, .obs = 1, .act = 1, .action = action};
  data.terminated = terminated, data.truncated = truncated;
  fill_cycle(&c, &data, obs, next, reward);
  double z[2][CYCLE], own[2][CYCLE];
  for (size_t k = 0; k < 2; k++) {
    hvi_value_spec spec = hvi_value_defaults();
    spec.data = &data;
    spec.gamma = c.gamma;
    spec.draw = HVI_VALUE_ALL;
    spec.hidden_count = 0;
    spec.lambda = k ? 0.98 : 0.0;
    hvi_problem *p = value_problem(&spec);
    hvi_settings s = settings_for("gn", 1.0, 300);
    s.inner_steps = 1;
    hvi_solver *solver = solver_for(p, &s);
    hvi_error err;
    hvi_solver_run(solver);
    check_ok(hvi_value_predict(p, hvi_solver_info(solver).last.theta, obs, CYCLE, z[k], &err),
             &err);
    fixed_point(own[k], &c, spec.lambda);
    if (!(apart(&c, z[k], own[k]) < 0.1))
      fail_msg("lambda %g: %g from the closed form", spec.lambda, apart(&c, z[k], own[k]));
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
  assert_true(apart(&c, own[0], own[1]) > 1.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lambda_moves_the_fixed_point),
      cmocka_unit_test(targets_settle_at_their_own_fixed_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The learners: one step each by hand, and where each of them ends up. */
#include "chains.h"

#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/mdp.h"
#include "problems/mdp/trajectory.h"

enum { N = 8, D = 3 };

static const hvi_rule *rule(const char *name) {
  const hvi_rule *const *r = hvi_trajectory_rules();
  while (*r && strcmp((*r)->name, name) != 0) r++;
  assert_non_null(*r);
  return *r;
}

static hvi_settings rule_settings(const char *name, double eta, double decay, size_t steps) {
  hvi_settings s = settings_for("gd", eta, steps);
  s.baseline = HVI_BASELINE_RULE;
  s.rule = rule(name);
  s.eta_decay = decay;
  return s;
}

/* Two steps of every rule, by hand, on a chain of two states with one feature each way:
 * phi = (1, 2), r = (1, 0), gamma 1/2, s: 0 -> 1 -> 0 for certain. */
static void steps_are_as_written(void **state) {
  (void)state;
  const double P[4] = {0, 1, 1, 0}, r[2] = {1, 0}, phi[2] = {1, 2};
  const hvi_mdp_spec spec = {
      .states = 2, .transitions = P, .reward = r, .gamma = 0.5, .features = 1, .phi = phi};
  const struct {
    const char *name;
    double after[2]; /* theta after 0 -> 1 and after 1 -> 0, eta 0.1, from theta = 1 */
  } expected[] = {
      /* delta = 1 + 2/2 - 1 = 1; theta = 1.1; delta = 0 + 1.1/2 - 2.2 = -1.65; phi = 2 */
      {"td0", {1.1, 1.1 - 0.1 * 1.65 * 2}},
      /* traces 1, then 1/2 1/2 1 + 2 = 2.25 */
      {"td-lambda", {1.1, 1.1 - 0.1 * 1.65 * 2.25}},
      /* phi - gamma phi' = 0: no step; then delta = -1.5, phi - gamma phi' = 1.5 */
      {"residual-gradient", {1.0, 1.0 - 0.1 * 1.5 * 1.5}},
      /* w = 0: as td0, w = 0.2 (second rate 2); then <phi, w> = 0.4, gamma phi' = 0.5 */
      {"tdc", {1.1, 1.1 - 0.1 * (1.65 * 2 + 0.5 * 0.4)}},
      /* w = 0: no step, w = 0.2; then <phi, w> = 0.4 times 1.5 */
      {"gtd2", {1.0, 1.0 + 0.1 * 0.4 * 1.5}},
  };
  hvi_mdp *m = NULL;
  hvi_error err;
  check_ok(hvi_mdp_new(&m, &spec, &err), &err);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_trajectory_sample *s = calloc(1, p->sample_bytes);
  const hvi_rule_settings settings = {.trace_decay = 0.5, .second_rate = 2.0};
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
    const hvi_rule *one = rule(expected[k].name);
    double theta = 1.0, memory[4] = {0};
    assert_true(one->state(p) <= 4);
    for (size_t t = 0; t < 2; t++) {
      s->from = t;
      s->to = 1 - t;
      one->step(&settings, p, s, 0.1, memory, &theta);
      check_near(theta, expected[k].after[t], 1e-15);
    }
  }
  free(s);
  hvi_problem_free(p);
}

/* theta after a long run with shrinking steps. */
static void run(double *theta, const hvi_problem *p, const hvi_settings *s) {
  hvi_solver *solver = solver_for(p, s);
  hvi_solver_run(solver);
  hvi_vec_copy(theta, hvi_solver_info(solver).last.theta, D);
  hvi_solver_free(solver);
}

/* |Phi x - Phi y|_Xi */
static double apart(const hvi_mdp *m, const double *x, const double *y) {
  double u[N], v[N], sum = 0.0;
  hvi_mdp_values(m, x, u);
  hvi_mdp_values(m, y, v);
  for (size_t s = 0; s < N; s++) sum += hvi_mdp_law(m)[s] * (u[s] - v[s]) * (u[s] - v[s]);
  return sqrt(sum);
}

/* Solves A x = b, A[D][D] = Phi' W Phi with W[N][N], b = Phi' V r with V[N][N]. */
static void solve_for_limit(double *x, const hvi_mdp *m, const double *W, const double *V) {
  double A[D * D] = {0}, b[D] = {0};
  const double *phi = hvi_mdp_phi(m), *r = hvi_mdp_reward(m);
  hvi_error err;
  for (size_t s = 0; s < N; s++)
    for (size_t to = 0; to < N; to++)
      for (size_t i = 0; i < D; i++) {
        b[i] += phi[s * D + i] * V[s * N + to] * r[to];
        for (size_t j = 0; j < D; j++)
          A[i * D + j] += phi[s * D + i] * W[s * N + to] * phi[to * D + j];
      }
  check_ok(hvi_dense_solve(x, A, b, D, &err), &err);
}

/* The limit of TD(lambda): W = Xi K (I - gamma P), V = Xi K, K = (I - gamma lambda P)^-1. */
static void lambda_point(double *x, const hvi_mdp *m, double lambda) {
  double B[N * N], K[N * N], W[N * N], V[N * N], unit[N], column[N];
  const double *P = m->P, gamma = hvi_mdp_gamma(m);
  hvi_error err;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) B[i * N + j] = (i == j) - gamma * lambda * P[i * N + j];
  for (size_t j = 0; j < N; j++) {
    for (size_t i = 0; i < N; i++) unit[i] = i == j;
    check_ok(hvi_dense_solve(column, B, unit, N, &err), &err);
    for (size_t i = 0; i < N; i++) K[i * N + j] = column[i];
  }
  hvi_dense_matmul(W, K, P, N, N, N);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      V[i * N + j] = hvi_mdp_law(m)[i] * K[i * N + j];
      W[i * N + j] = V[i * N + j] - gamma * hvi_mdp_law(m)[i] * W[i * N + j];
    }
  solve_for_limit(x, m, W, V);
}

/* The minimiser of E (r + gamma <phi', x> - <phi, x>)^2 over single transitions:
 * W = (1 + gamma^2) Xi - gamma (Xi P + P' Xi), V = (I - gamma P') Xi; with `twice`, of the Bellman
 * error itself, the successor being drawn twice: gamma^2 P' Xi P in place of gamma^2 Xi. */
static void residual_point(double *x, const hvi_mdp *m, bool twice) {
  double W[N * N], V[N * N];
  const double *P = m->P, *xi = hvi_mdp_law(m), gamma = hvi_mdp_gamma(m);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      double last = i == j ? xi[i] : 0.0;
      if (twice) {
        last = 0.0;
        for (size_t s = 0; s < N; s++) last += P[s * N + i] * xi[s] * P[s * N + j];
      }
      V[i * N + j] = (i == j ? xi[i] : 0.0) - gamma * P[j * N + i] * xi[j];
      W[i * N + j] = (i == j ? xi[i] : 0.0) + gamma * gamma * last -
                     gamma * (xi[i] * P[i * N + j] + P[j * N + i] * xi[j]);
    }
  solve_for_limit(x, m, W, V);
}

static void temporal_differences_find_the_fixed_point(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(N, D, 0.6, 11);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  double goal[D], theta[D];
  memcpy(goal, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  const double start = apart(m, p->theta0, goal);
  const char *const names[] = {"td0", "tdc", "gtd2", "lstd"};
  for (size_t k = 0; k < 4; k++) {
    hvi_settings s = rule_settings(names[k], 0.3, 1e-3, 200000);
    run(theta, p, &s);
    if (!(apart(m, theta, goal) < 0.02 * start))
      fail_msg("%s ends %g from the fixed point, having started at %g", names[k],
               apart(m, theta, goal), start);
  }
  hvi_problem_free(p);
}

static void traces_move_the_fixed_point(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(N, D, 0.6, 11);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  double goal[D], other[D], theta[D], plain[D];
  memcpy(goal, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  lambda_point(other, m, 0.0);
  check_close(other, goal, D, 1e-10);
  lambda_point(other, m, 0.9);
  hvi_settings s = rule_settings("td-lambda", 0.3, 1e-3, 200000);
  s.rule_settings.trace_decay = 0.9;
  run(theta, p, &s);
  assert_true(apart(m, theta, other) < 0.02 * apart(m, p->theta0, other));
  s.max_outer = 1000;
  s.rule_settings.trace_decay = 0.0;
  run(theta, p, &s);
  s.rule = rule("td0");
  run(plain, p, &s);
  check_close(theta, plain, D, 0.0);
  hvi_problem_free(p);
}

/* Neither its own limit nor the Bellman error's minimiser is the projected fixed point; on a walk,
 * whose next state is as good as its last, the difference is plain. */
static void residual_gradient_ends_elsewhere(void **state) {
  (void)state;
  hvi_mdp *m = walk_mdp(N, 0.9);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  double goal[D], biased[D], unbiased[D], theta[D];
  memcpy(goal, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  residual_point(biased, m, false);
  residual_point(unbiased, m, true);
  hvi_settings s = rule_settings("residual-gradient", 0.2, 3e-4, 400000);
  run(theta, p, &s);
  const double off = apart(m, biased, goal);
  assert_true(off > 0.1 * apart(m, p->theta0, goal));
  assert_true(apart(m, unbiased, goal) > 0.01 * apart(m, p->theta0, goal));
  assert_true(apart(m, theta, biased) < 0.1 * off);
  assert_true(apart(m, theta, goal) > 0.8 * off);
  hvi_problem_free(p);
}

/* LSTD is the solution with the running means, from `wait` transitions on. */
static void lstd_solves_the_running_means(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(N, D, 0.9, 12);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_settings s = rule_settings("lstd", 1.0, 0.0, 50);
  hvi_solver *solver = solver_for(p, &s);
  hvi_trajectory_sample *sample = calloc(1, p->sample_bytes);
  hvi_rng rng = hvi_rng_new(s.seed, "solver", 0);
  double A[D * D], x[D];
  hvi_error err;
  for (size_t t = 1; t <= 50; t++) {
    p->ops->draw(p, NULL, sample, &rng);
    hvi_solver_step(solver);
    hvi_vec_zero(x, D);
    if (t >= 2 * D) {
      hvi_vec_copy(A, hvi_sample_C(sample, D), D * D);
      for (size_t i = 0; i < D; i++) A[i * D + i] += 1e-6;
      check_ok(hvi_dense_solve(x, A, hvi_sample_r(sample, D), D, &err), &err);
    }
    check_relative(hvi_solver_info(solver).last.theta, x, D, 1e-9);
  }
  hvi_solver_free(solver);
  free(sample);
  hvi_problem_free(p);
}

/* The names that the manual and the program promise. */
static void all_rules_are_listed(void **state) {
  (void)state;
  const char *const names[] = {"td0", "td-lambda", "lstd", "tdc", "gtd2", "residual-gradient"};
  size_t count = 0;
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++, count++)
    assert_string_equal((*r)->name, names[count]);
  assert_int_equal(count, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_rules_are_listed),
      cmocka_unit_test(steps_are_as_written),
      cmocka_unit_test(lstd_solves_the_running_means),
      cmocka_unit_test(temporal_differences_find_the_fixed_point),
      cmocka_unit_test(traces_move_the_fixed_point),
      cmocka_unit_test(residual_gradient_ends_elsewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

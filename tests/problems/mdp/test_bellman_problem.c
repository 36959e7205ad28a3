/* The deterministic surrogate in the norm of Xi: gn with one step is projected value iteration, gd
 * is Surr-GD, both against loops written out. */
#include "processes.h"

#include <hvi/builtin.h>

enum { MOST = 200, STEPS = 50 };

/* One step of a method, from theta. */
typedef void (*step_fn)(const plain *p, const double *xi, double *theta);

/* theta <- argmin |Phi theta - T Phi theta_t|_Xi */
static void value_iteration(const plain *p, const double *xi, double *theta) {
  double z[MOST], tz[MOST];
  plain_values(z, p, theta);
  plain_bellman(tz, p, z);
  plain_project(theta, p, xi, tz);
}

static const double rate = 0.3;
enum { INNER = 7 };

/* theta <- theta - rate Phi' Xi (Phi theta - T Phi theta_t), a few times */
static void surrogate_descent(const plain *p, const double *xi, double *theta) {
  double z[MOST], tz[MOST], g[MOST];
  plain_values(z, p, theta);
  plain_bellman(tz, p, z);
  for (int k = 0; k < INNER; k++) {
    plain_values(z, p, theta);
    for (size_t j = 0; j < plain_dim(p); j++) {
      g[j] = 0.0;
      for (size_t i = 0; i < p->n; i++) g[j] += phi_at(p, i, j) * xi[i] * (z[i] - tz[i]);
    }
    for (size_t j = 0; j < plain_dim(p); j++) theta[j] -= rate * g[j];
  }
}

static hvi_problem *problem_of(const hvi_mdp_spec *spec) {
  hvi_problem *p;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_mdp_problem_new(&p, mdp_of(spec), &err), &err);
  return p;
}

static void check_against(const plain *p, const hvi_problem *problem, const char *method,
                          size_t inner, step_fn step) {
  hvi_settings s = hvi_method_settings("gd");
  hvi_solver *solver;
  hvi_error err = {HVI_OK, ""};
  double theta[MOST], xi[MOST];
  hvi_method_apply(&s, method, NULL);
  fill_normal(theta, plain_dim(p), 99);
  s.theta0 = theta;
  s.rounding = false; /* STEPS of them, at rounding too */
  s.eta = problem->eta;
  s.inner_steps = inner;
  s.inner.lr = rate;
  plain_law(xi, p);
  check_ok(hvi_solver_new(&solver, problem, &s, &err), &err);
  for (int t = 0; t < STEPS; t++) {
    step(p, xi, theta);
    hvi_solver_step(solver);
    check_relative(hvi_solver_info(solver).last.theta, theta, plain_dim(p), 1e-12);
  }
  hvi_solver_free(solver);
}

/* Dense, sparse and tabular processes, and as many features as states. */
static void check_all(const char *method, size_t inner, step_fn step) {
  static const struct {
    size_t n, d, branch;
    double gamma;
  } cases[] = {
      {30, 5, 0, 0.9}, {100, 8, 4, 0.95}, {25, 0, 0, 0.9}, {60, 0, 3, 0.8}, {12, 12, 0, 0.7}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    plain p = plain_new(cases[c].n, cases[c].d, cases[c].branch, cases[c].gamma, 200 + c);
    hvi_mdp_spec spec = plain_spec(&p);
    hvi_problem *dense = problem_of(&spec);
    check_against(&p, dense, method, inner, step);
    hvi_sparse S = plain_sparse(&p);
    spec.transitions = NULL;
    spec.sparse = &S;
    hvi_problem *sparse = problem_of(&spec);
    check_against(&p, sparse, method, inner, step);
    hvi_problem_free(dense);
    hvi_problem_free(sparse);
    sparse_release(&S);
    plain_free(&p);
  }
}

static void gn_is_projected_value_iteration(void **state) {
  (void)state;
  check_all("gn", 1, value_iteration);
  check_all("gn", 3, value_iteration); /* the first step has reached the minimiser */
}

static void gd_is_surrogate_descent(void **state) {
  (void)state;
  check_all("gd", INNER, surrogate_descent);
}

/* Enough states for the steps to go through the Gram matrix: the same iterates as value iteration
 * with the process's own products, which the other tests check. */
static void tall_problems_do_value_iteration(void **state) {
  (void)state;
  enum { N = 30000, D = 40 };
  const hvi_option options[] = {{"kind", "random"}, {"states", "30000"}, {"features", "40"}};
  hvi_problem *p;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_builtin_new(&p, "chain", options, 3, 5, 1, &err), &err);
  const hvi_mdp *m = hvi_mdp_of(p);
  assert_non_null(m);
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, "gn", NULL);
  s.eta = 1.0;
  hvi_solver *solver;
  check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
  double theta[D], *z = calloc(2 * N, 8), *tz = z + N;
  assert_non_null(z);
  memcpy(theta, p->theta0, sizeof theta);
  for (int t = 0; t < STEPS; t++) {
    hvi_mdp_values(m, theta, z);
    hvi_mdp_bellman(m, z, tz);
    check_ok(hvi_mdp_project(m, tz, theta, &err), &err);
    hvi_solver_step(solver);
    check_relative(hvi_solver_info(solver).last.theta, theta, D, 1e-12);
  }
  /* one product with J' an outer step, and no decomposition of J */
  assert_int_equal(hvi_solver_info(solver).last.counts.grad_evals, STEPS);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  free(z);
}

static void solves_reach_the_fixed_point(void **state) {
  (void)state;
  plain p = plain_new(50, 6, 4, 0.9, 300);
  const hvi_mdp_spec spec = plain_spec(&p);
  hvi_problem *problem = problem_of(&spec);
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, "gn", NULL);
  s.eta = problem->eta;
  s.tol = 1e-13;
  s.rounding = false; /* which is 1e-13 (1 + |z|), and more than the tolerance */
  hvi_solver *solver;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_solver_new(&solver, problem, &s, &err), &err);
  assert_int_equal(hvi_solver_run(solver), HVI_CONVERGED);
  double xi[MOST], theta[MOST];
  plain_law(xi, &p);
  plain_fixed_point(theta, &p, xi);
  const hvi_info info = hvi_solver_info(solver);
  check_relative(info.last.theta, theta, 6, 1e-10);
  check_near(info.last.dist2, 0.0, 1e-22);
  hvi_certificate c;
  check_ok(hvi_problem_judge(&c, problem, info.last.theta, &err), &err);
  assert_true(c.finite);
  assert_true(c.residual <= 2e-13);
  hvi_solver_free(solver);
  hvi_problem_free(problem);
  plain_free(&p);
}

/* The residual is |Pi (T z - z)|_Xi, the root of the MSPBE; dist2 is in the norm of Xi. */
static void residual_is_the_projected_bellman_error(void **state) {
  (void)state;
  for (uint64_t c = 0; c < 2; c++) {
    plain p = plain_new(20, c ? 0 : 4, 0, 0.9, 400 + c);
    const hvi_mdp_spec spec = plain_spec(&p);
    hvi_problem *problem = problem_of(&spec);
    const hvi_mdp *m = hvi_mdp_of(problem);
    double theta[20], z[20], f[20];
    hvi_error err;
    hvi_mdp_measures measures;
    fill_normal(theta, plain_dim(&p), c);
    check_ok(hvi_mdp_measure(&measures, m, theta, &err), &err);
    plain_values(z, &p, theta);
    problem->ops->operate(problem, NULL, theta, z, f);
    check_near(hvi_problem_residual(problem, z, f) / sqrt(measures.mspbe), 1.0, 1e-12);
    double dist2 = 0.0;
    for (size_t i = 0; i < 20; i++) {
      const double off = z[i] - problem->solution[i];
      dist2 += hvi_mdp_law(m)[i] * off * off;
    }
    check_near(problem->ops->dist2(problem, theta) / dist2, 1.0, 1e-12);
    check_near(measures.to_fixed_point / dist2, 1.0, 1e-12);
    hvi_problem_free(problem);
    plain_free(&p);
  }
}

/* 1/2 |Phi theta - T Phi deployed|^2_Xi: what a model loses on the targets that another one's values
 * bring about. */
static double loss_of(const plain *p, const double *xi, const double *theta,
                      const double *deployed) {
  double z[MOST], y[MOST], at[MOST], sum = 0.0;
  plain_values(at, p, deployed);
  plain_bellman(y, p, at);
  plain_values(z, p, theta);
  for (size_t i = 0; i < p->n; i++) sum += 0.5 * xi[i] * (z[i] - y[i]) * (z[i] - y[i]);
  return sum;
}

/* The projected fixed point is performatively stable: no other theta loses less on the targets that
 * it brings about. Another theta is not: retraining gains, and ends nearer by gamma or more. */
static void the_solution_is_performatively_stable(void **state) {
  (void)state;
  plain p = plain_new(30, 5, 0, 0.9, 700);
  const hvi_mdp_spec spec = plain_spec(&p);
  hvi_problem *problem = problem_of(&spec);
  double xi[MOST], stable[5], other[5], retrained[5], beta, mu;
  problem->ops->sensitivity(problem, &beta, &mu);
  check_near(beta / mu, 0.9, 1e-15);
  plain_law(xi, &p);
  plain_fixed_point(stable, &p, xi);
  for (uint64_t k = 0; k < 50; k++) {
    fill_normal(other, 5, k);
    for (size_t j = 0; j < 5; j++) other[j] = stable[j] + 0.1 * other[j];
    assert_true(loss_of(&p, xi, other, stable) > loss_of(&p, xi, stable, stable));
    memcpy(retrained, other, sizeof other);
    value_iteration(&p, xi, retrained);
    assert_true(loss_of(&p, xi, retrained, other) < loss_of(&p, xi, other, other));
    const double far = problem->ops->dist2(problem, other);
    assert_true(problem->ops->dist2(problem, retrained) <= 0.81 * far * (1.0 + 1e-12));
  }
  hvi_problem_free(problem);
  plain_free(&p);
}

/* The paper prints r - gamma v for r + gamma v: the fixed point
 * would be another one. */
static void the_printed_sign_of_gamma_is_wrong(void **state) {
  (void)state;
  plain p = plain_new(10, 0, 0, 0.9, 500);
  const hvi_mdp_spec spec = plain_spec(&p);
  hvi_mdp *m = mdp_of(&spec);
  double v[10], right = 0.0, printed = 0.0;
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  for (size_t i = 0; i < 10; i++) {
    const double next = dot(p.P + i * 10, v, 10);
    right = fmax(right, fabs(v[i] - (p.r[i] + 0.9 * next)));
    printed = fmax(printed, fabs(v[i] - (p.r[i] - 0.9 * next)));
  }
  assert_true(right < 1e-12);
  assert_true(printed > 1.0);
  /* and so is the return that begins with gamma^1: it is gamma times the value */
  double state_law[10] = {1.0}, next_law[10], sum = 0.0, power = 1.0;
  for (int t = 0; t < 400; t++, power *= 0.9) {
    sum += power * dot(state_law, p.r, 10);
    for (size_t j = 0; j < 10; j++) {
      next_law[j] = 0.0;
      for (size_t i = 0; i < 10; i++) next_law[j] += state_law[i] * p.P[i * 10 + j];
    }
    memcpy(state_law, next_law, sizeof state_law);
  }
  check_near(sum, v[0], 1e-10);
  assert_true(fabs(0.9 * sum - v[0]) > 0.01);
  hvi_mdp_free(m);
  plain_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gn_is_projected_value_iteration),
      cmocka_unit_test(gd_is_surrogate_descent),
      cmocka_unit_test(tall_problems_do_value_iteration),
      cmocka_unit_test(solves_reach_the_fixed_point),
      cmocka_unit_test(residual_is_the_projected_bellman_error),
      cmocka_unit_test(the_solution_is_performatively_stable),
      cmocka_unit_test(the_printed_sign_of_gamma_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

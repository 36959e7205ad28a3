/* performative-linear: the closed form, the rates, and what lies beyond beta / mu = 1. */
#include "num/dense.h"
#include "problems/performative/problems.h"

static hvi_problem *make_linear(const char *eps, const char *kind, uint64_t seed) {
  const hvi_option options[] = {{"eps", eps}, {"kind", kind}};
  return make_problem("performative-linear", options, 2, seed);
}

/* A z + b = 0 solved by LAPACK is the solution, and |A - I| = eps. */
static void stable_point_in_closed_form(void **state) {
  (void)state;
  static const char *const values[] = {"0.3", "0.6", "0.9", "1.1"};
  for (size_t k = 0; k < 8; k++) {
    hvi_problem *p = make_linear(values[k % 4], k < 4 ? "orthogonal" : "skew", 1 + k);
    const size_t n = p->model->out;
    double *A = malloc(n * n * sizeof *A), *b = malloc(2 * n * sizeof *b), *z = b + n;
    p->ops->affine(p, A, b);
    for (size_t i = 0; i < n; i++) b[i] = -b[i];
    check_ok(hvi_dense_solve(z, A, b, n, NULL), NULL);
    check_close(z, p->solution, n, 1e-11);
    for (size_t i = 0; i < n; i++) A[i * n + i] -= 1.0;
    check_ok(hvi_dense_singular_values(z, A, n, n, NULL), NULL);
    check_near(z[0], strtod(values[k % 4], NULL), 1e-12);
    if (k < 4) check_near(z[n - 1], z[0], 1e-12);
    for (size_t i = 0; i < n && k >= 4; i++)
      for (size_t j = 0; j < n; j++) assert_true(A[i * n + j] == -A[j * n + i]);
    free(A);
    free(b);
    hvi_problem_free(p);
  }
}

/* What `hvi solve performative-linear --set eps=0.9` does: gd, one step, eta = 1, 1,000 times. */
static void plain_settings_reach_it(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    hvi_problem *p = make_linear("0.9", "orthogonal", seed);
    assert_true(p->eta == 1.0);
    hvi_settings s = settings_for("gd", p->eta, 1000);
    hvi_solver *solver = solver_for(p, &s);
    hvi_solver_run(solver);
    const double dist = sqrt(hvi_solver_info(solver).last.dist2);
    if (!(dist < 1e-8)) fail_msg("seed %d ends %g away", (int)seed, dist);
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
}

/* RRM: the loss of a deployment is eps^2 times that of the one before when M is orthogonal. */
static void repeated_minimisation_contracts_by_eps(void **state) {
  (void)state;
  hvi_problem *p = make_linear("0.6", "orthogonal", 3);
  static trace t;
  hvi_settings s = settings_for("lm", 1.0, 12);
  s.inner_steps = 60;
  s.inner.damping = 1e-6;
  s.alpha = 1e-9;
  hvi_solver_free(solve_traced(p, s, &t));
  for (size_t k = 1; k < t.count; k++)
    check_near(t.rows[k].dist2 / t.rows[k - 1].dist2, 0.36, 1e-6);
  hvi_problem_free(p);
}

static double end_over_start(hvi_problem *p, hvi_settings s) {
  static trace t;
  s.inner_steps = 60;
  s.inner.damping = 1e-6;
  s.alpha = 1e-6;
  s.growth_bound = 1e6;
  hvi_solver_free(solve_traced(p, s, &t));
  return t.rows[t.count - 1].dist2 / t.rows[0].dist2;
}

static void beyond_one(void **state) {
  (void)state;
  for (int skew = 0; skew < 2; skew++) {
    hvi_problem *p = make_linear("1.1", skew ? "skew" : "orthogonal", 1);
    hvi_constants c;
    check_ok(hvi_problem_constants(&c, p, NULL), NULL);
    check_near(c.mu, skew ? 1.0 : -0.1, 0.011);
    assert_true(end_over_start(p, settings_for("lm", 1.0, 100)) > 10.0);
    hvi_settings slower = settings_for("lm", 0.45, 100), optimistic = settings_for("lm", 0.3, 100);
    hvi_settings averaged = settings_for("lm", 1.0, 100);
    optimistic.target = HVI_TARGET_OPTIMISTIC;
    averaged.target = HVI_TARGET_AVERAGED;
    averaged.average = 3;
    if (skew) {
      assert_true(end_over_start(p, slower) < 1e-12);
      assert_true(end_over_start(p, optimistic) < 1e-12);
      assert_true(end_over_start(p, averaged) < 1e-4);
    } else {
      assert_true(end_over_start(p, slower) > 1.0);
      assert_true(end_over_start(p, optimistic) > 1.0);
      assert_true(end_over_start(p, averaged) > 1.0);
    }
    hvi_problem_free(p);
  }
}

static void measures_and_coverage(void **state) {
  (void)state;
  hvi_problem *p = make_linear("0.9", "orthogonal", 2);
  const size_t n = p->model->out;
  hvi_certificate judged;
  check_ok(hvi_problem_judge(&judged, p, p->theta0, NULL), NULL);
  const hvi_performative_measures m = measure_at(p, p->theta0);
  check_near(m.gap, 0.5 * judged.residual * judged.residual, 1e-12);
  assert_true(m.loss_after == m.gap);
  assert_true(m.loss_before > 0.0);
  assert_true(isnan(m.accuracy_after));
  const hvi_performative_coverage c = coverage_of(p);
  double beta, mu;
  p->ops->sensitivity(p, &beta, &mu);
  assert_true(c.beta == beta);
  assert_true(c.mu == mu);
  assert_true(c.beta / c.mu == 0.9);
  assert_true(c.limit == 1.0);
  assert_true(c.below);
  assert_true(strcmp(c.key, "eps") == 0);
  assert_true(n == 16);
  hvi_problem_free(p);
}

static void other_problems_are_refused(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_performative_measures m;
  hvi_performative_coverage c;
  hvi_error err;
  check_error(hvi_performative_measure(&m, p, p->theta0, &err), HVI_ERROR_UNSUPPORTED, &err,
              "no problem of performative prediction");
  assert_false(hvi_performative_cover(&c, p));
  assert_false(hvi_performative_cover(&c, NULL));
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stable_point_in_closed_form),
      cmocka_unit_test(plain_settings_reach_it),
      cmocka_unit_test(repeated_minimisation_contracts_by_eps),
      cmocka_unit_test(beyond_one),
      cmocka_unit_test(measures_and_coverage),
      cmocka_unit_test(other_problems_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

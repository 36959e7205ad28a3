/* A process: its law, values, projection and fixed point against plain loops; what is refused. */
#include "processes.h"

#include "problems/mdp/mdp.h"

enum { MOST = 60 };

static void law_of_two_states(void **state) {
  (void)state;
  const double a = 0.3, b = 1e-12;
  const double P[] = {1.0 - a, a, b, 1.0 - b}, r[] = {1.0, 0.0};
  hvi_mdp *m = mdp_of(&(hvi_mdp_spec){.states = 2, .transitions = P, .reward = r, .gamma = 0.5});
  const double xi[] = {b / (a + b), a / (a + b)};
  /* every weight to rounding, the tiny one too */
  check_near(hvi_mdp_law(m)[0] / xi[0], 1.0, 1e-15);
  check_near(hvi_mdp_law(m)[1] / xi[1], 1.0, 1e-15);
  hvi_mdp_free(m);
}

static void periodic_chains_have_a_law(void **state) {
  (void)state;
  const double P[] = {0, 1, 0, 0, 0, 1, 1, 0, 0}, r[] = {1, 2, 3},
               third[] = {1 / 3., 1 / 3., 1 / 3.};
  hvi_mdp *m = mdp_of(&(hvi_mdp_spec){.states = 3, .transitions = P, .reward = r, .gamma = 0.5});
  check_close(hvi_mdp_law(m), third, 3, 1e-15);
  hvi_mdp_free(m);
}

static void one_state(void **state) {
  (void)state;
  const double P[] = {1.0}, r[] = {3.0};
  hvi_mdp *m = mdp_of(&(hvi_mdp_spec){.states = 1, .transitions = P, .reward = r, .gamma = 0.75});
  double v;
  memcpy(&v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  check_near(v, 12.0, 1e-14);
  check_near(hvi_mdp_law(m)[0], 1.0, 0.0);
  hvi_mdp_free(m);
}

static void everything_agrees_with_plain_loops(void **state) {
  (void)state;
  static const struct {
    size_t n, d, branch;
    double gamma;
  } cases[] = {{12, 3, 0, 0.9},  {40, 7, 3, 0.99}, {25, 0, 0, 0.8},
               {30, 0, 2, 0.95}, {9, 9, 0, 0.5},   {50, 1, 4, 0.0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    plain p = plain_new(cases[c].n, cases[c].d, cases[c].branch, cases[c].gamma, c);
    const size_t n = p.n, d = plain_dim(&p);
    const hvi_mdp_spec spec = plain_spec(&p);
    hvi_mdp *m = mdp_of(&spec);
    hvi_error err = {HVI_OK, ""};
    double xi[MOST], got[MOST], expected[MOST], z[MOST], tz[MOST];
    plain_law(xi, &p);
    check_close(hvi_mdp_law(m), xi, n, 1e-13);

    memcpy(got, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
    plain_bellman(tz, &p, got);
    check_close(got, tz, n, 1e-12);

    fill_normal(z, n, c);
    hvi_mdp_bellman(m, z, got);
    plain_bellman(tz, &p, z);
    check_close(got, tz, n, 1e-13);

    check_ok(hvi_mdp_project(m, z, got, &err), &err);
    plain_project(expected, &p, xi, z);
    check_close(got, expected, d, 1e-10);

    memcpy(got, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
    plain_fixed_point(expected, &p, xi);
    check_relative(got, expected, d, 1e-10);
    hvi_mdp_free(m);
    plain_free(&p);
  }
}

static void measures_agree_with_plain_loops(void **state) {
  (void)state;
  plain p = plain_new(20, 4, 0, 0.9, 77);
  const hvi_mdp_spec spec = plain_spec(&p);
  hvi_mdp *m = mdp_of(&spec);
  hvi_error err;
  double xi[20], theta[4], best[4], z[20], tz[20], v[20], zs[20], other[4], pz[20];
  fill_normal(theta, 4, 1);
  plain_law(xi, &p);
  plain_fixed_point(best, &p, xi);
  plain_values(z, &p, theta);
  plain_values(zs, &p, best);
  plain_bellman(tz, &p, z);
  plain_project(other, &p, xi, tz);
  plain_values(pz, &p, other);
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  double fixed = 0.0, truth = 0.0, mspbe = 0.0, here = 0.0, there = 0.0;
  for (size_t i = 0; i < 20; i++) {
    fixed += xi[i] * (z[i] - zs[i]) * (z[i] - zs[i]);
    truth += xi[i] * (z[i] - v[i]) * (z[i] - v[i]);
    mspbe += xi[i] * (pz[i] - z[i]) * (pz[i] - z[i]);
    here += 0.5 * xi[i] * (z[i] - tz[i]) * (z[i] - tz[i]);
    there += 0.5 * xi[i] * (pz[i] - tz[i]) * (pz[i] - tz[i]);
  }
  hvi_mdp_measures got;
  check_ok(hvi_mdp_measure(&got, m, theta, &err), &err);
  check_near(got.to_fixed_point / fixed, 1.0, 1e-11);
  check_near(got.to_true_values / truth, 1.0, 1e-11);
  check_near(got.mspbe / mspbe, 1.0, 1e-11);
  check_near(got.bellman_gap / (here - there), 1.0, 1e-10);
  check_ok(hvi_mdp_measure(&got, m, best, &err), &err);
  check_near(got.mspbe, 0.0, 1e-20);
  hvi_mdp_free(m);
  plain_free(&p);
}

static void sparse_and_dense_are_the_same(void **state) {
  (void)state;
  plain p = plain_new(40, 5, 3, 0.9, 5);
  hvi_sparse S = plain_sparse(&p);
  hvi_mdp_spec spec = plain_spec(&p);
  hvi_mdp *dense = mdp_of(&spec);
  spec.transitions = NULL;
  spec.sparse = &S;
  hvi_mdp *sparse = mdp_of(&spec);
  double a[40], b[40], z[40];
  check_close(hvi_mdp_law(sparse), hvi_mdp_law(dense), 40, 1e-15);
  memcpy(a, hvi_mdp_true_values(sparse), hvi_mdp_states(sparse) * sizeof(double));
  memcpy(b, hvi_mdp_true_values(dense), hvi_mdp_states(dense) * sizeof(double));
  check_close(a, b, 40, 1e-12);
  memcpy(a, hvi_mdp_fixed_point(sparse), hvi_mdp_features(sparse) * sizeof(double));
  memcpy(b, hvi_mdp_fixed_point(dense), hvi_mdp_features(dense) * sizeof(double));
  check_close(a, b, 5, 1e-12);
  fill_normal(z, 40, 3);
  hvi_mdp_bellman(sparse, z, a);
  hvi_mdp_bellman(dense, z, b);
  check_close(a, b, 40, 1e-14);
  hvi_mdp_free(dense);
  hvi_mdp_free(sparse);
  sparse_release(&S);
  plain_free(&p);
}

/* Large and not banded: the law by iteration, the values by BiCGSTAB. `hold` is the probability of
 * staying in one's half. */
static hvi_mdp *large_chain(size_t n, double hold) {
  hvi_rng rng = hvi_rng_new(3, "tests", 0);
  hvi_sparse S = {n, n, calloc(n + 1, sizeof(size_t)), calloc(4 * n, 4), calloc(4 * n, 8)};
  double *r = calloc(n, 8);
  assert_true(S.start);
  assert_true(S.column);
  assert_true(S.value);
  assert_true(r);
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t half = n / 2, base = i < half ? 0 : half, away = i < half ? half : 0;
    const double share = hvi_rng_uniform(&rng);
    S.column[at] = (uint32_t)(base + (i - base + 1) % half);
    S.value[at++] = hold * share;
    S.column[at] = (uint32_t)(base + hvi_rng_u32(&rng) % half);
    S.value[at++] = hold * (1.0 - share);
    S.column[at] = (uint32_t)(away + hvi_rng_u32(&rng) % half);
    S.value[at++] = 1.0 - hold;
    S.start[i + 1] = at;
    r[i] = hvi_rng_uniform(&rng);
  }
  const hvi_mdp_spec spec = {.states = n, .sparse = &S, .reward = r, .gamma = 0.99};
  hvi_mdp *m = mdp_of(&spec);
  sparse_release(&S);
  free(r);
  return m;
}

static void check_large(double hold) {
  const size_t n = 20000;
  hvi_mdp *m = large_chain(n, hold);
  double *y = calloc(2 * n, 8), *v = y + n, change = 0.0, sum = 0.0;
  assert_non_null(y);
  hvi_mdp_transit_t(y, m, hvi_mdp_law(m));
  for (size_t i = 0; i < n; i++) {
    change += fabs(y[i] - hvi_mdp_law(m)[i]);
    sum += hvi_mdp_law(m)[i];
    assert_true(hvi_mdp_law(m)[i] > 0.0);
  }
  check_near(change, 0.0, 1e-13);
  check_near(sum, 1.0, 1e-12);
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  hvi_mdp_bellman(m, v, y);
  check_close(v, y, n, 1e-12);
  free(y);
  hvi_mdp_free(m);
}

static void large_chains_by_iteration(void **state) {
  (void)state;
  check_large(0.9);
}

/* The second eigenvalue is 2 hold - 1 = 0.9998: the power iteration alone would need 1e5 steps. */
static void slow_large_chains_by_krylov(void **state) {
  (void)state;
  check_large(0.9999);
}

static void constants_are_those_of_the_written_out_operator(void **state) {
  (void)state;
  for (uint64_t c = 0; c < 4; c++) {
    plain p = plain_new(15, c % 2 ? 4 : 0, c < 2 ? 0 : 2, 0.9, 40 + c);
    const hvi_mdp_spec spec = plain_spec(&p);
    hvi_problem *problem;
    hvi_error err = {HVI_OK, ""};
    check_ok(hvi_mdp_problem_new(&problem, mdp_of(&spec), &err), &err);
    hvi_constants k;
    check_ok(hvi_problem_constants(&k, problem, &err), &err);
    assert_true(k.exact);
    assert_true(k.mu >= 0.1 - 1e-12);
    assert_true(k.lipschitz <= 1.9 + 1e-12);
    if (c % 2 == 0) check_near(k.mu, 0.1, 1e-12); /* reached by the constant function */
    /* Rayleigh quotients of random pairs stay within, and a search comes close */
    double theta[15], z[15], f[15], f0[15], zero[15] = {0}, least = INFINITY, xi[15];
    plain_law(xi, &p);
    problem->ops->operate(problem, NULL, zero, zero, f0);
    for (uint64_t t = 0; t < 3000; t++) {
      fill_normal(theta, plain_dim(&p), 100 + t);
      plain_values(z, &p, theta);
      problem->ops->operate(problem, NULL, theta, z, f);
      double above = 0.0, below = 0.0;
      for (size_t i = 0; i < 15; i++) {
        above += (f[i] - f0[i]) * z[i];
        below += xi[i] * z[i] * z[i];
      }
      least = fmin(least, above / below);
    }
    assert_true(least >= k.mu - 1e-12);
    if (c % 2) assert_true(least <= k.mu + 0.1);
    hvi_problem_free(problem);
    plain_free(&p);
  }
}

static void hand_computed_constants(void **state) {
  (void)state;
  /* two states, P swaps with probability 1/2: xi = (1/2, 1/2), F's matrix is
   * 1/2 (I - g P); on Xi-orthonormal vectors eigenvalues 1 - g and 1 */
  const double P[] = {0.5, 0.5, 0.5, 0.5}, r[] = {0, 1};
  hvi_problem *p;
  hvi_error err;
  hvi_mdp *m = mdp_of(&(hvi_mdp_spec){.states = 2, .transitions = P, .reward = r, .gamma = 0.7});
  check_ok(hvi_mdp_problem_new(&p, m, &err), &err);
  hvi_constants c;
  check_ok(hvi_problem_constants(&c, p, &err), &err);
  check_near(c.mu, 0.3, 1e-14);
  check_near(c.lipschitz, 1.0, 1e-14);
  hvi_problem_free(p);
}

static void refuse(const hvi_mdp_spec *spec, const char *words) {
  hvi_mdp *m = (hvi_mdp *)(void *)&words;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_mdp_new(&m, spec, &err), HVI_ERROR_INPUT, &err, words);
  assert_null(m);
}

static void refused_transitions(void **state) {
  (void)state;
  const double r[] = {1, 2, 3}, bad_r[] = {1, NAN, 3};
  double P[] = {0.5, 0.5, 0, 0.25, 0.5, 0.25, 0, 0.5, 0.5};
  hvi_mdp_spec s = {.states = 3, .transitions = P, .reward = r, .gamma = 0.9};
  P[4] = 0.4;
  refuse(&s, "row 2 of P sums to 0.9; it must sum to 1");
  P[4] = 0.5, P[1] = -0.5, P[0] = 1.5;
  refuse(&s, "row 1, column 2 of P is -0.5");
  P[1] = NAN;
  refuse(&s, "row 1, column 2 of P is nan");
  P[0] = P[1] = 0.5;
  s.gamma = 1.0;
  refuse(&s, "gamma = 1; it must be at least 0 and below 1");
  s.gamma = -0.1;
  refuse(&s, "gamma = -0.1");
  s.gamma = NAN;
  refuse(&s, "gamma = nan");
  s.gamma = 0.9;
  s.reward = bad_r;
  refuse(&s, "the reward of state 2 is nan");
  s.reward = r;
  s.states = 0;
  refuse(&s, "needs a state");
}

static void rounded_rows_are_fine(void **state) {
  (void)state;
  const double P[] = {0.3333333333, 0.3333333333, 0.3333333334, 0.3333333333, 0.3333333333,
                      0.3333333333, 0.25,         0.25,         0.5};
  const double r[] = {1, 1, 1};
  hvi_mdp *m = mdp_of(&(hvi_mdp_spec){.states = 3, .transitions = P, .reward = r, .gamma = 0.9});
  double v[3];
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  const double ten[] = {10, 10, 10};
  check_close(v, ten, 3, 1e-13);
  hvi_mdp_free(m);
}

static void refused_classes(void **state) {
  (void)state;
  const double r[] = {1, 2, 3, 4};
  const double two[] = {0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25, 0, 0, 0, 1};
  const double left[] = {0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0.5, 0, 0.5};
  hvi_mdp_spec s = {.states = 4, .transitions = two, .reward = r, .gamma = 0.9};
  refuse(&s, "states 1 and 4 lie in different closed classes, of which there are 2");
  s.transitions = left;
  refuse(&s, "gives state 1 weight zero");
  plain p = {.n = 4, .P = (double *)(size_t)left};
  hvi_sparse S = plain_sparse(&p);
  s.transitions = NULL;
  s.sparse = &S;
  refuse(&s, "gives state 1 weight zero");
  sparse_release(&S);
}

static void refused_features(void **state) {
  (void)state;
  plain p = plain_new(10, 4, 0, 0.9, 8);
  hvi_mdp_spec s = plain_spec(&p);
  for (size_t i = 0; i < 10; i++) p.phi[i * 4 + 3] = 2e3 * p.phi[i * 4] - 1e3 * p.phi[i * 4 + 1];
  refuse(&s, "column 4 is a combination of columns 1, 2");
  for (size_t i = 0; i < 10; i++) p.phi[i * 4 + 2] = 0.0;
  refuse(&s, "column 3 is zero");
  p.phi[9] = INFINITY;
  refuse(&s, "row 3, column 2 of the features is inf");
  fill_normal(p.phi, 40, 1);
  s.features = 4;
  s.states = 3; /* P is then read as 3 x 3, with other sums */
  for (size_t i = 0; i < 9; i++) p.P[i] = 1.0 / 3.0;
  refuse(&s, "4 columns on 3 states");
  plain_free(&p);
}

/* Badly scaled features are no reason to refuse, and the fixed point's values stay right. */
static void scaled_features_are_fine(void **state) {
  (void)state;
  plain p = plain_new(30, 4, 0, 0.9, 9);
  double a[30], b[30], theta[4];
  hvi_mdp_spec s = plain_spec(&p);
  for (int round = 0; round < 2; round++) {
    hvi_mdp *m = mdp_of(&s);
    memcpy(theta, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
    hvi_mdp_values(m, theta, round ? b : a);
    hvi_mdp_free(m);
    for (size_t i = 0; i < 30; i++) p.phi[i * 4] *= 1e12, p.phi[i * 4 + 1] *= 1e-9;
  }
  check_close(a, b, 30, 1e-12);
  plain_free(&p);
}

static void refused_calls(void **state) {
  (void)state;
  hvi_mdp *m;
  hvi_error err;
  const double one[] = {1.0};
  const hvi_mdp_spec none = {.states = 1, .reward = one, .gamma = 0.5};
  check_error(hvi_mdp_new(&m, &none, &err), HVI_ERROR_ARGUMENT, &err, "transitions");
  check_error(hvi_mdp_new(&m, NULL, &err), HVI_ERROR_ARGUMENT, &err, "null");
  hvi_problem *p;
  check_error(hvi_mdp_problem_new(&p, NULL, &err), HVI_ERROR_ARGUMENT, &err, "null");
  size_t start[] = {0, 1};
  uint32_t column[] = {1};
  double value[] = {1.0};
  const hvi_sparse S = {1, 1, start, column, value};
  const hvi_mdp_spec out = {.states = 1, .sparse = &S, .reward = one, .gamma = 0.5};
  refuse(&out, "column 2 of 1");
  hvi_mdp_free(NULL);
  assert_null(hvi_mdp_of(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(law_of_two_states),
      cmocka_unit_test(periodic_chains_have_a_law),
      cmocka_unit_test(one_state),
      cmocka_unit_test(everything_agrees_with_plain_loops),
      cmocka_unit_test(measures_agree_with_plain_loops),
      cmocka_unit_test(sparse_and_dense_are_the_same),
      cmocka_unit_test(large_chains_by_iteration),
      cmocka_unit_test(slow_large_chains_by_krylov),
      cmocka_unit_test(constants_are_those_of_the_written_out_operator),
      cmocka_unit_test(hand_computed_constants),
      cmocka_unit_test(refused_transitions),
      cmocka_unit_test(rounded_rows_are_fine),
      cmocka_unit_test(refused_classes),
      cmocka_unit_test(refused_features),
      cmocka_unit_test(scaled_features_are_fine),
      cmocka_unit_test(refused_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

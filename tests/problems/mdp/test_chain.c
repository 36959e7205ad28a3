/* The built-in chains. */
#include "processes.h"

#include <hvi/builtin.h>

static hvi_problem *chain(const char *kind, const char *states, const char *features,
                          uint64_t instance) {
  const hvi_option options[] = {{"kind", kind}, {"states", states}, {"features", features}};
  hvi_problem *p;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_builtin_new(&p, "chain", options, 3, 1, instance, &err), &err);
  return p;
}

static void the_walk_is_slow_and_uniform(void **state) {
  (void)state;
  hvi_problem *p;
  check_ok(hvi_builtin_new(&p, "chain", NULL, 0, 1, 0, NULL), NULL);
  const hvi_mdp *m = hvi_mdp_of(p);
  assert_int_equal(hvi_mdp_states(m), 100);
  assert_int_equal(hvi_mdp_features(m), 3);
  check_near(p->eta, 1.0, 0.0);
  double v[100], out[100];
  for (size_t i = 0; i < 100; i++) {
    check_near(hvi_mdp_law(m)[i], 0.01, 1e-16);
    check_near(hvi_mdp_reward(m)[i], (double)i / 99.0, 1e-16);
    /* the second eigenvector of the lazy reflecting walk, on half-way points */
    v[i] = cos(3.14159265358979323846 * ((double)i + 0.5) / 100.0);
    /* Legendre polynomials, orthonormal on [-1, 1] */
    const double x = 2.0 * (double)i / 99.0 - 1.0, *phi = hvi_mdp_phi(m) + 3 * i;
    check_near(phi[0], sqrt(0.5), 1e-15);
    check_near(phi[1], sqrt(1.5) * x, 1e-15);
    check_near(phi[2], sqrt(2.5) * 0.5 * (3.0 * x * x - 1.0), 1e-14);
  }
  hvi_mdp_bellman(m, v, out);
  const double second = 0.5 + 0.5 * cos(3.14159265358979323846 / 100.0);
  for (size_t i = 0; i < 100; i++)
    check_near((out[i] - hvi_mdp_reward(m)[i]) / 0.9, second * v[i], 1e-14);
  hvi_problem_free(p);
}

/* It mixes in some 1e10 steps: the band makes the law exact all the same. */
static void a_long_walk_is_uniform_too(void **state) {
  (void)state;
  hvi_problem *p = chain("walk", "200000", "4", 0);
  const hvi_mdp *m = hvi_mdp_of(p);
  for (size_t i = 0; i < 200000; i++) check_near(hvi_mdp_law(m)[i] * 2e5, 1.0, 1e-9);
  hvi_problem_free(p);
}

static void blocks_hold_their_mass(void **state) {
  (void)state;
  hvi_problem *p = chain("blocks", "0", "usual", 0);
  const hvi_mdp *m = hvi_mdp_of(p);
  assert_int_equal(hvi_mdp_states(m), 100);
  assert_int_equal(hvi_mdp_features(m), 5);
  double z[100], out[100];
  for (size_t i = 0; i < 100; i++) z[i] = i < 50;
  hvi_mdp_bellman(m, z, out);
  double first = 0.0;
  for (size_t i = 0; i < 100; i++) {
    const double stay = (out[i] - hvi_mdp_reward(m)[i]) / 0.9;
    check_near(stay, i < 50 ? 0.99 : 0.01, 1e-14);
    check_near(hvi_mdp_phi(m)[5 * i], 1.0, 0.0);
    assert_true(hvi_mdp_reward(m)[i] >= 0.0);
    assert_true(hvi_mdp_reward(m)[i] < 1.0);
    if (i < 50) first += hvi_mdp_law(m)[i];
  }
  check_near(first, 0.5, 1e-14);
  hvi_problem_free(p);
}

static void instances_differ_and_repeat(void **state) {
  (void)state;
  hvi_problem *a = chain("random", "50", "4", 1), *b = chain("random", "50", "4", 1);
  hvi_problem *c = chain("random", "50", "4", 2);
  check_same_bits(a->solution, b->solution, 50);
  check_same_bits(a->theta0, b->theta0, 4);
  assert_true(fabs(a->solution[0] - c->solution[0]) > 1e-6);
  assert_true(fabs(a->theta0[0] - c->theta0[0]) > 1e-6);
  hvi_problem_free(a);
  hvi_problem_free(b);
  hvi_problem_free(c);
}

static void tabular_chains(void **state) {
  (void)state;
  hvi_problem *p = chain("random", "30", "0", 0);
  assert_int_equal(p->model->dim, 30);
  double v[30];
  memcpy(v, hvi_mdp_true_values(hvi_mdp_of(p)), hvi_mdp_states(hvi_mdp_of(p)) * sizeof(double));
  check_close(p->solution, v, 30, 1e-13);
  hvi_problem_free(p);
}

static void refuse(const char *key, const char *value, const char *kind, const char *words) {
  const hvi_option options[] = {{"kind", kind}, {key, value}};
  hvi_problem *p;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_builtin_new(&p, "chain", options, 2, 1, 0, &err), HVI_ERROR_INPUT, &err, words);
  assert_null(p);
}

static void refused_options(void **state) {
  (void)state;
  refuse("gamma", "1", "walk", "chain: gamma: must be a number at least 0 and below 1, not '1'");
  refuse("branch", "3", "walk", "branch is for kind=random");
  refuse("ridge", "1", "walk", "ridge is for data=trajectory");
  refuse("states", "9000", "blocks", "kind=blocks is dense and takes 2 to 5000");
  refuse("features", "101", "walk", "101 columns on 100 states");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_walk_is_slow_and_uniform),
      cmocka_unit_test(a_long_walk_is_uniform_too),
      cmocka_unit_test(blocks_hold_their_mass),
      cmocka_unit_test(instances_differ_and_repeat),
      cmocka_unit_test(tabular_chains),
      cmocka_unit_test(refused_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The theorem's constants against values worked out by hand, and against each other. */
#include "support/check.h"

#include <hvi/theory.h>

/* Pennies: mu = 3/4, L^2 = 0.75^2 + 16 = 16.5625. */
static const double mu = 0.75, square = 16.5625;

static void hand_computed_values(void **state) {
  (void)state;
  const hvi_rates r = hvi_theory_rates(mu, sqrt(square), 0.1, 0.0);
  check_near(r.kappa2, 1.015625, 1e-14);
  check_near(r.rho, 1.015625, 1e-14);
  check_near(r.rho_sharp, 1.015625, 1e-14);
  check_near(r.eta_max, 24.0 / 265.0, 1e-15);
  check_near(r.eta_best, 12.0 / 265.0, 1e-15);
  check_near(r.eta_theorem, 24.0 / 1325.0, 1e-15);
  check_near(r.eta_alpha, r.eta_max, 1e-15);
  check_near(r.alpha_max, 0.75 / sqrt(square), 1e-15);
  check_near(r.alpha_theorem, 0.375 / sqrt(square), 1e-15);
  check_near(r.rho_theorem, 1.0 - 0.5625 / (5.0 * square), 1e-15);
  assert_true(r.alpha_eta < 0.0);
}

static void errors_add_up(void **state) {
  (void)state;
  /* mu = 1, L = 2, eta = 1/4, alpha = 1/4: kappa^2 = 3/4, alpha eta L = 1/8 */
  const hvi_rates r = hvi_theory_rates(1.0, 2.0, 0.25, 0.25);
  check_near(r.kappa2, 0.75, 1e-15);
  check_near(r.rho_sharp, 0.75 + 2.0 * sqrt(0.75) / 8.0 + 1.0 / 64.0, 1e-15);
  check_near(r.rho, 1.0 - 0.5 * 0.5 + (1.0 + 1.0 / 16.0) / 4.0, 1e-15);
  check_near(r.eta_alpha, 2.0 * 0.5 / (4.0 * 17.0 / 16.0), 1e-15);
}

static void the_bounds_are_where_rho_is_one(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(1, "rates", 0);
  for (int k = 0; k < 1000; k++) {
    const double m = hvi_rng_range(&rng, 0.01, 3.0), L = m * hvi_rng_range(&rng, 1.0, 50.0);
    const double alpha = hvi_rng_range(&rng, 0.0, 0.99) * m / L;
    const double edge = hvi_theory_rates(m, L, 1.0, alpha).eta_alpha;
    assert_true(edge > 0.0);
    check_near(hvi_theory_rates(m, L, edge, alpha).rho, 1.0, 1e-12);
    const double eta = hvi_rng_range(&rng, 0.01, 0.99) * edge;
    const hvi_rates r = hvi_theory_rates(m, L, eta, alpha);
    assert_true(r.rho < 1.0);
    assert_true(r.rho_sharp <= r.rho);
    assert_true(r.kappa2 <= r.rho_sharp);
    check_near(hvi_theory_rates(m, L, eta, r.alpha_eta).rho, 1.0, 1e-12);
    check_near(hvi_theory_rates(m, L, r.eta_max, 0.0).kappa2, 1.0, 1e-12);
    const hvi_rates t = hvi_theory_rates(m, L, r.eta_theorem, r.alpha_theorem);
    assert_true(t.rho <= r.rho_theorem + 1e-15);
  }
}

static void the_printed_bound_is_too_large(void **state) {
  (void)state;
  /* between 2 mu / L^2 and 2 mu / L the step expands */
  assert_true(hvi_theory_rates(1.0, 5.0, 0.9 * 2.0 / 5.0, 0.0).kappa2 > 1.0);
  assert_true(hvi_theory_rates(1.0, 5.0, 0.99 * 2.0 / 25.0, 0.0).kappa2 < 1.0);
}

/* The proof prints "eta = 2 mu / L^2" over its last step: with it rho is above one for every alpha. */
static void the_eta_of_the_proof_is_a_misprint(void **state) {
  (void)state;
  for (double L = 1.0; L < 20.0; L *= 1.5) {
    const hvi_rates r = hvi_theory_rates(1.0, L, 2.0 / (L * L), 0.5 / L);
    assert_true(r.rho > 1.0);
    assert_true(hvi_theory_rates(1.0, L, r.eta_theorem, 0.5 / L).rho <=
                1.0 - 0.2 / (L * L) + 1e-15);
  }
}

/* The stochastic theorem names no strong monotonicity, but has mu in its bound. F = 0 with noise
 * F_xi = xi satisfies all that it names, with every L: E |F_xi|^2 = sigma^2 <= 2 sigma^2. The iterates
 * are a random walk, E 1/2 |z_t|^2 = t / 2 eta^2 sigma^2, beyond the neighbourhood of any mu > 0. */
static void without_strong_monotonicity_the_walk_leaves(void **state) {
  (void)state;
  enum { WALKS = 200, STEPS = 3000 };
  const double m = 1.0, L = 1.0, c = 2.0, eta = 1.0 / (2.0 * (1.0 + c) * L);
  const double neighbourhood = eta * eta * (1.0 + c) / (eta * m);
  double mean = 0.0;
  for (uint64_t k = 0; k < WALKS; k++) {
    hvi_rng rng = hvi_rng_new(1, "walk", k);
    double z = 0.0;
    for (int t = 0; t < STEPS; t++) z -= eta * (hvi_rng_uniform(&rng) < 0.5 ? -1.0 : 1.0);
    mean += 0.5 * z * z / WALKS;
  }
  check_near(mean / (0.5 * STEPS * eta * eta), 1.0, 0.3);
  assert_true(mean > 50.0 * neighbourhood);
}

static void nothing_is_allowed_without_monotonicity(void **state) {
  (void)state;
  const hvi_rates r = hvi_theory_rates(-0.75, sqrt(square), 0.01, 0.1);
  assert_true(r.eta_max < 0.0);
  assert_true(r.eta_best < 0.0);
  assert_true(r.eta_theorem < 0.0);
  assert_true(r.eta_alpha < 0.0);
  assert_true(r.alpha_max < 0.0);
  assert_true(r.alpha_eta < 0.0);
  assert_true(r.rho > 1.0);
  const hvi_rates constant = hvi_theory_rates(0.0, 0.0, 0.1, 0.1);
  assert_true(constant.eta_max == 0.0);
  assert_true(constant.alpha_max == 0.0);
  assert_true(constant.kappa2 == 1.0);
  /* from mu / L on no step size will do */
  assert_true(hvi_theory_rates(1.0, 2.0, 0.1, 0.5).eta_alpha <= 0.0);
}

static void names(void **state) {
  (void)state;
  assert_string_equal(hvi_verdict_name(HVI_SAFE), "safe");
  assert_string_equal(hvi_verdict_name(HVI_NOT_COVERED), "not covered");
  assert_string_equal(hvi_verdict_name(HVI_VERDICT_COUNT), "unknown");
  for (int o = 0; o < HVI_OBSTACLE_COUNT; o++) {
    assert_non_null(hvi_obstacle_name((hvi_obstacle)o));
    assert_string_not_equal(hvi_obstacle_name((hvi_obstacle)o), "unknown");
  }
  assert_string_equal(hvi_obstacle_name(HVI_OBSTACLE_COUNT), "unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hand_computed_values),
      cmocka_unit_test(errors_add_up),
      cmocka_unit_test(the_bounds_are_where_rho_is_one),
      cmocka_unit_test(the_printed_bound_is_too_large),
      cmocka_unit_test(the_eta_of_the_proof_is_a_misprint),
      cmocka_unit_test(without_strong_monotonicity_the_walk_leaves),
      cmocka_unit_test(nothing_is_allowed_without_monotonicity),
      cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Formulas of the appendix as printed, each beside the mended one: the literal reading fails. */
#include "chains.h"

#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/mdp.h"
#include "problems/mdp/trajectory.h"

enum { N = 10, D = 3 };

/* x solves Phi' Xi (Phi + sign gamma P Phi) x = Phi' Xi r: the fixed point of r - sign gamma P v.
 */
static void fixed_point(double *x, const hvi_mdp *m, double sign) {
  double A[D * D] = {0}, b[D] = {0};
  const double *phi = hvi_mdp_phi(m), *xi = hvi_mdp_law(m);
  hvi_error err;
  for (size_t s = 0; s < N; s++) {
    double row[D];
    hvi_vec_copy(row, phi + s * D, D);
    for (size_t to = 0; to < N; to++)
      hvi_vec_add(row, sign * hvi_mdp_gamma(m) * m->P[s * N + to], phi + to * D, D);
    hvi_vec_add(b, xi[s] * hvi_mdp_reward(m)[s], phi + s * D, D);
    for (size_t i = 0; i < D; i++) hvi_vec_add(A + i * D, xi[s] * phi[s * D + i], row, D);
  }
  check_ok(hvi_dense_solve(x, A, b, D, &err), &err);
}

static double to_true_values(const hvi_mdp *m, const double *theta) {
  hvi_mdp_measures measures;
  hvi_error err;
  check_ok(hvi_mdp_measure(&measures, m, theta, &err), &err);
  return measures.to_true_values;
}

/* The Bellman error is printed with r - gamma v; it is r + gamma v. */
static void sign_of_the_bellman_error(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(N, D, 0.9, 3);
  double mended[D], printed[D], goal[D];
  memcpy(goal, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  fixed_point(mended, m, -1.0);
  fixed_point(printed, m, 1.0);
  check_close(mended, goal, D, 1e-10);
  assert_true(to_true_values(m, mended) < 0.1);
  assert_true(to_true_values(m, printed) > 10.0);
  hvi_mdp_free(m);
}

/* The return is printed as a sum from gamma^1; from gamma^0 it is the fixed point of T. */
static void first_power_of_the_return(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(N, D, 0.9, 3);
  double v[N], expected[N], sum[N] = {0}, after[N], power = 1.0;
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  hvi_vec_copy(expected, hvi_mdp_reward(m), N); /* P^k r */
  for (int k = 0; k < 400; k++) {
    hvi_vec_add(sum, power, expected, N);
    hvi_dense_mul(after, m->P, expected, N, N);
    hvi_vec_copy(expected, after, N);
    power *= 0.9;
  }
  check_close(sum, v, N, 1e-10);
  hvi_vec_scale(sum, 0.9, N); /* from gamma^1 */
  hvi_mdp_bellman(m, sum, after);
  assert_true(hvi_vec_dist2(sum, after, N) > 1e-3);
  hvi_mdp_free(m);
}

/* The mean of C_hat theta - r_hat is printed without the gamma before the successors. */
static void discount_of_the_mean_gradient(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(N, D, 0.9, 3);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  const hvi_trajectory *t = hvi_trajectory_of(p);
  const double *phi = hvi_mdp_phi(m), *C = hvi_sample_C(t->mean, D), *r = hvi_sample_r(t->mean, D);
  double theta[D], mean[D], with[D] = {0}, without[D] = {0};
  fill_normal(theta, D, 1);
  for (size_t i = 0; i < D; i++) mean[i] = hvi_vec_dot(C + i * D, theta, D) - r[i];
  for (size_t s = 0; s < N; s++) {
    double next = 0.0;
    for (size_t to = 0; to < N; to++)
      next += m->P[s * N + to] * hvi_vec_dot(phi + to * D, theta, D);
    const double now = hvi_vec_dot(phi + s * D, theta, D) - hvi_mdp_reward(m)[s];
    hvi_vec_add(with, hvi_mdp_law(m)[s] * (now - 0.9 * next), phi + s * D, D);
    hvi_vec_add(without, hvi_mdp_law(m)[s] * (now - next), phi + s * D, D);
  }
  check_close(with, mean, D, 1e-12);
  assert_true(hvi_vec_dist2(without, mean, D) > 1e-4);
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sign_of_the_bellman_error),
      cmocka_unit_test(first_power_of_the_return),
      cmocka_unit_test(discount_of_the_mean_gradient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

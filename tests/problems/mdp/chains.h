/* Small processes for the tests of trajectories and rules. */
#ifndef HVI_TESTS_MDP_CHAINS_H
#define HVI_TESTS_MDP_CHAINS_H

#include "support/solve.h"

#include <hvi/mdp.h>
#include <hvi/rng.h>

/* The process of these arrays, which are freed. */
static inline hvi_mdp *take_mdp(size_t n, double gamma, double *P, double *r, size_t d,
                                double *phi) {
  hvi_mdp_spec spec = {.states = n,
                       .transitions = P,
                       .reward = r,
                       .gamma = gamma,
                       .features = d,
                       .phi = d ? phi : NULL};
  hvi_mdp *mdp = NULL;
  hvi_error err;
  check_ok(hvi_mdp_new(&mdp, &spec, &err), &err);
  free(P);
  free(r);
  free(phi);
  return mdp;
}

/* Dense random rows; rewards U[0,1]; features (1, U[0,1], ...). d = 0: tabular. */
static inline hvi_mdp *random_mdp(size_t n, size_t d, double gamma, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "test mdp", 0);
  double *P = calloc(n * n, sizeof *P), *r = calloc(n, sizeof *r);
  double *phi = calloc(n * d + 1, sizeof *phi);
  assert_true(P);
  assert_true(r);
  assert_true(phi);
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += P[i * n + j] = pow(hvi_rng_uniform(&rng), 4);
    for (size_t j = 0; j < n; j++) P[i * n + j] /= sum;
    r[i] = hvi_rng_uniform(&rng);
    for (size_t k = 0; k < d; k++) phi[i * d + k] = k == 0 ? 1 : hvi_rng_uniform(&rng);
  }
  return take_mdp(n, gamma, P, r, d, phi);
}

/* The lazy reflecting walk with orthonormal polynomials of degree 0 to 2. */
static inline hvi_mdp *walk_mdp(size_t n, double gamma) {
  double *P = calloc(n * n, sizeof *P), *r = calloc(n, sizeof *r), *phi = calloc(3 * n, sizeof *P);
  assert_true(P);
  assert_true(r);
  assert_true(phi);
  for (size_t i = 0; i < n; i++) {
    const double x = 2.0 * (double)i / (double)(n - 1) - 1.0;
    P[i * n + i] += 0.5;
    P[i * n + (i > 0 ? i - 1 : i)] += 0.25;
    P[i * n + (i + 1 < n ? i + 1 : i)] += 0.25;
    r[i] = (double)i / (double)(n - 1);
    phi[3 * i] = 1.0;
    phi[3 * i + 1] = sqrt(3.0) * x;
    phi[3 * i + 2] = sqrt(5.0) * (1.5 * x * x - 0.5);
  }
  return take_mdp(n, gamma, P, r, 3, phi);
}

static inline hvi_problem *along_trajectory(hvi_mdp *mdp, hvi_trajectory_settings s) {
  hvi_problem *p = NULL;
  hvi_error err;
  check_ok(hvi_trajectory_problem_new(&p, mdp, &s, &err), &err);
  return p;
}

#endif

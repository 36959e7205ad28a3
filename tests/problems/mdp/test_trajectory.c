/* The stochastic surrogate: the proposition against the empirical chain, and the recursions that
 * the framework's methods must be, written out. */
#include "chains.h"

#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/trajectory.h"

enum { MOST = 8 };

/* The empirical chain of a trajectory, from counts alone. */
typedef struct counts {
  size_t n, t;
  double *visits;  /* [n] n(s) */
  double *follows; /* [n][n] n(s, s') */
} counts;

static counts counts_new(size_t n) {
  return (counts){
      .n = n, .visits = calloc(n, sizeof(double)), .follows = calloc(n * n, sizeof(double))};
}

static void counts_free(counts *c) {
  free(c->visits);
  free(c->follows);
}

static void count(counts *c, const hvi_trajectory_sample *s) {
  c->t++;
  c->visits[s->from]++;
  c->follows[s->from * c->n + s->to]++;
}

/* phi' Xi_hat (Phi theta - T_hat(Phi anchor)), state by state. */
static void empirical_gradient(double *g, const counts *c, const hvi_mdp *m, const double *theta,
                               const double *anchor) {
  const size_t d = hvi_mdp_features(m);
  const double *phi = hvi_mdp_phi(m), *r = hvi_mdp_reward(m);
  hvi_vec_zero(g, d);
  for (size_t s = 0; s < c->n; s++) {
    if (c->visits[s] == 0.0) continue;
    double target = r[s];
    for (size_t to = 0; to < c->n; to++) {
      const double p = c->follows[s * c->n + to] / c->visits[s];
      target += hvi_mdp_gamma(m) * p * hvi_vec_dot(phi + to * d, anchor, d);
    }
    const double error = hvi_vec_dot(phi + s * d, theta, d) - target;
    hvi_vec_add(g, c->visits[s] / (double)c->t * error, phi + s * d, d);
  }
}

/* The surrogate's gradient as an optimizer sees it: R'(R theta - (R anchor - F(anchor))). */
static void framework_gradient(double *g, const hvi_problem *p, const void *sample,
                               const double *theta, const double *anchor) {
  const hvi_model *m = p->model;
  double cache[1], z[MOST], v[MOST], f[MOST];
  m->ops->bind(m, cache, sample);
  m->ops->eval(m, cache, anchor, v);
  p->ops->operate(p, sample, anchor, v, f);
  m->ops->eval(m, cache, theta, z);
  for (size_t i = 0; i < m->out; i++) z[i] -= v[i] - f[i];
  m->ops->vjp(m, cache, theta, z, g);
}

/* theta - (D_hat + ridge I)^-1 (C_hat theta - r_hat) */
static void lspe(double *theta, const hvi_trajectory *t, hvi_trajectory_sample *s) {
  const size_t d = t->d;
  double A[MOST * MOST], b[MOST] = {0}, x[MOST];
  hvi_error err;
  hvi_vec_copy(A, hvi_sample_D(s), d * d);
  for (size_t i = 0; i < d; i++) {
    A[i * d + i] += t->settings.ridge;
    b[i] = hvi_vec_dot(hvi_sample_C(s, d) + i * d, theta, d) - hvi_sample_r(s, d)[i];
  }
  check_ok(hvi_dense_solve(x, A, b, d, &err), &err);
  hvi_vec_add(theta, -1.0, x, d);
}

/* The proposition: gradient and minimiser of the surrogate of the empirical chain. */
static void surrogate_is_that_of_the_empirical_chain(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(12, 4, 0.9, 1);
  hvi_problem *p = along_trajectory(m, (hvi_trajectory_settings){.wait = 1});
  const hvi_trajectory *t = hvi_trajectory_of(p);
  hvi_trajectory_sample *s = calloc(1, p->sample_bytes);
  hvi_rng rng = hvi_rng_new(5, "test", 0);
  counts c = counts_new(12);
  double theta[4], anchor[4], g[4], seen[4];
  const double zero[4] = {0};
  for (int i = 0; i < 60; i++) {
    p->ops->draw(p, zero, s, &rng);
    count(&c, s);
    if (i < 8) continue;
    fill_normal(theta, 4, (uint64_t)i);
    fill_normal(anchor, 4, (uint64_t)(100 + i));
    empirical_gradient(g, &c, m, theta, anchor);
    framework_gradient(seen, p, s, theta, anchor);
    check_close(seen, g, 4, 1e-10);
    lspe(anchor, t, s);
    hvi_vec_copy(theta, anchor, 4);
    fill_normal(anchor, 4, (uint64_t)(100 + i));
    empirical_gradient(g, &c, m, theta, anchor);
    check_close(g, zero, 4, 1e-10);
  }
  counts_free(&c);
  free(s);
  hvi_problem_free(p);
}

/* The draws of a solver with that seed. */
typedef struct replay {
  const hvi_problem *p;
  hvi_trajectory_sample *sample;
  hvi_rng rng;
} replay;

static replay replay_new(const hvi_problem *p, uint64_t seed) {
  return (replay){p, calloc(1, p->sample_bytes), hvi_rng_new(seed, "solver", 0)};
}

static hvi_trajectory_sample *replay_next(replay *r, const double *theta) {
  r->p->ops->draw(r->p, theta, r->sample, &r->rng);
  return r->sample;
}

static void gauss_newton_is_lspe(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(20, 5, 0.9, 2);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_settings set = settings_for("gn", 1.0, 300);
  set.inner.rank_tol = 0.0;
  set.seed = 3;
  hvi_solver *solver = solver_for(p, &set);
  replay r = replay_new(p, 3);
  double theta[5] = {0};
  for (size_t i = 1; i <= 300; i++) {
    hvi_trajectory_sample *s = replay_next(&r, theta);
    if (s->count >= 10) lspe(theta, hvi_trajectory_of(p), s);
    hvi_solver_step(solver);
    check_close(hvi_solver_info(solver).last.theta, theta, 5, 1e-8);
  }
  hvi_solver_free(solver);
  free(r.sample);
  hvi_problem_free(p);
}

static double step_size(hvi_trajectory_scale scale, const double *D, double ridge, size_t d) {
  double w[MOST], sum = 0.0;
  hvi_error err;
  check_ok(hvi_dense_eigenvalues(w, D, d, &err), &err);
  for (size_t i = 0; i < d; i++) sum += D[i * d + i] + ridge;
  return scale == HVI_TRAJECTORY_SCALE_NONE
             ? 1.0
             : 1.0 / (scale == HVI_TRAJECTORY_SCALE_TRACE ? sum : w[d - 1] + ridge);
}

/* M written-out steps theta <- theta - h (C theta_t - r + (D + ridge I)(theta - theta_t)). */
static void descend(double *theta, const hvi_trajectory *t, hvi_trajectory_sample *s, size_t steps,
                    double lr) {
  const size_t d = t->d;
  const double *D = hvi_sample_D(s), *C = hvi_sample_C(s, d);
  const double h = lr * step_size(t->settings.scale, D, t->settings.ridge, d);
  double anchor[MOST], g[MOST];
  hvi_vec_copy(anchor, theta, d);
  for (size_t k = 0; k < steps; k++) {
    for (size_t i = 0; i < d; i++) {
      g[i] = hvi_vec_dot(C + i * d, anchor, d) - hvi_sample_r(s, d)[i];
      for (size_t j = 0; j < d; j++) g[i] += D[i * d + j] * (theta[j] - anchor[j]);
      g[i] += t->settings.ridge * (theta[i] - anchor[i]);
    }
    hvi_vec_add(theta, -h, g, d);
  }
}

static void gradient_descent_is_written_out(void **state) {
  (void)state;
  const hvi_trajectory_scale scales[] = {HVI_TRAJECTORY_SCALE_NONE, HVI_TRAJECTORY_SCALE_TRACE,
                                         HVI_TRAJECTORY_SCALE_LAMBDA};
  for (size_t k = 0; k < 3; k++) {
    hvi_mdp *m = random_mdp(20, 5, 0.9, 2);
    hvi_trajectory_settings ts = hvi_trajectory_defaults(m);
    ts.scale = scales[k];
    hvi_problem *p = along_trajectory(m, ts);
    hvi_settings set = settings_for("gd", 1.0, 200);
    set.inner_steps = 7;
    set.inner.lr = k == 0 ? 0.2 : 0.9;
    set.seed = 4;
    hvi_solver *solver = solver_for(p, &set);
    replay r = replay_new(p, 4);
    double theta[5] = {0};
    for (size_t i = 1; i <= 200; i++) {
      hvi_trajectory_sample *s = replay_next(&r, theta);
      if (s->count >= 10) descend(theta, hvi_trajectory_of(p), s, 7, set.inner.lr);
      hvi_solver_step(solver);
      check_close(hvi_solver_info(solver).last.theta, theta, 5, 1e-10);
    }
    hvi_solver_free(solver);
    free(r.sample);
    hvi_problem_free(p);
  }
}

/* Levenberg-Marquardt: the LSPE step with lambda / s more on the diagonal. */
static void damping_adds_to_the_diagonal(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(20, 5, 0.9, 2);
  hvi_problem *p = along_trajectory(m, (hvi_trajectory_settings){.ridge = 1e-6, .wait = 10});
  hvi_settings set = settings_for("lm", 1.0, 100);
  set.inner.damping = 0.01;
  hvi_solver *solver = solver_for(p, &set);
  hvi_trajectory damped = *hvi_trajectory_of(p);
  damped.settings.ridge += 0.01;
  replay r = replay_new(p, set.seed);
  double theta[5] = {0};
  for (size_t i = 1; i <= 100; i++) {
    hvi_trajectory_sample *s = replay_next(&r, theta);
    if (s->count >= 10) lspe(theta, &damped, s);
    hvi_solver_step(solver);
    check_close(hvi_solver_info(solver).last.theta, theta, 5, 1e-9);
  }
  hvi_solver_free(solver);
  free(r.sample);
  hvi_problem_free(p);
}

static void nothing_moves_before_its_time(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(20, 5, 0.9, 2);
  hvi_trajectory_settings ts = hvi_trajectory_defaults(m);
  assert_int_equal(ts.wait, 10);
  hvi_problem *p = along_trajectory(m, ts);
  const char *const methods[] = {"gd", "gn", "lm"};
  for (size_t k = 0; k < 3; k++) {
    hvi_settings set = settings_for(methods[k], 1.0, 20);
    hvi_solver *solver = solver_for(p, &set);
    for (size_t i = 1; i <= 10; i++) {
      hvi_solver_step(solver);
      const double size = hvi_vec_norm2(hvi_solver_info(solver).last.theta, 5);
      assert_int_equal(i < 10, size == 0.0);
    }
    hvi_solver_free(solver);
  }
  hvi_problem_free(p);
}

/* The mean problem: zero at the fixed point, |F|^2 the projected Bellman error, distances as the
 * process measures them. */
static void mean_is_the_stationary_law(hvi_mdp *m, size_t d) {
  hvi_problem *p = along_trajectory(m, (hvi_trajectory_settings){.wait = 1});
  double theta[MOST], z[MOST], f[MOST], A[MOST * MOST], b[MOST], g[MOST], cache[1] = {0};
  hvi_error err;
  hvi_mdp_measures measures;
  hvi_certificate judge;
  memcpy(theta, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  check_ok(hvi_problem_judge(&judge, p, theta, &err), &err);
  check_near(judge.residual, 0.0, 1e-10);
  check_near(judge.dist2, 0.0, 1e-20);
  for (uint64_t k = 0; k < 5; k++) {
    fill_normal(theta, d, k);
    p->model->ops->eval(p->model, cache, theta, z);
    p->ops->operate(p, NULL, theta, z, f);
    check_ok(hvi_mdp_measure(&measures, m, theta, &err), &err);
    check_near(hvi_vec_norm2(f, d), measures.mspbe, 1e-9);
    check_near(p->ops->dist2(p, theta), measures.to_fixed_point, 1e-9);
    p->ops->affine(p, A, b);
    hvi_dense_mul(g, A, z, d, d);
    hvi_vec_add(g, 1.0, b, d);
    check_close(g, f, d, 1e-10);
  }
  hvi_problem_free(p);
}

static void means_are_exact(void **state) {
  (void)state;
  mean_is_the_stationary_law(random_mdp(9, 4, 0.9, 7), 4);
  mean_is_the_stationary_law(random_mdp(6, 0, 0.8, 8), 6);
}

/* With time the running means are the mean's. */
static void samples_tend_to_the_mean(void **state) {
  (void)state;
  for (size_t d = 0; d <= 3; d += 3) {
    hvi_mdp *m = random_mdp(5, d, 0.9, 9);
    hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
    const hvi_trajectory *t = hvi_trajectory_of(p);
    replay r = replay_new(p, 1);
    for (size_t i = 0; i < 100000; i++) replay_next(&r, p->theta0);
    check_close(hvi_sample_D(r.sample), hvi_sample_D(t->mean), t->d * t->d, 0.01);
    check_close(hvi_sample_C(r.sample, t->d), hvi_sample_C(t->mean, t->d), t->d * t->d, 0.01);
    check_close(hvi_sample_r(r.sample, t->d), hvi_sample_r(t->mean, t->d), t->d, 0.01);
    free(r.sample);
    hvi_problem_free(p);
  }
}

/* A sample knows d, and neither the number of states nor of transitions. */
static void size_is_that_of_the_features(void **state) {
  (void)state;
  hvi_mdp *small = random_mdp(10, 4, 0.9, 1), *large = random_mdp(200, 4, 0.9, 1);
  hvi_problem *p = along_trajectory(small, hvi_trajectory_defaults(small));
  hvi_problem *q = along_trajectory(large, hvi_trajectory_defaults(large));
  assert_int_equal(p->sample_bytes, q->sample_bytes);
  assert_true(p->sample_bytes <= 8 * (3 * 16 + 4 + 8));
  hvi_problem_free(p);
  hvi_problem_free(q);
}

/* Without a ridge and before the features span, R has zero rows and gn takes the pseudo-inverse:
 * finite, and still a minimiser. */
static void dependent_features_are_fine(void **state) {
  (void)state;
  hvi_mdp *m = random_mdp(6, 0, 0.9, 4);
  hvi_problem *p = along_trajectory(m, (hvi_trajectory_settings){.wait = 1});
  hvi_settings set = settings_for("gn", 1.0, 3);
  hvi_solver *solver = solver_for(p, &set);
  replay r = replay_new(p, set.seed);
  double before[6] = {0}, g[6];
  const double zero[6] = {0};
  for (size_t i = 0; i < 3; i++) {
    hvi_trajectory_sample *s = replay_next(&r, before);
    hvi_solver_step(solver);
    const double *theta = hvi_solver_info(solver).last.theta;
    framework_gradient(g, p, s, theta, before);
    check_finite(theta, 6);
    check_close(g, zero, 6, 1e-12);
    hvi_vec_copy(before, theta, 6);
  }
  hvi_solver_free(solver);
  free(r.sample);
  hvi_problem_free(p);
}

static void bad_settings_are_refused(void **state) {
  (void)state;
  const hvi_trajectory_settings bad[] = {
      {.ridge = -1.0}, {.ridge = NAN}, {.scale = (hvi_trajectory_scale)7}};
  for (size_t i = 0; i < 3; i++) {
    hvi_problem *p = (hvi_problem *)&i;
    hvi_error err = {.status = HVI_OK};
    assert_int_not_equal(hvi_trajectory_problem_new(&p, random_mdp(4, 2, 0.9, 1), &bad[i], &err),
                         HVI_OK);
    assert_null(p);
    assert_true(err.text[0] != '\0');
  }
  hvi_problem *p = NULL;
  assert_int_equal(hvi_trajectory_problem_new(&p, NULL, &bad[0], NULL), HVI_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(surrogate_is_that_of_the_empirical_chain),
      cmocka_unit_test(gauss_newton_is_lspe),
      cmocka_unit_test(gradient_descent_is_written_out),
      cmocka_unit_test(damping_adds_to_the_diagonal),
      cmocka_unit_test(nothing_moves_before_its_time),
      cmocka_unit_test(means_are_exact),
      cmocka_unit_test(samples_tend_to_the_mean),
      cmocka_unit_test(size_is_that_of_the_features),
      cmocka_unit_test(dependent_features_are_fine),
      cmocka_unit_test(bad_settings_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

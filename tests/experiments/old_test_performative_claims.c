/* The judges of performative prediction, handed figures that hold and figures that violate. */
#include "experiments/performative.h"
#include "support/check.h"

#include <stdlib.h>

static hvi_judgement judged(const hvi_claims *claims, const char *id) {
  const hvi_claim *c = hvi_claims_find(claims, id);
  assert_non_null(c);
  assert_true(c->measure_count > 0);
  return c->judgement;
}

static const hvi_linear_figures good_linear = {
    .runs = 12,
    .end = {1e-18, 1e-9, 1e-18, 1e-18},
    .rrm_over = 1.0,
    .theorem_over = 0.99,
    .beyond_growth = {1.21, 1.21},
    .beyond_end = {{1e4, 1e2, 1e4}, {1e-20, 1e-20, 1e-8}},
};

static void check_linear(hvi_linear_figures f, bool stable, bool rate, bool beyond) {
  hvi_claims claims = {0};
  hvi_claims_performative_linear(&claims, &f);
  assert_int_equal(judged(&claims, "linear-stable"), stable ? HVI_HOLDS : HVI_HOLDS_NOT);
  assert_int_equal(judged(&claims, "linear-rate"), rate ? HVI_HOLDS : HVI_HOLDS_NOT);
  assert_int_equal(judged(&claims, "linear-beyond"), beyond ? HVI_HOLDS : HVI_HOLDS_NOT);
  hvi_claims_clear(&claims);
}

static void linear_claims(void **state) {
  (void)state;
  hvi_linear_figures f = good_linear;
  check_linear(f, true, true, true);
  f.end[2] = 1e-3;
  check_linear(f, false, true, true);
  f = good_linear;
  f.rrm_over = 1.01;
  check_linear(f, true, false, true);
  f = good_linear;
  f.theorem_over = 1.0001;
  check_linear(f, true, false, true);
  f = good_linear;
  f.beyond_end[1][1] = 0.5;
  check_linear(f, true, true, false);
  f = good_linear;
  f.beyond_end[0][0] = NAN;
  f.end[0] = NAN;
  check_linear(f, false, true, false);
}

static void mean_claims(void **state) {
  (void)state;
  const hvi_mean_figures good = {.seeds = 200,
                                 .stable = 100.0,
                                 .mean = {100.001, 99.9995},
                                 .error = {0.001, 0.0005},
                                 .goal = 0.05,
                                 .deployments = {1000, 70},
                                 .samples = {1000, 25000},
                                 .slope = {-0.95, -0.55}};
  for (int k = 0; k < 5; k++) {
    hvi_mean_figures f = good;
    if (k == 1) f.mean[HVI_GREEDY] = 100.1;
    if (k == 2) f.samples[HVI_GREEDY] = 30000;
    if (k == 3) f.slope[HVI_LAZY] = -1.0;
    if (k == 4) f.deployments[HVI_LAZY] = INFINITY;
    hvi_claims claims = {0};
    hvi_claims_performative_mean(&claims, &f);
    assert_int_equal(judged(&claims, "mean-stable"), k == 1 ? HVI_HOLDS_NOT : HVI_HOLDS);
    assert_int_equal(judged(&claims, "mean-greedy-lazy"), k > 1 ? HVI_HOLDS_NOT : HVI_HOLDS);
    hvi_claims_clear(&claims);
  }
}

static void credit_claims(void **state) {
  (void)state;
  const hvi_credit_figures good = {.eps = {0.01, 1, 100, 1000},
                                   .rrm_second = {1e-20, 1e-20, 1e-20, 1e-20},
                                   .lm_end = {1e-12, 1e-12, 1e3, INFINITY},
                                   .gd_end = {1e-12, 1e-12, INFINITY, INFINITY},
                                   .rgd_end = {1e-4, 1e-4, INFINITY, INFINITY},
                                   .parameter_limit = 0.9};
  for (int k = 0; k < 4; k++) {
    hvi_credit_figures f = good;
    if (k == 1) f.rrm_second[3] = 19.0;
    if (k == 2) f.gd_end[0] = 0.1;
    if (k == 3) f.parameter_limit = 0.001;
    hvi_claims claims = {0};
    hvi_claims_performative_credit(&claims, &f);
    assert_int_equal(judged(&claims, "credit-rrm"), k == 1 ? HVI_HOLDS_NOT : HVI_HOLDS);
    assert_int_equal(judged(&claims, "credit-stable"), k > 1 ? HVI_HOLDS_NOT : HVI_HOLDS);
    hvi_claims_clear(&claims);
  }
}

static void rir_claims(void **state) {
  (void)state;
  const hvi_rir_figures good = {.delta = {0.1, 0.4, 0.7, 0.9},
                                .gap_start = {1, 1, 1, 1},
                                .gap_end = {0.9, 0.9, 0.2, 0.2},
                                .noise = {0.1, 0.1, 0.1, 0.1}};
  for (int k = 0; k < 3; k++) {
    hvi_rir_figures f = good;
    if (k == 1) f.gap_end[2] = 0.3;
    if (k == 2) f.gap_start[3] = 0.2;
    hvi_claims claims = {0};
    hvi_claims_performative_rir(&claims, &f);
    assert_int_equal(judged(&claims, "rir-stable"), k ? HVI_HOLDS_NOT : HVI_HOLDS);
    hvi_claims_clear(&claims);
  }
}

/* Rows over deployments: one each, with the distances that the solver recorded. */
static void deployments_are_counted_right(void **state) {
  (void)state;
  hvi_deploy_job jobs[2];
  for (size_t i = 0; i < 2; i++) {
    jobs[i] = (hvi_deploy_job){.problem = "credit",
                               .option_count = 1,
                               .options = {{"rows", "200"}},
                               .seed = 1,
                               .settings = hvi_deploy_method("lm", 4.0, 1),
                               .rounds = 3,
                               .measured = true};
    jobs[i].settings.redraw_every = i ? 40 : 1;
  }
  check_ok(hvi_deploy_run(jobs, 2, 2, NULL), NULL);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(jobs[i].count, 4);
    assert_true(isnan(jobs[i].rows[0].step) && jobs[i].rows[1].step > 0.0);
    assert_true(jobs[i].rows[3].measures.gap < jobs[i].rows[0].measures.gap);
    assert_true(jobs[i].rows[3].measures.accuracy_after > 0.5);
  }
  assert_true(hvi_deploy_end(&jobs[1]) < 1e-3 * hvi_deploy_end(&jobs[0]));
  /* and the same bits on one thread */
  hvi_deploy_job alone[2] = {jobs[0], jobs[1]};
  for (size_t i = 0; i < 2; i++) alone[i].rows = NULL, alone[i].count = 0;
  check_ok(hvi_deploy_run(alone, 2, 1, NULL), NULL);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(alone[i].count, 4);
    for (size_t t = 0; t < 4; t++) {
      check_same_bits(&alone[i].rows[t].dist2, &jobs[i].rows[t].dist2, 1);
      check_same_bits(&alone[i].rows[t].measures.gap, &jobs[i].rows[t].measures.gap, 1);
    }
  }
  hvi_deploy_free(alone, 2);
  hvi_deploy_free(jobs, 2);
}

/* Retraining from a trained network gains less than from the start. */
static void retraining_gain(void **state) {
  (void)state;
  const hvi_option rows = {"rows", "400"};
  hvi_problem *p;
  double start, later, theta[128];
  check_ok(hvi_builtin_new(&p, "credit-rir", &rows, 1, 1, 0, NULL), NULL);
  hvi_settings s = hvi_deploy_method("lm", 1.0, 5);
  s.max_outer = 3;
  hvi_solver *solver;
  check_ok(hvi_solver_new(&solver, p, &s, NULL), NULL);
  hvi_solver_run(solver);
  assert_true(p->model->dim <= 128);
  memcpy(theta, hvi_solver_info(solver).last.theta, p->model->dim * sizeof *theta);
  hvi_solver_free(solver);
  check_ok(hvi_deploy_retrain(&start, p, p->theta0, 9, NULL), NULL);
  check_ok(hvi_deploy_retrain(&later, p, theta, 9, NULL), NULL);
  assert_true(later > 0.0 && later < start);
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_claims),   cmocka_unit_test(mean_claims),
      cmocka_unit_test(credit_claims),   cmocka_unit_test(rir_claims),
      cmocka_unit_test(retraining_gain), cmocka_unit_test(deployments_are_counted_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Policy evaluation as a whole, on lqr, whose values are known: it finds them, every kind of target
 * keeps them, and threads do not change a bit.
 */
#include "problems/value/values.h"

enum { TEST = 1000, LIMIT = 20, N = 2000, TRAIN = 100 * N, FIRST = 50, THEN = 25 };

enum { MOST = 2000 }; /* parameters */

static source train, test;
static double truth[TEST], mean, sd, spread[4];
static const double discount = 0.9;

static int collect(void **state) {
  (void)state;
  train = lqr_episodes(1, TRAIN, LIMIT);
  test = lqr_episodes(2, TEST, LIMIT);
  const hvi_lqr *lqr = hvi_env_lqr(test.env);
  double P[16], c, square = 0.0;
  hvi_error err;
  check_ok(hvi_lqr_value(lqr, lqr->K, lqr->std, discount, P, &c, &err), &err);
  for (size_t i = 0; i < TEST; i++) {
    const float *x = test.data->observation + 4 * i;
    truth[i] = -c;
    for (size_t j = 0; j < 16; j++) truth[i] -= P[j] * (double)(x[j / 4] * x[j % 4]);
    for (size_t j = 0; j < 4; j++) spread[j] += (double)(x[j] * x[j]) / TEST;
    mean += truth[i] / TEST;
    square += truth[i] * truth[i] / TEST;
  }
  sd = sqrt(square - mean * mean);
  for (size_t j = 0; j < 4; j++) spread[j] = sqrt(spread[j]);
  return 0;
}

static int release(void **state) {
  (void)state;
  source_free(train);
  source_free(test);
  return 0;
}

static hvi_value_spec spec_of(size_t batch) {
  hvi_value_spec s = hvi_value_defaults();
  s.data = train.data;
  s.gamma = discount;
  s.batch = batch;
  s.hidden[0] = s.hidden[1] = 32;
  s.activation = HVI_GELU;
  s.spread = spread;
  s.scale = sd;
  return s;
}

static hvi_settings settings_of(size_t outer, double lr) {
  hvi_settings s = settings_for("adamw", 1.0, outer);
  s.inner_steps = 20;
  s.inner.lr = lr;
  s.inner.weight_decay = 0.0;
  s.keep_state = true;
  return s;
}

/* Root of the mean squared error on states that were not trained on, over their spread. */
static double error_of(const hvi_problem *p, const double *theta) {
  static double values[TEST];
  hvi_error err;
  double sum = 0.0;
  check_ok(hvi_value_predict(p, theta, test.data->observation, TEST, values, &err), &err);
  for (size_t i = 0; i < TEST; i++) sum += (values[i] - truth[i]) * (values[i] - truth[i]) / TEST;
  return sqrt(sum) / sd;
}

/* The error after a solve from theta, which it moves. */
static double error_after(const hvi_value_spec *spec, hvi_settings s, double *theta) {
  hvi_problem *p = value_problem(spec);
  s.theta0 = theta;
  hvi_solver *solver = solver_for(p, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_LIMIT);
  const double error = error_of(p, hvi_solver_info(solver).last.theta);
  memcpy(theta, hvi_solver_info(solver).last.theta, p->model->dim * sizeof *theta);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return error;
}

static void check_below(double error, double most) {
  if (!(error < most)) fail_msg("a relative error of %g, not below %g", error, most);
}

static double arrived[MOST], arrived_error;

/* Large steps first, then small ones on the batches that follow. */
static void it_finds_the_closed_form(void **state) {
  (void)state;
  hvi_value_spec spec = spec_of(N);
  hvi_settings s = settings_of(FIRST, 4e-3);
  s.accelerate = HVI_ACCELERATE_MODE;
  hvi_problem *p = value_problem(&spec);
  assert_true(p->model->dim <= MOST);
  memcpy(arrived, p->theta0, p->model->dim * sizeof *arrived);
  hvi_problem_free(p);
  check_below(error_after(&spec, s, arrived), 0.12);
  spec.first = FIRST;
  s.inner.lr = 5e-4;
  s.max_outer = THEN;
  arrived_error = error_after(&spec, s, arrived);
  check_below(arrived_error, 0.06);
}

/* Returns of episodes of 20 steps would lack gamma^20 = 0.12 at best: longer ones. */
static void returns_lead_there_too(void **state) {
  (void)state;
  source longer = lqr_episodes(3, TRAIN / 2, 60);
  hvi_value_spec spec = spec_of(N);
  spec.data = longer.data;
  spec.returns = true;
  hvi_problem *p = value_problem(&spec);
  assert_true(hvi_value_of(p)->usable_count < TRAIN / 2);
  static double theta[MOST];
  memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
  hvi_problem_free(p);
  check_below(error_after(&spec, settings_of(15, 4e-3), theta), 0.3);
  source_free(longer);
}

/* Other targets stay where the solve has arrived. */
static void every_target_keeps_the_solution(void **state) {
  (void)state;
  hvi_value_spec spec = spec_of(N);
  spec.first = FIRST + THEN;
  for (size_t variant = 0; variant < 5; variant++) {
    static double theta[MOST];
    memcpy(theta, arrived, sizeof theta);
    hvi_settings s = settings_of(8, 5e-4);
    if (variant == 1) s.target = HVI_TARGET_OPTIMISTIC;
    if (variant == 2) s.target = HVI_TARGET_AVERAGED, s.average = 4;
    if (variant == 3) s.accelerate = HVI_ACCELERATE_MODE;
    if (variant == 4) s.accelerate = HVI_ACCELERATE_LSTD;
    check_below(error_after(&spec, s, theta), 1.6 * arrived_error);
  }
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  static const double center[] = {0.1, 0.0, -0.1, 0.2};
  for (size_t variant = 0; variant < 3; variant++) {
    hvi_value_spec spec = spec_of(700);
    spec.center = center;
    if (variant == 1) spec.buffer = 3;
    if (variant == 2) spec.draw = HVI_VALUE_RANDOM;
    hvi_settings s = settings_of(4, 4e-3);
    s.inner_steps = 3;
    hvi_solver *solvers[2];
    hvi_problem *problems[2];
    static double values[2][TEST];
    for (size_t k = 0; k < 2; k++) {
      hvi_error err;
      spec.threads = 1 + k;
      problems[k] = value_problem(&spec);
      solvers[k] = solver_for(problems[k], &s);
      hvi_solver_run(solvers[k]);
      check_ok(hvi_value_predict(problems[k], hvi_solver_info(solvers[k]).last.theta,
                                 test.data->observation, TEST, values[k], &err),
               &err);
    }
    const hvi_record one = hvi_solver_info(solvers[0]).last, two = hvi_solver_info(solvers[1]).last;
    check_same_bits(one.theta, two.theta, problems[0]->model->dim);
    check_same_bits(one.z, two.z, problems[0]->model->out);
    check_same_bits(values[0], values[1], TEST);
    check_same_bits(&one.loss, &two.loss, 1);
    for (size_t k = 0; k < 2; k++) {
      hvi_solver_free(solvers[k]);
      hvi_problem_free(problems[k]);
    }
  }
}

/* lm in Gram form and without a matrix are steps of the same surrogate. */
static void second_order_steps_bring_the_loss_down(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    const hvi_value_spec spec = spec_of(60);
    hvi_problem *p = value_problem(&spec);
    hvi_settings s = settings_for("lm", 1.0, 3);
    s.inner_steps = 5;
    s.inner.adapt_damping = true;
    s.inner.linear = form ? HVI_SOLVE_GRAM : HVI_SOLVE_MATRIX_FREE;
    hvi_solver *solver = solver_for(p, &s);
    while (hvi_solver_step(solver) == HVI_RUNNING) {
      const hvi_record row = hvi_solver_info(solver).last;
      assert_true(row.ratio < 0.3);
    }
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_finds_the_closed_form),
      cmocka_unit_test(returns_lead_there_too),
      cmocka_unit_test(every_target_keeps_the_solution),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(second_order_steps_bring_the_loss_down),
  };
  return cmocka_run_group_tests(tests, collect, release);
}

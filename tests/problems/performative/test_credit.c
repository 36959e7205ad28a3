/*
 * The credit problem: its model and operator, the stable point against SciPy, and the presets
 * against what they stand for.
 */
#include "problems/performative/credit.h"

#include "num/vec.h"
#include "problems/performative/problems.h"

#include <stdio.h>

enum { WIDTH = HVI_CREDIT_WIDTH, FEATURES = HVI_CREDIT_FEATURES };

static const char tiny[] = HVI_SOURCE_DIR "/tests/data/credit/tiny.csv";
static const char golden[] = HVI_SOURCE_DIR "/tests/golden/performative.csv";

static hvi_problem *make_tiny(const char *eps) {
  const hvi_option options[] = {{"data", tiny}, {"eps", eps}};
  return make_problem("credit", options, 2, 1);
}

static hvi_problem *make_small(const char *eps) {
  const hvi_option options[] = {{"rows", "500"}, {"eps", eps}};
  return make_problem("credit", options, 2, 1);
}

static void model_is_linear_in_what_is_deployed(void **state) {
  (void)state;
  hvi_problem *p = make_small("3");
  hvi_credit_sample sample;
  double theta[WIDTH];
  fill_normal(sample.theta, WIDTH, 3);
  fill_normal(theta, WIDTH, 4);
  check_bound_model(p, &sample, theta, 1e-3, 1e-9);
  hvi_problem_free(p);
}

/* z against features that are moved one by one; without a sample theta itself is deployed. */
static void outputs_on_moved_features(void **state) {
  (void)state;
  hvi_problem *p = make_tiny("2.5");
  hvi_credit_data data;
  check_ok(hvi_credit_data_new(&data, tiny, 0, 0, NULL), NULL);
  const size_t n = data.rows;
  hvi_credit_sample sample;
  double theta[WIDTH], z[60], *cache = calloc(p->model->cache, sizeof *cache);
  assert_int_equal(p->model->out, n + FEATURES);
  fill_normal(theta, WIDTH, 4);
  fill_normal(sample.theta, WIDTH, 5);
  for (int bound = 0; bound < 2; bound++) {
    const double *bar = bound ? sample.theta : theta;
    p->model->ops->bind(p->model, cache, bound ? &sample : NULL);
    p->model->ops->eval(p->model, cache, theta, z);
    for (size_t i = 0; i < n; i++) {
      double s = 0.0;
      for (size_t j = 0; j < WIDTH; j++) {
        const bool moves = j == 0 || j == 5 || j == 7;
        s += (data.x[i * WIDTH + j] - (moves ? 2.5 * bar[j] : 0.0)) * theta[j];
      }
      check_near(z[i], s, 1e-12);
    }
    check_close(z + n, theta, FEATURES, 0.0);
  }
  free(cache);
  hvi_credit_data_clear(&data);
  hvi_problem_free(p);
}

/* The mean loss of the outputs, regulariser included. */
static double loss_of(const hvi_problem *p, const hvi_credit_data *d, const double *z) {
  double sum = 0.0;
  for (size_t i = 0; i < d->rows; i++) sum += log(1.0 + exp(z[i])) - d->y[i] * z[i];
  return sum / (double)d->rows +
         0.5 / (double)d->rows * dot(z + d->rows, z + d->rows, p->model->out - d->rows);
}

static void operator_is_the_gradient(void **state) {
  (void)state;
  hvi_problem *p = make_tiny("1");
  hvi_credit_data d;
  check_ok(hvi_credit_data_new(&d, tiny, 0, 0, NULL), NULL);
  double z[60], f[60];
  fill_normal(z, p->model->out, 6);
  p->ops->operate(p, NULL, p->theta0, z, f);
  for (size_t i = 0; i < p->model->out; i++) {
    const double at = z[i];
    z[i] = at + 1e-5;
    const double up = loss_of(p, &d, z);
    z[i] = at - 1e-5;
    check_near((up - loss_of(p, &d, z)) / 2e-5, f[i], 1e-9);
    z[i] = at;
  }
  hvi_credit_data_clear(&d);
  hvi_problem_free(p);
}

/* Lazy deployment until the frozen problem is solved. */
static hvi_settings repeated_minimisation(size_t rounds, size_t steps) {
  hvi_settings s = settings_for("lm", 4.0, rounds * steps);
  s.inner.damping = 1e-10;
  s.redraw_every = steps;
  return s;
}

static void rounds_against_scipy(void **state) {
  (void)state;
  FILE *f = fopen(golden, "r");
  assert_non_null(f);
  double eps, loss, theta[WIDTH], expected[WIDTH];
  size_t round, lines = 0;
  while (fscanf(f, "%lf,%zu,%lf", &eps, &round, &loss) == 3) {
    char text[32];
    for (size_t j = 0; j < WIDTH; j++) assert_int_equal(fscanf(f, ",%lf", &expected[j]), 1);
    snprintf(text, sizeof text, "%.17g", eps);
    hvi_problem *p = make_tiny(text);
    const hvi_settings s = repeated_minimisation(round, 400);
    solve_to_theta(p, &s, theta);
    check_close(theta, expected, WIDTH, 1e-9);
    if (round > 1) {
      const hvi_settings before = repeated_minimisation(round - 1, 400);
      solve_to_theta(p, &before, theta);
      check_near(measure_at(p, theta).loss_after, loss, 1e-10);
    }
    if (round == 4) {
      assert_true(p->ops->dist2(p, expected) < 1e-20);
      assert_true(measure_at(p, expected).gap < 1e-13);
    }
    hvi_problem_free(p);
    lines++;
  }
  fclose(f);
  assert_int_equal(lines, 8);
}

/* One gd step a deployment is theta - lr eta grad, the gradient on features that theta moved. */
static void repeated_gradient_in_closed_form(void **state) {
  (void)state;
  hvi_problem *p = make_tiny("0.7");
  hvi_credit_data d;
  check_ok(hvi_credit_data_new(&d, tiny, 0, 0, NULL), NULL);
  double theta[WIDTH] = {0.0}, next[WIDTH], reached[WIDTH];
  for (int k = 0; k < 5; k++) {
    for (size_t j = 0; j < WIDTH; j++) next[j] = theta[j];
    for (size_t i = 0; i < d.rows; i++) {
      double x[WIDTH], s = 0.0;
      for (size_t j = 0; j < WIDTH; j++) {
        x[j] = d.x[i * WIDTH + j] - (j == 0 || j == 5 || j == 7 ? 0.7 * theta[j] : 0.0);
        s += x[j] * theta[j];
      }
      for (size_t j = 0; j < WIDTH; j++)
        next[j] -= 0.8 * (1.0 / (1.0 + exp(-s)) - d.y[i]) * x[j] / (double)d.rows;
    }
    for (size_t j = 0; j < FEATURES; j++) next[j] -= 0.8 * theta[j] / (double)d.rows;
    memcpy(theta, next, sizeof theta);
  }
  hvi_settings s = settings_for("gd", 4.0, 5);
  s.inner.lr = 0.2;
  solve_to_theta(p, &s, reached);
  check_close(reached, theta, WIDTH, 1e-13);
  hvi_credit_data_clear(&d);
  hvi_problem_free(p);
}

/* With eta = 4 no exact step on a frozen deployment goes up: the surrogate is a majorant. */
static void eta_four_majorises(void **state) {
  (void)state;
  hvi_problem *p = make_small("5");
  hvi_settings s = settings_for("lm", 4.0, 40);
  s.inner.damping = 1e-10;
  s.redraw_every = 1000;
  double theta[WIDTH], last = INFINITY;
  for (size_t k = 0; k < 40; k += 3) {
    s.max_outer = k + 1;
    solve_to_theta(p, &s, theta);
    /* frozen at theta0 = 0: base features */
    const double loss = measure_at(p, theta).loss_before;
    assert_true(loss <= last + 1e-15);
    last = loss;
  }
  hvi_problem_free(p);
}

static void stable_after_two_rounds_for_every_eps(void **state) {
  (void)state;
  static const char *const values[] = {"0.01", "1", "100", "1000"};
  for (size_t k = 0; k < 4; k++) {
    hvi_problem *p = make_small(values[k]);
    double theta[WIDTH];
    hvi_settings s = repeated_minimisation(2, k == 3 ? 600 : 200);
    solve_to_theta(p, &s, theta);
    assert_true(p->ops->dist2(p, theta) < 1e-16 * (1.0 + dot(theta, theta, WIDTH)));
    hvi_certificate judged;
    check_ok(hvi_problem_judge(&judged, p, theta, NULL), NULL);
    assert_true(judged.residual < 1e-9);
    hvi_problem_free(p);
  }
}

/* The gap against a fit on features that are moved one by one. */
static void gap_is_what_a_refit_gains(void **state) {
  (void)state;
  hvi_problem *p = make_small("4");
  hvi_credit_data d;
  check_ok(hvi_credit_data_new(&d, "synthetic", 500, 1, NULL), NULL);
  double theta[WIDTH], refit[WIDTH], curvature[WIDTH * WIDTH], least;
  fill_normal(theta, WIDTH, 9);
  for (size_t i = 0; i < d.rows; i++)
    for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++)
      d.x[i * WIDTH + hvi_credit_strategic[k]] -= 4.0 * theta[hvi_credit_strategic[k]];
  double own = 0.0, right = 0.0;
  for (size_t i = 0; i < d.rows; i++) {
    const double s = dot(d.x + i * WIDTH, theta, WIDTH);
    own += log(1.0 + exp(s)) - d.y[i] * s;
    right += (s > 0.0) == (d.y[i] == 1.0);
  }
  own = own / (double)d.rows + 0.5 / (double)d.rows * dot(theta, theta, FEATURES);
  check_ok(hvi_credit_fit(refit, &least, curvature, &d, 1.0 / (double)d.rows, NULL), NULL);
  const hvi_performative_measures m = measure_at(p, theta);
  check_near(m.loss_after, own, 1e-10);
  check_near(m.accuracy_after, right / (double)d.rows, 1e-12);
  check_near(m.gap, own - least, 1e-10);
  theta[3] = NAN;
  assert_true(isnan(measure_at(p, theta).gap));
  hvi_credit_data_clear(&d);
  hvi_problem_free(p);
}

/* beta in the parameters by differences of the gradient at the stable point. */
static void coverage_in_outputs_and_parameters(void **state) {
  (void)state;
  hvi_problem *p = make_tiny("0.5");
  const hvi_performative_coverage c = coverage_of(p);
  assert_true(c.beta == 0.0);
  assert_true(c.mu > 0.0);
  assert_true(isinf(c.limit));
  double theta[WIDTH], z[60], f[60], g[2][WIDTH], beta2 = 0.0;
  const hvi_settings s = repeated_minimisation(3, 600);
  solve_to_theta(p, &s, theta);
  double *cache = calloc(p->model->cache, sizeof *cache);
  /* the matrix has one column per deployed parameter, and rank one */
  for (size_t j = 0; j < WIDTH; j++) {
    for (int side = 0; side < 2; side++) {
      hvi_credit_sample sample;
      memcpy(sample.theta, theta, sizeof theta);
      sample.theta[j] += side ? 1e-5 : -1e-5;
      p->model->ops->bind(p->model, cache, &sample);
      p->model->ops->eval(p->model, cache, theta, z);
      p->ops->operate(p, &sample, theta, z, f);
      p->model->ops->vjp(p->model, cache, theta, f, g[side]);
    }
    for (size_t i = 0; i < WIDTH; i++) {
      const double slope = (g[1][i] - g[0][i]) / 2e-5;
      beta2 += slope * slope;
    }
  }
  check_near(c.parameter_beta, sqrt(beta2), 1e-6 * c.parameter_beta);
  assert_true(c.parameter_mu > 0.0);
  assert_true(c.parameter_limit > 0.0);
  const bool covered = c.parameter_beta < c.parameter_mu;
  assert_true(covered == (0.5 < c.parameter_limit));
  free(cache);
  hvi_problem_free(p);
}

static void same_seed_same_bits(void **state) {
  (void)state;
  double a[WIDTH], b[WIDTH];
  for (int k = 0; k < 2; k++) {
    hvi_problem *p = make_small("1");
    const hvi_settings s = repeated_minimisation(3, 10);
    solve_to_theta(p, &s, k ? a : b);
    hvi_problem_free(p);
  }
  check_same_bits(a, b, WIDTH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(model_is_linear_in_what_is_deployed),
      cmocka_unit_test(outputs_on_moved_features),
      cmocka_unit_test(operator_is_the_gradient),
      cmocka_unit_test(rounds_against_scipy),
      cmocka_unit_test(repeated_gradient_in_closed_form),
      cmocka_unit_test(eta_four_majorises),
      cmocka_unit_test(stable_after_two_rounds_for_every_eps),
      cmocka_unit_test(gap_is_what_a_refit_gains),
      cmocka_unit_test(coverage_in_outputs_and_parameters),
      cmocka_unit_test(same_seed_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Resample if rejected: the network, the draws, and training over rounds. */
#include "problems/performative/credit.h"

#include "problems/performative/problems.h"

enum { ROWS = 333, WIDTH = HVI_CREDIT_WIDTH, HIDDEN = HVI_RIR_HIDDEN };

static hvi_problem *make_rir(const char *delta, const char *rows) {
  const hvi_option options[] = {{"delta", delta}, {"rows", rows}};
  return make_problem("credit-rir", options, 2, 1);
}

/* One prediction, row by row, written down again. */
static double predict(const hvi_credit_data *d, const double *theta, size_t row, size_t source,
                      double delta) {
  double a = theta[HVI_RIR_DIM - 1];
  for (size_t k = 0; k < HIDDEN; k++) {
    double h = 0.0;
    for (size_t j = 0; j < WIDTH; j++) {
      const size_t from = j == 0 || j == 5 || j == 7 ? source : row;
      h += theta[k * WIDTH + j] * d->x[from * WIDTH + j];
    }
    a += theta[HIDDEN * WIDTH + k] * (h < 0.0 ? 0.01 * h : h);
  }
  return (1.0 - delta) / (1.0 + exp(-a));
}

static void network_on_mixed_rows(void **state) {
  (void)state;
  hvi_problem *p = make_rir("0.4", "333");
  hvi_credit_data d;
  check_ok(hvi_credit_data_new(&d, "synthetic", ROWS, 1, NULL), NULL);
  static double z[ROWS], theta[HVI_RIR_DIM];
  uint32_t *source = calloc(1, p->sample_bytes);
  double *cache = calloc(p->model->cache, sizeof *cache);
  hvi_rng rng = hvi_rng_new(2, "rows", 0);
  assert_int_equal(p->sample_bytes, ROWS * sizeof *source);
  for (size_t i = 0; i < ROWS; i++) source[i] = (uint32_t)(hvi_rng_uniform(&rng) * ROWS);
  fill_normal(theta, HVI_RIR_DIM, 8);
  p->model->ops->bind(p->model, cache, source);
  p->model->ops->eval(p->model, cache, theta, z);
  for (size_t i = 0; i < ROWS; i++) check_near(z[i], predict(&d, theta, i, source[i], 0.4), 1e-13);
  check_bound_model(p, source, p->theta0, 1e-6, 1e-7);
  hvi_rir_predict(p->model, theta, false, z, cache);
  for (size_t i = 0; i < ROWS; i++) check_near(z[i], predict(&d, theta, i, i, 0.4), 1e-13);
  free(source);
  free(cache);
  hvi_credit_data_clear(&d);
  hvi_problem_free(p);
}

/* Row i is resampled with probability z_i + delta, uniformly over all rows. */
static void draws_have_their_law(void **state) {
  (void)state;
  enum { DRAWS = 2000 };
  hvi_problem *p = make_rir("0.3", "333");
  static double z[ROWS], moved[ROWS], sources[ROWS];
  double *cache = calloc(p->model->cache, sizeof *cache);
  uint32_t *source = calloc(1, p->sample_bytes);
  hvi_rng rng = hvi_rng_new(7, "draws", 0);
  hvi_rir_predict(p->model, p->theta0, false, z, cache);
  double all = 0.0;
  for (size_t k = 0; k < DRAWS; k++) {
    p->ops->draw(p, p->theta0, source, &rng);
    for (size_t i = 0; i < ROWS; i++) {
      assert_true(source[i] < ROWS);
      if (source[i] == i) continue;
      moved[i] += 1.0;
      sources[source[i]] += 1.0;
      all += 1.0;
    }
  }
  for (size_t i = 0; i < ROWS; i++) {
    /* 333 rows at 5 standard deviations: once in ten thousand such tests; a row may draw itself */
    const double q = (z[i] + 0.3) * (1.0 - 1.0 / ROWS);
    check_near(moved[i] / DRAWS, q, 5.0 * sqrt(q * (1.0 - q) / DRAWS));
    check_near(sources[i], all / ROWS, 6.0 * sqrt(all / ROWS));
  }
  free(source);
  free(cache);
  hvi_problem_free(p);
}

/* Without a sample: a fixed lot, so that z is a function of theta alone, and one of the draws. */
static void fixed_lot_stands_for_the_mean(void **state) {
  (void)state;
  hvi_problem *p = make_rir("0.3", "333");
  static double a[ROWS], b[ROWS], base[ROWS];
  double *cache = calloc(2 * p->model->cache, sizeof *cache), *other = cache + p->model->cache;
  p->model->ops->eval(p->model, cache, p->theta0, a);
  p->model->ops->eval(p->model, other, p->theta0, b);
  check_same_bits(a, b, ROWS);
  hvi_rir_predict(p->model, p->theta0, false, base, other);
  size_t kept = 0;
  double rejected = 0.0;
  for (size_t i = 0; i < ROWS; i++) {
    kept += a[i] == base[i];
    rejected += (base[i] + 0.3) / ROWS;
  }
  check_near((double)kept / ROWS, 1.0 - rejected, 0.1);
  free(cache);
  hvi_problem_free(p);
}

static void target_is_the_labels(void **state) {
  (void)state;
  hvi_problem *p = make_rir("0.7", "333");
  static double z[ROWS], f[ROWS];
  fill_normal(z, ROWS, 5);
  p->ops->operate(p, NULL, p->theta0, z, f);
  assert_true(p->eta == 1.0);
  for (size_t i = 0; i < ROWS; i++) {
    const double target = z[i] - f[i] / p->weights[i];
    assert_true(fabs(target) < 1e-12 || fabs(target - 0.3) < 1e-12);
  }
  hvi_constants c;
  check_ok(hvi_problem_constants(&c, p, NULL), NULL);
  assert_true(c.mu == 1.0);
  assert_true(c.lipschitz == 1.0);
  assert_true(c.exact);
  const hvi_performative_coverage cover = coverage_of(p);
  check_near(cover.beta / cover.mu, 3.0 / 7.0, 1e-15);
  assert_true(cover.limit == 0.5);
  assert_true(!cover.below);
  assert_true(strcmp(cover.key, "delta") == 0);
  hvi_problem_free(p);
}

/* Rounds of Adam whose state is kept: the loss after deployment falls, before and after differ. */
static void training_over_rounds(void **state) {
  (void)state;
  hvi_problem *p = make_rir("0.4", "2000");
  static double theta[HVI_RIR_DIM], again[HVI_RIR_DIM];
  hvi_settings s = settings_for("adam", 1.0, 10);
  s.inner_steps = 50;
  s.inner.lr = 3e-3;
  s.keep_state = true;
  s.seed = 3;
  solve_to_theta(p, &s, theta);
  solve_to_theta(p, &s, again);
  check_same_bits(theta, again, HVI_RIR_DIM);
  const hvi_performative_measures start = measure_at(p, p->theta0), end = measure_at(p, theta);
  assert_true(end.loss_after < 0.95 * start.loss_after);
  assert_true(end.accuracy_after > start.accuracy_after);
  /* resampling takes information away: the model does better on the base data */
  assert_true(end.loss_before < end.loss_after);
  assert_true(end.accuracy_before > end.accuracy_after);
  assert_true(isnan(end.gap));
  s.keep_state = false;
  solve_to_theta(p, &s, again);
  assert_memory_not_equal(theta, again, sizeof theta);
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(network_on_mixed_rows),         cmocka_unit_test(draws_have_their_law),
      cmocka_unit_test(fixed_lot_stands_for_the_mean), cmocka_unit_test(target_is_the_labels),
      cmocka_unit_test(training_over_rounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

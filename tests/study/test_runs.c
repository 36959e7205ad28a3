/* Runs and their statistics on curves whose answers are known, and the claims about rps on games that
 * are planted as the paper describes them, or otherwise. */
#include "study/planted.h"

#include "study/runs.h"

enum { ROWS = 101 };

static const char *const methods[] = {"one", "two", NULL};
static const hvi_column columns[] = {{"method", methods}, {"seed", NULL},  {"outer", NULL},
                                     {"y", NULL},         {"ratio", NULL}, {"diverged", NULL}};
enum { METHOD, SEED, OUTER, Y, RATIO, DIVERGED, COLUMNS };

static hvi_table new_table(void) {
  hvi_table t;
  check_ok(hvi_table_new(&t, "t", columns, COLUMNS, NULL), NULL);
  return t;
}

static void add(hvi_table *t, double seed, double outer, double y, double diverged) {
  check_ok(hvi_table_add(t, (const double[]){0, seed, outer, y, NAN, diverged}, NULL), NULL);
}

static hvi_runs runs_of(const hvi_table *t) {
  hvi_runs r;
  check_ok(hvi_runs_find(&r, t, 0.0, NULL, 0, NULL), NULL);
  return r;
}

static const hvi_window all = {0.0, 1e9, 1.0};

static void a_geometric_curve_is_a_line(void **state) {
  (void)state;
  hvi_table t = new_table();
  for (size_t i = 0; i < ROWS; i++)
    add(&t, NAN, (double)i, 0.3 * pow(10.0, -0.02 * (double)i), NAN);
  hvi_runs r = runs_of(&t);
  const hvi_stats_line line = hvi_runs_line(&r, 0, Y, all);
  check_near(line.slope, -0.02, 1e-12);
  check_near(line.r2, 1.0, 1e-12);
  check_near(hvi_runs_line(&r, 0, Y, (hvi_window){0.0, 100.0, 10.0}).slope, -0.02, 1e-12);
  hvi_runs_free(&r);
  hvi_table_free(&t);
}

static void noise_lowers_the_fit(void **state) {
  (void)state;
  hvi_table t = new_table();
  for (size_t i = 0; i < ROWS; i++) add(&t, NAN, (double)i, i % 2 ? 10.0 : 1.0, NAN);
  hvi_runs r = runs_of(&t);
  assert_true(hvi_runs_line(&r, 0, Y, all).r2 < 0.1);
  check_near(hvi_runs_rise(&r, 0, Y, all), 10.0, 0.0);
  hvi_runs_free(&r);
  hvi_table_free(&t);
}

static void rounding_is_left_out(void **state) {
  (void)state;
  hvi_table t = new_table();
  for (size_t i = 0; i < ROWS; i++)
    add(&t, NAN, (double)i, i < 20 ? pow(10.0, -(double)i) : 1e-30, NAN);
  hvi_runs r = runs_of(&t);
  check_near(hvi_runs_line(&r, 0, Y, all).slope, -1.0, 1e-12);
  assert_true(isnan(hvi_runs_line(&r, 0, Y, (hvi_window){0.0, 1.0, 1.0}).r2));
  hvi_runs_free(&r);
  hvi_table_free(&t);
}

static void a_run_that_ended_goes_on_as_it_ended(void **state) {
  (void)state;
  hvi_table t = new_table();
  for (size_t i = 0; i < 3; i++) add(&t, NAN, (double)i, pow(0.5, (double)i), NAN);
  hvi_runs r = runs_of(&t);
  assert_false(r.seeded);
  check_near(hvi_runs_value(&r, 0, OUTER, Y, 1.0), 0.5, 0.0);
  check_near(hvi_runs_value(&r, 0, OUTER, Y, 1000.0), 0.25, 0.0);
  check_near(hvi_runs_value(&r, 0, OUTER, Y, 1.5), 0.5 / sqrt(2.0), 1e-15);
  check_near(hvi_runs_typical(&r, 0, Y, all), 0.5, 0.0);
  t.at[2 * COLUMNS + DIVERGED] = 1.0;
  assert_true(isinf(hvi_runs_value(&r, 0, OUTER, Y, 1000.0)));
  assert_true(isinf(hvi_runs_rise(&r, 0, Y, all)));
  hvi_runs_free(&r);
  check_ok(hvi_runs_find(&r, &t, 1.0, NULL, 0, NULL), NULL);
  assert_true(isnan(hvi_runs_value(&r, 0, OUTER, Y, 3.0)));
  hvi_runs_free(&r);
  hvi_table_free(&t);
}

/* Log ratios 0.1, 0.2, ..., 0.6 have mean 0.35, sd 0.187083, t 2.570582. */
static void ratios_have_the_right_interval(void **state) {
  (void)state;
  double a[6], b[6], work[6];
  for (size_t s = 0; s < 6; s++) {
    a[s] = exp(0.1 * (double)(s + 1));
    b[s] = 1.0;
  }
  const hvi_ratio q = hvi_ratio_of(a, b, 6, 1.0, work);
  const double half = 2.570581836 * 0.1870828693 / sqrt(6.0);
  check_near(q.ratio, exp(0.35), 1e-9);
  check_near(q.low, exp(0.35 - half), 1e-7);
  check_near(q.high, exp(0.35 + half), 1e-7);
  assert_int_equal(q.less, -1);
  assert_int_equal(hvi_ratio_of(b, a, 6, 1.0, work).less, 1);
  assert_int_equal(hvi_ratio_of(a, b, 6, 1.4, work).less, 0);
}

/* A gap of 0 is as small as can be told, and must not widen the interval without end. */
static void zero_counts_as_the_least(void **state) {
  (void)state;
  double a[6], b[6], work[6];
  for (size_t s = 0; s < 6; s++) {
    a[s] = s == 3 ? 0.0 : 1e-3;
    b[s] = s % 2 ? 1e-2 : 2e-2;
  }
  const hvi_ratio q = hvi_ratio_of(a, b, 6, 1.0, work);
  check_near(q.ratio, 0.1 / sqrt(2.0), 1e-9);
  assert_int_equal(q.less, 1);
}

/* PHGD, LM(1), LM(5), GD(10), GD(100), GDA: decades a recorded step, and where they start. */
static double decades[6], starts[6];
static size_t lost; /* the method that has become infinite half way; 6: none */

static void as_in_the_paper(void) {
  static const double usual[] = {-0.05, -0.06, -0.03, -0.07, -0.02, NAN};
  for (size_t k = 0; k < 6; k++) decades[k] = usual[k], starts[k] = 0.1;
  lost = 6;
}

static double distance(size_t method, size_t line) {
  if (method == lost && line >= ROWS / 2) return INFINITY;
  if (isnan(decades[method])) return line % 20 < 10 ? 0.05 : 0.3;
  return starts[method] * pow(10.0, decades[method] * (double)line);
}

static double rps_value(const hvi_cell *c, const char *table, const char *column, size_t line) {
  static const double ratios[] = {0.1, 0.5, 0.2, 0.6, 0.3, 0.7};
  const size_t method = hvi_cell_level(c, "method");
  const size_t at = strstr(table, "trace") ? line : ROWS - 1;
  if (strcmp(column, "outer") == 0) return 10.0 * (double)at;
  if (strcmp(column, "dist2") == 0) return distance(method, at);
  if (strcmp(column, "ratio") == 0) return at ? ratios[method] : NAN;
  if (strcmp(column, "median_ratio") == 0) return ratios[method];
  if (strcmp(column, "outcome") == 0) return 2.0;
  return NAN;
}

static size_t rps_lines(const char *table) { return strstr(table, "trace") ? ROWS : 1; }

enum { SENTENCES = 8 }; /* of the paper, at the given step sizes: the first claims of the file */

static size_t failing(void) {
  hvi_claims claims;
  size_t count = 0;
  judge_planted(&claims, "rps", rps_value, rps_lines, NULL);
  assert_true(claims.count > SENTENCES);
  for (size_t i = 0; i < SENTENCES; i++) {
    count += claims.items[i]->judgement == HVI_HOLDS_NOT;
    assert_int_not_equal(claims.items[i]->judgement, HVI_NOT_DECIDED);
  }
  hvi_claims_clear(&claims);
  return count;
}

static void the_described_game_satisfies_everything(void **state) {
  (void)state;
  as_in_the_paper();
  assert_int_equal(failing(), 0);
}

static void each_claim_can_fail(void **state) {
  (void)state;
  static const struct {
    size_t method, fails; /* making this method so breaks this many claims */
    double decades;
  } cases[] = {
      {0, 2, 0},     /* PHGD stands still: neither linear nor better than GDA */
      {1, 3, 0},     /* LM(1): also not better than LM(5) */
      {2, 1, -0.08}, /* LM(5) is best of all */
      {4, 1, -0.09}, /* GD(100) is */
      {5, 3, -0.09}, /* GDA is: neither poor, nor unstable, nor beaten */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    as_in_the_paper();
    decades[cases[i].method] = cases[i].decades;
    if (cases[i].decades == 0) starts[cases[i].method] = 0.5;
    assert_int_equal(failing(), cases[i].fails);
  }
  as_in_the_paper();
  decades[0] = -0.09; /* the nearest has the lowest ratio */
  assert_int_equal(failing(), 1);
}

static void divergence_is_never_a_success(void **state) {
  (void)state;
  as_in_the_paper();
  lost = 0;
  assert_int_equal(failing(), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_geometric_curve_is_a_line),
      cmocka_unit_test(noise_lowers_the_fit),
      cmocka_unit_test(rounding_is_left_out),
      cmocka_unit_test(a_run_that_ended_goes_on_as_it_ended),
      cmocka_unit_test(ratios_have_the_right_interval),
      cmocka_unit_test(zero_counts_as_the_least),
      cmocka_unit_test(the_described_game_satisfies_everything),
      cmocka_unit_test(each_claim_can_fail),
      cmocka_unit_test(divergence_is_never_a_success),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

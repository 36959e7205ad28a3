/* Expressions over planted tables: values worked out by hand, truths that hold, fail and are open,
 * and errors that name the place. */
#include "support/check.h"

#include "num/stats.h"
#include "study/expression.h"
#include "support/starve.h"

#include <stdio.h>

enum { SEEDS = 4, STEPS = 5 };

static const char *const methods[] = {"TD(0)", "Surr 10", "Surr 50", "λ = 0.9",
                                      "lost",  "gone",    NULL};
static const char *const groups[] = {"others", "surrogate", "none", NULL};

static const hvi_column curve_columns[] = {{"method", methods}, {"group", groups}, {"seed", NULL},
                                           {"outer", NULL},     {"seconds", NULL}, {"error", NULL},
                                           {"gap", NULL},       {"diverged", NULL}};
static const hvi_column game_columns[] = {
    {"method", methods}, {"outer", NULL}, {"dist2", NULL}, {"ratio", NULL}};
static const hvi_column theory_columns[] = {
    {"case", groups}, {"alpha", NULL}, {"rho", NULL}, {"largest", NULL}};

#define COLUMNS(list) (sizeof(list) / sizeof *(list))

/* Error of a method on a seed at the end. */
static double end_of(size_t method, size_t seed) {
  static const double ends[] = {1000.0, 400.0, 410.0, 800.0};
  return ends[method] * exp((seed % 2 ? 0.01 : -0.01) * (double)(seed + 1) * (double)(method + 1));
}

/* From 1e5 on a line of the logarithm; `lost` diverges on seed 1, `gone` has no rows. */
static void fill_curves(hvi_table *t) {
  check_ok(hvi_table_new(t, "curves", curve_columns, COLUMNS(curve_columns), NULL), NULL);
  for (size_t m = 0; m < 5; m++)
    for (size_t s = 0; s < SEEDS; s++)
      for (size_t i = 0; i < STEPS; i++) {
        const double share = (double)i / (STEPS - 1);
        const double end = m < 4 ? end_of(m, s) : s == 1 ? 1e9 : 500.0;
        const double row[] = {(double)m,
                              m == 1 || m == 2 ? 1.0 : 0.0,
                              (double)s + 1.0,
                              10.0 * (double)i,
                              (double)((m + 1) * i),
                              1e5 * pow(end / 1e5, share),
                              m == 3 && i == STEPS - 1 ? NAN : 0.5 / (double)(i + 1),
                              m == 4 && s == 1 && i == STEPS - 1 ? 1.0 : 0.0};
        check_ok(hvi_table_add(t, row, NULL), NULL);
      }
}

/* TD(0) falls by a factor of ten a step, Surr 10 rises again at step 7. No seeds. */
static void fill_game(hvi_table *t) {
  check_ok(hvi_table_new(t, "the-game", game_columns, COLUMNS(game_columns), NULL), NULL);
  for (size_t m = 0; m < 2; m++)
    for (size_t i = 0; i <= 10; i++) {
      const double y = m == 0 ? pow(10.0, -(double)i) : i == 7 ? 0.5 : 1.0 / (double)(i + 1);
      check_ok(hvi_table_add(
                   t, (const double[]){(double)m, (double)i, y, i ? 0.1 * (double)i : NAN}, NULL),
               NULL);
    }
}

static void fill_theory(hvi_table *t) {
  static const double rows[][4] = {
      {0, 0.0, 0.5, 0.6}, {0, 0.1, 0.8, 0.8}, {1, 0.2, 0.9, 0.81}, {1, 0.3, 1.0, NAN}};
  check_ok(hvi_table_new(t, "theory", theory_columns, COLUMNS(theory_columns), NULL), NULL);
  for (size_t i = 0; i < 4; i++) check_ok(hvi_table_add(t, rows[i], NULL), NULL);
}

static hvi_table tables[3];
static const struct hvi_constant constants[] = {{"gamma", 0.99}, {"tenth", 4.0}, {NULL, 0.0}};
static hvi_scope scope = {
    .tables = tables, .table_count = 3, .own = &tables[0], .constants = constants};

static int set_up(void **state) {
  (void)state;
  fill_curves(&tables[0]);
  fill_game(&tables[1]);
  fill_theory(&tables[2]);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) hvi_table_free(&tables[i]);
  return 0;
}

static hvi_quantity eval(const char *text, const hvi_scope *in, hvi_findings *findings) {
  hvi_quantity q;
  hvi_error err = {HVI_OK, ""};
  if (hvi_expression_eval(&q, text, in, findings, "f.yaml:12", &err))
    fail_msg("%s: %s", text, err.text);
  return q;
}

static double number_in(const hvi_scope *in, const char *text) {
  const hvi_quantity q = eval(text, in, NULL);
  if (q.kind != HVI_QUANTITY_NUMBER) fail_msg("%s: no number", text);
  return q.number;
}

static double number_of(const char *text) { return number_in(&scope, text); }

static void expect_truth(const hvi_scope *in, const char *text, hvi_truth wanted) {
  const hvi_quantity q = eval(text, in, NULL);
  if (q.kind != HVI_QUANTITY_TRUTH || q.truth != wanted)
    fail_msg("%s: kind %d, truth %d", text, (int)q.kind, (int)q.truth);
}

static void arithmetic(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } cases[] = {{"1 + 2 * 3", 7.0},      {"(1 + 2) * 3", 9.0},    {"-2^2", -4.0},
               {"2^3^2", 512.0},        {"2^-1", 0.5},           {"--3 - -1", 4.0},
               {"7 - 2 - 1", 4.0},      {"8 / 2 / 2", 2.0},      {"1e-9 * 1e9", 1.0},
               {".5 + 1.", 1.5},        {"least(2, 3)", 2.0},    {"most(2, 3)", 3.0},
               {"abs(-3)", 3.0},        {"sqrt(16)", 4.0},       {"exp(0)", 1.0},
               {"log10(1000)", 3.0},    {"floor(2.7)", 2.0},     {"log(exp(2))", 2.0},
               {"gamma * tenth", 3.96}, {"\n 1\t+\r\n 1 ", 2.0}, {"max(3)", 3.0}};
  for (size_t i = 0; i < COLUMNS(cases); i++)
    check_near(number_of(cases[i].text), cases[i].value, 1e-15 * fabs(cases[i].value));
  assert_true(isnan(number_of("least(0 / 0, 1)")));
}

static void truths(void **state) {
  (void)state;
  static const char *const t[] = {"1 < 2",
                                  "2 <= 2",
                                  "3 > 2",
                                  "2 >= 2",
                                  "2 == 2",
                                  "2 != 3",
                                  "not 2 < 1",
                                  "1 < 2 and 2 < 3",
                                  "2 < 1 or 2 < 3",
                                  "not not 1 < 2",
                                  "2 < 1 and 2 < 1 or 1 < 2",
                                  "finite(1)",
                                  "not finite(1 / 0)",
                                  "'a' == \"a\"",
                                  "(1 < 2)"};
  for (size_t i = 0; i < COLUMNS(t); i++) expect_truth(&scope, t[i], HVI_TRUE);
  static const char *const f[] = {"2 < 1", "0 / 0 < 1", "0 / 0 >= 1", "1 < 2 and 0 / 0 == 0 / 0"};
  for (size_t i = 0; i < COLUMNS(f); i++) expect_truth(&scope, f[i], HVI_FALSE);
}

static hvi_scope scope_of(size_t table) {
  hvi_scope s = scope;
  s.own = &tables[table];
  return s;
}

static void over_rows(void **state) {
  (void)state;
  const hvi_scope in = scope_of(2);
  static const struct {
    const char *text;
    double value;
  } cases[] = {{"max(rho)", 1.0},
               {"min(rho)", 0.5},
               {"mean(alpha)", 0.15},
               {"median(rho)", 0.85},
               {"sum(alpha, alpha > 0)", 0.6},
               {"count(largest)", 3.0},
               {"count(largest <= rho)", 2.0},
               {"mean(largest <= rho)", 0.5},
               {"low(largest <= rho)", 0.0},
               {"high(largest <= rho)", 1.0},
               {"mean(largest <= rho, finite(largest))", 2.0 / 3.0},
               {"count(rho, case == 'surrogate')", 2.0},
               {"first(rho, alpha > 0)", 0.8},
               {"last(rho)", 1.0},
               {"max(largest / rho, finite(largest))", 1.2},
               {"max(theory.largest / rho, alpha > 0 and alpha < 0.3)", 1.0},
               {"max(curves.outer)", 40.0},
               {"max('the-game'.outer)", 10.0},
               {"max(rho) - min(rho) + max(2 * rho)", 2.5},
               {"sum(alpha, alpha > 7)", 0.0},
               {"count(alpha, alpha > 7)", 0.0}};
  for (size_t i = 0; i < COLUMNS(cases); i++) {
    const double x = number_in(&in, cases[i].text);
    if (!(fabs(x - cases[i].value) <= 1e-15)) fail_msg("%s: %.17g", cases[i].text, x);
  }
  /* what is not a number is not left out in silence, and no rows are no success */
  assert_true(isnan(number_in(&in, "max(largest / rho)")));
  assert_true(isnan(number_in(&in, "max(rho, alpha > 7)")));
  expect_truth(&in, "max(largest / rho) <= 2", HVI_FALSE);
  expect_truth(&in, "every(rho > 0.4)", HVI_TRUE);
  expect_truth(&in, "every(largest > 0)", HVI_FALSE);
  expect_truth(&in, "every(largest > 0, alpha < 0.3)", HVI_TRUE);
  expect_truth(&in, "every(rho > 0, alpha > 7)", HVI_UNDECIDED);
  expect_truth(&in, "any(rho > 0.95)", HVI_TRUE);
  expect_truth(&in, "any(rho > 1)", HVI_FALSE);
  expect_truth(&in, "any(rho > 0, alpha > 7)", HVI_FALSE);
}

/* A level of `each`: the other rows are not there. */
static void filtered(void **state) {
  (void)state;
  hvi_scope in = scope_of(2);
  const hvi_table_filter filters[] = {{.column = "case", .word = "surrogate"},
                                      {.column = "seed", .number = 3.0}};
  in.filters = filters;
  in.filter_count = 2;
  check_near(number_in(&in, "min(rho)"), 0.9, 0.0);
  in.own = &tables[0];
  const hvi_quantity q = eval("end(error, 'TD(0)')", &in, NULL);
  assert_int_equal(q.count, 1);
  check_near(q.sample[0], end_of(0, 2), 1e-9);
  hvi_quantity copy = q;
  hvi_quantity_free(&copy);
}

static void check_sample(const char *text, const double *wanted, double tolerance) {
  hvi_quantity q = eval(text, &scope, NULL);
  if (q.kind != HVI_QUANTITY_SAMPLE || q.count != SEEDS) fail_msg("%s: no sample", text);
  for (size_t i = 0; i < SEEDS; i++)
    if (!(fabs(q.sample[i] - wanted[i]) <= tolerance * fabs(wanted[i])))
      fail_msg("%s: %.17g, not %.17g", text, q.sample[i], wanted[i]);
  hvi_quantity_free(&q);
}

static void samples(void **state) {
  (void)state;
  double a[SEEDS], b[SEEDS], y[SEEDS];
  for (size_t s = 0; s < SEEDS; s++) a[s] = end_of(0, s), b[s] = end_of(1, s);
  check_sample("end(error, \"TD(0)\")", a, 1e-12);
  check_sample("at(error, \"TD(0)\", outer, 40)", a, 1e-12);
  check_sample("at(error, \"TD(0)\", outer, 99)", a, 1e-12);
  check_sample("at(error, \"TD(0)\", seconds, tenth)", a, 1e-12);
  for (size_t s = 0; s < SEEDS; s++) y[s] = 1e5 * pow(a[s] / 1e5, 0.625);
  check_sample("at(error, \"TD(0)\", outer, 25)", y, 1e-12);
  for (size_t s = 0; s < SEEDS; s++) y[s] = a[s] / b[s];
  check_sample("end(error, \"TD(0)\") / end(error, \"Surr 10\")", y, 1e-12);
  for (size_t s = 0; s < SEEDS; s++) y[s] = fmax(1.0 - 2.0 * a[s], -2000.0);
  check_sample("most(1 - 2 * end(error, \"TD(0)\"), -2000)", y, 1e-12);
  for (size_t s = 0; s < SEEDS; s++) y[s] = log10(a[s] / 1e5) / 40.0;
  check_sample("slope(error, \"TD(0)\", 0, 40)", y, 1e-9);
  check_sample("slope(error, \"TD(0)\", 0, 40, 20)", y, 1e-9);
  check_near(number_of("mean(end(error, 'TD(0)'))"), hvi_stats_mean(a, SEEDS), 1e-9);
  check_near(number_of("half(end(error, 'TD(0)'))"), hvi_stats_interval95(a, SEEDS), 1e-9);
  check_near(number_of("worst(end(error, 'TD(0)'))"), end_of(0, 3), 1e-9);
  check_near(number_of("median(2 * end(error, 'TD(0)'))"), end_of(0, 0) + end_of(0, 1), 1e-9);
  check_near(number_of("mean(at(gap, 'TD(0)', outer, 0))"), 0.5, 0.0);
  assert_true(isnan(number_of("mean(at(error, 'TD(0)', outer, -1))")));
  check_near(number_of("finish(seconds, 'Surr 10')"), 8.0, 0.0);
}

/* Divergence and overflow are infinite, in a mean too. */
static void infinite(void **state) {
  (void)state;
  hvi_quantity q = eval("end(error, 'lost')", &scope, NULL);
  assert_int_equal(q.count, SEEDS);
  assert_true(q.sample[1] == INFINITY);
  check_near(q.sample[0], 500.0, 1e-9);
  hvi_quantity_free(&q);
  assert_true(number_of("mean(end(error, 'lost'))") == INFINITY);
  assert_true(isnan(number_of("half(end(error, 'lost'))")));
  assert_true(number_of("worst(end(error, 'lost'))") == INFINITY);
  check_near(number_of("median(end(error, 'lost'))"), 500.0, 1e-9);
  assert_true(number_of("mean(end(gap, 'λ = 0.9'))") == INFINITY);
  check_near(number_of("mean(at(gap, 'λ = 0.9', outer, 30))"), 0.125, 0.0);
  assert_true(number_of("worst(rise(error, 'lost'))") == INFINITY);
}

/* Without seeds curves give numbers. */
static void numbers_of_curves(void **state) {
  (void)state;
  const hvi_scope in = scope_of(1);
  check_near(number_in(&in, "end(dist2, 'TD(0)')"), 1e-10, 0.0);
  check_near(number_in(&in, "slope(dist2, 'TD(0)', 1, 10)"), -1.0, 1e-12);
  check_near(number_in(&in, "r2(dist2, 'TD(0)', 1, 10, 2)"), 1.0, 1e-12);
  check_near(number_in(&in, "typical(ratio, 'TD(0)', 0, 5)"), 0.3, 1e-15);
  check_near(number_in(&in, "rise(dist2, 'Surr 10')"), 0.5 * 7.0, 1e-12);
  check_near(number_in(&in, "rise(dist2, 'Surr 10', 2)"), 1.0, 0.0);
  check_near(number_in(&in, "rise(dist2, 'TD(0)')"), 1.0, 0.0);
  assert_true(isnan(number_in(&in, "slope(dist2, 'TD(0)', 1, 2)")));
  check_near(number_of("end('the-game'.dist2, 'TD(0)')"), 1e-10, 0.0);
  expect_truth(&in, "end(dist2, 'TD(0)') < 0.1 * end(dist2, 'Surr 10')", HVI_TRUE);
  expect_truth(&in, "end(dist2, 'TD(0)') > 1e-3 * end(dist2, 'Surr 10')", HVI_FALSE);
}

static void compared(void **state) {
  (void)state;
  static const struct {
    const char *text;
    hvi_truth truth;
  } cases[] = {
      {"end(error, 'Surr 10') < end(error, 'TD(0)')", HVI_TRUE},
      {"end(error, 'TD(0)') < end(error, 'Surr 10')", HVI_FALSE},
      {"end(error, 'TD(0)') > end(error, 'Surr 10')", HVI_TRUE},
      {"end(error, 'Surr 50') < end(error, 'Surr 10')", HVI_UNDECIDED},
      {"end(error, 'Surr 50') <= 1.1 * end(error, 'Surr 10')", HVI_TRUE},
      {"end(error, 'Surr 50') / 1.1 <= end(error, 'Surr 10')", HVI_TRUE},
      {"1.1 * end(error, 'Surr 10') >= end(error, 'Surr 50')", HVI_TRUE},
      {"end(error, 'Surr 50') <= 0.9 * end(error, 'Surr 10')", HVI_FALSE},
      {"end(error, 'TD(0)') < 2 * end(error, 'Surr 10')", HVI_FALSE},
      {"end(error, 'TD(0)') < 2 * 2 * end(error, 'Surr 10')", HVI_TRUE},
      {"end(error, 'TD(0)') < 2.5 * end(error, 'Surr 10')", HVI_UNDECIDED},
      /* a run diverged */
      {"end(error, 'TD(0)') < end(error, 'lost')", HVI_UNDECIDED},
      {"end(error, 'Surr 10') < end(error, 'lost')", HVI_TRUE},
      {"end(error, 'lost') < end(error, 'Surr 10')", HVI_FALSE},
      {"end(error, 'lost') < 9 * end(error, 'Surr 10')", HVI_FALSE},
      {"end(error, 'lost') < end(error, 'lost')", HVI_UNDECIDED},
      /* a number counts on every seed */
      {"end(error, 'TD(0)') < 2000", HVI_TRUE},
      {"2 * end(error, 'TD(0)') < 1500", HVI_FALSE},
      {"1000 < end(error, 'TD(0)')", HVI_UNDECIDED},
      {"slope(error, 'TD(0)', 0, 40) < 0", HVI_TRUE},
      {"slope(error, 'TD(0)', 0, 40) < -1", HVI_FALSE},
      {"2 * slope(error, 'TD(0)', 0, 40) < -0.08", HVI_TRUE},
      /* false wins, then what is not decided */
      {"1 < 2 and end(error, 'Surr 50') < end(error, 'Surr 10')", HVI_UNDECIDED},
      {"2 < 1 and end(error, 'Surr 50') < end(error, 'Surr 10')", HVI_FALSE},
      {"end(error, 'Surr 50') < end(error, 'Surr 10') or 1 < 2", HVI_TRUE},
      {"end(error, 'Surr 50') < end(error, 'Surr 10') or 2 < 1", HVI_UNDECIDED},
      {"not end(error, 'Surr 50') < end(error, 'Surr 10')", HVI_UNDECIDED},
  };
  for (size_t i = 0; i < COLUMNS(cases); i++) expect_truth(&scope, cases[i].text, cases[i].truth);
}

/* Noise makes errors look alike: 1000 and 400 of which 399 are noise. */
static void noise(void **state) {
  (void)state;
  static const char text[] = "end(error, 'Surr 10') < 0.1 * end(error, 'TD(0)')";
  const struct hvi_constant with[] = {{"error_noise", 399.0}, {NULL, 0.0}};
  hvi_scope in = scope;
  expect_truth(&in, text, HVI_FALSE);
  in.constants = with;
  hvi_findings f;
  eval(text, &in, &f);
  double d[SEEDS];
  for (size_t s = 0; s < SEEDS; s++)
    d[s] = log(fmax(end_of(1, s) - 399.0, 0.05 * 399.0)) - log(end_of(0, s) - 399.0);
  assert_string_equal(f.items[4].name, "Surr 10 over TD(0)");
  check_near(f.items[4].value, exp(hvi_stats_mean(d, SEEDS)), 1e-12);
  expect_truth(&in, text, HVI_TRUE);
}

static void groups_of_methods(void **state) {
  (void)state;
  double y[SEEDS];
  for (size_t s = 0; s < SEEDS; s++) y[s] = end_of(1, s);
  check_sample("lowest(error, 'surrogate')", y, 1e-12);
  hvi_findings f;
  hvi_quantity q = eval("best(error, 'surrogate', outer, 20)", &scope, &f);
  assert_string_equal(f.items[0].name, "Surr 10");
  hvi_quantity_free(&q);
  /* by seconds TD(0) is ahead of λ, and of what diverges */
  q = eval("best(error, 'others', seconds, 4)", &scope, &f);
  assert_string_equal(f.items[0].name, "TD(0)");
  check_near(q.sample[2], end_of(0, 2), 1e-9);
  hvi_quantity_free(&q);
  q = eval("lowest(error, 'others')", &scope, &f);
  assert_string_equal(f.items[0].name, "λ = 0.9");
  hvi_quantity_free(&q);
  expect_truth(&scope, "lowest(error, 'surrogate') < lowest(error, 'others')", HVI_TRUE);
}

static void findings(void **state) {
  (void)state;
  static const char *const names[] = {"Surr 50",
                                      "Surr 50, half width",
                                      "λ = 0.9",
                                      "λ = 0.9, half width",
                                      "Surr 50 over λ = 0.9",
                                      "Surr 50 over λ = 0.9, lower end",
                                      "Surr 50 over λ = 0.9, upper end",
                                      "Surr 50: gap",
                                      "Surr 50: gap, half width",
                                      "Surr 50 over 3",
                                      "Surr 50 over 3, lower end",
                                      "Surr 50 over 3, upper end",
                                      "at(error, 'Surr 50', outer, 0)",
                                      "at(error, 'Surr 50', outer, 0), half width"};
  hvi_findings f;
  eval("end(error, 'Surr 50') < 1.05 * end(error, 'λ = 0.9') and end(gap, 'Surr 50') < 3 and "
       "mean(at(error, 'Surr 50', outer, 0)) > mean(end(error, 'Surr 50'))",
       &scope, &f);
  assert_int_equal(f.count, COLUMNS(names));
  for (size_t i = 0; i < f.count; i++) assert_string_equal(f.items[i].name, names[i]);
  check_near(f.items[12].value, 1e5, 0.0);
  double y[SEEDS];
  for (size_t s = 0; s < SEEDS; s++) y[s] = end_of(2, s);
  check_near(f.items[0].value, hvi_stats_mean(y, SEEDS), 1e-9);
  check_near(f.items[1].value, hvi_stats_interval95(y, SEEDS), 1e-9);
  for (size_t s = 0; s < SEEDS; s++) y[s] = log(end_of(2, s)) - log(end_of(3, s));
  const double m = hvi_stats_mean(y, SEEDS), half = hvi_stats_interval95(y, SEEDS);
  check_near(f.items[4].value, exp(m), 1e-12);
  check_near(f.items[5].value, exp(m - half), 1e-12);
  check_near(f.items[6].value, exp(m + half), 1e-12);
  /* of numbers, and of more than there is place for */
  const hvi_scope in = scope_of(1);
  eval("end(dist2, 'TD(0)') < end(dist2, 'Surr 10')", &in, &f);
  assert_int_equal(f.count, 2);
  char text[40 * HVI_MOST_FINDINGS] = "";
  for (size_t i = 0; i < HVI_MOST_FINDINGS; i++)
    sprintf(text + strlen(text), "%sat(error, 'lost', outer, %zu)", i ? " + " : "0 < ", i);
  eval(text, &scope, &f);
  assert_int_equal(f.count, HVI_MOST_FINDINGS);
}

static void expect_error(const char *text, const char *words) {
  hvi_quantity q;
  hvi_error err = {HVI_OK, ""};
  hvi_findings f;
  const hvi_status status = hvi_expression_eval(&q, text, &scope, &f, "f.yaml:12", &err);
  if (!status) fail_msg("%s: accepted", text);
  check_error(status, HVI_ERROR_INPUT, &err, words);
  check_error(status, HVI_ERROR_INPUT, &err, "f.yaml:12: ");
  assert_null(q.sample);
}

static void errors(void **state) {
  (void)state;
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"end(eror, 'TD(0)')",
       "unknown column 'eror' in 'end(eror, 'TD(0)')'; did you mean 'error'?"},
      {"end(error, 'TD(1)')", "unknown method 'TD(1)'"},
      {"end(error, 'TD(1)')", "did you mean 'TD(0)'?"},
      {"end(error, 'gone')", "'gone' has no rows"},
      {"edn(error, 'TD(0)')", "unknown function 'edn'"},
      {"gama", "did you mean 'gamma'?"},
      {"theroy.rho", "unknown table 'theroy'"},
      {"max(theory.ro)", "did you mean 'rho'?"},
      {"error", "column 'error' is not one number"},
      {"lowest(error, 'surogate')", "unknown group 'surogate'"},
      {"lowest(error, 'none')", "no method of group 'none'"},
      {"max(error, method == 'Surr 5')", "no row can have 'Surr 5'"},
      {"max(error * theory.rho)",
       "'rho' is a column of 'theory', and the rows are those of 'curves'"},
      {"max(error / max(error))", "inside 'max'"},
      {"max(error / mean(end(error, 'TD(0)')))", "inside 'max'"},
      {"max(method)", "the first argument of 'max' is a number"},
      {"max(error < 3)", "the first argument of 'max' is a number"},
      {"max(error, 3)", "the second argument of 'max' is a condition"},
      {"max(error, outer)", "the second argument of 'max' is a condition"},
      {"every(error)", "the first argument of 'every' is a condition"},
      {"every(1 < 2)", "'every' goes over rows"},
      {"mean(3, 1 < 2)", "'mean' goes over rows"},
      {"at(error, 'TD(0)', theory.rho, 1)", "columns of two tables"},
      {"at(error, 'TD(0)', outer, end(error, 'TD(0)'))", "a number is needed"},
      {"slope(error, 'TD(0)', 0, 1, 0)", "a number from 1"},
      {"end(theory.rho, 'TD(0)')", "unknown column 'method'"},
      {"end(error, 'TD(0)') == 3", "samples are not compared by '=='"},
      {"1 < 2 < 3", "'< 3' does not belong here"},
      {"(1 < 2) < 3", "a number is needed, not a truth"},
      {"1 + 'a'", "a number is needed, not a word"},
      {"'a'", "a word is no value"},
      {"'a' < 'b'", "a number is needed, not a word"},
      {"1 and 2", "'and' takes truths"},
      {"not 3", "'not' takes truths"},
      {"", "a value is missing before the end"},
      {"1 +", "a value is missing before the end"},
      {"(1", "')' is missing before the end"},
      {"max(error", "')' is missing"},
      {"1 2", "'2' does not belong here"},
      {"end(error)", "',' is missing before ')'"},
      {"end(error, TD)", "a name in quotes is missing"},
      {"end(error, 'TD", "a quote is not closed"},
      {"end(3, 'TD')", "a name is missing"},
      {".", "'.' is no number"},
      {"1 + \x01\n", "a value is missing"},
      {"end(error, 'a\nb')", "unknown method 'a b'"},
      {"end(error, 'one two three four five six seven eight nine ten eleven twelve thirteen')",
       "63 bytes"},
  };
  for (size_t i = 0; i < COLUMNS(cases); i++) expect_error(cases[i].text, cases[i].words);
}

/* A table of one row a method has ends, and no steps. */
static void without_steps(void **state) {
  (void)state;
  static const hvi_column columns[] = {{"method", methods}, {"group", groups}, {"seconds", NULL}};
  static const char *const steps[] = {"lowest(seconds, 'others')", "rise(seconds, 'TD(0)')",
                                      "slope(seconds, 'TD(0)', 0, 1)",
                                      "typical(seconds, 'TD(0)', 0, 1)"};
  hvi_table t;
  check_ok(hvi_table_new(&t, "times", columns, COLUMNS(columns), NULL), NULL);
  for (size_t m = 0; m < 3; m++)
    check_ok(hvi_table_add(&t, (const double[]){(double)m, 0.0, 1.0 + (double)m}, NULL), NULL);
  const hvi_scope in = {.tables = &t, .table_count = 1, .own = &t};
  check_near(number_in(&in, "end(seconds, 'Surr 50') - end(seconds, 'TD(0)')"), 2.0, 0.0);
  check_near(number_in(&in, "finish(seconds, 'Surr 10')"), 2.0, 0.0);
  check_near(number_in(&in, "best(seconds, 'others', seconds, 9)"), 1.0, 0.0);
  for (size_t i = 0; i < COLUMNS(steps); i++) {
    hvi_quantity q;
    hvi_error err = {HVI_OK, ""};
    check_error(hvi_expression_eval(&q, steps[i], &in, NULL, "here", &err), HVI_ERROR_INPUT, &err,
                "unknown column 'outer'");
  }
  hvi_table_free(&t);
}

static void deep(void **state) {
  (void)state;
  char text[4096];
  static const char *const parts[] = {"(", "not ", "-", "2^", "abs(", "max("};
  for (size_t k = 0; k < COLUMNS(parts); k++) {
    text[0] = '\0';
    while (strlen(text) + 8 < sizeof text) strcat(text, parts[k]);
    expect_error(text, "");
  }
  /* but these are fine */
  text[0] = '\0';
  for (size_t i = 0; i < 1000; i++) strcat(text, "1+");
  strcat(text, "1");
  check_near(number_of(text), 1001.0, 0.0);
}

static void memory_runs_out(void **state) {
  (void)state;
  static const char text[] =
      "lowest(error, 'surrogate') < 2 * end(error, 'TD(0)') and max(error / 2, outer > 3) > 0 and "
      "mean(typical(gap, 'lost', 0, 9)) > 0 and half(abs(end(error, 'TD(0)') - end(error, 'Surr "
      "10'))) > 0";
  for (size_t k = 0; k < 2; k++)
    for (size_t allowed = 0;; allowed++) {
      hvi_quantity q;
      hvi_findings f;
      hvi_error err = {HVI_OK, ""};
      allocations_left = allowed;
      const hvi_status status =
          hvi_expression_eval(&q, k ? "abs(end(error, 'lost'))" : text, &scope, &f, "here", &err);
      allocations_left = (size_t)-1;
      if (!status) {
        assert_true(allowed > 4);
        hvi_quantity_free(&q);
        break;
      }
      assert_int_equal(status, HVI_ERROR_MEMORY);
      assert_int_equal(err.status, HVI_ERROR_MEMORY);
      assert_null(q.sample);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arithmetic),
                                     cmocka_unit_test(truths),
                                     cmocka_unit_test(over_rows),
                                     cmocka_unit_test(filtered),
                                     cmocka_unit_test(samples),
                                     cmocka_unit_test(infinite),
                                     cmocka_unit_test(numbers_of_curves),
                                     cmocka_unit_test(compared),
                                     cmocka_unit_test(noise),
                                     cmocka_unit_test(groups_of_methods),
                                     cmocka_unit_test(findings),
                                     cmocka_unit_test(errors),
                                     cmocka_unit_test(without_steps),
                                     cmocka_unit_test(deep),
                                     cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}

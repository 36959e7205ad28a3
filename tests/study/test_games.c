/* Step sizes that are tuned, budgets of gradients, and ensembles pair by pair, against plain loops that
 * share no code with the program. */
#include "study/running.h"

#include <math.h>

enum { STEPS = 200, LEVELS = 7, INSTANCES = 60 };

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

/* Hidden matching pennies and GD from its formulas: the squared distance after so many outer steps, and
 * the largest sqrt(l / l0) of them, where the target can be reached. */
static double play(double eta, size_t inner, size_t steps, double *alpha_worst) {
  static const double a[2] = {0.5, 0.7};
  double theta[2] = {1.25, 2.25}, z[2];
  *alpha_worst = 0.0;
  for (size_t t = 0; t <= steps; t++) {
    for (size_t i = 0; i < 2; i++)
      z[i] = sigmoid(a[i] * theta[i] > 0.0 ? a[i] * theta[i] : expm1(a[i] * theta[i]));
    if (t == steps) break;
    const double f[2] = {-2.0 * (2.0 * z[1] - 1.0) + 0.75 * (z[0] - 0.5),
                         2.0 * (2.0 * z[0] - 1.0) + 0.75 * (z[1] - 0.5)};
    double before = 0.0, after = 0.0;
    for (size_t i = 0; i < 2; i++) {
      const double target = z[i] - eta * f[i];
      for (size_t m = 0; m <= inner; m++) {
        const double x = a[i] * theta[i], y = sigmoid(x > 0.0 ? x : expm1(x));
        if (m == 0) before += (y - target) * (y - target);
        if (m == inner) after += (y - target) * (y - target);
        if (m < inner) theta[i] -= (y - target) * y * (1.0 - y) * a[i] * (x > 0.0 ? 1.0 : exp(x));
      }
    }
    *alpha_worst = fmax(*alpha_worst, sqrt(after / before));
  }
  return (z[0] - 0.5) * (z[0] - 0.5) + (z[1] - 0.5) * (z[1] - 0.5);
}

static void tuned(const char *out) {
  finish_study("id: tuned\ntitle: t\nkind: trajectory\nproblem: pennies\n"
               "quick: {iterations: 200, measures: 4}\n"
               "grid: {inner: [3, 30], eta_low: 0.01, eta_high: 10, eta_levels: 7}\n"
               "methods: [{label: GD, method: gd, inner_lr: 1}]\n",
               (hvi_study_settings){.out = out});
}

static void every_eta_ends_where_the_formulas_do(void **state) {
  tuned(*state);
  csv t = read_csv(in(*state, "tuned/tried.csv")), s = read_csv(in(*state, "tuned/summary.csv"));
  assert_int_equal(t.rows, 2 * LEVELS);
  assert_int_equal(s.rows, 2);
  for (size_t k = 0; k < 2; k++) {
    double best = INFINITY, best_eta = NAN;
    for (size_t i = 0; i < LEVELS; i++) {
      const size_t row = k * LEVELS + i;
      const double eta = pow(10.0, -2.0 + 0.5 * (double)i);
      double alpha;
      const double end = play(eta, k ? 30 : 3, STEPS, &alpha);
      check_near(number_in_csv(&t, row, "eta"), eta, 1e-12 * eta);
      /* where it wanders about, rounding grows */
      check_near(number_in_csv(&t, row, "dist2"), end, end < 0.1 ? 1e-6 * end + 1e-25 : 0.5);
      if (end < 0.1) check_near(number_in_csv(&t, row, "alpha_worst"), alpha, 1e-6);
      if (end < best) best = end, best_eta = eta;
    }
    check_near(number_in_csv(&s, k, "eta"), best_eta, 1e-12 * best_eta);
    check_near(number_in_csv(&s, k, "dist2"), best, 1e-6 * best + 1e-25);
  }
  free_csv(&t);
  free_csv(&s);
  csv trace = read_csv(in(*state, "tuned/trace-gd.csv"));
  assert_int_equal(trace.rows, 2 * 5); /* 0, 50, ..., 200 */
  free_csv(&trace);
}

/* mu = 0.75 and L^2 = 16.5625; alpha is above mu / L, so that nothing is covered. */
static void the_theorem_is_the_printed_one(void **state) {
  tuned(*state);
  csv t = read_csv(in(*state, "tuned/tried.csv"));
  for (size_t i = 0; i < t.rows; i++) {
    const double eta = number_in_csv(&t, i, "eta"), alpha = number_in_csv(&t, i, "alpha_worst");
    const double rho = 1.0 - 2.0 * eta * (0.75 - alpha * sqrt(16.5625)) +
                       (1.0 + alpha * alpha) * eta * eta * 16.5625;
    check_near(number_in_csv(&t, i, "rho"), rho, 1e-9 * rho);
    assert_true(rho > 1.0);
  }
  for (size_t c = 0; c < t.columns; c++) assert_string_not_equal(t.cell[c], "covered");
  free_csv(&t);
  /* one exact step is alpha = 0, and covered below 2 mu / L^2 = 0.0906 */
  finish_study("id: exact\ntitle: t\nkind: trajectory\nproblem: pennies\nquick: {iterations: 1}\n"
               "grid: {eta_low: 0.001, eta_high: 1, eta_levels: 31}\n"
               "methods: [{label: exact, method: gn, inner: 9}]\n",
               (hvi_study_settings){.out = *state});
  t = read_csv(in(*state, "exact/tried.csv"));
  for (size_t i = 0; i < t.rows; i++) {
    const double eta = number_in_csv(&t, i, "eta");
    if (number_in_csv(&t, i, "alpha_worst") > 1e-6) continue; /* the target cannot be reached */
    assert_int_equal(*cell_of(&t, i, "covered") == '9', eta < 2.0 * 0.75 / 16.5625);
    /* F turns and stretches alike everywhere, so the bound is what happens */
    check_near(number_in_csv(&t, i, "dist2"), number_in_csv(&t, i, "bound"), 1e-12);
  }
  free_csv(&t);
}

static void a_budget_of_gradients_ends_a_run(void **state) {
  finish_study("id: budget\ntitle: t\nkind: trajectory\nproblem: pennies\nquick: {iterations: 99}\n"
               "grid: {view: [{view: all}, {view: few, gradients: 60}]}\nsplit: view method\n"
               "methods: [{label: GD, method: gd, eta: 0.1, inner: 7, inner_lr: 1}]\n",
               (hvi_study_settings){.out = *state});
  csv all = read_csv(in(*state, "budget/trace-all-gd.csv"));
  csv few = read_csv(in(*state, "budget/trace-few-gd.csv"));
  assert_int_equal(all.rows, 100);
  assert_int_equal(few.rows,
                   10); /* 63 gradients in 9 steps are the first that are not fewer than 60 */
  for (size_t i = 0; i < few.rows; i++)
    assert_string_equal(cell_of(&few, i, "dist2"), cell_of(&all, i, "dist2"));
  free_csv(&all);
  free_csv(&few);
}

static void etas_that_cannot_be_tried_are_refused(void **state) {
  static const char *const grids[] = {"eta_low: 0.1", "eta_low: 1, eta_high: 1, eta_levels: 3",
                                      "eta_low: 0.1, eta_high: 1, eta_levels: 1"};
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    char text[400];
    hvi_study *s = NULL;
    hvi_claims claims;
    hvi_error err = {HVI_OK, ""};
    bool stopped;
    snprintf(text, sizeof text,
             "id: a\ntitle: t\nkind: trajectory\nproblem: pennies\nquick: {iterations: 9}\n"
             "grid: {%s}\nmethods: [{label: a, method: gd}]\n",
             grids[i]);
    check_ok(hvi_study_parse(&s, text, "test", &err), &err);
    const hvi_status status =
        hvi_study_run(&claims, &stopped, s, &(hvi_study_settings){.out = *state}, &err);
    check_error(status, HVI_ERROR_INPUT, &err, "eta_low, eta_high and eta_levels");
    hvi_study_free(s);
  }
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double end_of(const csv *ends, size_t method, size_t instance) {
  return number_in_csv(ends, method * INSTANCES + instance, "dist2");
}

/* Share and interval of the instances on which method a ends nearer than b, by resampling. */
static void check_pair(const csv *pairs, size_t row, const csv *ends, size_t a, size_t b) {
  enum { RESAMPLES = 4000 };
  static double shares[RESAMPLES];
  double nearer = 0.0, differ = 0.0;
  uint64_t random = 12345;
  int sign[INSTANCES];
  for (size_t i = 0; i < INSTANCES; i++) {
    const double x = fmax(end_of(ends, a, i), 1e-26), y = fmax(end_of(ends, b, i), 1e-26);
    nearer += x < y;
    if (x != y) sign[(size_t)differ++] = x < y;
  }
  for (size_t r = 0; r < RESAMPLES; r++) {
    shares[r] = 0.0;
    for (size_t i = 0; i < (size_t)differ; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      shares[r] += sign[(random >> 33) % (size_t)differ] / differ;
    }
  }
  qsort(shares, RESAMPLES, sizeof *shares, ascending);
  check_near(number_in_csv(pairs, row, "nearer"), nearer / INSTANCES, 1e-12);
  check_near(number_in_csv(pairs, row, "tied"), 1.0 - differ / INSTANCES, 1e-12);
  check_near(number_in_csv(pairs, row, "share"), nearer / differ, 1e-12);
  check_near(number_in_csv(pairs, row, "share_low"), shares[RESAMPLES / 40], 1.5 / differ);
  check_near(number_in_csv(pairs, row, "share_high"), shares[RESAMPLES - RESAMPLES / 40],
             1.5 / differ);
}

static void ensembles_are_compared_instance_by_instance(void **state) {
  finish_study("id: many\ntitle: t\nkind: ensemble\nproblem: pennies\nseed: 1003\n"
               "quick: {iterations: 100, instances: 60}\nmethods:\n"
               "  - {label: LM, method: lm, eta: 0.1, inner: 1, damping: 0.02}\n"
               "  - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1}\n"
               "  - {label: GDA, method: gda, eta: 0.1, inner_lr: 1}\n",
               (hvi_study_settings){.out = *state});
  csv pairs = read_csv(in(*state, "many/pairs.csv")), ends = read_csv(in(*state, "many/ends.csv"));
  assert_int_equal(pairs.rows, 6);
  assert_int_equal(ends.rows, 3 * INSTANCES);
  static const size_t order[6][2] = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
  for (size_t i = 0; i < 6; i++) check_pair(&pairs, i, &ends, order[i][0], order[i][1]);
  assert_string_equal(cell_of(&pairs, 1, "method"), "LM");
  assert_string_equal(cell_of(&pairs, 1, "other"), "GDA");
  free_csv(&pairs);
  csv rows = read_csv(in(*state, "many/ensemble-gd-10.csv"));
  double sorted[INSTANCES], solved = 0.0;
  for (size_t i = 0; i < INSTANCES; i++) sorted[i] = end_of(&ends, 1, i);
  qsort(sorted, INSTANCES, sizeof *sorted, ascending);
  for (size_t i = 0; i < INSTANCES; i++) solved += sorted[i] < 1e-6;
  const size_t last = rows.rows - 1;
  check_near(number_in_csv(&rows, last, "median"), (sorted[29] + sorted[30]) / 2.0, 1e-15);
  check_near(number_in_csv(&rows, last, "solved"), solved / INSTANCES, 1e-15);
  /* ranks 22 and 38 of Bin(60, 1/2), between which lies the median */
  const double low = number_in_csv(&rows, last, "median_low");
  const double high = number_in_csv(&rows, last, "median_high");
  assert_true(low >= sorted[20] && low <= sorted[23]);
  assert_true(high >= sorted[36] && high <= sorted[39]);
  free_csv(&rows);
  free_csv(&ends);
}

/* One eta for all instances: the one that solves most of them. */
static void an_ensemble_takes_the_eta_that_solves_most(void **state) {
  finish_study("id: most\ntitle: t\nkind: ensemble\nproblem: pennies\nseed: 1003\n"
               "quick: {iterations: 200, instances: 60}\n"
               "grid: {eta_low: 0.01, eta_high: 10, eta_levels: 7}\n"
               "methods: [{label: GDA, method: gda, inner_lr: 1}]\n",
               (hvi_study_settings){.out = *state});
  csv tried = read_csv(in(*state, "most/tried-gda.csv"));
  csv rows = read_csv(in(*state, "most/ensemble-gda.csv"));
  double most = -1.0, median = INFINITY, eta = NAN;
  assert_int_equal(tried.rows, LEVELS);
  for (size_t i = 0; i < LEVELS; i++) {
    const double solved = number_in_csv(&tried, i, "solved"),
                 m = number_in_csv(&tried, i, "median");
    if (solved < most || (solved == most && m >= median)) continue;
    most = solved, median = m, eta = number_in_csv(&tried, i, "eta");
  }
  assert_true(most > 0.0);
  check_near(number_in_csv(&rows, rows.rows - 1, "eta"), eta, 0.0);
  check_near(number_in_csv(&rows, rows.rows - 1, "solved"), most, 0.0);
  free_csv(&tried);
  free_csv(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_eta_ends_where_the_formulas_do),
      cmocka_unit_test(the_theorem_is_the_printed_one),
      cmocka_unit_test(a_budget_of_gradients_ends_a_run),
      cmocka_unit_test(etas_that_cannot_be_tried_are_refused),
      cmocka_unit_test(ensembles_are_compared_instance_by_instance),
      cmocka_unit_test(an_ensemble_takes_the_eta_that_solves_most),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

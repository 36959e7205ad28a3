/* Fits, curves and the judges of single games, on curves whose answers are known. */
#include "report/folder.h"

#include "experiments/curve.h"
#include "experiments/rps_judge.h"

#include <math.h>

enum { ROWS = 101 };

static void fill(double *y, double start, double decades) {
  for (size_t i = 0; i < ROWS; i++) y[i] = start * pow(10, decades * (double)i);
}

static void a_geometric_curve_is_a_line(void **state) {
  (void)state;
  double y[ROWS];
  fill(y, 0.3, -0.02);
  hvi_fit fit = hvi_fit_log(y, 0, ROWS - 1, 0);
  assert_true(fabs(fit.slope + 0.02) < 1e-12 && fit.r2 > 1 - 1e-12);
  assert_int_equal(fit.points, ROWS);
}

static void noise_lowers_the_fit(void **state) {
  (void)state;
  double y[ROWS];
  fill(y, 1, 0);
  for (size_t i = 0; i < ROWS; i++) y[i] = i % 2 ? 10 : 1;
  assert_true(hvi_fit_log(y, 0, ROWS - 1, 0).r2 < 0.1);
}

static void values_at_the_floor_are_left_out(void **state) {
  (void)state;
  double y[ROWS];
  fill(y, 1, -1);
  for (size_t i = 20; i < ROWS; i++) y[i] = 1e-20;
  hvi_fit fit = hvi_fit_log(y, 0, ROWS - 1, 1e-19);
  assert_true(fabs(fit.slope + 1) < 1e-12);
  assert_int_equal(fit.points, 19);
  assert_true(isnan(hvi_fit_log(y, 0, 1, 0).r2));
}

static void a_run_that_ended_goes_on_as_it_ended(void **state) {
  (void)state;
  double dist2[] = {1, 0.5, 0.25}, ratio[] = {NAN, 0.2, 0.4};
  hvi_curve c = {.rows = 3, .dist2 = dist2, .ratio = ratio, .outcome = HVI_STALLED};
  assert_true(hvi_curve_at(&c, 1) == 0.5 && hvi_curve_at(&c, 1000) == 0.25);
  assert_false(hvi_curve_diverged(&c));
  assert_true(fabs(hvi_curve_ratio(&c, 1, 10) - 0.3) < 1e-15);
  c.outcome = HVI_DIVERGED;
  assert_true(isinf(hvi_curve_at(&c, 1000)) && hvi_curve_diverged(&c));
  dist2[2] = 1.5;
  c.outcome = HVI_LIMIT;
  assert_true(hvi_curve_diverged(&c));
  assert_true(isnan(hvi_curve_at(NULL, 3)));
}

/* PHGD, LM(1), LM(5), GD(10), GD(100), GDA as the paper describes them. */
static void as_in_the_paper(double y[HVI_RPS_METHODS][ROWS], hvi_rps_game *game) {
  static const double decades[] = {-0.05, -0.06, -0.03, -0.07, -0.02};
  game->rows = ROWS;
  for (size_t k = 0; k < 5; k++) fill(y[k], 0.1, decades[k]);
  for (size_t i = 0; i < ROWS; i++) y[5][i] = i % 20 < 10 ? 0.05 : 0.3;
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) game->dist2[k] = y[k];
}

static size_t count_holding(const hvi_rps_game *game, double margin) {
  bool holds[HVI_RPS_CLAIMS];
  hvi_rps_measures m = hvi_rps_measure(game);
  hvi_rps_judge(holds, &m, margin);
  size_t n = 0;
  for (size_t k = 0; k < HVI_RPS_CLAIMS; k++) n += holds[k];
  return n;
}

static void the_described_game_satisfies_everything(void **state) {
  (void)state;
  double y[HVI_RPS_METHODS][ROWS];
  hvi_rps_game game;
  as_in_the_paper(y, &game);
  assert_int_equal(count_holding(&game, 1), HVI_RPS_CLAIMS);
  assert_int_equal(count_holding(&game, 10), HVI_RPS_CLAIMS);
  hvi_rps_measures m = hvi_rps_measure(&game);
  assert_true(fabs(m.slope[0] + 0.05 / HVI_RPS_EVERY) < 1e-12);
  assert_true(fabs(m.rise[5] - 6) < 1e-12 && m.rise[0] == 1);
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
    double y[HVI_RPS_METHODS][ROWS];
    hvi_rps_game game;
    as_in_the_paper(y, &game);
    fill(y[cases[i].method], cases[i].decades < 0 ? 0.1 : 0.5, cases[i].decades);
    assert_int_equal(count_holding(&game, 1), HVI_RPS_CLAIMS - cases[i].fails);
  }
}

static void a_margin_asks_for_more(void **state) {
  (void)state;
  double y[HVI_RPS_METHODS][ROWS];
  hvi_rps_game game;
  as_in_the_paper(y, &game);
  fill(y[4], 0.1, -0.0695); /* GD(100) is behind GD(10), but by less than a factor of ten */
  assert_int_equal(count_holding(&game, 1), HVI_RPS_CLAIMS);
  assert_int_equal(count_holding(&game, 10), HVI_RPS_CLAIMS - 1);
}

static void divergence_is_never_a_success(void **state) {
  (void)state;
  double y[HVI_RPS_METHODS][ROWS];
  hvi_rps_game game;
  as_in_the_paper(y, &game);
  for (size_t i = 50; i < ROWS; i++) y[0][i] = INFINITY;
  assert_int_equal(count_holding(&game, 1), HVI_RPS_CLAIMS - 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_geometric_curve_is_a_line),
      cmocka_unit_test(noise_lowers_the_fit),
      cmocka_unit_test(values_at_the_floor_are_left_out),
      cmocka_unit_test(a_run_that_ended_goes_on_as_it_ended),
      cmocka_unit_test(the_described_game_satisfies_everything),
      cmocka_unit_test(each_claim_can_fail),
      cmocka_unit_test(a_margin_asks_for_more),
      cmocka_unit_test(divergence_is_never_a_success),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

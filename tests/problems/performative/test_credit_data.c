/* Credit records: the synthetic ones, a small file in the layout of Kaggle's, and bad files. */
#include "problems/performative/credit.h"

#include "problems/performative/problems.h"

#include <stdio.h>

enum { WIDTH = HVI_CREDIT_WIDTH };

static const char folder[] = HVI_SOURCE_DIR "/tests/data/credit/";

/* Mean 0 and variance 1 in every feature, a bias of ones, and X'X / n as stored. */
static void check_standardised(const hvi_credit_data *d) {
  double product[WIDTH * WIDTH] = {0.0};
  for (size_t i = 0; i < d->rows; i++) {
    const double *x = d->x + i * WIDTH;
    for (size_t k = 0; k < WIDTH * WIDTH; k++) product[k] += x[k / WIDTH] * x[k % WIDTH];
    assert_true(x[HVI_CREDIT_BIAS] == 1.0);
    assert_true(d->y[i] == 0.0 || d->y[i] == 1.0);
  }
  for (size_t k = 0; k < WIDTH * WIDTH; k++) product[k] /= (double)d->rows;
  check_close(product, d->product, WIDTH * WIDTH, 1e-9);
  for (size_t j = 0; j < HVI_CREDIT_FEATURES; j++) {
    check_near(product[j * WIDTH + HVI_CREDIT_BIAS], 0.0, 1e-9);
    check_near(product[j * WIDTH + j], 1.0, 1e-9);
  }
}

static void synthetic_records(void **state) {
  (void)state;
  hvi_credit_data d, again, other;
  hvi_error err;
  check_ok(hvi_credit_data_new(&d, "synthetic", 18357, 1, &err), &err);
  assert_int_equal(d.rows, 18357);
  double defaults = 0.0;
  for (size_t i = 0; i < d.rows; i++) defaults += d.y[i];
  assert_true(defaults == 8357.0);
  check_standardised(&d);
  check_ok(hvi_credit_data_new(&again, "synthetic", 18357, 1, &err), &err);
  check_same_bits(d.x, again.x, d.rows * WIDTH);
  check_ok(hvi_credit_data_new(&other, "synthetic", 18357, 2, &err), &err);
  assert_true(memcmp(d.x, other.x, d.rows * WIDTH * sizeof(double)) != 0);
  hvi_credit_data_clear(&d);
  hvi_credit_data_clear(&again);
  hvi_credit_data_clear(&other);
}

/* 43 rows, three of them with NA. Row 2 of the file is row 1 of the data. */
static void file_as_distributed(void **state) {
  (void)state;
  char path[256];
  hvi_credit_data d;
  hvi_error err;
  snprintf(path, sizeof path, "%stiny.csv", folder);
  check_ok(hvi_credit_data_new(&d, path, 0, 0, &err), &err);
  assert_int_equal(d.rows, 40);
  check_standardised(&d);
  assert_true(d.y[0] == 1.0);
  assert_true(d.y[1] == 0.0);
  assert_true(d.y[2] == 0.0);
  /* the ages 80, 83, 52 of the first three rows, whatever the mean and the deviation are */
  const double *age = d.x + 1;
  check_near((age[0] - age[WIDTH]) / (age[0] - age[2 * WIDTH]), (80.0 - 83.0) / (80.0 - 52.0),
             1e-12);
  hvi_credit_data_clear(&d);
}

/* All defaults and the first 10,000 others, standardised before the choice. */
static void most_others_are_left_out(void **state) {
  (void)state;
  char path[] = "/tmp/hvi-credit-XXXXXX";
  FILE *f = fdopen(mkstemp(path), "w");
  assert_non_null(f);
  fprintf(f, "\"\",SeriousDlqin2yrs,RevolvingUtilizationOfUnsecuredLines,age,"
             "NumberOfTime30-59DaysPastDueNotWorse,DebtRatio,MonthlyIncome,"
             "NumberOfOpenCreditLinesAndLoans,NumberOfTimes90DaysLate,"
             "NumberRealEstateLoansOrLines,NumberOfTime60-89DaysPastDueNotWorse,"
             "NumberOfDependents\n");
  enum { ROWS = 12500 };
  for (int i = 0; i < ROWS; i++) {
    fprintf(f, "%d,%d", i + 1, i % 100 == 99);
    for (int j = 0; j < HVI_CREDIT_FEATURES; j++) fprintf(f, ",%d", j == 1 ? i : (i + j) % 7);
    fprintf(f, "\n");
  }
  fclose(f);
  hvi_credit_data d;
  hvi_error err;
  check_ok(hvi_credit_data_new(&d, path, 0, 0, &err), &err);
  remove(path);
  assert_int_equal(d.rows, 10000 + 125);
  /* feature 1 is the row's number i: (i - mean) / sd over all rows */
  const double mean = 0.5 * (ROWS - 1), sd = sqrt((ROWS * (double)ROWS - 1.0) / 12.0);
  check_near(d.x[1], -mean / sd, 1e-9);
  check_near(d.x[(d.rows - 1) * WIDTH + 1], (ROWS - 1 - mean) / sd, 1e-9);
  assert_true(d.y[d.rows - 1] == 1.0);
  hvi_credit_data_clear(&d);
}

static void bad_files(void **state) {
  (void)state;
  static const struct {
    const char *name, *words;
  } cases[] = {
      {"all_missing", "every row lacks a value"},
      {"constant", "feature 9 is the same in all 41 complete rows"},
      {"empty", ":1: the file is empty"},
      {"extra_field", ":3: 13 fields, and the first line has 12"},
      {"header_only", "the file has a first line and no data"},
      {"huge", ":3: column 7 ('MonthlyIncome'): '1e999' is not a number"},
      {"label", ":4: SeriousDlqin2yrs is 2; it must be 0 or 1"},
      {"missing_column", ":1: there is no column 'NumberOfDependents'"},
      {"one_label", "all complete rows have the same label"},
      {"quote", ":3: a quoted field is not closed"},
      {"text", ":3: column 4 ('age'): 'old' is not a number"},
      {"truncated", ":12: 9 fields, and the first line has 12"},
  };
  static const char *const problems[] = {"credit", "credit-rir"};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    char path[256];
    hvi_problem *p;
    hvi_error err;
    snprintf(path, sizeof path, "%sbad/%s.csv", folder, cases[i / 2].name);
    const hvi_option option = {"data", path};
    check_error(hvi_builtin_new(&p, problems[i % 2], &option, 1, 0, 0, &err), HVI_ERROR_INPUT, &err,
                cases[i / 2].words);
    assert_null(p);
  }
  hvi_credit_data d;
  assert_int_equal(hvi_credit_data_new(&d, "/nowhere/at/all.csv", 0, 0, NULL), HVI_ERROR_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(synthetic_records),
      cmocka_unit_test(file_as_distributed),
      cmocka_unit_test(most_others_are_left_out),
      cmocka_unit_test(bad_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

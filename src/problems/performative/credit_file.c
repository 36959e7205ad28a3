/* The Kaggle file: columns are found by their names, incomplete rows are left out. */
#include "base/error.h"
#include "base/memory.h"
#include "io/csv_table.h"
#include "problems/performative/credit_data.h"

#include <math.h>
#include <stdbool.h>

enum { WIDTH = HVI_CREDIT_WIDTH, LABEL = HVI_CREDIT_FEATURES, COLUMNS };

static const size_t max_bytes = (size_t)256 << 20;

/* The features in their order, then the label. */
static const char *const names[COLUMNS] = {"RevolvingUtilizationOfUnsecuredLines",
                                           "age",
                                           "NumberOfTime30-59DaysPastDueNotWorse",
                                           "DebtRatio",
                                           "MonthlyIncome",
                                           "NumberOfOpenCreditLinesAndLoans",
                                           "NumberOfTimes90DaysLate",
                                           "NumberRealEstateLoansOrLines",
                                           "NumberOfTime60-89DaysPastDueNotWorse",
                                           "NumberOfDependents",
                                           "SeriousDlqin2yrs"};

static hvi_status find_columns(size_t at[COLUMNS], const hvi_table *t, const char *path,
                               hvi_error *err) {
  for (size_t k = 0; k < COLUMNS; k++) {
    at[k] = hvi_table_column(t, names[k]);
    if (at[k] < t->columns) continue;
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "%s:1: there is no column '%s'; the file should be cs-training.csv of "
                         "\"Give Me Some Credit\"",
                         path, names[k]);
  }
  return HVI_OK;
}

/* One complete row into x[10] and y; false when a value is missing. */
static bool take_row(double *x, double *y, const double *row, const size_t at[COLUMNS]) {
  for (size_t k = 0; k < HVI_CREDIT_FEATURES; k++) {
    x[k] = row[at[k]];
    if (isnan(x[k])) return false;
  }
  *y = row[at[LABEL]];
  return !isnan(*y);
}

static hvi_status take_rows(hvi_credit_data *data, const hvi_table *t, const char *path,
                            hvi_error *err) {
  size_t at[COLUMNS];
  hvi_status status = find_columns(at, t, path, err);
  if (status) return status;
  data->rows = 0;
  data->x = hvi_alloc_doubles(t->rows * WIDTH);
  data->y = hvi_alloc_doubles(t->rows);
  if (!data->x || !data->y) return hvi_error_memory(err, "credit records");
  for (size_t i = 0; i < t->rows; i++) {
    double *y = &data->y[data->rows];
    if (!take_row(data->x + data->rows * WIDTH, y, t->data + i * t->columns, at)) continue;
    if (*y != 0.0 && *y != 1.0) {
      return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%zu: %s is %g; it must be 0 or 1", path, i + 2,
                           names[LABEL], *y);
    }
    data->rows++;
  }
  if (data->rows) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT, "%s: every row lacks a value", path);
}

hvi_status hvi_credit_read(hvi_credit_data *data, const char *path, hvi_error *err) {
  hvi_table t;
  hvi_status status = hvi_table_read(&t, path, max_bytes, err);
  if (status) return status;
  status = take_rows(data, &t, path, err);
  hvi_table_clear(&t);
  return status;
}

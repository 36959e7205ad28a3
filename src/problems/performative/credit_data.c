/*
 *   x_j <- (x_j - mean_j) / sd_j  over all complete rows, sd with 1 / rows;  x_10 = 1
 */
#include "base/base.h"
#include "problems/performative/credit.h"

#include "io/csv_table.h"
#include "num/vec.h"

#include <hvi/rng.h>

enum { WIDTH = HVI_CREDIT_WIDTH, LABEL = HVI_CREDIT_FEATURES, COLUMNS, MOST_OTHERS = 10000 };

const size_t hvi_credit_strategic[HVI_CREDIT_STRATEGIC] = {0, 5, 7};

/* By counting products of uniforms; the mean stays below 100. */
static double draw_poisson(hvi_rng *rng, double log_mean) {
  const double end = exp(-fmin(exp(log_mean), 100.0));
  double product = hvi_rng_uniform(rng), count = 0.0;
  while (product > end) {
    product *= hvi_rng_uniform(rng);
    count += 1.0;
  }
  return count;
}

/*
 * A synthetic borrower with plausible marginals: those who default have a risk r ~ N(1/2, 1), the
 * others N(-1/2, 1), and what is not a Poisson number has a standard normal of its own besides.
 */
static void draw_borrower(double *x, double y, hvi_rng *rng) {
  const double r = y - 0.5 + hvi_rng_normal(rng);
  /* utilisation: a heavy tail, a few above 10; age; 30-59 days late; debt ratio; monthly income */
  x[0] = exp(-1.3 + 0.6 * r + 0.9 * hvi_rng_normal(rng));
  x[1] = round(fmin(fmax(52.0 - 4.0 * r + 14.0 * hvi_rng_normal(rng), 21.0), 100.0));
  x[2] = draw_poisson(rng, -1.1 + 0.8 * r);
  x[3] = exp(-1.0 + 0.1 * r + 0.8 * hvi_rng_normal(rng));
  x[4] = round(exp(8.7 - 0.2 * r + 0.6 * hvi_rng_normal(rng)));
  /* open lines; 90 days late; real estate; 60-89 days late; dependents */
  x[5] = round(fmax(8.5 - 0.4 * r + 5.0 * hvi_rng_normal(rng), 0.0));
  x[6] = draw_poisson(rng, -1.8 + r);
  x[7] = draw_poisson(rng, -0.1 - 0.1 * r);
  x[8] = draw_poisson(rng, -2.0 + 0.9 * r);
  x[9] = draw_poisson(rng, -0.2 + 0.1 * r);
}

/* The share of defaults is the cleaned file's. */
static void draw_records(hvi_credit_data *data, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "credit-records", 0);
  const double share = 8357.0 / 18357.0;
  for (size_t i = 0; i < data->rows; i++) {
    /* spread evenly, so that any first part of the rows has the same share */
    const double k = (double)i;
    data->y[i] = floor((k + 1.0) * share + 0.5) - floor(k * share + 0.5);
    draw_borrower(data->x + i * HVI_CREDIT_WIDTH, data->y[i], &rng);
  }
}

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
    return hvi_error_input(err,
                           "%s:1: there is no column '%s'; the file should be cs-training.csv of "
                           "\"Give Me Some Credit\"",
                           path, names[k]);
  }
  return HVI_OK;
}

/* Room for so many rows, in one block. */
static hvi_status allocate(hvi_credit_data *data, size_t rows, hvi_error *err) {
  HVI_TRY(hvi_new(&data->x, rows * (WIDTH + 1) + (size_t)WIDTH * WIDTH, "credit records", err));
  data->y = data->x + rows * WIDTH;
  data->product = data->y + rows;
  return HVI_OK;
}

/* The complete rows of a file, in its order: columns are found by their names. */
static hvi_status read_records(hvi_credit_data *data, const char *path, hvi_error *err) {
  HVI_OWN_BY(hvi_table_clear) hvi_table t = {0};
  size_t at[COLUMNS];
  HVI_TRY(hvi_table_read(&t, path, HVI_TABLE_NAMED, max_bytes, err));
  HVI_TRY(find_columns(at, &t, path, err));
  HVI_TRY(allocate(data, t.rows, err));
  data->rows = 0;
  for (size_t i = 0; i < t.rows; i++) {
    double *x = data->x + data->rows * WIDTH; /* the label is where the bias will be */
    bool complete = true;
    for (size_t k = 0; k < COLUMNS; k++) {
      x[k] = t.data[i * t.columns + at[k]];
      complete &= !isnan(x[k]);
    }
    if (!complete) continue;
    if (x[LABEL] != 0.0 && x[LABEL] != 1.0)
      return hvi_error_line(err, path, i + 2, "%s is %g; it must be 0 or 1", names[LABEL],
                            x[LABEL]);
    data->y[data->rows++] = x[LABEL];
  }
  if (data->rows) return HVI_OK;
  return hvi_error_input(err, "%s: every row lacks a value", path);
}

/* Features to mean 0 and variance 1. */
static hvi_status standardise(hvi_credit_data *data, const char *source, hvi_error *err) {
  const size_t rows = data->rows;
  for (size_t j = 0; j < HVI_CREDIT_FEATURES; j++) {
    double sum = 0.0, squares = 0.0, *x = data->x + j;
    for (size_t i = 0; i < rows; i++) sum += x[i * WIDTH];
    const double mean = sum / (double)rows;
    for (size_t i = 0; i < rows; i++) {
      x[i * WIDTH] -= mean;
      squares += x[i * WIDTH] * x[i * WIDTH];
    }
    const double sd = sqrt(squares / (double)rows);
    if (!(sd > 1e-12 * fabs(mean)) || !isfinite(sd))
      return hvi_error_input(err,
                             "%s: feature %zu is the same in all %zu complete rows and cannot be "
                             "standardised",
                             source, j, rows);
    for (size_t i = 0; i < rows; i++) x[i * WIDTH] /= sd;
  }
  for (size_t i = 0; i < rows; i++) data->x[i * WIDTH + HVI_CREDIT_BIAS] = 1.0;
  return HVI_OK;
}

/* Keeps all defaults and the first MOST_OTHERS of the rest. */
static hvi_status select_rows(hvi_credit_data *data, const char *source, hvi_error *err) {
  size_t kept = 0, others = 0;
  for (size_t i = 0; i < data->rows; i++) {
    if (data->y[i] == 0.0 && others++ >= MOST_OTHERS) continue;
    memmove(data->x + kept * WIDTH, data->x + i * WIDTH, WIDTH * sizeof *data->x);
    data->y[kept++] = data->y[i];
  }
  const bool both = others > 0 && others < data->rows;
  data->rows = kept;
  if (both) return HVI_OK;
  return hvi_error_input(err, "%s: all complete rows have the same label; both kinds are needed",
                         source);
}

static hvi_status fill(hvi_credit_data *data, const char *source, uint64_t seed, hvi_error *err) {
  const bool synthetic = strcmp(source, "synthetic") == 0;
  HVI_TRY(synthetic ? allocate(data, data->rows, err) : read_records(data, source, err));
  if (synthetic) draw_records(data, seed);
  HVI_TRY(standardise(data, source, err));
  HVI_TRY(synthetic ? HVI_OK : select_rows(data, source, err));
  for (size_t i = 0; i < data->rows; i++) {
    const double *x = data->x + i * WIDTH;
    for (size_t j = 0; j < WIDTH; j++) hvi_vec_add(data->product + j * WIDTH, x[j], x, WIDTH);
  }
  hvi_vec_scale(data->product, 1.0 / (double)data->rows, (size_t)WIDTH * WIDTH);
  return HVI_OK;
}

hvi_status hvi_credit_data_new(hvi_credit_data *data, const char *source, size_t rows,
                               uint64_t seed, hvi_error *err) {
  *data = (hvi_credit_data){.rows = rows};
  hvi_status status = fill(data, source, seed, err);
  if (status) hvi_credit_data_clear(data);
  return status;
}

void hvi_credit_data_clear(hvi_credit_data *data) {
  hvi_free(data->x);
  *data = (hvi_credit_data){0};
}

/*
 *   x_j <- (x_j - mean_j) / sd_j  over all complete rows, sd with 1 / rows;  x_10 = 1
 */
#include "problems/performative/credit_data.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { WIDTH = HVI_CREDIT_WIDTH, MOST_OTHERS = 10000 };

const size_t hvi_credit_strategic[HVI_CREDIT_STRATEGIC] = {0, 5, 7};

/* Column j to mean 0 and variance 1; false when it is constant. */
static bool standardise(double *x, size_t rows, size_t j) {
  double sum = 0.0, squares = 0.0;
  for (size_t i = 0; i < rows; i++) sum += x[i * WIDTH + j];
  const double mean = sum / (double)rows;
  for (size_t i = 0; i < rows; i++) {
    x[i * WIDTH + j] -= mean;
    squares += x[i * WIDTH + j] * x[i * WIDTH + j];
  }
  const double sd = sqrt(squares / (double)rows);
  if (!(sd > 1e-12 * fabs(mean)) || !isfinite(sd)) return false;
  for (size_t i = 0; i < rows; i++) x[i * WIDTH + j] /= sd;
  return true;
}

static hvi_status standardise_all(hvi_credit_data *data, const char *source, hvi_error *err) {
  for (size_t j = 0; j < HVI_CREDIT_FEATURES; j++) {
    if (!standardise(data->x, data->rows, j)) {
      return hvi_error_set(err, HVI_ERROR_INPUT,
                           "%s: feature %zu is the same in all %zu complete rows and cannot be "
                           "standardised",
                           source, j, data->rows);
    }
  }
  for (size_t i = 0; i < data->rows; i++) data->x[i * WIDTH + HVI_CREDIT_BIAS] = 1.0;
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
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "%s: all complete rows have the same label; both kinds are needed", source);
}

static void form_product(hvi_credit_data *data) {
  double *P = data->product;
  for (size_t i = 0; i < data->rows; i++) {
    const double *x = data->x + i * WIDTH;
    for (size_t j = 0; j < WIDTH; j++) hvi_vec_add(P + j * WIDTH, x[j], x, WIDTH);
  }
  hvi_vec_scale(P, 1.0 / (double)data->rows, (size_t)WIDTH * WIDTH);
}

static hvi_status fill(hvi_credit_data *data, const char *source, uint64_t seed, hvi_error *err) {
  const bool synthetic = strcmp(source, "synthetic") == 0;
  hvi_status status = HVI_OK;
  if (synthetic) {
    data->x = hvi_alloc_doubles(data->rows * WIDTH);
    data->y = hvi_alloc_doubles(data->rows);
    if (!data->x || !data->y) return hvi_error_memory(err, "credit records");
    hvi_credit_draw(data, seed);
  } else {
    status = hvi_credit_read(data, source, err);
  }
  if (!status) status = standardise_all(data, source, err);
  if (!status && !synthetic) status = select_rows(data, source, err);
  if (status) return status;
  data->product = hvi_alloc_doubles((size_t)WIDTH * WIDTH);
  if (!data->product) return hvi_error_memory(err, "credit records");
  form_product(data);
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
  hvi_free(data->y);
  hvi_free(data->product);
  *data = (hvi_credit_data){0};
}

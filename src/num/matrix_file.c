#include "num/matrix_file.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "num/npy.h"
#include "num/sparse.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 120 };
static const size_t largest_file = (size_t)1 << 30, most_numbers = (size_t)1 << 27;

static bool ends_in(const char *text, const char *ending) {
  const size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
}

static hvi_status read_npy(hvi_matrix_file *out, const char *path, const char *name,
                           hvi_error *err) {
  hvi_array array;
  hvi_status status = hvi_npy_read(&array, path, largest_file, err);
  if (status) return status;
  if (array.dims != 1 && array.dims != 2) {
    status = hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has %zu axes; expected one or two", name,
                           array.dims);
  }
  for (size_t i = 0; i < array.size && !status; i++) {
    if (isfinite(array.data[i])) continue;
    status = hvi_error_set(err, HVI_ERROR_INPUT, "number %zu of '%s' is %g, which is not finite",
                           i + 1, name, array.data[i]);
  }
  if (status) {
    hvi_array_free(&array);
    return status;
  }
  *out = (hvi_matrix_file){
      .rows = array.shape[0], .columns = array.dims == 2 ? array.shape[1] : 1, .data = array.data};
  return HVI_OK;
}

hvi_status hvi_matrix_file_read(hvi_matrix_file *out, const char *path, hvi_error *err) {
  *out = (hvi_matrix_file){0};
  const char *slash = strrchr(path, '/');
  /* a long path would leave no room for the rest of an error text */
  const char *name = slash && strlen(path) > LONGEST_NAME ? slash + 1 : path;
  if (ends_in(path, ".npy")) return read_npy(out, path, name, err);
  const bool csv = ends_in(path, ".csv");
  if (!csv && !ends_in(path, ".mtx")) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' is not a matrix that can be read; those end in .npy, .csv or .mtx",
                         name);
  }
  char *text;
  hvi_status status = hvi_file_read_text(&text, path, largest_file, err);
  if (status) return status;
  status = csv ? hvi_csv_parse(out, text, name, err) : hvi_market_parse(out, text, name, err);
  hvi_free(text);
  return status;
}

void hvi_matrix_file_free(hvi_matrix_file *m) {
  if (!m) return;
  hvi_free(m->data);
  hvi_sparse_free(&m->sparse);
  *m = (hvi_matrix_file){0};
}

hvi_status hvi_matrix_file_fill(hvi_matrix_file *m, hvi_error *err) {
  size_t entries = 0;
  if (m->data) return HVI_OK;
  if (!hvi_multiply_sizes(m->rows, m->columns, &entries) || entries > most_numbers) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "%zu by %zu numbers are too many to write out",
                         m->rows, m->columns);
  }
  m->data = hvi_alloc_doubles(entries);
  if (!m->data) return hvi_error_memory(err, "a matrix");
  for (size_t i = 0; i < m->rows; i++) {
    for (size_t k = m->sparse.start[i]; k < m->sparse.start[i + 1]; k++) {
      m->data[i * m->columns + m->sparse.column[k]] = m->sparse.value[k];
    }
  }
  hvi_sparse_free(&m->sparse);
  return HVI_OK;
}

/* The CSV and MatrixMarket readers: any text either makes a matrix of finite numbers in the shape
 * it announces, or one line of error. */
#include "io/csv_table.h"
#include "io/matrix_file.h"
#include "num/sparse.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const hvi_matrix_file *m) {
  const size_t count = m->data ? m->rows * m->columns : m->sparse.start[m->rows];
  const double *x = m->data ? m->data : m->sparse.value;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) abort();
    if (!m->data && m->sparse.column[i] >= m->columns) abort();
  }
}

typedef hvi_status (*parser)(hvi_matrix_file *, const char *, const char *, hvi_error *);

static void parse(parser p, const char *text) {
  hvi_matrix_file m = {0};
  hvi_error err = {HVI_OK, ""};
  if (!p(&m, text, "fuzz", &err))
    use(&m);
  else if (m.data || m.sparse.value || !err.text[0] || strchr(err.text, '\n'))
    abort();
  hvi_matrix_file_free(&m);
}

static hvi_status parse_csv(hvi_matrix_file *m, const char *text, const char *name,
                            hvi_error *err) {
  hvi_table t;
  char *copy = malloc(strlen(text) + 1);
  if (!copy) return HVI_ERROR_MEMORY;
  const hvi_status status = hvi_table_parse(&t, strcpy(copy, text), name, HVI_TABLE_PLAIN, err);
  *m = (hvi_matrix_file){t.rows, t.columns, t.data, {0}};
  t.data = NULL;
  hvi_table_clear(&t);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  parse(parse_csv, text);
  parse(hvi_market_parse, text);
  free(text);
  return 0;
}

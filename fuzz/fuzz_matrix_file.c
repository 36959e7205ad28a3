/* The CSV and MatrixMarket readers: any text either makes a matrix of finite numbers in the shape
 * it announces, or one line of error. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  parse(hvi_csv_parse, text);
  parse(hvi_market_parse, text);
  free(text);
  return 0;
}

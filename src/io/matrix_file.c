/*
 * An .mtx file is "%%MatrixMarket matrix coordinate real general" (or integer), comments that begin
 * with %, a line "rows columns entries", then one entry a line: row, column, value, counted from 1.
 */
#include "io/matrix_file.h"

#include "base/base.h"
#include "io/csv_table.h"
#include "io/npy.h"
#include "num/sparse.h"

#include <strings.h>

/* Rows of an .mtx file without any entry are possible, but not many of them. */
enum { LONGEST_NAME = 120, SPARE_ROWS = 1000000 };
static const size_t largest_file = (size_t)1 << 30, most_numbers = (size_t)1 << 27;

typedef struct reader {
  hvi_subject file;
  const char *at; /* what is not read yet */
  size_t line;    /* the number of its line */
} reader;

static const char word_ends[] = " \t\r\n";

/* Goes past the blanks, lines and comments before the next word of an .mtx; false at the end. */
static bool find_word(reader *r) {
  for (;; r->at++) {
    if (*r->at == '%') r->at += strcspn(r->at, "\n");
    if (*r->at == '\0') return false;
    if (*r->at == '\n') r->line++;
    if (!strchr(word_ends, *r->at)) return true;
  }
}

static hvi_status refuse_word(const reader *r, const char *what) {
  const size_t width = strcspn(r->at, word_ends);
  return hvi_refuse(&r->file, ", line %zu: '%.*s' is not %s", r->line, width < 40 ? (int)width : 40,
                    r->at, what);
}

/* The next word, a whole number from 1 to `high`; `part` is of what, in a file that ends here. */
static hvi_status read_whole(reader *r, const char *what, const char *part, size_t high,
                             size_t *x) {
  char *end;
  if (!find_word(r)) return hvi_refuse(&r->file, " ends before %s: truncated?", part);
  const unsigned long long value = strtoull(r->at, &end, 10);
  if (*r->at < '0' || *r->at > '9' || !strchr(word_ends, *end))
    return refuse_word(r, "a whole number");
  if (value < 1 || value > high)
    return hvi_refuse(&r->file, ", line %zu: %s %llu is outside 1 to %zu", r->line, what, value,
                      high);
  *x = (size_t)value;
  r->at = end;
  return HVI_OK;
}

static hvi_status read_real(reader *r, const char *part, double *x) {
  char *end;
  if (!find_word(r)) return hvi_refuse(&r->file, " ends before %s: truncated?", part);
  *x = strtod(r->at, &end);
  if (end == r->at || !strchr(word_ends, *end)) return refuse_word(r, "a number");
  if (!isfinite(*x)) return refuse_word(r, "finite");
  r->at = end;
  return HVI_OK;
}

static hvi_status read_banner(reader *r) {
  static const char *const words[] = {"%%MatrixMarket", "matrix", "coordinate", "real", "general"};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    r->at += strspn(r->at, " \t");
    const size_t width = strcspn(r->at, word_ends);
    const char *word = k == 3 && width == 7 ? "integer" : words[k];
    if (width != strlen(word) || strncasecmp(r->at, word, width) != 0)
      return hvi_refuse(&r->file, " does not begin with '%%%%MatrixMarket matrix coordinate real "
                                  "general', the kind that is read");
    r->at += width;
  }
  return HVI_OK;
}

/* "rows columns entries", believed only as far as the length of the text allows. */
static hvi_status read_sizes(reader *r, hvi_matrix_file *out, size_t *count) {
  HVI_TRY(read_whole(r, "the number of rows", "its sizes", UINT32_MAX, &out->rows));
  HVI_TRY(read_whole(r, "the number of columns", "its sizes", UINT32_MAX, &out->columns));
  HVI_TRY(read_whole(r, "the number of entries", "its sizes", SIZE_MAX, count));
  /* the shortest entry is "1 1 1" and the end of its line */
  const size_t most = strlen(r->at) / 6 + 1;
  if (*count > most)
    return hvi_refuse(&r->file, " announces %zu entries and has room for %zu: truncated?", *count,
                      most);
  if (out->rows > *count + SPARE_ROWS)
    return hvi_refuse(&r->file, " announces %zu rows and only %zu entries", out->rows, *count);
  return HVI_OK;
}

hvi_status hvi_market_parse(hvi_matrix_file *out, const char *text, const char *name,
                            hvi_error *err) {
  reader r = {{name, HVI_ERROR_INPUT, err}, text, 1};
  size_t count = 0;
  *out = (hvi_matrix_file){0};
  HVI_TRY(read_banner(&r));
  HVI_TRY(read_sizes(&r, out, &count));
  HVI_NEW(uint32_t, row, count, "a sparse matrix", err);
  HVI_NEW(uint32_t, column, count, "a sparse matrix", err);
  HVI_NEW(double, value, count, "a sparse matrix", err);
  for (size_t k = 0; k < count; k++) {
    size_t i = 0, j = 0;
    if (!find_word(&r))
      return hvi_refuse(&r.file, " ends after %zu of %zu entries: truncated?", k, count);
    HVI_TRY(read_whole(&r, "row", "its row", out->rows, &i));
    HVI_TRY(read_whole(&r, "column", "the column of its last entry", out->columns, &j));
    HVI_TRY(read_real(&r, "the value of its last entry", &value[k]));
    row[k] = (uint32_t)(i - 1);
    column[k] = (uint32_t)(j - 1);
  }
  if (find_word(&r))
    return hvi_refuse(&r.file, ", line %zu: there is more than the %zu entries announced", r.line,
                      count);
  return hvi_sparse_gather(&out->sparse, out->rows, out->columns, count, row, column, value, err);
}

static hvi_status read_npy(hvi_matrix_file *out, const char *path, const char *name,
                           hvi_error *err) {
  HVI_OWN_BY(hvi_array_free) hvi_array array = {0};
  HVI_TRY(hvi_npy_read(&array, path, largest_file, err));
  if (array.dims != 1 && array.dims != 2)
    return hvi_error_input(err, "'%s' has %zu axes; expected one or two", name, array.dims);
  for (size_t i = 0; i < array.size; i++)
    if (!isfinite(array.data[i]))
      return hvi_error_input(err, "number %zu of '%s' is %g, which is not finite", i + 1, name,
                             array.data[i]);
  *out = (hvi_matrix_file){array.shape[0], array.dims == 2 ? array.shape[1] : 1, array.data, {0}};
  array.data = NULL;
  return HVI_OK;
}

hvi_status hvi_matrix_file_read(hvi_matrix_file *out, const char *path, hvi_error *err) {
  *out = (hvi_matrix_file){0};
  const char *slash = strrchr(path, '/');
  /* a long path would leave no room for the rest of an error text */
  const char *name = slash && strlen(path) > LONGEST_NAME ? slash + 1 : path;
  if (hvi_ends_in(path, ".npy")) return read_npy(out, path, name, err);
  const bool csv = hvi_ends_in(path, ".csv");
  if (!csv && !hvi_ends_in(path, ".mtx"))
    return hvi_error_input(
        err, "'%s' is not a matrix that can be read; those end in .npy, .csv or .mtx", name);
  HVI_OWN char *text = NULL;
  HVI_TRY(hvi_file_read_text(&text, path, largest_file, err));
  if (!csv) return hvi_market_parse(out, text, name, err);
  hvi_table t;
  const hvi_status status = hvi_table_parse(&t, text, name, HVI_TABLE_PLAIN, err);
  text = NULL;
  *out = (hvi_matrix_file){t.rows, t.columns, t.data, {0}};
  t.data = NULL;
  hvi_table_clear(&t);
  return status;
}

void hvi_matrix_file_free(hvi_matrix_file *m) {
  if (!m) return;
  hvi_free(m->data);
  hvi_sparse_free(&m->sparse);
  *m = (hvi_matrix_file){0};
}

hvi_status hvi_matrix_file_fill(hvi_matrix_file *m, hvi_error *err) {
  size_t size = 0;
  if (m->data) return HVI_OK;
  if (!hvi_multiply_sizes(m->rows, m->columns, &size) || size > most_numbers)
    return hvi_error_input(err, "%zu by %zu numbers are too many to write out", m->rows,
                           m->columns);
  HVI_TRY(hvi_new(&m->data, size, "a matrix", err));
  for (size_t i = 0; i < m->rows; i++)
    for (size_t k = m->sparse.start[i]; k < m->sparse.start[i + 1]; k++)
      m->data[i * m->columns + m->sparse.column[k]] = m->sparse.value[k];
  hvi_sparse_free(&m->sparse);
  return HVI_OK;
}

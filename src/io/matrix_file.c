/*
 * Two formats of text.
 *
 *   .csv   Numbers between commas. Empty lines and lines that begin with # are skipped; a first
 *          line without any number is a header. Every line has as many fields as the first.
 *   .mtx   "%%MatrixMarket matrix coordinate real general" (or integer), comments that begin with
 *          %, a line "rows columns entries", then one entry a line: row, column, value, counted
 *          from 1.
 */
#include "io/matrix_file.h"

#include "base/base.h"
#include "base/file.h"
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

/* How much of a word or field an error text shows. */
static int shown(const char *text, const char *ends) {
  const size_t width = strcspn(text, ends);
  return width < 40 ? (int)width : 40;
}

/* Not strspn, which under a sanitizer looks at all of the text each time. */
static const char *skip_blanks(const char *at) {
  while (*at == ' ' || *at == '\t' || *at == '\r') at++;
  return at;
}

static void next_line(reader *r) {
  r->at += strcspn(r->at, "\n");
  r->at += *r->at == '\n';
  r->line++;
}

/* Moves to the next line of a .csv that counts; false at the end. */
static bool find_line(reader *r) {
  for (; *r->at; next_line(r)) {
    const char *first = skip_blanks(r->at);
    if (*first != '\n' && *first != '#' && *first != '\0') return true;
  }
  return false;
}

static bool number_at(const char *at, double *x, const char **end) {
  char *stop;
  if (*at == '\n' || *at == '\0') return false; /* strtod would go on to the next line */
  *x = strtod(at, &stop);
  *end = skip_blanks(stop);
  return stop != at && (**end == ',' || **end == '\n' || **end == '\0');
}

/* Reads the numbers of the current line into x, which has room for `columns`. */
static hvi_status read_line(const reader *r, double *x, size_t columns) {
  const char *end, *at = skip_blanks(r->at);
  for (size_t j = 0;; j++) {
    if (j == columns)
      return hvi_refuse(&r->file, ", line %zu has more than the %zu columns of the first", r->line,
                        columns);
    if (!number_at(at, &x[j], &end)) {
      const int width = shown(at, ",\r\n");
      if (!width) return hvi_refuse(&r->file, ", line %zu, column %zu is empty", r->line, j + 1);
      return hvi_refuse(&r->file, ", line %zu, column %zu: '%.*s' is not a number", r->line, j + 1,
                        width, at);
    }
    if (!isfinite(x[j]))
      return hvi_refuse(&r->file, ", line %zu, column %zu is %g, which is not finite", r->line,
                        j + 1, x[j]);
    if (*end != ',' && j + 1 < columns)
      return hvi_refuse(&r->file, ", line %zu has %zu columns; the first has %zu", r->line, j + 1,
                        columns);
    if (*end != ',') return HVI_OK;
    at = skip_blanks(end + 1);
  }
}

/* A line of names: not one of its fields is a number. */
static bool is_header(const char *line) {
  const char *end;
  double x;
  for (;; line++) {
    line = skip_blanks(line);
    if (number_at(line, &x, &end)) return false;
    line += strcspn(line, ",\n");
    if (*line != ',') return true;
  }
}

hvi_status hvi_csv_parse(hvi_matrix_file *out, const char *text, const char *name, hvi_error *err) {
  reader r = {{name, HVI_ERROR_INPUT, err}, text, 1};
  *out = (hvi_matrix_file){0};
  if (find_line(&r) && is_header(r.at)) next_line(&r);
  if (!find_line(&r)) return hvi_refuse(&r.file, " has no numbers");
  size_t size = 0, rows = 0, columns = 1;
  for (reader s = r; find_line(&s); next_line(&s)) rows++;
  for (const char *c = r.at; *c && *c != '\n'; c++) columns += *c == ',';
  /* a number and what parts it from the next take two bytes: there cannot be more of them */
  if (!hvi_multiply_sizes(rows, columns, &size) || size > strlen(r.at) / 2 + 1)
    return hvi_refuse(&r.file, " has %zu columns in its first line and fewer in others", columns);
  HVI_OWN double *data = hvi_alloc_doubles(size);
  if (!data) return hvi_error_memory(err, "a matrix");
  for (size_t i = 0; find_line(&r); i++, next_line(&r))
    HVI_TRY(read_line(&r, data + i * columns, columns));
  *out = (hvi_matrix_file){rows, columns, data, {0}};
  data = NULL;
  return HVI_OK;
}

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
  return hvi_refuse(&r->file, ", line %zu: '%.*s' is not %s", r->line, shown(r->at, word_ends),
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
  HVI_OWN uint32_t *row = hvi_alloc(count, sizeof *row), *column = hvi_alloc(count, sizeof *column);
  HVI_OWN double *value = hvi_alloc_doubles(count);
  if (!row || !column || !value) return hvi_error_memory(err, "a sparse matrix");
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

static bool ends_in(const char *text, const char *ending) {
  const size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
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
  if (ends_in(path, ".npy")) return read_npy(out, path, name, err);
  const bool csv = ends_in(path, ".csv");
  if (!csv && !ends_in(path, ".mtx"))
    return hvi_error_input(
        err, "'%s' is not a matrix that can be read; those end in .npy, .csv or .mtx", name);
  HVI_OWN char *text = NULL;
  HVI_TRY(hvi_file_read_text(&text, path, largest_file, err));
  return csv ? hvi_csv_parse(out, text, name, err) : hvi_market_parse(out, text, name, err);
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
  m->data = hvi_alloc_doubles(size);
  if (!m->data) return hvi_error_memory(err, "a matrix");
  for (size_t i = 0; i < m->rows; i++)
    for (size_t k = m->sparse.start[i]; k < m->sparse.start[i + 1]; k++)
      m->data[i * m->columns + m->sparse.column[k]] = m->sparse.value[k];
  hvi_sparse_free(&m->sparse);
  return HVI_OK;
}

/*
 * MatrixMarket files of one kind: "%%MatrixMarket matrix coordinate real general" (or integer),
 * comments that begin with %, a line "rows columns entries", then one entry a line: row, column,
 * value, counted from 1.
 */
#include "num/matrix_file.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/sparse.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Rows without any entry are possible, but not many of them. */
enum { SPARE_ROWS = 1000000 };

typedef struct reader {
  const char *name;
  hvi_error *err;
  const char *at;
  size_t line; /* number of the line that `at` is in */
} reader;

typedef struct entries {
  size_t count;
  uint32_t *row, *column;
  double *value;
} entries;

/* Goes past the blanks, lines and comments before the next word; false at the end. */
static bool find_word(reader *r) {
  for (;; r->at++) {
    if (*r->at == '%') r->at += strcspn(r->at, "\n");
    if (*r->at == '\0') return false;
    if (*r->at == '\n') r->line++;
    if (!strchr(" \t\r\n", *r->at)) return true;
  }
}

static hvi_status complain_word(const reader *r, const char *what) {
  const int width = (int)strcspn(r->at, " \t\r\n");
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "'%s', line %zu: '%.*s' is not %s", r->name,
                       r->line, width < 40 ? width : 40, r->at, what);
}

/* A word that is a whole number from `low` to `high`. */
static hvi_status read_whole(reader *r, const char *what, size_t low, size_t high, size_t *x) {
  char *end;
  if (*r->at < '0' || *r->at > '9') return complain_word(r, "a whole number");
  const unsigned long long value = strtoull(r->at, &end, 10);
  if (*end && !strchr(" \t\r\n", *end)) return complain_word(r, "a whole number");
  if (value < low || value > high) {
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "'%s', line %zu: %s %llu is outside %zu to %zu",
                         r->name, r->line, what, value, low, high);
  }
  *x = (size_t)value;
  r->at = end;
  return HVI_OK;
}

static hvi_status read_real(reader *r, double *x) {
  char *end;
  *x = strtod(r->at, &end);
  if (end == r->at || (*end && !strchr(" \t\r\n", *end))) return complain_word(r, "a number");
  if (!isfinite(*x)) return complain_word(r, "finite");
  r->at = end;
  return HVI_OK;
}

static hvi_status read_banner(reader *r) {
  static const char *const words[] = {"%%MatrixMarket", "matrix", "coordinate", "real", "general"};
  const char *at = r->at;
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    at += strspn(at, " \t");
    const size_t width = strcspn(at, " \t\r\n");
    bool same = width == strlen(words[k]) && strncasecmp(at, words[k], width) == 0;
    if (k == 3 && width == 7) same = strncasecmp(at, "integer", width) == 0;
    if (!same) {
      return hvi_error_set(r->err, HVI_ERROR_INPUT,
                           "'%s' does not begin with '%%%%MatrixMarket matrix coordinate real "
                           "general', the kind that is read",
                           r->name);
    }
    at += width;
  }
  r->at = at;
  return HVI_OK;
}

static hvi_status complain_end(const reader *r, const char *what) {
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "'%s' ends before %s: truncated?", r->name, what);
}

/* "rows columns entries", believed only as far as the length of the text allows. */
static hvi_status read_sizes(reader *r, hvi_matrix_file *out, size_t *count) {
  hvi_status status = HVI_OK;
  size_t *sizes[] = {&out->rows, &out->columns, count};
  static const char *const what[] = {"the number of rows", "the number of columns",
                                     "the number of entries"};
  static const size_t high[] = {UINT32_MAX, UINT32_MAX, SIZE_MAX};
  for (size_t k = 0; k < 3 && !status; k++) {
    if (!find_word(r)) return complain_end(r, "its sizes");
    status = read_whole(r, what[k], 1, high[k], sizes[k]);
  }
  if (status) return status;
  /* the shortest entry is "1 1 1" and the end of its line */
  const size_t most = strlen(r->at) / 6 + 1;
  if (*count > most) {
    return hvi_error_set(r->err, HVI_ERROR_INPUT,
                         "'%s' announces %zu entries and has room for %zu: truncated?", r->name,
                         *count, most);
  }
  if (out->rows > *count + SPARE_ROWS) {
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "'%s' announces %zu rows and only %zu entries",
                         r->name, out->rows, *count);
  }
  return HVI_OK;
}

static hvi_status read_entries(reader *r, const hvi_matrix_file *out, const entries *e) {
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < e->count && !status; k++) {
    size_t i = 0, j = 0;
    if (!find_word(r)) {
      return hvi_error_set(r->err, HVI_ERROR_INPUT,
                           "'%s' ends after %zu of %zu entries: truncated?", r->name, k, e->count);
    }
    status = read_whole(r, "row", 1, out->rows, &i);
    if (!status && !find_word(r)) return complain_end(r, "the column of its last entry");
    if (!status) status = read_whole(r, "column", 1, out->columns, &j);
    if (!status && !find_word(r)) return complain_end(r, "the value of its last entry");
    if (!status) status = read_real(r, &e->value[k]);
    e->row[k] = (uint32_t)(i - 1);
    e->column[k] = (uint32_t)(j - 1);
  }
  if (!status && find_word(r)) {
    return hvi_error_set(r->err, HVI_ERROR_INPUT,
                         "'%s', line %zu: there is more than the %zu entries announced", r->name,
                         r->line, e->count);
  }
  return status;
}

hvi_status hvi_market_parse(hvi_matrix_file *out, const char *text, const char *name,
                            hvi_error *err) {
  reader r = {name, err, text, 1};
  entries e = {0};
  *out = (hvi_matrix_file){0};
  hvi_status status = read_banner(&r);
  if (!status) status = read_sizes(&r, out, &e.count);
  if (status) return status;
  e.row = hvi_alloc(e.count, sizeof *e.row);
  e.column = hvi_alloc(e.count, sizeof *e.column);
  e.value = hvi_alloc_doubles(e.count);
  if (e.row && e.column && e.value) {
    status = read_entries(&r, out, &e);
  } else {
    status = hvi_error_memory(err, "a sparse matrix");
  }
  if (!status) {
    status = hvi_sparse_gather(&out->sparse, out->rows, out->columns, e.count, e.row, e.column,
                               e.value, err);
  }
  hvi_free(e.row);
  hvi_free(e.column);
  hvi_free(e.value);
  return status;
}

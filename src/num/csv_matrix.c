/*
 * Numbers between commas. Empty lines and lines that begin with # are skipped; a first line without
 * any number is a header. Every line has as many fields as the first.
 */
#include "num/matrix_file.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  const char *name;
  hvi_error *err;
  const char *at; /* the first line not read yet */
  size_t line;    /* its number */
} reader;

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static const char *skip_blanks(const char *at) {
  while (blank(*at)) at++;
  return at;
}

static const char *after_line(const char *at) {
  at += strcspn(at, "\n");
  return *at ? at + 1 : at;
}

/* Moves to the next line that counts; false at the end. */
static bool find_line(reader *r) {
  while (*r->at) {
    const char *first = skip_blanks(r->at);
    if (*first != '\n' && *first != '#' && *first != '\0') return true;
    r->at = after_line(r->at);
    r->line++;
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

static hvi_status complain_field(const reader *r, const char *field, size_t column) {
  const int width = (int)strcspn(field, ",\r\n");
  if (width == 0) {
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "'%s', line %zu, column %zu is empty", r->name,
                         r->line, column);
  }
  return hvi_error_set(r->err, HVI_ERROR_INPUT,
                       "'%s', line %zu, column %zu: '%.*s' is not a number", r->name, r->line,
                       column, width < 40 ? width : 40, field);
}

/* Reads the numbers of the current line into x, which has room for `columns`. */
static hvi_status read_line(const reader *r, double *x, size_t columns) {
  const char *at = skip_blanks(r->at);
  for (size_t j = 0;; j++) {
    const char *end;
    double value = 0.0;
    if (j == columns) {
      return hvi_error_set(r->err, HVI_ERROR_INPUT,
                           "'%s', line %zu has more than the %zu columns of the first", r->name,
                           r->line, columns);
    }
    if (!number_at(at, &value, &end)) return complain_field(r, at, j + 1);
    if (!isfinite(value)) {
      return hvi_error_set(r->err, HVI_ERROR_INPUT,
                           "'%s', line %zu, column %zu is %g, which is not finite", r->name,
                           r->line, j + 1, value);
    }
    x[j] = value;
    if (*end != ',') {
      if (j + 1 == columns) return HVI_OK;
      return hvi_error_set(r->err, HVI_ERROR_INPUT,
                           "'%s', line %zu has %zu columns; the first has %zu", r->name, r->line,
                           j + 1, columns);
    }
    at = skip_blanks(end + 1);
  }
}

static size_t count_fields(const char *line) {
  size_t count = 1;
  for (; *line && *line != '\n'; line++) count += *line == ',';
  return count;
}

/* A line of names: not one of its fields is a number. */
static bool is_header(const char *line) {
  for (;;) {
    const char *end;
    double x;
    line = skip_blanks(line);
    if (number_at(line, &x, &end)) return false;
    line += strcspn(line, ",\n");
    if (*line != ',') return true;
    line++;
  }
}

static size_t count_lines(reader r) {
  size_t count = 0;
  for (; find_line(&r); r.at = after_line(r.at)) count++;
  return count;
}

hvi_status hvi_csv_parse(hvi_matrix_file *out, const char *text, const char *name, hvi_error *err) {
  reader r = {name, err, text, 1};
  *out = (hvi_matrix_file){0};
  if (find_line(&r) && is_header(r.at)) {
    r.at = after_line(r.at);
    r.line++;
  }
  if (!find_line(&r)) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has no numbers", name);
  }
  size_t entries = 0;
  out->rows = count_lines(r);
  out->columns = count_fields(r.at);
  /* a number and what parts it from the next take two bytes: there cannot be more of them */
  if (!hvi_multiply_sizes(out->rows, out->columns, &entries) || entries > strlen(r.at) / 2 + 1) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' has %zu columns in its first line and fewer in others", name,
                         out->columns);
  }
  out->data = hvi_alloc_doubles(entries);
  if (!out->data) return hvi_error_memory(err, "a matrix");
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < out->rows && !status; i++, r.line++, r.at = after_line(r.at)) {
    find_line(&r);
    status = read_line(&r, out->data + i * out->columns, out->columns);
  }
  if (status) hvi_matrix_file_free(out);
  return status;
}

#include "io/csv_table.h"

#include "base/base.h"
#include "base/file.h"

enum { MOST_COLUMNS = 4096 };

/* Where the reading stands. Fields are cut out of the text in place. */
typedef struct cursor {
  const char *path;
  char *at;    /* the next character */
  size_t line; /* counted from 1 */
  bool ended;  /* the last field was the last of its line */
  hvi_error *err;
} cursor;

#define fail(c, ...) hvi_error_line((c)->err, (c)->path, (c)->line, __VA_ARGS__)

/* Steps over what ends a field: a comma, or the end of the line. */
static hvi_status end_field(cursor *c) {
  char *end = c->at;
  c->ended = *end != ',';
  if (end[0] == '\r' && end[1] == '\n') c->at++;
  if (c->ended && *c->at != '\n' && *c->at != '\0')
    return fail(c, "a quoted field is followed by '%c' instead of a comma",
                (unsigned char)*c->at < 32 ? '?' : *c->at);
  c->at += *c->at != '\0';
  *end = '\0';
  return HVI_OK;
}

/* Takes the quotes off; what is left moves to the front. */
static hvi_status quoted_field(cursor *c, char **field) {
  char *out = *field = ++c->at;
  for (;; c->at++) {
    const bool quote = *c->at == '"';
    if (quote && c->at[1] != '"') break;
    if (*c->at == '\0' || *c->at == '\n') return fail(c, "a quoted field is not closed");
    if ((unsigned char)*c->at < 32) return fail(c, "a control character");
    c->at += quote;
    *out++ = *c->at;
  }
  c->at++;
  hvi_status status = end_field(c);
  *out = '\0';
  return status;
}

static hvi_status next_field(cursor *c, char **field) {
  if (*c->at == '"') return quoted_field(c, field);
  for (*field = c->at; !strchr(",\n", *c->at) && strncmp(c->at, "\r\n", 2) != 0; c->at++)
    if ((unsigned char)*c->at < 32 && *c->at != '\t') return fail(c, "a control character");
  return end_field(c);
}

/* Nothing but line ends is left. */
static bool at_end(const cursor *c) { return c->at[strspn(c->at, "\r\n")] == '\0'; }

static hvi_status read_names(hvi_table *t, cursor *c) {
  t->names = hvi_alloc(MOST_COLUMNS, sizeof *t->names);
  if (!t->names) return hvi_error_memory(c->err, "a table");
  if (at_end(c)) return fail(c, "the file is empty; its first line should name the columns");
  do {
    if (t->columns == MOST_COLUMNS) return fail(c, "more than %d columns", MOST_COLUMNS);
    HVI_TRY(next_field(c, &t->names[t->columns++]));
  } while (!c->ended);
  return HVI_OK;
}

/* A finite number in plain notation, or a missing value. */
static bool read_number(const char *field, double *x) {
  *x = NAN;
  if (!*field || strcmp(field, "NA") == 0) return true;
  char *end;
  *x = strtod(field, &end);
  return !field[strspn(field, "+-.0123456789eE")] && *end == '\0' && isfinite(*x);
}

static hvi_status read_row(const hvi_table *t, cursor *c, double *row) {
  size_t k = 0;
  char *field;
  do {
    HVI_TRY(next_field(c, &field));
    if (k < t->columns && !read_number(field, &row[k]))
      return fail(c, "column %zu ('%.40s'): '%.40s' is not a number", k + 1, t->names[k], field);
    k++;
  } while (!c->ended);
  if (k == t->columns) return HVI_OK;
  return fail(c, "%zu field%s, and the first line names %zu columns", k, k == 1 ? "" : "s",
              t->columns);
}

static hvi_status read_rows(hvi_table *t, cursor *c) {
  /* each number but the last is followed by one of these: there cannot be more of them */
  size_t cells = 1;
  for (const char *p = c->at; *p; p++) cells += *p == ',' || *p == '\n';
  t->data = hvi_alloc_doubles(cells);
  if (!t->data) return hvi_error_memory(c->err, "a table");
  for (; !at_end(c); t->rows++) {
    c->line++;
    HVI_TRY(read_row(t, c, t->data + t->rows * t->columns));
  }
  return t->rows ? HVI_OK : fail(c, "the file has a first line and no data");
}

hvi_status hvi_table_read(hvi_table *t, const char *path, size_t max_bytes, hvi_error *err) {
  *t = (hvi_table){0};
  HVI_TRY(hvi_file_read_text(&t->text, path, max_bytes, err));
  cursor c = {.path = path, .at = t->text, .line = 1, .err = err};
  /* some programs put a byte order mark in front */
  if (strncmp(c.at, "\xEF\xBB\xBF", 3) == 0) c.at += 3;
  hvi_status status = read_names(t, &c);
  if (!status) status = read_rows(t, &c);
  if (status) hvi_table_clear(t);
  return status;
}

void hvi_table_clear(hvi_table *t) {
  hvi_free(t->names);
  hvi_free(t->data);
  hvi_free(t->text);
  *t = (hvi_table){0};
}

size_t hvi_table_column(const hvi_table *t, const char *name) {
  size_t k = 0;
  while (k < t->columns && strcmp(t->names[k], name) != 0) k++;
  return k;
}

#include "io/csv_table.h"

#include "base/base.h"

/* Where the reading stands. Fields are cut out of the text in place. */
typedef struct cursor {
  const char *path;
  char *at;    /* the next character */
  size_t line; /* counted from 1 */
  bool ended;  /* the last field was the last of its line */
  hvi_table_form form;
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
  *out = '\0';
  return end_field(c);
}

static hvi_status next_field(cursor *c, char **field) {
  if (*c->at == '"') return quoted_field(c, field);
  for (*field = c->at; !strchr(",\n", *c->at) && strncmp(c->at, "\r\n", 2) != 0; c->at++)
    if ((unsigned char)*c->at < 32 && *c->at != '\t') return fail(c, "a control character");
  char *end = c->at;
  HVI_TRY(end_field(c));
  if (c->form != HVI_TABLE_PLAIN) return HVI_OK;
  while (end > *field && strchr(" \t", end[-1])) *--end = '\0';
  *field += strspn(*field, " \t");
  return HVI_OK;
}

/* Nothing but line ends is left. */
static bool at_end(const cursor *c) { return c->at[strspn(c->at, "\r\n")] == '\0'; }

/* Past lines of a matrix that do not count. */
static void skip_lines(cursor *c) {
  while (c->form == HVI_TABLE_PLAIN && *c->at) {
    const char first = c->at[strspn(c->at, " \t\r")];
    if (first != '\n' && first != '#') return;
    c->at += strcspn(c->at, "\n");
    c->at += *c->at != '\0';
    c->line++;
  }
}

static hvi_status read_names(hvi_table *t, cursor *c) {
  size_t most = 1;
  skip_lines(c);
  for (const char *p = c->at; *p && *p != '\n'; p++) most += *p == ',';
  HVI_TRY(hvi_new(&t->names, most, "a table", c->err));
  if (at_end(c)) return fail(c, "the file is empty; its first line should name the columns");
  do HVI_TRY(next_field(c, &t->names[t->columns++]));
  while (!c->ended);
  return HVI_OK;
}

/* A finite number in plain notation, or what else this form of a table can hold. */
static bool read_number(const char *field, hvi_table_form form, double *x) {
  char *end;
  *x = strtod(field, &end);
  const bool number = end != field && *end == '\0';
  if (!number) *x = NAN;
  if (form == HVI_TABLE_MIXED) return true;
  if (form == HVI_TABLE_NAMED && (!*field || strcmp(field, "NA") == 0)) return true;
  return number && isfinite(*x) && !field[strspn(field, "+-.0123456789eE")];
}

static hvi_status take_field(const hvi_table *t, const cursor *c, char *field, size_t row,
                             size_t k) {
  const size_t at = row * t->columns + k;
  if (t->cells) t->cells[at] = field;
  if (read_number(field, c->form, &t->data[at])) return HVI_OK;
  if (c->form == HVI_TABLE_PLAIN)
    return fail(c, "column %zu: '%.40s' is not a number", k + 1, field);
  return fail(c, "column %zu ('%.40s'): '%.40s' is not a number", k + 1, t->names[k], field);
}

static hvi_status read_row(const hvi_table *t, cursor *c) {
  size_t k = 0;
  char *field;
  do {
    HVI_TRY(next_field(c, &field));
    if (k < t->columns) HVI_TRY(take_field(t, c, field, t->rows, k));
    k++;
  } while (!c->ended);
  if (k == t->columns) return HVI_OK;
  return fail(c, "%zu field%s, and the first line has %zu", k, k == 1 ? "" : "s", t->columns);
}

/* The first line of a matrix is a row, unless it has no number at all. */
static hvi_status keep_first(hvi_table *t, const cursor *c) {
  bool row = false;
  double x;
  for (size_t k = 0; k < t->columns; k++) row = row || read_number(t->names[k], c->form, &x);
  if (c->form != HVI_TABLE_PLAIN || !row) return HVI_OK;
  for (size_t k = 0; k < t->columns; k++) HVI_TRY(take_field(t, c, t->names[k], 0, k));
  t->rows = 1;
  return HVI_OK;
}

static hvi_status read_rows(hvi_table *t, cursor *c) {
  /* each field but the last is followed by one of these: there cannot be more of them */
  size_t cells = t->columns + 1;
  for (const char *p = c->at; *p; p++) cells += *p == ',' || *p == '\n';
  const bool mixed = c->form == HVI_TABLE_MIXED;
  t->data = hvi_alloc_doubles(cells);
  t->cells = mixed ? hvi_alloc(cells, sizeof *t->cells) : NULL;
  if (!t->data || (mixed && !t->cells)) return hvi_error_memory(c->err, "a table");
  HVI_TRY(keep_first(t, c));
  for (c->line++, skip_lines(c); !at_end(c); t->rows++, c->line++, skip_lines(c))
    HVI_TRY(read_row(t, c));
  return t->rows || mixed ? HVI_OK : fail(c, "the file has a first line and no data");
}

hvi_status hvi_table_parse(hvi_table *t, char *text, const char *name, hvi_table_form form,
                           hvi_error *err) {
  *t = (hvi_table){.text = text};
  cursor c = {.path = name, .at = text, .line = 1, .form = form, .err = err};
  /* some programs put a byte order mark in front */
  if (strncmp(c.at, "\xEF\xBB\xBF", 3) == 0) c.at += 3;
  hvi_status status = read_names(t, &c);
  if (!status) status = read_rows(t, &c);
  if (status) hvi_table_clear(t);
  return status;
}

hvi_status hvi_table_read(hvi_table *t, const char *path, hvi_table_form form, size_t max_bytes,
                          hvi_error *err) {
  char *text;
  *t = (hvi_table){0};
  HVI_TRY(hvi_file_read_text(&text, path, max_bytes, err));
  return hvi_table_parse(t, text, path, form, err);
}

void hvi_table_clear(hvi_table *t) {
  hvi_free(t->names);
  hvi_free(t->data);
  hvi_free(t->cells);
  hvi_free(t->text);
  *t = (hvi_table){0};
}

size_t hvi_table_column(const hvi_table *t, const char *name) {
  size_t k = 0;
  while (k < t->columns && strcmp(t->names[k], name) != 0) k++;
  return k;
}

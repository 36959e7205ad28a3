#include "study/table.h"

#include "base/base.h"
#include "report/csv.h"
#include "report/text.h"

#include <fcntl.h>

size_t hvi_column_width(const hvi_column *c) {
  size_t words = 0;
  for (const char *at = c->name; *at; at += strspn(at, " ")) {
    at += strcspn(at, " ");
    words++;
  }
  return words;
}

hvi_status hvi_table_new(hvi_table *t, const char *name, const hvi_column *column, size_t columns,
                         hvi_error *err) {
  *t = (hvi_table){0};
  if (strlen(name) >= sizeof t->name)
    return hvi_error_argument(err, "a table's name is too long: '%s'", name);
  size_t letters = 0;
  for (size_t i = 0; i < columns; i++) {
    t->columns += hvi_column_width(&column[i]);
    letters += strlen(column[i].name) + 1;
  }
  t->column = hvi_alloc(t->columns + 1, sizeof *t->column); /* a NULL name ends it */
  char *at = t->names = hvi_alloc(letters, 1);
  if (!t->column || !at) return hvi_table_free(t), hvi_error_memory(err, "a table");
  strcpy(t->name, name);
  for (size_t i = 0, n = 0; i < columns; i++)
    for (const char *word = column[i].name; *word; word += strspn(word, " ")) {
      const size_t length = strcspn(word, " ");
      t->column[n++] = (hvi_column){memcpy(at, word, length), column[i].words};
      at += length + 1;
      word += length;
    }
  return HVI_OK;
}

void hvi_table_free(hvi_table *t) {
  hvi_free(t->column);
  hvi_free(t->names);
  hvi_free(t->at);
  *t = (hvi_table){0};
}

static bool make_room(hvi_table *t) {
  size_t size;
  if (t->rows < t->room) return true;
  const size_t room = t->room ? 2 * t->room : 64;
  if (room < t->room || !hvi_multiply_sizes(room, t->columns, &size)) return false;
  double *at = hvi_grow(t->at, t->rows * t->columns * sizeof *at, size, sizeof *at);
  if (!at) return false;
  t->at = at;
  t->room = room;
  return true;
}

/* Whether x is the index of a word, or NaN. */
static bool is_word(const hvi_column *column, double x) {
  double count = 0.0;
  if (isnan(x)) return true;
  for (const char *const *word = column->words; *word; word++) count += 1.0;
  return x >= 0.0 && x < count && x == floor(x);
}

hvi_status hvi_table_add(hvi_table *t, const double *row, hvi_error *err) {
  for (size_t i = 0; i < t->columns; i++)
    if (t->column[i].words && !is_word(&t->column[i], row[i]))
      return hvi_error_argument(err, "table '%s': column '%s' has no word %g", t->name,
                                t->column[i].name, row[i]);
  if (!make_room(t)) return hvi_error_memory(err, "the rows of a table");
  for (size_t i = 0; i < t->columns; i++) t->at[t->rows * t->columns + i] = row[i];
  t->rows++;
  return HVI_OK;
}

size_t hvi_table_find(const hvi_table *t, const char *name) {
  size_t i = 0;
  while (i < t->columns && strcmp(t->column[i].name, name) != 0) i++;
  return i;
}

const char *hvi_table_word(const hvi_table *t, size_t row, size_t column) {
  const double x = hvi_table_get(t, row, column);
  return t->column[column].words && !isnan(x) ? t->column[column].words[(size_t)x] : NULL;
}

bool hvi_table_matches(const hvi_table *t, size_t row, const hvi_table_filter *filters,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t column = hvi_table_find(t, filters[i].column);
    if (column == t->columns) continue;
    const char *word = hvi_table_word(t, row, column);
    const bool same = filters[i].word ? word && strcmp(word, filters[i].word) == 0
                                      : hvi_table_get(t, row, column) == filters[i].number;
    if (!same) return false;
  }
  return true;
}

/* Marks the columns to write: with a number in a row that is written, and no filter's. A table of
 * no rows keeps its header. */
static void choose_columns(bool *chosen, const hvi_table *t, const hvi_table_filter *filters,
                           size_t count) {
  bool empty = true;
  for (size_t row = 0; row < t->rows; row++) {
    if (!hvi_table_matches(t, row, filters, count)) continue;
    empty = false;
    for (size_t i = 0; i < t->columns; i++)
      chosen[i] = chosen[i] || !isnan(hvi_table_get(t, row, i));
  }
  for (size_t i = 0; i < t->columns; i++) {
    chosen[i] = chosen[i] || empty;
    for (size_t k = 0; k < count; k++)
      if (strcmp(t->column[i].name, filters[k].column) == 0) chosen[i] = false;
  }
}

static void write_row(hvi_csv *csv, const hvi_table *t, size_t row, const bool *chosen) {
  for (size_t i = 0; i < t->columns; i++) {
    const char *word = hvi_table_word(t, row, i);
    if (!chosen[i]) continue;
    if (word)
      hvi_csv_text(csv, word);
    else
      hvi_csv_number(csv, hvi_table_get(t, row, i));
  }
  hvi_csv_end(csv);
}

hvi_status hvi_table_write(const hvi_table *t, const char *path, const hvi_table_filter *filters,
                           size_t count, hvi_error *err) {
  HVI_OWN_BY(hvi_csv_discard) hvi_csv csv = {0};
  HVI_OWN_BY(hvi_text_free) hvi_text header = {0};
  HVI_NEW(bool, chosen, t->columns, "the columns of a table", err);
  choose_columns(chosen, t, filters, count);
  for (size_t i = 0; i < t->columns; i++)
    if (chosen[i]) hvi_text_add(&header, "%s%s", header.length ? "," : "", t->column[i].name);
  if (header.failed) return hvi_error_memory(err, "the columns of a table");
  HVI_TRY(hvi_csv_open(&csv, path, header.data ? header.data : "", err));
  for (size_t row = 0; row < t->rows; row++)
    if (hvi_table_matches(t, row, filters, count)) write_row(&csv, t, row, chosen);
  return hvi_csv_close(&csv, err);
}

hvi_status hvi_table_ours(const hvi_table *t, const char *path, hvi_error *err) {
  char line[4096] = "", *rest;
  size_t known = 0, all = 0;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) {
    line[hvi_file_read_at(fd, line, sizeof line - 1, 0)] = '\0';
    close(fd);
  }
  line[strcspn(line, "\r\n")] = '\0';
  for (char *name = strtok_r(line, ",", &rest); name; name = strtok_r(NULL, ",", &rest), all++)
    known += hvi_table_find(t, name) < t->columns;
  return hvi_file_ours(path, all && 2 * known >= all ? NULL : "\1 no file has this \1", err);
}

/*
 * Tables: what the cells of a study leave, as rows of numbers under named columns.
 *
 * A column of words holds indices into its list of words. NaN stands for nothing: an empty place in
 * a CSV, and a column that has no number in any row is not written at all.
 */
#pragma once

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct hvi_column {
  const char *name;         /* or several of one kind, with blanks between; NULL ends a list */
  const char *const *words; /* [.] ending in NULL; NULL: numbers */
} hvi_column;

typedef struct hvi_table {
  char name[64]; /* of its CSV */
  size_t columns;
  hvi_column *column; /* [columns], one name each; their words outlive the table */
  char *names;
  size_t rows, room;
  double *at;        /* [rows][columns] */
  const char *split; /* columns, by words with blanks between, with a CSV for each of their values;
                        NULL: one CSV */
  size_t part;       /* of the study, whose cells it is of */
} hvi_table;

/* How many columns an entry names. */
size_t hvi_column_width(const hvi_column *c);
/* `column` has `columns` entries and is copied. */
hvi_status hvi_table_new(hvi_table *t, const char *name, const hvi_column *column, size_t columns,
                         hvi_error *err);
void hvi_table_free(hvi_table *t);
/* Appends row[columns]. In a column of words an index that has no word is refused. */
hvi_status hvi_table_add(hvi_table *t, const double *row, hvi_error *err);
#define hvi_table_put(t, err, ...) hvi_table_add(t, (const double[]){__VA_ARGS__}, err)

/* The column of that name; t->columns when there is none. */
size_t hvi_table_find(const hvi_table *t, const char *name);
/* The word that stands there; NULL in a column of numbers and where there is nothing. */
const char *hvi_table_word(const hvi_table *t, size_t row, size_t column);

static inline double hvi_table_get(const hvi_table *t, size_t row, size_t column) {
  return t->at[row * t->columns + column];
}

/* Which rows: those whose column has this word, or this number where it has none. A table without
 * that column has all of its rows. */
typedef struct hvi_table_filter {
  const char *column, *word;
  double number; /* where word is NULL */
} hvi_table_filter;

bool hvi_table_matches(const hvi_table *t, size_t row, const hvi_table_filter *filters,
                       size_t count);

/* Writes the rows that match all filters to path; columns of the filters, and those without any
 * number in these rows, are left out. Without rows it is the header alone. */
hvi_status hvi_table_write(const hvi_table *t, const char *path, const hvi_table_filter *filters,
                           size_t count, hvi_error *err);
/* The rule of hvi_file_ours: hvi's are files that have at least half of the names in their first
 * line in common with the table, for factors come and go. */
hvi_status hvi_table_ours(const hvi_table *t, const char *path, hvi_error *err);

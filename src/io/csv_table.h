/*
 * Tables of numbers from CSV files.
 *
 * The first line names the columns. A field may be quoted ("" is a quote inside). Lines end in LF or
 * CRLF, a field does not run over a line's end, and every line has as many fields as the first.
 */
#pragma once

#include <hvi/error.h>

#include <stddef.h>

typedef enum hvi_table_form {
  HVI_TABLE_NAMED, /* of other programs: an empty field and NA are missing values, everything else is
                    * a finite number, and there is a row at least */
  HVI_TABLE_PLAIN, /* a matrix: finite numbers alone, blanks around them; empty lines and lines that
                    * begin with # are skipped, and a first line with a number in it is a row */
  HVI_TABLE_MIXED  /* of our own: words beside numbers, which may be infinite */
} hvi_table_form;

typedef struct hvi_table {
  size_t rows, columns;
  char **names; /* [columns] */
  double *data; /* [rows][columns], NaN where a value is missing, or a word */
  char **cells; /* [rows][columns] of a mixed one: the fields */
  char *text;   /* the file, which names and cells point into */
} hvi_table;

/* HVI_ERROR_INPUT names file, line and column. */
hvi_status hvi_table_read(hvi_table *t, const char *path, hvi_table_form form, size_t max_bytes,
                          hvi_error *err);
/* From a text, which is the table's from then on; `name` opens error texts. */
hvi_status hvi_table_parse(hvi_table *t, char *text, const char *name, hvi_table_form form,
                           hvi_error *err);
/* Empties the table; the struct itself is the caller's. */
void hvi_table_clear(hvi_table *t);

/* The column of that name; t->columns when there is none. */
size_t hvi_table_column(const hvi_table *t, const char *name);

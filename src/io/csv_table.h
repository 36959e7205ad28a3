/*
 * Tables of numbers from CSV files that other programs wrote.
 *
 * The first line names the columns. A field may be quoted ("" is a quote inside); an empty field
 * and NA are missing values; everything else must be a finite number. Lines end in LF or CRLF, a
 * field does not run over a line's end, and every line has as many fields as the first.
 */
#pragma once

#include <hvi/error.h>

#include <stddef.h>

typedef struct hvi_table {
  size_t rows, columns;
  char **names; /* [columns] */
  double *data; /* [rows][columns], NaN where a value is missing */
  char *text;   /* the file, which the names point into */
} hvi_table;

/* HVI_ERROR_INPUT names file, line and column. */
hvi_status hvi_table_read(hvi_table *t, const char *path, size_t max_bytes, hvi_error *err);
/* Empties the table; the struct itself is the caller's. */
void hvi_table_clear(hvi_table *t);

/* The column of that name; t->columns when there is none. */
size_t hvi_table_column(const hvi_table *t, const char *name);

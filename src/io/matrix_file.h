/*
 * Matrices in files, by the ending of the name: .npy (one or two axes), .csv (io/csv_table.h) and .mtx (MatrixMarket, "matrix coordinate real general").
 *
 * Files are treated as hostile: sizes are checked before anything is allocated, and every number
 * must be finite. Errors name the file, the line and the column.
 */
#pragma once

#include <hvi/error.h>
#include <hvi/sparse.h>

#include <stddef.h>

typedef struct hvi_matrix_file {
  size_t rows, columns; /* one axis is one column */
  double *data;         /* [rows][columns]; NULL for .mtx: */
  hvi_sparse sparse;
} hvi_matrix_file;

hvi_status hvi_matrix_file_read(hvi_matrix_file *out, const char *path, hvi_error *err);
void hvi_matrix_file_free(hvi_matrix_file *m);
/* Writes a sparse matrix out in full; an error when that is over 2^27 numbers. */
hvi_status hvi_matrix_file_fill(hvi_matrix_file *m, hvi_error *err);

/* An .mtx file that has been read; `name` opens error texts. */
hvi_status hvi_market_parse(hvi_matrix_file *out, const char *text, const char *name,
                            hvi_error *err);

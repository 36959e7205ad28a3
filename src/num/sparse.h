/* Products with sparse matrices. */
#pragma once

#include <hvi/error.h>
#include <hvi/sparse.h>

#include <stddef.h>

/* Room for `entries` entries, start all zero; an error when there is no memory or a column does not
 * fit into 32 bits. */
hvi_status hvi_sparse_new(hvi_sparse *out, size_t rows, size_t columns, size_t entries,
                          hvi_error *err);
/* A copy with sorted columns; duplicate entries are added up. HVI_ERROR_INPUT for indices out of
 * range, row starts that do not ascend, numbers that are not finite. */
hvi_status hvi_sparse_copy(hvi_sparse *out, const hvi_sparse *from, hvi_error *err);
/* From entries in any order, the same way; rows and columns counted from 0. */
hvi_status hvi_sparse_gather(hvi_sparse *out, size_t rows, size_t columns, size_t entries,
                             const uint32_t *row, const uint32_t *column, const double *value,
                             hvi_error *err);
/* Sorts and adds up in place. */
hvi_status hvi_sparse_tidy(hvi_sparse *A, hvi_error *err);
void hvi_sparse_free(hvi_sparse *A);

/* y = A x;  y = A' x */
void hvi_sparse_mul(double *y, const hvi_sparse *A, const double *x);
void hvi_sparse_mul_t(double *y, const hvi_sparse *A, const double *x);

/* Products with sparse matrices. */
#ifndef HVI_NUM_SPARSE_H
#define HVI_NUM_SPARSE_H

#include <hvi/error.h>
#include <hvi/sparse.h>

#include <stddef.h>

/* A copy with sorted columns; duplicate entries are added up. HVI_ERROR_INPUT for indices out of
 * range, row starts that do not ascend, numbers that are not finite. */
hvi_status hvi_sparse_copy(hvi_sparse *out, const hvi_sparse *from, hvi_error *err);
void hvi_sparse_free(hvi_sparse *A);

/* y = A x;  y = A' x */
void hvi_sparse_mul(double *y, const hvi_sparse *A, const double *x);
void hvi_sparse_mul_t(double *y, const hvi_sparse *A, const double *x);

#endif

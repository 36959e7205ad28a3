/*
 * NumPy's .npy files: one array, a small text header and raw numbers.
 *
 * The reader treats a file as hostile: its size is checked before it is read; header length, shape,
 * type and the number of bytes are checked before the array is allocated. Types read: floats of 2,
 * 4 and 8 bytes, integers of 1 to 8, booleans; either order of bytes, C or Fortran order. The result
 * is row-major, in the machine's order.
 */
#pragma once

#include "base/error.h"

#include <hvi/tensors.h>

enum { HVI_NPY_DESCR = 32 };

typedef struct hvi_array {
  size_t dims;                       /* number of axes; 0 for a single number */
  size_t shape[HVI_TENSOR_MAX_DIMS]; /* length of each */
  size_t size;                       /* product of the shape */
  double *data;                      /* row-major */
} hvi_array;

/* Reads a whole array; free it with hvi_array_free. Refuses files over max_bytes (0: 1 GiB). */
hvi_status hvi_npy_read(hvi_array *out, const char *path, size_t max_bytes, hvi_error *err);
/* The same from the bytes of a file; `name` is for the error text. */
hvi_status hvi_npy_decode(hvi_array *out, const unsigned char *bytes, size_t size, const char *name,
                          hvi_error *err);
/* The same as a tensor, whose numbers are put in order at the beginning of `bytes`; the name stays.
 * Of a type that is not read, `descr` tells, t->type is HVI_TENSOR_TYPE_COUNT, and t->data what
 * stands in the file. */
hvi_status hvi_npy_tensor(hvi_tensor *t, char descr[HVI_NPY_DESCR], unsigned char *bytes,
                          size_t size, const hvi_subject *f);
/* Marks of files that hvi wrote (hvi_file_ours): how the blanks end that a header is padded with. No
 * reader minds them, and a comment would be too much for those that are not Python. */
#define HVI_NPY_THETA   "\t \t \t \t\t\n"
#define HVI_NPY_ROWS    "\t \t \t\t \t\n"
#define HVI_NPY_STATE   "\t \t\t \t \t\n"
#define HVI_NPY_ACTIONS "\t\t  \t \t \t\n"
/* Writes float64, version 1.0, whole or not at all. */
hvi_status hvi_npy_write(const char *path, const double *data, size_t dims, const size_t *shape,
                         const char *mark, hvi_error *err);
void hvi_array_free(hvi_array *a);

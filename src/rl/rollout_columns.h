/* Columns of a file: tensors by name, with the shape they must have. */
#ifndef HVI_RL_ROLLOUT_COLUMNS_H
#define HVI_RL_ROLLOUT_COLUMNS_H

#include <hvi/tensors.h>

/* The tensor `name` with one axis (width 0) or two; *rows and *width are checked where they are not
 * 0, and filled in where they are. An error names file and tensor. */
hvi_status hvi_column_find(const hvi_tensor **t, const hvi_tensors *file, const char *path,
                           const char *name, size_t dims, size_t *rows, size_t *width,
                           hvi_error *err);

/* Its numbers, finite ones, in memory of their own (hvi_free). NULL: an error. */
float *hvi_column_floats(const hvi_tensors *file, const char *path, const char *name, size_t dims,
                         size_t *rows, size_t *width, hvi_error *err);
double *hvi_column_doubles(const hvi_tensors *file, const char *path, const char *name, size_t dims,
                           size_t *rows, size_t *width, hvi_error *err);

#endif

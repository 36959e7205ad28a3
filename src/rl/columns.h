/*
 * Columns of a data set or a test set: which tensor of a file is which array of a struct.
 *
 * A table of them is all that allocation, reading and writing need. The struct begins with its
 * number of rows, a size_t.
 */
#ifndef HVI_RL_COLUMNS_H
#define HVI_RL_COLUMNS_H

#include "rl/rollout_notes.h"

typedef struct hvi_column {
  const char *name;             /* in the file */
  hvi_tensor_type file, memory; /* types; in memory F32 (float), F64 (double) or BOOL (bool) */
  size_t data, width; /* offsets of the pointer and of a row's length; width 0: a number a row */
} hvi_column;

typedef struct hvi_columns {
  size_t count;
  const hvi_column *items;
  const char *what; /* "a data set", for errors */
} hvi_columns;

/* Zeros, as many as rows and widths in the struct say; false without memory. */
bool hvi_columns_alloc(void *s, const hvi_columns *columns);
void hvi_columns_free(void *s, const hvi_columns *columns);

/* Reads all columns, finite numbers, and learns rows and widths, which must agree. False: the error
 * names file and tensor. */
bool hvi_columns_load(void *s, const hvi_columns *columns, const hvi_tensors *file,
                      const char *path, hvi_error *err);
hvi_status hvi_columns_write(const char *path, const void *s, const hvi_columns *columns,
                             const hvi_notes *notes, hvi_error *err);

#endif

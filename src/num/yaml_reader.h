/* From a YAML tree to checked numbers. Whatever is wrong is named by file, line and place. */
#ifndef HVI_NUM_YAML_READER_H
#define HVI_NUM_YAML_READER_H

#include "base/yaml_tree.h"

#include <stdbool.h>

typedef struct hvi_reader {
  const char *name;   /* of the file, for error texts */
  const char *folder; /* that names of .npy files are relative to; NULL: there can be none */
  hvi_error *err;
  struct hvi_piece *pieces; /* what hvi_reader_doubles gave out */
} hvi_reader;

/* Numbers read live as long as the reader. */
void hvi_reader_clear(hvi_reader *r);
double *hvi_reader_doubles(hvi_reader *r, size_t n);

/* HVI_ERROR_INPUT with "name:line: " before the text. */
hvi_status hvi_reader_fail(hvi_reader *r, const hvi_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The node must be a map with no other keys than these, which end in NULL. */
hvi_status hvi_reader_keys(hvi_reader *r, const hvi_node *map, const char *what,
                           const char *const *known);

/* A number, or a fraction such as 1/3; infinite only where that makes sense. */
hvi_status hvi_reader_number(hvi_reader *r, const hvi_node *node, bool infinite, double *x);
/* A whole number from 1 to most. */
hvi_status hvi_reader_count(hvi_reader *r, const hvi_node *node, size_t most, size_t *count);
hvi_status hvi_reader_bool(hvi_reader *r, const hvi_node *node, bool *yes);
hvi_status hvi_reader_text(hvi_reader *r, const hvi_node *node, const char **text);

/* A list of n numbers, or one number that stands for all of them. */
hvi_status hvi_reader_vector(hvi_reader *r, const hvi_node *node, size_t n, bool infinite,
                             const double **x);

/* A matrix: rows under `key`, or an .npy file's name under `key`_file. Neither: *A is NULL. */
typedef struct hvi_matrix {
  size_t rows, columns;
  const double *data; /* row-major */
  const hvi_node *node;
} hvi_matrix;

hvi_status hvi_reader_matrix(hvi_reader *r, const hvi_node *map, const char *key, hvi_matrix *A);
/* The same for a list of numbers, as one column. */
hvi_status hvi_reader_column(hvi_reader *r, const hvi_node *map, const char *key, hvi_matrix *A);
/* Fails unless A is rows x columns. */
hvi_status hvi_reader_shape(hvi_reader *r, const hvi_matrix *A, size_t rows, size_t columns);

#endif

/* A sparse matrix as a description: fill it in and hand it over. */
#ifndef HVI_SPARSE_H
#define HVI_SPARSE_H

#include <stddef.h>
#include <stdint.h>

/* By rows (CSR): row i has entries start[i] .. start[i + 1]. */
typedef struct hvi_sparse {
  size_t rows, columns;
  size_t *start;    /* [rows + 1] */
  uint32_t *column; /* [start[rows]]; 32 bits: half the traffic of a product */
  double *value;    /* [start[rows]] */
} hvi_sparse;

#endif

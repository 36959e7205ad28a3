/*
 * The header of a .npy file: magic, version, length, and a Python dictionary such as
 *
 *   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }
 */
#ifndef HVI_NUM_NPY_HEADER_H
#define HVI_NUM_NPY_HEADER_H

#include "num/npy.h"

#include <stdbool.h>

typedef struct hvi_npy_header {
  char kind;        /* 'f', 'i' or 'b' */
  size_t item_size; /* bytes a number */
  bool big_endian;
  bool fortran_order;
  size_t dims;
  size_t shape[HVI_NPY_MAX_DIMS];
  size_t size;        /* product of the shape */
  size_t data_offset; /* where the numbers start in the file */
} hvi_npy_header;

/* Parses the first bytes of a file of `size` bytes; `name` is for the error text. Checks everything
 * but that the numbers are all there. */
hvi_status hvi_npy_header_parse(hvi_npy_header *h, const unsigned char *bytes, size_t size,
                                const char *name, hvi_error *err);

enum { HVI_NPY_HEADER_ROOM = 512 };

/* Writes the header of a float64 array in C order; returns its length. */
size_t hvi_npy_header_write(char out[HVI_NPY_HEADER_ROOM], size_t dims, const size_t *shape);

#endif

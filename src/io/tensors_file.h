/*
 * The .safetensors file: eight bytes of length, then JSON such as
 *
 *   {"__metadata__": {"made by": "hvi"},
 *    "fc1.weight": {"dtype": "F32", "shape": [256, 27], "data_offsets": [0, 27648]}}
 *
 * and the numbers. Offsets are counted from the end of the header. Sorted, they follow each other
 * without a gap from zero to the end of the file.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"

#include <hvi/tensors.h>

HVI_RELEASE(hvi_tensors)

enum { HVI_TENSORS_PREFIX = 8, HVI_TENSORS_MAX_HEADER = 16000000 };

/* How the map of text is called among the tensors, and the checksum among the notes. */
#define HVI_TENSORS_NOTES    "__metadata__"
#define HVI_TENSORS_CHECKSUM "hvi.checksum"

/* What owns tensors that were read. */
typedef struct hvi_tensors_owner {
  hvi_tensors tensors;
  unsigned char *bytes;    /* of a .safetensors file; NULL: each tensor has its own */
  struct json_t *document; /* that holds its names and notes */
  bool checked;            /* it had a checksum, right, and no note any more */
  hvi_pool *pool;          /* of the lists, and of names and notes of other files */
} hvi_tensors_owner;

/* From the bytes of an .npz file, and at most max_bytes of numbers; `name` is for the error text. */
hvi_status hvi_npz_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                          size_t max_bytes, const char *name, hvi_error *err);

/* Refuses a BOOL that is neither 0 nor 1. */
hvi_status hvi_tensor_check_bools(const hvi_tensor *t, const hvi_subject *file);

/* The header of these tensors, one after the other in this order, and their notes, with a checksum;
 * with the length in front and padded with spaces to a multiple of 64 bytes; hvi_free it. `name` is
 * for the error text. */
hvi_status hvi_tensors_header_write(unsigned char **header, size_t *size, const hvi_tensors *t,
                                    const char *name, hvi_error *err);

/* hvi_tensors_write; keep: as a file that hvi keeps for itself (hvi_file_replace). */
hvi_status hvi_tensors_store(const char *path, const hvi_tensors *t, bool keep, hvi_error *err);

/* By its name; HVI_TENSOR_TYPE_COUNT: there is no such type. */
hvi_tensor_type hvi_tensor_type_find(const char *name);
/* n numbers of a type, anywhere in memory, as doubles. */
void hvi_tensor_load(double *out, hvi_tensor_type type, const unsigned char *data, size_t n);

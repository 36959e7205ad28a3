/*
 * The header of a .safetensors file: eight bytes of length, then JSON such as
 *
 *   {"__metadata__": {"made by": "hvi"},
 *    "fc1.weight": {"dtype": "F32", "shape": [256, 27], "data_offsets": [0, 27648]}}
 *
 * Places are counted from the end of the header. Sorted, they follow each other without a gap from
 * zero to the end of the file.
 */
#ifndef HVI_IO_TENSORS_HEADER_H
#define HVI_IO_TENSORS_HEADER_H

#include <hvi/tensors.h>

#include <stdbool.h>

#include <jansson.h>

enum { HVI_TENSORS_PREFIX = 8, HVI_TENSORS_MAX_HEADER = 16000000 };

/* How the map of text is called among the tensors, and the checksum among the notes. */
#define HVI_TENSORS_NOTES    "__metadata__"
#define HVI_TENSORS_CHECKSUM "hvi.checksum"
enum { HVI_CHECKSUM_TEXT = 17 };

typedef struct hvi_tensor_entry {
  hvi_tensor tensor; /* without data yet; the name belongs to the document */
  size_t begin, end;
} hvi_tensor_entry;

typedef struct hvi_tensors_header {
  json_t *document;
  size_t data_offset; /* where the numbers start in the file */
  hvi_tensor_entry *entries;
  size_t count;
  hvi_tensor_note *notes;
  size_t note_count;
} hvi_tensors_header;

/* Parses the first bytes of a file of `size` bytes and checks every entry; `name` is for the error
 * text. Entries come out in the order of their place. */
hvi_status hvi_tensors_header_parse(hvi_tensors_header *h, const unsigned char *bytes, size_t size,
                                    const char *name, hvi_error *err);
void hvi_tensors_header_free(hvi_tensors_header *h);

/* The header of these tensors, one after the other in this order, and their notes, with a checksum;
 * with the length in front and padded with spaces to a multiple of 64 bytes; hvi_free it. `name` is
 * for the error text. */
hvi_status hvi_tensors_header_write(unsigned char **header, size_t *size, const hvi_tensors *t,
                                    const char *name, hvi_error *err);

/* hvi_tensors_write; keep: as a file that hvi keeps for itself (hvi_file_replace). */
hvi_status hvi_tensors_store(const char *path, const hvi_tensors *t, bool keep, hvi_error *err);

/* The checksum of tensors and notes, as sixteen hexadecimal digits. */
void hvi_tensors_checksum(char text[HVI_CHECKSUM_TEXT], const hvi_tensors *t);
/* Whether the file that was read had a checksum. It was right then, and is not among the notes. */
bool hvi_tensors_checked(const hvi_tensors *t);

/* Product of the shape and its bytes; false when they overflow, zero axes set aside, so that every
 * partial product is safe too. */
bool hvi_tensor_measure(const hvi_tensor *t, size_t *count, size_t *bytes);

/* Where the first byte of a BOOL tensor stands that is neither 0 nor 1; its count when none is. */
size_t hvi_tensor_bad_bool(const hvi_tensor *t);

/* HVI_ERROR_UNSUPPORTED where the machine's numbers are not little-endian as a file's are. */
hvi_status hvi_tensors_check_machine(hvi_error *err);

#endif

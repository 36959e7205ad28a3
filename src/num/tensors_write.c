/*
 * Writing a .safetensors file.
 *
 * Types of wide numbers come first, names in order within a width, and the header ends at a
 * multiple of 64 bytes, so that every tensor is aligned to its type without a gap. The order in
 * which tensors are handed over does not matter to the bytes. Numbers go to the file from where
 * they lie.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "num/tensors_header.h"

#include <stdlib.h>
#include <string.h>

static hvi_status check_bool(const hvi_tensor *t, const char *path, hvi_error *err) {
  size_t bad = hvi_tensor_bad_bool(t);
  if (bad == hvi_tensor_count(t)) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                       "'%s': tensor '%.80s' has %d at index %zu; a BOOL is 0 or 1", path, t->name,
                       ((const unsigned char *)t->data)[bad], bad);
}

static hvi_status check_tensor(const hvi_tensor *t, const char *path, hvi_error *err) {
  size_t count, bytes;
  const char *problem = NULL;
  if (!t->name) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': a tensor has no name", path);
  if (!strcmp(t->name, HVI_TENSORS_NOTES)) {
    problem = "has the name that is kept for the notes";
  } else if ((unsigned)t->type >= HVI_TENSOR_TYPE_COUNT) {
    problem = "has an unknown type";
  } else if (t->dims > HVI_TENSOR_MAX_DIMS) {
    problem = "has more than 8 axes";
  } else if (!hvi_tensor_measure(t, &count, &bytes)) {
    problem = "has a shape too large for any memory";
  } else if (count && !t->data) {
    problem = "has no data";
  }
  if (problem) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': tensor '%.80s' %s", path, t->name,
                         problem);
  }
  return t->type == HVI_TENSOR_BOOL ? check_bool(t, path, err) : HVI_OK;
}

static int compare_order(const void *a, const void *b) {
  const hvi_tensor *x = *(const hvi_tensor *const *)a, *y = *(const hvi_tensor *const *)b;
  size_t x_size = hvi_tensor_type_size(x->type), y_size = hvi_tensor_type_size(y->type);
  if (x_size != y_size) return x_size > y_size ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* A failed write stays in the stream and is found by the commit. */
static hvi_status write_file(const char *path, const unsigned char *header, size_t header_size,
                             const hvi_tensor *const *order, size_t count, hvi_error *err) {
  hvi_file f;
  hvi_status status = hvi_file_create(&f, path, err);
  if (status) return status;
  bool good = fwrite(header, 1, header_size, f.stream) == header_size;
  for (size_t i = 0; i < count && good; i++) {
    size_t bytes = hvi_tensor_count(order[i]) * hvi_tensor_type_size(order[i]->type);
    good = bytes == 0 || fwrite(order[i]->data, 1, bytes, f.stream) == bytes;
  }
  return hvi_file_commit(&f, err);
}

hvi_status hvi_tensors_write(const char *path, const hvi_tensor *items, size_t count,
                             const hvi_tensor_note *notes, size_t note_count, hvi_error *err) {
  hvi_status status = hvi_tensors_check_machine(err);
  for (size_t i = 0; i < count && !status; i++) {
    status = check_tensor(&items[i], path, err);
  }
  if (status) return status;
  const hvi_tensor **order = hvi_alloc(count, sizeof *order);
  if (!order) return hvi_error_memory(err, "a list of tensors");
  for (size_t i = 0; i < count; i++) order[i] = &items[i];
  qsort(order, count, sizeof *order, compare_order);
  unsigned char *header = NULL;
  size_t header_size = 0;
  status =
      hvi_tensors_header_write(&header, &header_size, order, count, notes, note_count, path, err);
  if (!status) status = write_file(path, header, header_size, order, count, err);
  hvi_free(header);
  hvi_free(order);
  return status;
}

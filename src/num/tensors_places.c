/* Sizes of tensors and their places in a file. */
#include "base/error.h"
#include "base/memory.h"
#include "num/tensors_header.h"

#include <stdlib.h>
#include <string.h>

bool hvi_tensor_measure(const hvi_tensor *t, size_t *count, size_t *bytes) {
  size_t product = 1;
  bool empty = false;
  for (size_t i = 0; i < t->dims; i++) {
    if (t->shape[i] == 0) {
      empty = true;
    } else if (!hvi_multiply_sizes(product, t->shape[i], &product)) {
      return false;
    }
  }
  /* room for the same count of doubles, so that a caller may multiply without a thought */
  if (!hvi_multiply_sizes(product, sizeof(double), bytes)) return false;
  *count = empty ? 0 : product;
  *bytes = *count * hvi_tensor_type_size(t->type);
  return true;
}

/* By place; empty tensors share theirs, and are told apart by their name. */
static int compare_places(const void *a, const void *b) {
  const hvi_tensor_entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->tensor.name, y->tensor.name);
}

static hvi_status check_end(const hvi_tensors_header *h, size_t end, size_t data_size,
                            const char *name, hvi_error *err) {
  if (end == data_size) return HVI_OK;
  if (end > data_size) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s': tensor '%.80s' ends at byte %zu of the data, of which there are "
                         "%zu (truncated?)",
                         name, h->entries[h->count - 1].tensor.name, end, data_size);
  }
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' has %zu bytes after its last tensor; it should end there", name,
                       data_size - end);
}

hvi_status hvi_tensors_check_places(hvi_tensors_header *h, size_t data_size, const char *name,
                                    hvi_error *err) {
  qsort(h->entries, h->count, sizeof *h->entries, compare_places);
  size_t end = 0;
  for (size_t i = 0; i < h->count; i++) {
    const hvi_tensor_entry *e = &h->entries[i];
    if (e->begin != end) {
      return hvi_error_set(err, HVI_ERROR_INPUT,
                           "'%s': tensor '%.80s' begins at byte %zu of the data, %s; it should "
                           "begin at %zu",
                           name, e->tensor.name, e->begin,
                           e->begin < end ? "within another tensor" : "after a gap", end);
    }
    end = e->end;
  }
  return check_end(h, end, data_size, name, err);
}

/*
 * Writing a .safetensors file.
 *
 * Types of wide numbers come first, names in order within a width, and the header ends at a
 * multiple of 64 bytes, so that every tensor is aligned to its type without a gap. The order in
 * which tensors are handed over does not matter to the bytes. Numbers go to the file from where
 * they lie.
 *
 * The first note is a checksum over everything that the file says: each tensor's name, type, shape
 * and numbers, each other note. It does not depend on the order, so that another program may write
 * the same tensors and notes again.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/tensors_header.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_ALIGNMENT = 64 };

/* Adds a value under a key (and lets go of it where that fails). */
static hvi_status add(json_t *object, const char *key, json_t *value, const char *name,
                      hvi_error *err) {
  hvi_status status = HVI_OK;
  if (json_object_get(object, key)) {
    status =
        hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': the name '%.80s' is given twice", name, key);
  } else if (!value || json_object_set(object, key, value)) {
    status =
        hvi_error_set(err, HVI_ERROR_ARGUMENT,
                      "'%s': '%.80s' cannot be written; names and notes are UTF-8 text", name, key);
  }
  json_decref(value);
  return status;
}

static json_t *describe_shape(const hvi_tensor *t) {
  json_t *shape = json_array();
  for (size_t i = 0; i < t->dims && shape; i++) {
    if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i])) == 0) continue;
    json_decref(shape);
    shape = NULL;
  }
  return shape;
}

static json_t *describe(const hvi_tensor *t, size_t begin, size_t end) {
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", hvi_tensor_type_name(t->type), "shape",
                   describe_shape(t), "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static size_t bytes_of(const hvi_tensor *t) {
  return hvi_tensor_count(t) * hvi_tensor_type_size(t->type);
}

static hvi_status add_tensors(json_t *root, const hvi_tensors *t, const char *name,
                              hvi_error *err) {
  size_t begin = 0;
  for (size_t i = 0; i < t->count; i++) {
    const size_t bytes = bytes_of(&t->items[i]);
    if (bytes > (size_t)INT64_MAX - begin) {
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': the tensors are too large", name);
    }
    json_t *description = describe(&t->items[i], begin, begin + bytes);
    if (!description) return hvi_error_memory(err, "the header of a tensor file");
    hvi_status status = add(root, t->items[i].name, description, name, err);
    if (status) return status;
    begin += bytes;
  }
  return HVI_OK;
}

/* The checksum stands first, then the notes. */
static hvi_status add_notes(json_t *root, const hvi_tensors *t, const char *name, hvi_error *err) {
  char sum[HVI_CHECKSUM_TEXT];
  json_t *map = json_object();
  if (!map || json_object_set_new(root, HVI_TENSORS_NOTES, map)) {
    return hvi_error_memory(err, "the header of a tensor file");
  }
  for (size_t i = 0; i < t->note_count; i++) {
    if (!t->notes[i].key || !t->notes[i].text) {
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': a note without key or text", name);
    }
  }
  hvi_tensors_checksum(sum, t);
  hvi_status status = add(map, HVI_TENSORS_CHECKSUM, json_string(sum), name, err);
  for (size_t i = 0; i < t->note_count && !status; i++) {
    status = add(map, t->notes[i].key, json_string(t->notes[i].text), name, err);
  }
  return status;
}

/* The JSON text after its length, padded; hvi_free it. */
static hvi_status pad_header(unsigned char **header, size_t *size, const json_t *root,
                             const char *name, hvi_error *err) {
  const size_t flags = JSON_COMPACT;
  size_t length = json_dumpb(root, NULL, 0, flags);
  size_t total = HVI_TENSORS_PREFIX + length;
  total = (total + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
  if (total - HVI_TENSORS_PREFIX > HVI_TENSORS_MAX_HEADER) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "'%s': names and notes take %zu bytes; at most %d can be read back", name,
                         length, HVI_TENSORS_MAX_HEADER);
  }
  unsigned char *bytes = hvi_alloc(total, 1);
  if (!bytes || json_dumpb(root, (char *)bytes + HVI_TENSORS_PREFIX, length, flags) != length) {
    hvi_free(bytes);
    return hvi_error_memory(err, "the header of a tensor file");
  }
  memset(bytes + HVI_TENSORS_PREFIX + length, ' ', total - HVI_TENSORS_PREFIX - length);
  for (int i = 0; i < HVI_TENSORS_PREFIX; i++) {
    bytes[i] = (unsigned char)((uint64_t)(total - HVI_TENSORS_PREFIX) >> 8 * i);
  }
  *header = bytes;
  *size = total;
  return HVI_OK;
}

hvi_status hvi_tensors_header_write(unsigned char **header, size_t *size, const hvi_tensors *t,
                                    const char *name, hvi_error *err) {
  json_t *root = json_object();
  if (!root) return hvi_error_memory(err, "the header of a tensor file");
  hvi_status status = add_notes(root, t, name, err);
  if (!status) status = add_tensors(root, t, name, err);
  if (!status) status = pad_header(header, size, root, name, err);
  json_decref(root);
  return status;
}

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
  const hvi_tensor *x = a, *y = b;
  size_t x_size = hvi_tensor_type_size(x->type), y_size = hvi_tensor_type_size(y->type);
  if (x_size != y_size) return x_size > y_size ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* A failed write stays in the stream and is found by the commit. */
static hvi_status write_file(const char *path, const unsigned char *header, size_t header_size,
                             const hvi_tensors *t, bool keep, hvi_error *err) {
  hvi_file f;
  hvi_status status = keep ? hvi_file_replace(&f, path, err) : hvi_file_create(&f, path, err);
  if (status) return status;
  bool good = fwrite(header, 1, header_size, f.stream) == header_size;
  for (size_t i = 0; i < t->count && good; i++) {
    const size_t bytes = bytes_of(&t->items[i]);
    good = bytes == 0 || fwrite(t->items[i].data, 1, bytes, f.stream) == bytes;
  }
  return hvi_file_commit(&f, err);
}

hvi_status hvi_tensors_store(const char *path, const hvi_tensors *t, bool keep, hvi_error *err) {
  hvi_status status = hvi_tensors_check_machine(err);
  for (size_t i = 0; i < t->count && !status; i++) status = check_tensor(&t->items[i], path, err);
  if (status) return status;
  hvi_tensors sorted = *t;
  sorted.items = hvi_alloc(t->count, sizeof *sorted.items);
  if (!sorted.items) return hvi_error_memory(err, "a list of tensors");
  if (t->count) memcpy(sorted.items, t->items, t->count * sizeof *sorted.items);
  qsort(sorted.items, t->count, sizeof *sorted.items, compare_order);
  unsigned char *header = NULL;
  size_t header_size = 0;
  status = hvi_tensors_header_write(&header, &header_size, &sorted, path, err);
  if (!status) status = write_file(path, header, header_size, &sorted, keep, err);
  hvi_free(header);
  hvi_free(sorted.items);
  return status;
}

hvi_status hvi_tensors_write(const char *path, const hvi_tensor *items, size_t count,
                             const hvi_tensor_note *notes, size_t note_count, hvi_error *err) {
  const hvi_tensors t = {count, (hvi_tensor *)(uintptr_t)items, note_count,
                         (hvi_tensor_note *)(uintptr_t)notes, NULL};
  return hvi_tensors_store(path, &t, false, err);
}

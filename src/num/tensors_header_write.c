#include "base/error.h"
#include "base/memory.h"
#include "num/tensors_header.h"

#include <stdint.h>
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

static hvi_status add_tensors(json_t *root, const hvi_tensor *const *order, size_t count,
                              const char *name, hvi_error *err) {
  size_t begin = 0;
  for (size_t i = 0; i < count; i++) {
    size_t bytes = hvi_tensor_count(order[i]) * hvi_tensor_type_size(order[i]->type);
    if (bytes > (size_t)INT64_MAX - begin) {
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': the tensors are too large", name);
    }
    json_t *description = describe(order[i], begin, begin + bytes);
    if (!description) return hvi_error_memory(err, "the header of a tensor file");
    hvi_status status = add(root, order[i]->name, description, name, err);
    if (status) return status;
    begin += bytes;
  }
  return HVI_OK;
}

static hvi_status add_notes(json_t *root, const hvi_tensor_note *notes, size_t count,
                            const char *name, hvi_error *err) {
  if (count == 0) return HVI_OK;
  json_t *map = json_object();
  if (!map || json_object_set_new(root, HVI_TENSORS_NOTES, map)) {
    return hvi_error_memory(err, "the header of a tensor file");
  }
  for (size_t i = 0; i < count; i++) {
    if (!notes[i].key || !notes[i].text) {
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': a note without key or text", name);
    }
    hvi_status status = add(map, notes[i].key, json_string(notes[i].text), name, err);
    if (status) return status;
  }
  return HVI_OK;
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

hvi_status hvi_tensors_header_write(unsigned char **header, size_t *size,
                                    const hvi_tensor *const *order, size_t count,
                                    const hvi_tensor_note *notes, size_t note_count,
                                    const char *name, hvi_error *err) {
  json_t *root = json_object();
  if (!root) return hvi_error_memory(err, "the header of a tensor file");
  hvi_status status = add_notes(root, notes, note_count, name, err);
  if (!status) status = add_tensors(root, order, count, name, err);
  if (!status) status = pad_header(header, size, root, name, err);
  json_decref(root);
  return status;
}

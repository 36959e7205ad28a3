#include "io/tensors_header.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an error text is about. */
typedef struct subject {
  const char *file, *tensor;
  hvi_error *err;
} subject;

/* "'FILE': tensor 'NAME' ..." */
__attribute__((format(printf, 2, 3))) static hvi_status refuse(const subject *about,
                                                               const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  if (vsnprintf(text, sizeof text, format, args) < 0) text[0] = '\0';
  va_end(args);
  return hvi_error_set(about->err, HVI_ERROR_INPUT, "'%s': tensor '%.80s' %s", about->file,
                       about->tensor, text);
}

static uint64_t load_length(const unsigned char *bytes) {
  uint64_t length = 0;
  for (int i = HVI_TENSORS_PREFIX; i-- > 0;) length = length << 8 | bytes[i];
  return length;
}

/* The length of the JSON text, from the first eight bytes. */
static hvi_status measure_header(size_t *length, const unsigned char *bytes, size_t size,
                                 const char *name, hvi_error *err) {
  if (size < HVI_TENSORS_PREFIX) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' is not a .safetensors file: it has %zu bytes, and the length of the "
                         "header alone takes %d",
                         name, size, HVI_TENSORS_PREFIX);
  }
  uint64_t stated = load_length(bytes);
  if (stated > HVI_TENSORS_MAX_HEADER) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' is not a .safetensors file: its first eight bytes announce a header "
                         "of %ju bytes; at most %d are read",
                         name, (uintmax_t)stated, HVI_TENSORS_MAX_HEADER);
  }
  if (stated > size - HVI_TENSORS_PREFIX) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' announces a header of %ju bytes and has %zu after the first eight "
                         "(truncated?)",
                         name, (uintmax_t)stated, size - HVI_TENSORS_PREFIX);
  }
  *length = (size_t)stated;
  return HVI_OK;
}

static hvi_status parse_document(json_t **document, const unsigned char *text, size_t length,
                                 const char *name, hvi_error *err) {
  if (length == 0 || text[0] != '{') {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' is not a .safetensors file: its header does not start with '{'",
                         name);
  }
  json_error_t problem;
  *document = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES, &problem);
  if (*document) return HVI_OK;
  if (json_error_code(&problem) == json_error_out_of_memory) {
    return hvi_error_memory(err, "the header of a tensor file");
  }
  return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': the header is not valid JSON at byte %d: %s",
                       name, HVI_TENSORS_PREFIX + problem.position, problem.text);
}

static hvi_status parse_type(hvi_tensor_type *type, const json_t *value, const subject *about) {
  const char *name = json_string_value(value);
  if (!name) return refuse(about, "has no dtype; it is a text such as \"F32\"");
  for (int i = 0; i < HVI_TENSOR_TYPE_COUNT; i++) {
    *type = (hvi_tensor_type)i;
    if (!strcmp(name, hvi_tensor_type_name(*type))) return HVI_OK;
  }
  return refuse(about,
                "has numbers of type '%.40s'; BOOL, U8, I32, I64, F16, BF16, F32 and F64 "
                "are read",
                name);
}

static bool take_size(size_t *size, const json_t *value) {
  if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
  if ((uintmax_t)json_integer_value(value) > SIZE_MAX) return false;
  *size = (size_t)json_integer_value(value);
  return true;
}

static hvi_status parse_shape(hvi_tensor *t, const json_t *value, const subject *about) {
  if (!json_is_array(value)) return refuse(about, "has no shape; it is a list such as [3, 5]");
  t->dims = json_array_size(value);
  if (t->dims > HVI_TENSOR_MAX_DIMS) {
    return refuse(about, "has %zu axes; at most %d are read", t->dims, HVI_TENSOR_MAX_DIMS);
  }
  for (size_t i = 0; i < t->dims; i++) {
    if (take_size(&t->shape[i], json_array_get(value, i))) continue;
    return refuse(about, "has a shape whose number %zu is not a whole number from 0 up", i + 1);
  }
  return HVI_OK;
}

static hvi_status parse_place(hvi_tensor_entry *e, const json_t *value, const subject *about) {
  if (json_array_size(value) != 2 || !take_size(&e->begin, json_array_get(value, 0)) ||
      !take_size(&e->end, json_array_get(value, 1))) {
    return refuse(about, "has no data_offsets; they are two whole numbers, [begin, end]");
  }
  if (e->begin > e->end) {
    return refuse(about, "runs backwards, from byte %zu to %zu of the data", e->begin, e->end);
  }
  size_t count, bytes;
  if (!hvi_tensor_measure(&e->tensor, &count, &bytes)) {
    return refuse(about, "has a shape too large for any memory");
  }
  if (bytes != e->end - e->begin) {
    return refuse(about, "takes %zu bytes; %zu numbers of type %s need %zu", e->end - e->begin,
                  count, hvi_tensor_type_name(e->tensor.type), bytes);
  }
  return HVI_OK;
}

static hvi_status parse_entry(hvi_tensor_entry *e, const char *key, const json_t *value,
                              const char *name, hvi_error *err) {
  const subject about = {name, key, err};
  if (!json_is_object(value)) {
    return refuse(&about, "is not described by an object with dtype, shape and data_offsets");
  }
  e->tensor.name = key;
  hvi_status status = parse_type(&e->tensor.type, json_object_get(value, "dtype"), &about);
  if (!status) status = parse_shape(&e->tensor, json_object_get(value, "shape"), &about);
  if (!status) status = parse_place(e, json_object_get(value, "data_offsets"), &about);
  return status;
}

static hvi_status parse_entries(hvi_tensors_header *h, const char *name, hvi_error *err) {
  h->entries = hvi_alloc(json_object_size(h->document), sizeof *h->entries);
  if (!h->entries) return hvi_error_memory(err, "a list of tensors");
  const char *key;
  json_t *value;
  json_object_foreach(h->document, key, value) {
    if (!strcmp(key, HVI_TENSORS_NOTES)) continue;
    hvi_status status = parse_entry(&h->entries[h->count], key, value, name, err);
    if (status) return status;
    h->count++;
  }
  return HVI_OK;
}

static hvi_status parse_notes(hvi_tensors_header *h, const char *name, hvi_error *err) {
  json_t *map = json_object_get(h->document, HVI_TENSORS_NOTES), *value;
  if (map && !json_is_object(map)) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s': %s is not an object; it is a map from text to text", name,
                         HVI_TENSORS_NOTES);
  }
  h->notes = hvi_alloc(json_object_size(map), sizeof *h->notes);
  if (!h->notes) return hvi_error_memory(err, "a list of notes");
  const char *key;
  json_object_foreach(map, key, value) {
    if (!json_is_string(value)) {
      return hvi_error_set(err, HVI_ERROR_INPUT,
                           "'%s': '%.80s' in %s is not text; it is a map from text to text", name,
                           key, HVI_TENSORS_NOTES);
    }
    h->notes[h->note_count++] = (hvi_tensor_note){key, json_string_value(value)};
  }
  return HVI_OK;
}

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

/* Sorts the entries and checks that they fill data_size bytes, each once. */
static hvi_status check_places(hvi_tensors_header *h, size_t data_size, const char *name,
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

hvi_status hvi_tensors_header_parse(hvi_tensors_header *h, const unsigned char *bytes, size_t size,
                                    const char *name, hvi_error *err) {
  *h = (hvi_tensors_header){0};
  size_t length = 0;
  hvi_status status = measure_header(&length, bytes, size, name, err);
  if (status) return status;
  h->data_offset = HVI_TENSORS_PREFIX + length;
  status = parse_document(&h->document, bytes + HVI_TENSORS_PREFIX, length, name, err);
  if (!status) status = parse_entries(h, name, err);
  if (!status) status = parse_notes(h, name, err);
  if (!status) status = check_places(h, size - h->data_offset, name, err);
  if (status) hvi_tensors_header_free(h);
  return status;
}

void hvi_tensors_header_free(hvi_tensors_header *h) {
  json_decref(h->document);
  hvi_free(h->entries);
  hvi_free(h->notes);
  *h = (hvi_tensors_header){0};
}

#include <hvi/tensors.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "io/tensors_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a file that was read owns: its bytes, and the document that holds names and notes. */
typedef struct store {
  unsigned char *bytes;
  json_t *document;
  bool checked; /* it had a checksum */
} store;

static const struct {
  const char *name;
  size_t size;
} types[HVI_TENSOR_TYPE_COUNT] = {
    [HVI_TENSOR_BOOL] = {"BOOL", 1}, [HVI_TENSOR_U8] = {"U8", 1},   [HVI_TENSOR_I32] = {"I32", 4},
    [HVI_TENSOR_I64] = {"I64", 8},   [HVI_TENSOR_F16] = {"F16", 2}, [HVI_TENSOR_BF16] = {"BF16", 2},
    [HVI_TENSOR_F32] = {"F32", 4},   [HVI_TENSOR_F64] = {"F64", 8},
};

size_t hvi_tensor_type_size(hvi_tensor_type type) {
  unsigned index = (unsigned)type;
  return index < HVI_TENSOR_TYPE_COUNT ? types[index].size : 0;
}

const char *hvi_tensor_type_name(hvi_tensor_type type) {
  unsigned index = (unsigned)type;
  return index < HVI_TENSOR_TYPE_COUNT ? types[index].name : "unknown";
}

size_t hvi_tensor_count(const hvi_tensor *t) {
  size_t count = 1;
  for (size_t i = 0; i < t->dims; i++) count *= t->shape[i];
  return count;
}

size_t hvi_tensor_bad_bool(const hvi_tensor *t) {
  const unsigned char *p = t->data;
  size_t count = hvi_tensor_count(t), i = 0;
  while (i < count && p[i] <= 1) i++;
  return i;
}

hvi_status hvi_tensors_check_machine(hvi_error *err) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  if (first) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                       "tensor files are read and written on little-endian machines only");
}

static size_t align_up(size_t offset, size_t size) { return (offset + size - 1) / size * size; }

static bool is_aligned(const hvi_tensors_header *h) {
  for (size_t i = 0; i < h->count; i++) {
    const hvi_tensor_entry *e = &h->entries[i];
    if ((h->data_offset + e->begin) % hvi_tensor_type_size(e->tensor.type)) return false;
  }
  return true;
}

/*
 * Gives every tensor its numbers, aligned to their type. Files whose header is padded and whose
 * wide types come first need no more than a pointer. In any other the numbers move down over the
 * header, which has been parsed: a tensor loses at most 7 bytes to alignment and its description
 * took more than 7, so that none reaches the next one's place before that has moved.
 */
static void place_numbers(unsigned char *bytes, hvi_tensors_header *h) {
  bool move = !is_aligned(h);
  size_t used = 0;
  for (size_t i = 0; i < h->count; i++) {
    hvi_tensor_entry *e = &h->entries[i];
    size_t from = h->data_offset + e->begin, size = e->end - e->begin;
    size_t to = move ? align_up(used, hvi_tensor_type_size(e->tensor.type)) : from;
    if (move) memmove(bytes + to, bytes + from, size);
    e->tensor.data = bytes + to;
    used = to + size;
  }
}

static hvi_status check_bools(const hvi_tensors_header *h, const char *name, hvi_error *err) {
  for (size_t i = 0; i < h->count; i++) {
    const hvi_tensor *t = &h->entries[i].tensor;
    if (t->type != HVI_TENSOR_BOOL) continue;
    size_t bad = hvi_tensor_bad_bool(t);
    if (bad == hvi_tensor_count(t)) continue;
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s': tensor '%.80s' has %d at index %zu; a BOOL is 0 or 1", name,
                         t->name, ((const unsigned char *)t->data)[bad], bad);
  }
  return HVI_OK;
}

/* Moves a header and the bytes it describes into a new object. */
static hvi_tensors *assemble(unsigned char *bytes, hvi_tensors_header *h) {
  hvi_tensors *t = hvi_alloc(1, sizeof *t);
  hvi_tensor *items = hvi_alloc(h->count, sizeof *items);
  store *s = hvi_alloc(1, sizeof *s);
  if (!t || !items || !s) {
    hvi_free(t);
    hvi_free(items);
    hvi_free(s);
    return NULL;
  }
  for (size_t i = 0; i < h->count; i++) items[i] = h->entries[i].tensor;
  *s = (store){bytes, h->document, false};
  *t = (hvi_tensors){h->count, items, h->note_count, h->notes, s};
  h->document = NULL;
  h->notes = NULL;
  return t;
}

void hvi_tensors_checksum(char text[HVI_CHECKSUM_TEXT], const hvi_tensors *t) {
  uint64_t sum = 0;
  for (size_t i = 0; i < t->count; i++) {
    const hvi_tensor *x = &t->items[i];
    const char *type = hvi_tensor_type_name(x->type);
    uint64_t own = hvi_checksum(HVI_HASH_START, x->name, strlen(x->name));
    own = hvi_checksum(own, type, strlen(type));
    for (size_t k = 0; k < x->dims; k++) own = hvi_checksum(own, &x->shape[k], sizeof *x->shape);
    sum += hvi_checksum(own, x->data, hvi_tensor_count(x) * hvi_tensor_type_size(x->type));
  }
  for (size_t i = 0; i < t->note_count; i++) {
    const hvi_tensor_note *n = &t->notes[i];
    sum += hvi_checksum(hvi_checksum(~HVI_HASH_START, n->key, strlen(n->key)), n->text,
                        strlen(n->text));
  }
  snprintf(text, HVI_CHECKSUM_TEXT, "%016" PRIx64, sum);
}

bool hvi_tensors_checked(const hvi_tensors *t) { return ((const store *)t->owned)->checked; }

/* Takes the checksum out of the notes, where there is one, and compares it. */
static hvi_status check_sum(hvi_tensors *t, const char *name, hvi_error *err) {
  char is[HVI_CHECKSUM_TEXT];
  const char *stated = hvi_tensors_note(t, HVI_TENSORS_CHECKSUM);
  if (!stated) return HVI_OK;
  size_t at = 0;
  while (t->notes[at].text != stated) at++;
  t->note_count--;
  memmove(&t->notes[at], &t->notes[at + 1], (t->note_count - at) * sizeof *t->notes);
  ((store *)t->owned)->checked = true;
  hvi_tensors_checksum(is, t);
  if (strcmp(is, stated) == 0) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' is damaged: the checksum of its contents is %s and should be %.16s",
                       name, is, stated);
}

/* Takes the bytes, or frees them. */
static hvi_status take_bytes(hvi_tensors **t, unsigned char *bytes, size_t size, const char *name,
                             hvi_error *err) {
  hvi_tensors_header h = {0};
  hvi_status status = hvi_tensors_check_machine(err);
  if (!status) status = hvi_tensors_header_parse(&h, bytes, size, name, err);
  if (!status) {
    place_numbers(bytes, &h);
    status = check_bools(&h, name, err);
  }
  if (!status) {
    *t = assemble(bytes, &h);
    if (!*t) status = hvi_error_memory(err, "a list of tensors");
  }
  hvi_tensors_header_free(&h);
  if (!*t) hvi_free(bytes);
  if (!status) status = check_sum(*t, name, err);
  if (!status) return HVI_OK;
  hvi_tensors_free(*t);
  *t = NULL;
  return status;
}

hvi_status hvi_tensors_read(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err) {
  *t = NULL;
  if (max_bytes == 0) max_bytes = hvi_memory_size();
  unsigned char *bytes;
  size_t size;
  hvi_status status = hvi_file_read_bytes(&bytes, &size, path, max_bytes, err);
  return status ? status : take_bytes(t, bytes, size, path, err);
}

hvi_status hvi_tensors_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                              const char *name, hvi_error *err) {
  *t = NULL;
  unsigned char *copy = size < SIZE_MAX ? hvi_alloc(size + 1, 1) : NULL;
  if (!copy) return hvi_error_memory(err, "a tensor file");
  if (size) memcpy(copy, bytes, size);
  return take_bytes(t, copy, size, name, err);
}

void hvi_tensors_free(hvi_tensors *t) {
  if (!t) return;
  store *s = t->owned;
  json_decref(s->document);
  hvi_free(s->bytes);
  hvi_free(s);
  hvi_free(t->items);
  hvi_free(t->notes);
  hvi_free(t);
}

const hvi_tensor *hvi_tensors_find(const hvi_tensors *t, const char *name) {
  for (size_t i = 0; i < t->count; i++) {
    if (!strcmp(t->items[i].name, name)) return &t->items[i];
  }
  return NULL;
}

const char *hvi_tensors_note(const hvi_tensors *t, const char *key) {
  for (size_t i = 0; i < t->note_count; i++) {
    if (!strcmp(t->notes[i].key, key)) return t->notes[i].text;
  }
  return NULL;
}

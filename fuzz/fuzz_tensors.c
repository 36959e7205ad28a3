/*
 * The .safetensors reader: any bytes either make tensors that lie apart, aligned, with the numbers
 * of the file, can be converted, and come back the same from a header written for them; or one line
 * of error.
 *
 * Chance seldom finds a length that agrees with the header behind it, so that each input is also
 * read with the length put right: the header then ends at the last brace.
 */
#include "base/memory.h"
#include "io/tensors_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool good) {
  if (!good) abort();
}

static void demand_line(const hvi_error *err) {
  demand(err->status && err->text[0] && !strchr(err->text, '\n'));
}

static size_t bytes_of(const hvi_tensor *t) {
  return hvi_tensor_count(t) * hvi_tensor_type_size(t->type);
}

static void convert(const hvi_tensor *t) {
  hvi_error err = {HVI_OK, ""};
  double *d = malloc(hvi_tensor_count(t) * sizeof *d + 1);
  float *f = malloc(hvi_tensor_count(t) * sizeof *f + 1);
  if (d && hvi_tensor_doubles(d, t, &err)) demand_line(&err);
  err = (hvi_error){HVI_OK, ""};
  if (f && hvi_tensor_floats(f, t, &err)) demand_line(&err);
  free(d);
  free(f);
}

/* In the order of their place the tensors are the last bytes of the file. */
static void check_bytes(const hvi_tensors *t, const uint8_t *data, size_t size) {
  for (size_t i = t->count; i-- > 0;) {
    demand(bytes_of(&t->items[i]) <= size);
    size -= bytes_of(&t->items[i]);
    demand(!memcmp(t->items[i].data, data + size, bytes_of(&t->items[i])));
  }
}

static void check_tensors(const hvi_tensors *t) {
  const unsigned char *end = NULL;
  for (size_t i = 0; i < t->count; i++) {
    const hvi_tensor *x = &t->items[i];
    const unsigned char *data = x->data;
    demand(x->dims <= HVI_TENSOR_MAX_DIMS && hvi_tensors_find(t, x->name) == x);
    demand((uintptr_t)data % hvi_tensor_type_size(x->type) == 0 && data >= end);
    end = data + bytes_of(x);
    convert(x);
  }
  for (size_t i = 0; i < t->note_count; i++)
    demand(hvi_tensors_note(t, t->notes[i].key) == t->notes[i].text);
}

static void demand_same(const hvi_tensors *a, const hvi_tensors *b) {
  demand(a->count == b->count && a->note_count == b->note_count);
  for (size_t i = 0; i < a->count; i++) {
    const hvi_tensor *x = &a->items[i], *y = hvi_tensors_find(b, x->name);
    demand(y && x->type == y->type && x->dims == y->dims);
    demand(!memcmp(x->shape, y->shape, sizeof x->shape));
    demand(!memcmp(x->data, y->data, bytes_of(x)));
  }
  for (size_t i = 0; i < a->note_count; i++) {
    const char *text = hvi_tensors_note(b, a->notes[i].key);
    demand(text && !strcmp(text, a->notes[i].text));
  }
}

/* A header written for the tensors, and their numbers after it, are the same tensors. */
static void come_back(const hvi_tensors *t, size_t size) {
  unsigned char *header = NULL;
  size_t used = 0;
  demand(!hvi_tensors_header_write(&header, &used, t, "fuzz", NULL));
  unsigned char *file = hvi_alloc(used + size, 1);
  memcpy(file, header, used);
  for (size_t i = 0; i < t->count; i++) {
    memcpy(file + used, t->items[i].data, bytes_of(&t->items[i]));
    used += bytes_of(&t->items[i]);
  }
  hvi_tensors *again = NULL;
  demand(!hvi_tensors_decode(&again, file, used, "fuzz", NULL));
  demand_same(t, again);
  hvi_tensors_free(again);
  hvi_free(file);
  hvi_free(header);
}

static void decode(const uint8_t *data, size_t size) {
  hvi_tensors *t = NULL;
  hvi_error err = {HVI_OK, ""};
  if (!hvi_tensors_decode(&t, data, size, "fuzz.safetensors", &err)) {
    check_tensors(t);
    check_bytes(t, data, size);
    come_back(t, size);
  } else {
    demand(!t);
    demand_line(&err);
  }
  hvi_tensors_free(t);
}

static void decode_with_length(const uint8_t *data, size_t size) {
  size_t end = size;
  while (end > HVI_TENSORS_PREFIX && data[end - 1] != '}') end--;
  if (end <= HVI_TENSORS_PREFIX) return;
  uint8_t *file = malloc(size);
  if (!file) return;
  memcpy(file, data, size);
  for (int i = 0; i < HVI_TENSORS_PREFIX; i++)
    file[i] = (uint8_t)((uint64_t)(end - HVI_TENSORS_PREFIX) >> 8 * i);
  decode(file, size);
  free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  decode(data, size);
  decode_with_length(data, size);
  return 0;
}

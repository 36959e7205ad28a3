#include "rl/columns.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { MOST_COLUMNS = 8 };

static size_t *size_at(void *s, size_t offset) { return (size_t *)(void *)((char *)s + offset); }

static void *data_of(const void *s, const hvi_column *c) {
  void *data;
  memcpy(&data, (const char *)s + c->data, sizeof data);
  return data;
}

static void set_data(void *s, const hvi_column *c, void *data) {
  memcpy((char *)s + c->data, &data, sizeof data);
}

/* What a column is in a file; its data as they are in memory. */
static hvi_tensor tensor_of(const void *s, const hvi_column *c) {
  hvi_tensor t = {.name = c->name, .type = c->file, .dims = c->width ? 2 : 1};
  memcpy(&t.shape[0], s, sizeof t.shape[0]);
  if (c->width) memcpy(&t.shape[1], (const char *)s + c->width, sizeof t.shape[1]);
  t.data = data_of(s, c);
  return t;
}

bool hvi_columns_alloc(void *s, const hvi_columns *columns) {
  bool good = true;
  for (size_t k = 0; k < columns->count; k++) {
    const hvi_column *c = &columns->items[k];
    const hvi_tensor t = tensor_of(s, c);
    size_t row;
    const bool fits =
        hvi_multiply_sizes(hvi_tensor_type_size(c->memory), c->width ? t.shape[1] : 1, &row);
    void *data = fits ? hvi_alloc(t.shape[0], row) : NULL;
    set_data(s, c, data);
    good = good && data;
  }
  return good;
}

void hvi_columns_free(void *s, const hvi_columns *columns) {
  for (size_t k = 0; k < columns->count; k++) hvi_free(data_of(s, &columns->items[k]));
}

/* Checks a length against what is known, or learns it. A file without rows is of no use. */
static bool agree(size_t *known, size_t length) {
  if (*known == 0) *known = length;
  return length > 0 && *known == length;
}

static hvi_status find(const hvi_tensor **found, void *s, const hvi_column *c,
                       const hvi_tensors *file, hvi_error *err) {
  const hvi_tensor *t = hvi_tensors_find(file, c->name);
  const size_t dims = c->width ? 2 : 1;
  if (!t) return hvi_error_set(err, HVI_ERROR_INPUT, "no tensor '%s'", c->name);
  if (t->dims != dims) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "tensor '%s' has %zu axes, should have %zu", c->name,
                         t->dims, dims);
  }
  for (size_t axis = 0; axis < dims; axis++) {
    size_t *known = size_at(s, axis ? c->width : 0);
    if (agree(known, t->shape[axis])) continue;
    return hvi_error_set(err, HVI_ERROR_INPUT, "tensor '%s' has %zu %s, should have %zu", c->name,
                         t->shape[axis], axis ? "columns" : "rows", *known ? *known : 1);
  }
  if (c->memory == HVI_TENSOR_BOOL && t->type != HVI_TENSOR_BOOL) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "tensor '%s' is %s, should be BOOL", c->name,
                         hvi_tensor_type_name(t->type));
  }
  *found = t;
  return HVI_OK;
}

static hvi_status load(void *s, const hvi_column *c, const hvi_tensors *file, hvi_error *err) {
  const hvi_tensor *t = NULL;
  const hvi_status status = find(&t, s, c, file, err);
  if (status) return status;
  const size_t count = hvi_tensor_count(t);
  void *data = hvi_alloc(count, hvi_tensor_type_size(c->memory));
  set_data(s, c, data);
  if (!data) return hvi_error_memory(err, "a tensor");
  if (c->memory == HVI_TENSOR_F32) return hvi_tensor_floats(data, t, err);
  if (c->memory == HVI_TENSOR_F64) return hvi_tensor_doubles(data, t, err);
  for (size_t i = 0; i < count; i++) ((bool *)data)[i] = ((const unsigned char *)t->data)[i] != 0;
  return HVI_OK;
}

bool hvi_columns_load(void *s, const hvi_columns *columns, const hvi_tensors *file,
                      const char *path, hvi_error *err) {
  hvi_error inner;
  for (size_t k = 0; k < columns->count; k++) {
    if (!load(s, &columns->items[k], file, &inner)) continue;
    hvi_error_set(err, inner.status, "'%s': %s", path, inner.text);
    return false;
  }
  return true;
}

/* A copy of the doubles x[n] in a narrower type; NULL without memory. */
static void *narrow(hvi_tensor_type type, const double *x, size_t n) {
  void *data = hvi_alloc(n, hvi_tensor_type_size(type));
  for (size_t i = 0; data && i < n; i++) {
    if (type == HVI_TENSOR_F32) ((float *)data)[i] = (float)x[i];
    if (type == HVI_TENSOR_I32) ((int32_t *)data)[i] = (int32_t)x[i];
    if (type == HVI_TENSOR_BOOL) ((unsigned char *)data)[i] = x[i] != 0.0;
  }
  return data;
}

hvi_status hvi_columns_write(const char *path, const void *s, const hvi_columns *columns,
                             const hvi_notes *notes, hvi_error *err) {
  hvi_tensor items[MOST_COLUMNS];
  void *own[MOST_COLUMNS] = {NULL};
  bool good = true;
  for (size_t k = 0; k < columns->count; k++) {
    const hvi_column *c = &columns->items[k];
    items[k] = tensor_of(s, c);
    if (c->file == c->memory) continue;
    items[k].data = own[k] = narrow(c->file, items[k].data, hvi_tensor_count(&items[k]));
    good = good && own[k];
  }
  const hvi_status status =
      good ? hvi_tensors_write(path, items, columns->count, notes->items, notes->count, err)
           : hvi_error_memory(err, columns->what);
  for (size_t k = 0; k < columns->count; k++) hvi_free(own[k]);
  return status;
}

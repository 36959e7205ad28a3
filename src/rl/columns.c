#include "rl/columns.h"

#include "base/base.h"
#include "base/number.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <stdarg.h>

HVI_RELEASE(hvi_tensors)

enum { MOST_COLUMNS = 8 };

static void *data_of(const void *s, const hvi_column *c) {
  void *data;
  memcpy(&data, (const char *)s + c->data, sizeof data);
  return data;
}

static void *set_data(void *s, const hvi_column *c, void *data) {
  memcpy((char *)s + c->data, &data, sizeof data);
  return data;
}

/* What a column is in a file; its data as they are in memory. */
static hvi_tensor tensor_of(const void *s, const hvi_column *c) {
  hvi_tensor t = {.name = c->name, .type = c->file, .dims = c->width ? 2 : 1, .shape = {0, 1}};
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
    const size_t row = t.shape[1] * hvi_tensor_type_size(c->memory);
    good = set_data(s, c, hvi_alloc(t.shape[0], row)) && good;
  }
  return good;
}

void hvi_columns_free(void *s, const hvi_columns *columns) {
  for (size_t k = 0; s && k < columns->count; k++) hvi_free(data_of(s, &columns->items[k]));
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

/* Notes */

static void make_printable(char *text) {
  for (char *c = text; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
}

void hvi_notes_add(hvi_notes *n, const char *key, const char *format, ...) {
  if (n->count == HVI_NOTES_MAX) return;
  char *own = n->texts[n->count];
  va_list list;
  va_start(list, format);
  vsnprintf(own, HVI_NOTE_SIZE, format, list);
  va_end(list);
  make_printable(own);
  n->items[n->count++] = (hvi_tensor_note){key, own};
}

void hvi_notes_real(hvi_notes *n, const char *key, double x) {
  char text[HVI_NUMBER_SIZE];
  hvi_notes_add(n, key, "%s", hvi_number_format(text, x));
}

void hvi_notes_begin(hvi_notes *n, const char *contents, const hvi_env *env,
                     const hvi_policy *policy, uint64_t seed) {
  char fingerprint[17];
  hvi_policy_fingerprint(fingerprint, policy);
  n->count = 0;
  hvi_notes_add(n, "contents", "%s", contents);
  hvi_notes_add(n, "environment", "%s", env->name);
  hvi_notes_add(n, "fingerprint", "%s", fingerprint);
  hvi_notes_add(n, "version", "%s", hvi_version());
  hvi_notes_add(n, "seed", "%" PRIu64, seed);
}

void hvi_notes_lines(char lines[HVI_NOTES_LINES], const hvi_notes *n) {
  size_t used = 0;
  lines[0] = '\0';
  for (size_t i = 0; i < n->count && used < HVI_NOTES_LINES; i++) {
    const int length = snprintf(lines + used, HVI_NOTES_LINES - used, "%s=%s\n", n->items[i].key,
                                n->items[i].text);
    if (length > 0) used += (size_t)length;
  }
}

hvi_status hvi_notes_read_real(double *x, const hvi_tensors *t, const char *key,
                               const hvi_subject *file) {
  const char *text = hvi_tensors_note(t, key);
  if (!text) return hvi_refuse(file, " has no note '%s'", key);
  char *end;
  *x = strtod(text, &end);
  if (end != text && *end == '\0' && !isnan(*x)) return HVI_OK;
  return hvi_refuse(file, ": note '%s' is '%.40s', which is no number", key, text);
}

/* A count, or 0. */
static uint64_t read_count(const hvi_tensors *t, const char *key) {
  const char *text = hvi_tensors_note(t, key);
  return text && *text != '-' ? strtoull(text, NULL, 10) : 0;
}

/* dst[size] = a note, cut, in printable ASCII. */
static void read_text(char *dst, size_t size, const hvi_tensors *t, const char *key) {
  const char *text = hvi_tensors_note(t, key);
  snprintf(dst, size, "%s", text ? text : "");
  make_printable(dst);
}

static void read_origin(hvi_provenance *o, const hvi_tensors *t) {
  read_text(o->environment, sizeof o->environment, t, "environment");
  read_text(o->policy, sizeof o->policy, t, "policy");
  read_text(o->fingerprint, sizeof o->fingerprint, t, "fingerprint");
  read_text(o->version, sizeof o->version, t, "version");
  read_text(o->levels, sizeof o->levels, t, "level");
  o->seed = read_count(t, "seed");
  o->broken = (size_t)read_count(t, "broken");
}

/* Reading */

/* Checks the column's tensor against the lengths that are known, or learns them, and takes it over.
 * A file without rows is of no use. */
static hvi_status load(void *s, const hvi_column *c, const hvi_tensors *file, hvi_error *err) {
  const hvi_tensor *t = hvi_tensors_find(file, c->name);
  const size_t dims = c->width ? 2 : 1;
  if (!t) return hvi_error_input(err, "no tensor '%s'", c->name);
  if (t->dims != dims) {
    return hvi_error_input(err, "tensor '%s' has %zu axes, should have %zu", c->name, t->dims,
                           dims);
  }
  for (size_t axis = 0; axis < dims; axis++) {
    size_t *known = (size_t *)(void *)((char *)s + (axis ? c->width : 0));
    if (*known == 0) *known = t->shape[axis];
    if (*known == t->shape[axis] && *known > 0) continue;
    return hvi_error_input(err, "tensor '%s' has %zu %s, should have %zu", c->name, t->shape[axis],
                           axis ? "columns" : "rows", *known ? *known : 1);
  }
  if (c->memory == HVI_TENSOR_BOOL && t->type != HVI_TENSOR_BOOL) {
    return hvi_error_input(err, "tensor '%s' is %s, should be BOOL", c->name,
                           hvi_tensor_type_name(t->type));
  }
  const size_t count = hvi_tensor_count(t);
  void *data = set_data(s, c, hvi_alloc(count, hvi_tensor_type_size(c->memory)));
  if (!data) return hvi_error_memory(err, "a tensor");
  if (c->memory == HVI_TENSOR_F32) return hvi_tensor_floats(data, t, err);
  if (c->memory == HVI_TENSOR_F64) return hvi_tensor_doubles(data, t, err);
  for (size_t i = 0; i < count; i++) ((bool *)data)[i] = ((const unsigned char *)t->data)[i] != 0;
  return HVI_OK;
}

static hvi_status read_all(void *s, const hvi_columns *columns, const hvi_tensors *t,
                           const hvi_subject *file) {
  hvi_error inner;
  for (size_t k = 0; k < columns->count; k++) {
    if (!load(s, &columns->items[k], t, &inner)) continue;
    return hvi_error_set(file->err, inner.status, "'%s': %s", file->name, inner.text);
  }
  read_origin((hvi_provenance *)(void *)((char *)s + columns->origin), t);
  return columns->read_rest ? columns->read_rest(s, t, file) : HVI_OK;
}

hvi_status hvi_columns_read(void **out, const hvi_columns *columns, const char *path,
                            hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  *out = NULL;
  HVI_TRY(hvi_tensors_read(&t, path, 0, err));
  void *s = hvi_alloc(1, columns->size);
  if (!s) return hvi_error_memory(err, columns->what);
  const hvi_status status = read_all(s, columns, t, &(hvi_subject){path, HVI_ERROR_INPUT, err});
  if (!status) {
    *out = s;
    return HVI_OK;
  }
  hvi_columns_free(s, columns);
  hvi_free(s);
  return status;
}

#include "rl/columns.h"

#include "base/base.h"
#include "io/tensors_file.h"

#include <hvi/version.h>

enum { MOST_COLUMNS = 9 };

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

/* Of a file whose numbers are columns; NULL: there is none. */
static hvi_tensors *owner_of(const void *s, const hvi_columns *columns) {
  hvi_tensors *t = NULL;
  if (s && columns->owner) memcpy(&t, (const char *)s + columns->owner, sizeof t);
  return t;
}

void hvi_columns_free(void *s, const hvi_columns *columns) {
  hvi_tensors *t = owner_of(s, columns);
  for (size_t k = 0; s && k < columns->count; k++) {
    void *data = data_of(s, &columns->items[k]);
    for (size_t i = 0; t && i < t->count; i++)
      if (t->items[i].data == data) data = NULL;
    hvi_free(data);
  }
  hvi_tensors_free(t);
}

HVI_RELEASE(hvi_pool)

/* A copy of the doubles x[n] in a narrower type; NULL without memory. */
static void *narrow(hvi_pool **pool, hvi_tensor_type type, const double *x, size_t n) {
  void *data = hvi_pool_take(pool, n, hvi_tensor_type_size(type));
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
  HVI_OWN_BY(hvi_pool_release) hvi_pool *pool = NULL;
  for (size_t k = 0; k < columns->count; k++) {
    const hvi_column *c = &columns->items[k];
    items[k] = tensor_of(s, c);
    if (c->file != c->memory)
      items[k].data = narrow(&pool, c->file, items[k].data, hvi_tensor_count(&items[k]));
    if (!items[k].data) return hvi_error_memory(err, columns->what);
  }
  return hvi_tensors_write(path, items, columns->count, notes->items, notes->count, err);
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
  lines[0] = '\0';
  for (size_t i = 0; i < n->count; i++)
    hvi_append(lines, HVI_NOTES_LINES, "%s=%s\n", n->items[i].key, n->items[i].text);
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

/* "obs=my_name": what follows the name of the column, or NULL. */
static const char *given_name(const hvi_column *c, const hvi_names *names) {
  const size_t length = strlen(c->name);
  const char *given = NULL;
  for (size_t i = 0; names && i < names->count; i++)
    if (!strncmp(names->items[i], c->name, length) && names->items[i][length] == '=')
      given = names->items[i] + length + 1;
  return given;
}

/* A column that is not there: what is there instead. */
static hvi_status miss(const hvi_column *c, const hvi_tensors *t, const hvi_subject *file) {
  char there[240] = "";
  const char *note = hvi_tensors_note(t, c->name);
  for (size_t i = 0; i < t->count; i++)
    hvi_append(there, sizeof there, "%s%.60s", i ? ", " : "", t->items[i].name);
  if (note) return hvi_refuse(file, ": '%s' is %.100s", c->name, note);
  return hvi_refuse(file, ": no tensor '%s'%s%s%s; there are: %s", c->name,
                    c->others ? " (or " : "", c->others ? c->others : "", c->others ? ")" : "",
                    *there ? there : "none");
}

hvi_status hvi_column_find(const hvi_tensor **found, const hvi_column *c, const hvi_tensors *t,
                           const hvi_names *names, const hvi_subject *file) {
  const char *given = given_name(c, names);
  *found = given ? hvi_tensors_find(t, given) : NULL;
  if (given && !*found)
    return hvi_refuse(file, ": no tensor '%.80s', which is to be '%s'", given, c->name);
  for (size_t i = 0; !given && i < t->count; i++) {
    const hvi_tensor *x = &t->items[i];
    if (strcmp(x->name, c->name) != 0 && !hvi_words_have(c->others, x->name)) continue;
    if (*found)
      return hvi_refuse(file, ": '%s' and '%s' could both be '%s'; --map %s=NAME says which",
                        (*found)->name, x->name, c->name, c->name);
    *found = x;
  }
  return *found || c->optional ? HVI_OK : miss(c, t, file);
}

/* Numbers that are 0 or 1, of any type. */
static hvi_status load_bools(bool *out, const hvi_tensor *t, hvi_error *err) {
  const size_t width = hvi_tensor_type_size(t->type), count = hvi_tensor_count(t);
  for (size_t i = 0; i < count; i++) {
    double x;
    hvi_tensor_load(&x, t->type, (const unsigned char *)t->data + i * width, 1);
    if (x != 0.0 && x != 1.0)
      return hvi_error_input(err, "tensor '%s' has %g in row %zu, should have 0 or 1", t->name, x,
                             i);
    out[i] = x == 1.0;
  }
  return HVI_OK;
}

/* Rows of numbers, or a number a row with or without an axis of its own. A file without rows is of no
 * use. */
static hvi_status check_shape(void *s, const hvi_column *c, const hvi_tensor *t, hvi_error *err) {
  const size_t most = 2, widths = t->dims == 2 ? t->shape[1] : 1;
  if (t->dims < 1 || t->dims > most || (!c->width && widths != 1))
    return hvi_error_input(err, "tensor '%s' has %zu axes, should have %d", t->name, t->dims,
                           c->width ? 2 : 1);
  for (size_t axis = 0; axis < (c->width ? most : 1); axis++) {
    size_t *known = (size_t *)(void *)((char *)s + (axis ? c->width : 0));
    const size_t is = axis ? widths : t->shape[0];
    if (*known == 0) *known = is;
    if (*known == is && is > 0) continue;
    return hvi_error_input(err, "tensor '%s' has %zu %s, should have %zu", t->name, is,
                           axis ? "columns" : "rows", *known ? *known : 1);
  }
  return HVI_OK;
}

static hvi_status take(void *s, const hvi_columns *columns, const hvi_column *c,
                       const hvi_tensor *t, hvi_error *err) {
  HVI_TRY(check_shape(s, c, t, err));
  void *data = (void *)(uintptr_t)t->data;
  const bool same = t->type == c->memory && owner_of(s, columns) != NULL;
  if (!same) data = hvi_alloc(hvi_tensor_count(t), hvi_tensor_type_size(c->memory));
  set_data(s, c, data);
  if (!data) return hvi_error_memory(err, "a tensor");
  if (c->memory == HVI_TENSOR_BOOL) return same ? HVI_OK : load_bools(data, t, err);
  /* onto themselves floats are checked and nothing else */
  return c->memory == HVI_TENSOR_F32 ? hvi_tensor_floats(data, t, err)
                                     : hvi_tensor_doubles(data, t, err);
}

hvi_status hvi_column_load(void *s, const hvi_columns *columns, const hvi_column *c,
                           const hvi_tensor *t, const hvi_subject *file) {
  hvi_error inner;
  const hvi_status status = take(s, columns, c, t, &inner);
  if (!status) return HVI_OK;
  return hvi_error_set(file->err, status, "'%s': %s", file->name, inner.text);
}

static hvi_status check_names(const hvi_columns *columns, const hvi_names *names, hvi_error *err) {
  for (size_t i = 0; names && i < names->count; i++) {
    bool known = false;
    for (const hvi_column *c = columns->items; c->name; c++)
      known = known || given_name(c, &(hvi_names){1, &names->items[i]});
    if (known) continue;
    char list[160] = "";
    for (const hvi_column *c = columns->items; c->name; c++)
      hvi_append(list, sizeof list, "%s%s", c == columns->items ? "" : ", ", c->name);
    return hvi_error_argument(err, "'%.80s' should be COLUMN=NAME, the column one of %s",
                              names->items[i], list);
  }
  return HVI_OK;
}

hvi_status hvi_columns_read(void *out, const hvi_columns *columns, const char *path,
                            const hvi_names *names, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  memset(out, 0, sizeof(void *));
  HVI_TRY(hvi_tensors_open(&t, path, 0, err));
  return hvi_columns_of(out, columns, &t, path, names, err);
}

hvi_status hvi_columns_of(void *out, const hvi_columns *columns, hvi_tensors **t, const char *path,
                          const hvi_names *names, hvi_error *err) {
  memset(out, 0, sizeof(void *));
  HVI_TRY(check_names(columns, names, err));
  char *s = hvi_alloc(1, columns->size);
  if (!s) return hvi_error_memory(err, columns->what);
  const hvi_tensors *file = *t;
  if (columns->owner) {
    memcpy(s + columns->owner, t, sizeof *t);
    *t = NULL;
  }
  read_origin((hvi_provenance *)(void *)(s + columns->origin), file);
  const hvi_status status =
      columns->read(s, file, names, &(hvi_subject){path, HVI_ERROR_INPUT, err});
  if (!status) memcpy(out, &s, sizeof s);
  if (status) hvi_columns_free(s, columns);
  if (status) hvi_free(s);
  return status;
}

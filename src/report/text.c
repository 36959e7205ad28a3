#include "report/text.h"

#include "base/base.h"

/* Room for `more` characters and the closing zero. */
static bool reserve(hvi_text *t, size_t more) {
  if (t->failed) return false;
  if (more >= SIZE_MAX / 4 - t->length) return t->failed = true, false;
  size_t need = t->length + more + 1;
  if (need <= t->capacity) return true;
  size_t capacity = need < 256 ? 256 : 2 * need;
  char *data = hvi_grow(t->data, t->data ? t->length + 1 : 0, capacity, 1);
  if (!data) return t->failed = true, false;
  t->data = data;
  t->capacity = capacity;
  return true;
}

void hvi_text_add(hvi_text *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) t->failed = true;
  if (n >= 0 && reserve(t, (size_t)n)) {
    vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
    t->length += (size_t)n;
  }
  va_end(again);
}

void hvi_text_bytes(hvi_text *t, const void *bytes, size_t size) {
  if (!size || !reserve(t, size)) return;
  memcpy(t->data + t->length, bytes, size);
  t->length += size;
}

void hvi_text_pad(hvi_text *t, char c, size_t count) {
  if (!reserve(t, count)) return;
  memset(t->data + t->length, c, count);
  t->length += count;
  t->data[t->length] = '\0';
}

void hvi_text_settings(hvi_text *t, const hvi_setting_table *table, const void *settings,
                       const char *method) {
  char text[4096];
  hvi_setting_describe(table, settings, method, text, sizeof text);
  hvi_text_add(t, "; %s", text);
}

hvi_status hvi_text_write(const hvi_text *t, const char *path, hvi_error *err) {
  if (t->failed) return hvi_error_memory(err, path);
  return hvi_file_write_text(path, t->data ? t->data : "", err);
}

char *hvi_text_take(hvi_text *t) {
  char *data = t->failed ? NULL : t->data;
  if (t->failed) hvi_free(t->data);
  if (!t->failed && !data) data = hvi_copy_text("");
  *t = (hvi_text){0};
  return data;
}

void hvi_text_free(hvi_text *t) {
  hvi_free(t->data);
  *t = (hvi_text){0};
}

char *hvi_path_join(const char *folder, const char *name, const char *ending) {
  hvi_text path = {0};
  size_t length = strlen(folder);
  const char *slash = length && folder[length - 1] == '/' ? "" : "/";
  hvi_text_add(&path, "%s%s%s%s", folder, slash, name, ending ? ending : "");
  return hvi_text_take(&path);
}

bool hvi_path_split(char **folder, char **name, const char *path, const char *ending) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const size_t tail = hvi_ends_in(base, ending) ? strlen(ending) : 0;
  hvi_text f = {0}, n = {0};
  hvi_text_add(&f, "%.*s", slash && slash > path ? (int)(slash - path) : 1, slash ? path : ".");
  hvi_text_add(&n, "%.*s", (int)(strlen(base) - tail), base);
  *folder = hvi_text_take(&f);
  *name = hvi_text_take(&n);
  return *folder && *name;
}

size_t hvi_text_width(const char *s) {
  size_t width = 0;
  for (; *s; s++) width += ((unsigned char)*s & 0xC0) != 0x80;
  return width;
}

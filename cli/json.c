#include "json.h"

#include "base/base.h"
#include "base/number.h"

#include <inttypes.h>

/* Quotes, and escapes what JSON wants escaped; bytes that are not UTF-8 become '?'. */
static void put_string(const char *text) {
  putchar('"');
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    size_t tail = *c < 0x80                 ? 0
                  : *c >= 0xc2 && *c < 0xe0 ? 1
                  : *c >= 0xe0 && *c < 0xf0 ? 2
                  : *c >= 0xf0 && *c < 0xf5 ? 3
                                            : 9;
    size_t got = 0;
    while (got < tail && (c[got + 1] & 0xc0) == 0x80) got++;
    if (*c < 0x20 || *c == 0x7f)
      printf("\\u%04x", *c);
    else if (*c == '"' || *c == '\\')
      printf("\\%c", *c);
    else if (got == tail)
      printf("%.*s", (int)tail + 1, (const char *)c);
    else
      putchar('?');
    c += got == tail ? tail + 1 : 1;
  }
  putchar('"');
}

/* The comma, the line and the name before a value. */
static void begin(hvi_json *j, const char *name) {
  if (j->filled) putchar(',');
  if (j->depth > 0) printf("\n%*s", 2 * j->depth, "");
  if (name) {
    put_string(name);
    fputs(": ", stdout);
  }
  j->filled = true;
}

static void put_number(double x) {
  char text[HVI_NUMBER_SIZE];
  fputs(isfinite(x) ? hvi_number_format(text, x) : "null", stdout);
}

hvi_json hvi_json_begin(void) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  return j;
}

void hvi_json_open(hvi_json *j, const char *name, char bracket) {
  begin(j, name);
  putchar(bracket);
  j->depth++;
  j->filled = false;
}

void hvi_json_close(hvi_json *j, char bracket) {
  j->depth--;
  if (j->filled) printf("\n%*s", 2 * j->depth, "");
  putchar(bracket);
  j->filled = true;
  if (j->depth == 0) putchar('\n');
}

void hvi_json_number(hvi_json *j, const char *name, double x) {
  begin(j, name);
  put_number(x);
}

void hvi_json_count(hvi_json *j, const char *name, uint64_t x) {
  begin(j, name);
  printf("%" PRIu64, x);
}

void hvi_json_bool(hvi_json *j, const char *name, bool x) {
  begin(j, name);
  fputs(x ? "true" : "false", stdout);
}

void hvi_json_text(hvi_json *j, const char *name, const char *text) {
  begin(j, name);
  if (text)
    put_string(text);
  else
    fputs("null", stdout);
}

void hvi_json_numbers(hvi_json *j, const char *name, const double *x, size_t n) {
  begin(j, name);
  if (!x) {
    fputs("null", stdout);
    return;
  }
  putchar('[');
  for (size_t i = 0; i < n; i++) {
    if (i > 0) fputs(", ", stdout);
    put_number(x[i]);
  }
  putchar(']');
}

hvi_value hvi_value_number(const char *name, double x) {
  return (hvi_value){name, HVI_NUMBER, .number = x};
}
hvi_value hvi_value_count(const char *name, uint64_t x) {
  return (hvi_value){name, HVI_COUNT, .count = x};
}
hvi_value hvi_value_bool(const char *name, bool x) {
  return (hvi_value){name, HVI_BOOL, .flag = x};
}
hvi_value hvi_value_text(const char *name, const char *x) {
  return (hvi_value){name, HVI_TEXT, .text = x};
}

void hvi_json_values(hvi_json *j, const hvi_value *values) {
  for (const hvi_value *v = values; v->name; v++) {
    if (v->kind == HVI_NUMBER) hvi_json_number(j, v->name, v->number);
    if (v->kind == HVI_COUNT) hvi_json_count(j, v->name, v->count);
    if (v->kind == HVI_BOOL) hvi_json_bool(j, v->name, v->flag);
    if (v->kind == HVI_TEXT) hvi_json_text(j, v->name, v->text);
  }
}

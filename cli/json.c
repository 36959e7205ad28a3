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

static struct {
  size_t depth;
  bool filled; /* the innermost object or array has a member already */
  char brackets[16];
} json;

static void break_line(void) { printf("\n%*s", 2 * (int)json.depth, ""); }

/* The comma, the line and the name before a value. */
static void begin(const char *name) {
  if (json.filled) putchar(',');
  if (json.depth > 0) break_line();
  if (name) {
    put_string(name);
    fputs(": ", stdout);
  }
  json.filled = true;
}

void hvi_json_begin(void) {
  hvi_json_open(NULL, '{');
  hvi_json_put(V("schema_version", 1ul));
}

void hvi_json_open(const char *name, char bracket) {
  begin(name);
  putchar(bracket);
  json.brackets[json.depth++] = bracket;
  json.filled = false;
}

void hvi_json_close(void) {
  json.depth--;
  if (json.filled) break_line();
  putchar(json.brackets[json.depth] == '{' ? '}' : ']');
  json.filled = true;
}

void hvi_json_end(void) {
  while (json.depth > 0) hvi_json_close();
  putchar('\n');
}

static void put_number(double x) {
  char text[HVI_NUMBER_SIZE];
  fputs(isfinite(x) ? hvi_number_format(text, x) : "null", stdout);
}

static void put_numbers(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    fputs(i > 0 ? ", " : "[", stdout);
    put_number(x[i]);
  }
  fputs(n > 0 ? "]" : "[]", stdout);
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
hvi_value hvi_value_numbers(const char *name, const double *x, size_t n) {
  return (hvi_value){name, HVI_NUMBERS, .numbers = x, .size = n};
}

void hvi_json_values(const hvi_value *v) {
  for (; v->kind != HVI_END; v++) {
    begin(v->name);
    if (v->kind == HVI_NUMBER)
      put_number(v->number);
    else if (v->kind == HVI_COUNT)
      printf("%" PRIu64, v->count);
    else if (v->kind == HVI_BOOL)
      fputs(v->flag ? "true" : "false", stdout);
    else if (v->kind == HVI_TEXT && v->text)
      put_string(v->text);
    else if (v->kind == HVI_NUMBERS && v->numbers)
      put_numbers(v->numbers, v->size);
    else
      fputs("null", stdout);
  }
}

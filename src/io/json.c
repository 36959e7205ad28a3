#include "io/json.h"

#include "base/base.h"

/* Quotes, and escapes what JSON wants escaped; bytes that are not UTF-8 become '?'. */
void hvi_value_write_text(FILE *to, const char *text) {
  putc('"', to);
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    size_t tail = *c < 0x80                 ? 0
                  : *c >= 0xc2 && *c < 0xe0 ? 1
                  : *c >= 0xe0 && *c < 0xf0 ? 2
                  : *c >= 0xf0 && *c < 0xf5 ? 3
                                            : 9;
    size_t got = 0;
    while (got < tail && (c[got + 1] & 0xc0) == 0x80) got++;
    if (*c < 0x20 || *c == 0x7f)
      fprintf(to, "\\u%04x", *c);
    else if (*c == '"' || *c == '\\')
      fprintf(to, "\\%c", *c);
    else if (got == tail)
      fprintf(to, "%.*s", (int)tail + 1, (const char *)c);
    else
      putc('?', to);
    c += got == tail ? tail + 1 : 1;
  }
  putc('"', to);
}

static void put_number(FILE *to, double x) {
  char text[HVI_NUMBER_SIZE];
  fputs(isfinite(x) ? hvi_number_format(text, x) : "null", to);
}

static void put_numbers(FILE *to, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    fputs(i > 0 ? ", " : "[", to);
    put_number(to, x[i]);
  }
  fputs(n > 0 ? "]" : "[]", to);
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

void hvi_value_write(FILE *to, const hvi_value *v) {
  if (v->kind == HVI_NUMBER)
    put_number(to, v->number);
  else if (v->kind == HVI_COUNT)
    fprintf(to, "%" PRIu64, v->count);
  else if (v->kind == HVI_BOOL)
    fputs(v->flag ? "true" : "false", to);
  else if (v->kind == HVI_TEXT && v->text)
    hvi_value_write_text(to, v->text);
  else if (v->kind == HVI_NUMBERS && v->numbers)
    put_numbers(to, v->numbers, v->size);
  else
    fputs("null", to);
}

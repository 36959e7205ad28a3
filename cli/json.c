#include "json.h"

#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

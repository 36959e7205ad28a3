/*
 * One JSON object on stdout, written as it goes: nothing to allocate, nothing to free.
 *
 *   hvi_json_begin();                            // { "schema_version": 1
 *   hvi_json_put(V("dist2", 2.1e-11), V("outer", outer));
 *   hvi_json_end();
 *
 * `name` is the member's name in an object and NULL in an array. Numbers read back to the same bits;
 * what is not finite is null.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The object of a command, open, with its version; its end closes all that is open. */
void hvi_json_begin(void);
void hvi_json_end(void);
/* An object or an array within, by '{' or '['; and the end of the innermost. */
void hvi_json_open(const char *name, char bracket);
void hvi_json_close(void);

/* A member: its name, and a value of one of the types below. */
typedef struct hvi_value {
  const char *name;
  enum { HVI_END, HVI_NUMBER, HVI_COUNT, HVI_BOOL, HVI_TEXT, HVI_NUMBERS } kind;
  union {
    double number;
    uint64_t count;
    bool flag;
    const char *text;      /* NULL: null */
    const double *numbers; /* [size] on one line; NULL: null */
  };
  size_t size;
} hvi_value;

hvi_value hvi_value_number(const char *name, double x);
hvi_value hvi_value_count(const char *name, uint64_t x);
hvi_value hvi_value_bool(const char *name, bool x);
hvi_value hvi_value_text(const char *name, const char *x);
hvi_value hvi_value_numbers(const char *name, const double *x, size_t n);
#define V(name, x)                                                                                 \
  _Generic((x), double                                                                             \
           : hvi_value_number, bool                                                                \
           : hvi_value_bool, char *                                                                \
           : hvi_value_text, const char *                                                          \
           : hvi_value_text, unsigned long                                                         \
           : hvi_value_count, unsigned long long                                                   \
           : hvi_value_count)(name, x)

/* Several members: hvi_json_put(V("mu", mu), V("exact", exact)); an object of them. */
#define hvi_json_put(...) hvi_json_values((const hvi_value[]){__VA_ARGS__, {0}})
void hvi_json_values(const hvi_value *values);
#define hvi_json_object(name, ...)                                                                 \
  (hvi_json_open(name, '{'), hvi_json_put(__VA_ARGS__), hvi_json_close())

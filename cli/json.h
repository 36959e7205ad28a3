/*
 * One JSON value on stdout, written as it goes: nothing to allocate, nothing to free.
 *
 *   hvi_json j = hvi_json_begin();               // { "schema_version": 1
 *   hvi_json_number(&j, "dist2", 2.1e-11);
 *   hvi_json_close(&j, '}');
 *
 * `name` is the member's name in an object and NULL in an array and at the top. Numbers read back
 * to the same bits; what is not finite is null.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hvi_json {
  int depth;
  bool filled; /* the innermost object or array has a member already */
} hvi_json;

/* The object of a command, open, with its version. */
hvi_json hvi_json_begin(void);
void hvi_json_open(hvi_json *j, const char *name, char bracket);
void hvi_json_close(hvi_json *j, char bracket);
void hvi_json_number(hvi_json *j, const char *name, double x);
void hvi_json_count(hvi_json *j, const char *name, uint64_t x);
void hvi_json_bool(hvi_json *j, const char *name, bool x);
void hvi_json_text(hvi_json *j, const char *name, const char *text); /* NULL: null */
/* An array on one line; NULL: null. */
void hvi_json_numbers(hvi_json *j, const char *name, const double *x, size_t n);

/* A member: its name, and a value of one of the types below. */
typedef struct hvi_value {
  const char *name; /* NULL ends an array of them */
  enum { HVI_NUMBER, HVI_COUNT, HVI_BOOL, HVI_TEXT } kind;
  union {
    double number;
    uint64_t count;
    bool flag;
    const char *text;
  };
} hvi_value;

hvi_value hvi_value_number(const char *name, double x);
hvi_value hvi_value_count(const char *name, uint64_t x);
hvi_value hvi_value_bool(const char *name, bool x);
hvi_value hvi_value_text(const char *name, const char *x);
#define V(name, x)                                                                                 \
  _Generic((x), double                                                                             \
           : hvi_value_number, unsigned                                                            \
           : hvi_value_count, unsigned long                                                        \
           : hvi_value_count, unsigned long long                                                   \
           : hvi_value_count, bool                                                                 \
           : hvi_value_bool, char *                                                                \
           : hvi_value_text, const char *                                                          \
           : hvi_value_text)(name, x)

/* Several members: hvi_json_put(&j, V("mu", mu), V("exact", exact)). */
#define hvi_json_put(j, ...) hvi_json_values(j, (const hvi_value[]){__VA_ARGS__, {0}})
void hvi_json_values(hvi_json *j, const hvi_value *values);
/* An object of them. */
#define hvi_json_object(j, name, ...)                                                              \
  (hvi_json_open(j, name, '{'), hvi_json_put(j, __VA_ARGS__), hvi_json_close(j, '}'))

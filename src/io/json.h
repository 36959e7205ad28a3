/*
 * Values as JSON, written to a stream as they come: nothing to allocate, nothing to free.
 *
 *   V("dist2", 2.1e-11), V("outer", outer), V("status", "limit")
 *
 * Numbers read back to the same bits; what is not finite is null.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* The value alone; a text in quotes, bytes that are not UTF-8 as '?'. */
void hvi_value_write(FILE *to, const hvi_value *v);
void hvi_value_write_text(FILE *to, const char *text);

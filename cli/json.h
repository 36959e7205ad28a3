/*
 * One JSON value on stdout, written as it goes: nothing to allocate, nothing to free.
 *
 *   hvi_json j = {0};
 *   hvi_json_open(&j, NULL, '{');
 *   hvi_json_number(&j, "dist2", 2.1e-11);
 *   hvi_json_close(&j, '}');
 *
 * `name` is the member's name in an object and NULL in an array and at the top. Numbers read back
 * to the same bits; what is not finite is null.
 */
#ifndef HVI_CLI_JSON_H
#define HVI_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hvi_json {
  int depth;
  bool filled; /* the innermost object or array has a member already */
} hvi_json;

void hvi_json_open(hvi_json *j, const char *name, char bracket);
void hvi_json_close(hvi_json *j, char bracket);
void hvi_json_number(hvi_json *j, const char *name, double x);
void hvi_json_count(hvi_json *j, const char *name, uint64_t x);
void hvi_json_bool(hvi_json *j, const char *name, bool x);
void hvi_json_text(hvi_json *j, const char *name, const char *text); /* NULL: null */
/* An array on one line; NULL: null. */
void hvi_json_numbers(hvi_json *j, const char *name, const double *x, size_t n);

#endif

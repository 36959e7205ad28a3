/*
 * One JSON object on stdout, written as it goes: nothing to allocate, nothing to free.
 *
 *   hvi_json_begin();                            // { "schema_version": 1
 *   hvi_json_put(V("dist2", 2.1e-11), V("outer", outer));
 *   hvi_json_end();
 *
 * `name` is the member's name in an object and NULL in an array.
 */
#pragma once

#include "io/json.h"

/* The object of a command, open, with its version; its end closes all that is open. */
void hvi_json_begin(void);
void hvi_json_end(void);
/* An object or an array within, by '{' or '['; and the end of the innermost. */
void hvi_json_open(const char *name, char bracket);
void hvi_json_close(void);

/* Several members: hvi_json_put(V("mu", mu), V("exact", exact)); an object of them. */
#define hvi_json_put(...) hvi_json_values((const hvi_value[]){__VA_ARGS__, {0}})
void hvi_json_values(const hvi_value *values);
#define hvi_json_object(name, ...)                                                                 \
  (hvi_json_open(name, '{'), hvi_json_put(__VA_ARGS__), hvi_json_close())

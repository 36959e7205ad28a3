/*
 * One JSON object on stdout, written as it goes: nothing to allocate, nothing to free.
 *
 *   hvi_json_begin();                            // { "schema_version": 1
 *   hvi_json_put(V("dist2", 2.1e-11), V("outer", outer));
 *   hvi_json_end();
 *
 * `name` is the member's name in an object and NULL in an array. Where no JSON is asked for, nothing is
 * written.
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

/* A value for programs and for people: a member where the result is JSON, otherwise text. */
typedef struct hvi_shown {
  hvi_value value;          /* no name: not in the JSON */
  const char *title, *unit; /* before and after it; a title of NULL: not in the text */
  int width, digits;
  double scale;
} hvi_shown;
/* A line of text; a cell so wide (negative: to the left), with so many digits after the point (0: six,
 * negative: so many, in all) of a number times `factor`; and what people do not see. */
#define LINE(label, after, name, x)                                                                \
  { .value = V(name, x), .title = label, .unit = after }
#define CELL(label, columns, decimals, factor, name, x)                                            \
  { .value = V(name, x), .title = label, .width = columns, .digits = decimals, .scale = factor }
#define J(name, x)                                                                                 \
  { .value = V(name, x) }

/* Each on its line, none where there is no text or no finite number. */
#define hvi_show(...) hvi_show_lines((const hvi_shown[]){__VA_ARGS__, {.title = NULL}})
void hvi_show_lines(const hvi_shown *shown);
/* A table: its title, and rows, which are objects of an array. '-' stands for what is not finite. */
void hvi_table_begin(const char *title);
#define hvi_table_row(...) hvi_table_cells((const hvi_shown[]){__VA_ARGS__, {.title = NULL}})
void hvi_table_cells(const hvi_shown *shown);

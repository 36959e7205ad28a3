/* A string that grows. Running out of memory is remembered and reported once, at the end. */
#pragma once

#include <hvi/setting.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct hvi_text {
  char *data; /* NUL-terminated; NULL while empty */
  size_t length, capacity;
  bool failed; /* no memory: the text is incomplete */
} hvi_text;

void hvi_text_add(hvi_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hvi_text_bytes(hvi_text *t, const void *bytes, size_t size);
void hvi_text_pad(hvi_text *t, char c, size_t count);
/* Adds "; " and a description of settings (hvi_setting_describe). */
void hvi_text_settings(hvi_text *t, const hvi_setting_table *table, const void *settings,
                       const char *method);
/* Writes the text to a file, whole or not at all; an error when it is incomplete. */
hvi_status hvi_text_write(const hvi_text *t, const char *path, hvi_error *err);
/* Hands the string over (hvi_free it) and leaves the text empty; NULL when it is incomplete. */
char *hvi_text_take(hvi_text *t);
void hvi_text_free(hvi_text *t);

/* folder/name and folder/name + ending, as new strings (hvi_free them); NULL without memory. */
char *hvi_path_join(const char *folder, const char *name, const char *ending);

/* The folder of a path ("." without one) and its name without the ending, as new strings; false
 * without memory. */
bool hvi_path_split(char **folder, char **name, const char *path, const char *ending);

/* How many columns a UTF-8 string takes on a terminal (one a character). */
size_t hvi_text_width(const char *s);

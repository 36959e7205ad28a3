/* How the library fills an hvi_error. */
#pragma once

#include <hvi/error.h>

/* Stores status and text (err may be NULL) and returns status, so that it can end a function. */
hvi_status hvi_error_set(hvi_error *err, hvi_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define hvi_error_input(err, ...)    hvi_error_set(err, HVI_ERROR_INPUT, __VA_ARGS__)
#define hvi_error_argument(err, ...) hvi_error_set(err, HVI_ERROR_ARGUMENT, __VA_ARGS__)

/* Returns from the function with the status of a call that failed. */
#define HVI_TRY(call)                                                                              \
  do {                                                                                             \
    const hvi_status tried_ = (call);                                                              \
    if (tried_) return tried_;                                                                     \
  } while (0)

/* The usual text for a failed allocation of `what`. */
hvi_status hvi_error_memory(hvi_error *err, const char *what);

/* A file, and what an error in it is: HVI_ERROR_INPUT where it is read. */
typedef struct hvi_subject {
  const char *name;
  hvi_status status;
  hvi_error *err;
} hvi_subject;

/* "'NAME'" and the text; returns the status. */
hvi_status hvi_refuse(const hvi_subject *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* HVI_ERROR_IO from errno: "cannot <action> '<path>': <reason>". */
hvi_status hvi_error_system(hvi_error *err, const char *action, const char *path);

/*
 * Errors: a call that could not be carried out, and why, in one line.
 *
 * Outcomes of a solve (converged, stalled, diverged, ...) are not errors; they are in solver.h.
 * Every function that can fail returns an hvi_status and takes an optional hvi_error as its last
 * argument; NULL is fine for a caller who does not want the text.
 */
#ifndef HVI_ERROR_H
#define HVI_ERROR_H

#include <hvi/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hvi_status {
  HVI_OK = 0,
  HVI_ERROR_ARGUMENT,    /* the call is wrong: a null pointer, a count out of range */
  HVI_ERROR_INPUT,       /* the data are wrong: a file's contents, a matrix's shape, a NaN */
  HVI_ERROR_UNSUPPORTED, /* a method needs what the problem lacks */
  HVI_ERROR_IO,          /* the system would not read or write */
  HVI_ERROR_MEMORY,      /* an allocation failed */
  HVI_ERROR_MISMATCH,    /* a file is of a run with other settings */
  HVI_STATUS_COUNT
} hvi_status;

typedef struct hvi_error {
  hvi_status status;
  char text[512]; /* what, where, and what would be right; no newline */
} hvi_error;

/* A few words for a status, e.g. "out of memory". */
HVI_API const char *hvi_status_text(hvi_status status);

/* Stores status and text (err may be NULL) and returns status, so that it can end a function. */
HVI_API hvi_status hvi_error_set(hvi_error *err, hvi_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#ifdef __cplusplus
}
#endif

#endif

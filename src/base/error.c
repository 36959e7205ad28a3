#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_texts[HVI_STATUS_COUNT] = {
    [HVI_OK] = "no error",
    [HVI_ERROR_ARGUMENT] = "wrong argument",
    [HVI_ERROR_INPUT] = "bad input",
    [HVI_ERROR_UNSUPPORTED] = "not supported",
    [HVI_ERROR_IO] = "input or output failed",
    [HVI_ERROR_MEMORY] = "out of memory",
    [HVI_ERROR_MISMATCH] = "other settings",
};

const char *hvi_status_text(hvi_status status) {
  unsigned index = (unsigned)status;
  return index < HVI_STATUS_COUNT ? status_texts[index] : "unknown status";
}

/* File names may hold anything; the text stays one line. */
static void keep_one_line(char *text) {
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f) *text = '?';
  }
}

hvi_status hvi_error_set(hvi_error *err, hvi_status status, const char *format, ...) {
  if (!err) return status;
  /* an argument may be err->text itself, when a caller adds to a text */
  char text[sizeof err->text];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (length < 0) snprintf(text, sizeof text, "%s", hvi_status_text(status));
  keep_one_line(text);
  err->status = status;
  memcpy(err->text, text, sizeof text);
  return status;
}

hvi_status hvi_refuse(const hvi_subject *s, const char *format, ...) {
  char text[sizeof s->err->text];
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hvi_error_set(s->err, s->status, "'%s'%s", s->name, length < 0 ? "" : text);
}

hvi_status hvi_error_memory(hvi_error *err, const char *what) {
  return hvi_error_set(err, HVI_ERROR_MEMORY, "out of memory for %s", what);
}

hvi_status hvi_error_system(hvi_error *err, const char *action, const char *path) {
  int code = errno;
  char reason[128];
  if (strerror_r(code, reason, sizeof reason) != 0)
    snprintf(reason, sizeof reason, "system error %d", code);
  return hvi_error_set(err, HVI_ERROR_IO, "cannot %s '%s': %s", action, path, reason);
}

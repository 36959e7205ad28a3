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

hvi_status hvi_error_set(hvi_error *err, hvi_status status, const char *format, ...) {
  if (!err) return status;
  /* an argument may be err->text itself, when a caller adds to a text */
  char text[sizeof err->text];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (length < 0) snprintf(text, sizeof text, "%s", hvi_status_text(status));
  /* file names may hold anything; the text stays one line */
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  err->status = status;
  memcpy(err->text, text, sizeof text);
  return status;
}

void hvi_append(char *text, size_t size, const char *format, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, size - used, format, args);
  va_end(args);
}

hvi_status hvi_error_place(hvi_error *err, hvi_status status, const char *name, size_t line) {
  if (!err) return status;
  if (line == 0) return hvi_error_set(err, status, "'%s'%s", name, err->text);
  return hvi_error_set(err, status, "%s:%zu: %s", name, line, err->text);
}

hvi_status hvi_error_memory(hvi_error *err, const char *what) {
  return hvi_error_set(err, HVI_ERROR_MEMORY, "out of memory for %s", what);
}

hvi_status hvi_error_system(hvi_error *err, const char *action, const char *path) {
  int code = errno;
  char reason[128];
  if (strerror_r(code, reason, sizeof reason) != 0)
    snprintf(reason, sizeof reason, "system error %d", code);
  return hvi_error_io(err, "cannot %s '%s': %s", action, path, reason);
}

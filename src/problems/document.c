#include "problems/document.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <string.h>

enum { LONGEST_NAME = 120 };
static const size_t largest_file = (size_t)16 << 20;

hvi_status hvi_document_read(hvi_document *d, const char *path, hvi_error *err) {
  *d = (hvi_document){.name = path, .folder = "."};
  d->room = hvi_copy_text(path);
  if (!d->room) return hvi_error_memory(err, "a path");
  char *slash = strrchr(d->room, '/');
  if (slash) {
    slash[slash == d->room] = '\0';
    d->folder = d->room;
    /* a long path would leave no room for the rest of an error text */
    if (strlen(path) > LONGEST_NAME) d->name = strrchr(path, '/') + 1;
  }
  const hvi_status status = hvi_file_read_text(&d->text, path, largest_file, err);
  if (status) hvi_document_free(d);
  return status;
}

void hvi_document_free(hvi_document *d) {
  hvi_free(d->text);
  hvi_free(d->room);
  *d = (hvi_document){0};
}

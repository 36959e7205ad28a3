/* A problem file as text, with what its reader needs to know about where it came from. */
#ifndef HVI_PROBLEMS_DOCUMENT_H
#define HVI_PROBLEMS_DOCUMENT_H

#include <hvi/error.h>

typedef struct hvi_document {
  char *text;
  const char *name;   /* for error texts */
  const char *folder; /* that other files' names are relative to */
  char *room;
} hvi_document;

hvi_status hvi_document_read(hvi_document *d, const char *path, hvi_error *err);
void hvi_document_free(hvi_document *d);

#endif

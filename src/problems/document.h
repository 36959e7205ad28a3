/* A problem file, parsed, with what its reader needs to know about where it came from. */
#pragma once

#include "io/yaml.h"

typedef struct hvi_document {
  hvi_tree *tree;
  const hvi_node *root;
  const char *name;   /* for error texts */
  const char *folder; /* that other files' names are relative to; NULL: there can be none */
  char *path;
} hvi_document;

/* From a text, with a name and a folder that stay the caller's; from a file. */
hvi_status hvi_document_parse(hvi_document *d, const char *text, const char *name,
                              const char *folder, hvi_error *err);
hvi_status hvi_document_read(hvi_document *d, const char *path, hvi_error *err);
void hvi_document_free(hvi_document *d);

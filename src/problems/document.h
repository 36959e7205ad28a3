/* A problem file, parsed, with what its reader needs to know about where it came from. */
#pragma once

#include "io/yaml.h"

#include <hvi/game.h>

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

/* Makes the game that a document or a text describes (docs/game-files.md); games/file.c. */
hvi_status hvi_game_read(hvi_problem **game, const hvi_document *d, uint64_t seed,
                         uint64_t instance, hvi_error *err);
hvi_status hvi_game_parse(hvi_problem **game, const char *text, const char *name,
                          const char *folder, uint64_t seed, uint64_t instance, hvi_error *err);

/* Games as YAML text. The schema is in docs/game-files.md. */
#pragma once

#include "problems/document.h"

#include <hvi/game.h>

/* Names of those kinds of sets that a file can ask for, by their numbers; ends in NULL. */
extern const char *const hvi_game_sets[];

/* Makes the game that a document or a text describes. `name` opens error texts; .npy files are
 * looked for in `folder`, and there can be none when it is NULL. */
hvi_status hvi_game_read(hvi_problem **game, const hvi_document *d, uint64_t seed,
                         uint64_t instance, hvi_error *err);
hvi_status hvi_game_parse(hvi_problem **game, const char *text, const char *name,
                          const char *folder, uint64_t seed, uint64_t instance, hvi_error *err);

/* The text of a game whose players are stacks of layers (hvi_free it). It reads back to the same
 * bits. `comment`, one or more lines or NULL, is put on top. */
hvi_status hvi_game_format(char **text, const hvi_problem *game, const char *comment,
                           hvi_error *err);
/* The same into a file. */
hvi_status hvi_game_write_yaml(const char *path, const hvi_problem *game, const char *comment,
                               hvi_error *err);

/* Games as YAML text. The schema is in docs/game-files.md. */
#pragma once

#include "problems/document.h"

#include <hvi/game.h>

/* Makes the game that a document or a text describes. `name` opens error texts; matrices in files are
 * looked for in `folder`, and there can be none when it is NULL. */
hvi_status hvi_game_read(hvi_problem **game, const hvi_document *d, uint64_t seed,
                         uint64_t instance, hvi_error *err);
hvi_status hvi_game_parse(hvi_problem **game, const char *text, const char *name,
                          const char *folder, uint64_t seed, uint64_t instance, hvi_error *err);

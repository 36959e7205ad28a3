/* Rows of `hvi bench games` whose players are networks: an inner step of both beside its limit. */
#pragma once

#include "games.h"

enum { NETWORK_GAMES_ADAM = 24, NETWORK_GAMES_LM = 5 };

_Static_assert(NETWORK_GAMES_ADAM + NETWORK_GAMES_LM == GAMES_NETWORKS, "a row for each");

/* Row i of GAMES_NETWORKS. */
hvi_status bench_network_game(games_row *row, size_t i, const bench_options *o, hvi_error *err);

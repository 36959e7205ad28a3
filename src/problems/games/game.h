/* The inside of a game, for code that runs many of them at once. */
#pragma once

#include <hvi/game.h>

/* Up to this many outputs the blocks are written out as one matrix, which is quicker to multiply
 * than to walk over. */
enum { HVI_GAME_TINY = 4 };

/* F_i(z) = sum_j A_ij z_j + w_i z_i + constant_i,  constant_i = q_i - w_i c_i */
typedef struct hvi_game {
  hvi_problem base;
  size_t player_count;
  size_t payoff_count;
  hvi_payoff *payoffs;                        /* own copies of the matrices */
  double *weight;                             /* [players] */
  double *constant;                           /* [n] */
  hvi_set *sets;                              /* base.sets, to be freed */
  double tiny[HVI_GAME_TINY * HVI_GAME_TINY]; /* [n][n] all blocks, when n is that small */
  const char **names;                         /* base.players and their texts, in one block */
  double *store;                              /* all numbers of the game in one block */
} hvi_game;

/* What is wrong with a player's name, in words; NULL: nothing. */
const char *hvi_player_name_fault(const char *name);
/* The problem as a game, or NULL when it is something else. */
const hvi_game *hvi_game_of(const hvi_problem *p);

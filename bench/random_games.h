/*
 * Random games whose solution is known and can be reached, and a judge of them that shares no code
 * with the library.
 *
 * A game is built backwards: layers and parameters theta* are drawn, z* = g(theta*), and each player
 * gets the linear term that makes F(z*) = 0. Sizes, depths, players and conditioning are drawn.
 *
 *   two-player   zero-sum, softmax players, regularised
 *   polymatrix   three to five softmax players, zero-sum by pairs, regularised
 *   quadratic    one to three players with free outputs, own quadratic losses
 *   monotone     zero-sum, softmax players, no regulariser: F is only monotone
 *   box          one to three sigmoid players in the unit box, own quadratic losses
 *
 * Half of the players have fixed layers whose input is theta, half are networks with fixed inputs. The
 * small games have up to some hundred outputs. In the large ones three players in four are networks with
 * 60 to 250 inputs and two hidden layers, and the others have 300 to 800 outputs.
 */
#pragma once

#include <hvi/game.h>

#include <stdint.h>

typedef enum random_kind {
  RANDOM_TWO_PLAYER,
  RANDOM_POLYMATRIX,
  RANDOM_QUADRATIC,
  RANDOM_MONOTONE,
  RANDOM_BOX,
  RANDOM_KINDS
} random_kind;

extern const char *const random_kind_names[RANDOM_KINDS];

typedef struct random_game random_game;

hvi_status random_game_new(random_game **game, random_kind kind, bool large, uint64_t seed,
                           hvi_error *err);
const hvi_problem *random_game_problem(const random_game *g);
/* |z - projection(z - F(z))| at z = g(theta), all of it computed here. */
double random_game_residual(const random_game *g, const double *theta);
void random_game_free(random_game *g);

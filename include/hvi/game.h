/*
 * Games whose players' losses are quadratic in the outputs: bilinear zero-sum, polymatrix, general
 * quadratic, each with a strongly monotone regulariser.
 *
 *   F_i(z) = sum_j A_ij z_j + q_i + w_i (z_i - c_i)
 *
 * Player i pays z_i' A_ij z_j to each other player j; a zero-sum pair has A_21 = -A_12'. Only the
 * blocks A_ij that exist are stored and multiplied.
 */
#ifndef HVI_GAME_H
#define HVI_GAME_H

#include <hvi/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HVI_NAME_MOST = 40 };

typedef struct hvi_player {
  hvi_model *model;            /* taken over by hvi_game_new, also when it fails */
  const double *theta0;        /* [dim] */
  hvi_set_kind set;            /* what the model can reach */
  const double *lower, *upper; /* box: [out] */
  size_t parts;                /* simplex: so many of equal length, side by side; 0: 1 */
  const double *basis;         /* subspace: [out][rank], orthonormal columns */
  size_t rank;
  double weight;        /* w_i of the regulariser; a negative one is allowed and not monotone */
  const double *centre; /* c_i [out]; NULL: zero */
  const double *linear; /* q_i [out]; NULL: zero */
  const char *name;     /* for people: at most HVI_NAME_MOST bytes without commas, quotes or control
                         * characters, no number, and nobody else's; NULL: none */
} hvi_player;

/* Row player's gradient takes A z_column. */
typedef struct hvi_payoff {
  size_t row, column;
  const double *matrix; /* [out of row][out of column] */
} hvi_payoff;

typedef struct hvi_game_spec {
  size_t player_count;
  const hvi_player *players;
  size_t payoff_count;
  const hvi_payoff *payoffs; /* several for the same pair add up */
  const double *solution;    /* z* [n] or NULL */
} hvi_game_spec;

/* Copies what it is given, but for the models. Where some players have names, player k without one is
 * called "playerk". hvi_problem_load (builtin.h) reads a game from a
 * YAML file; the schema is in docs/game-files.md. */
HVI_API hvi_status hvi_game_new(hvi_problem **game, const hvi_game_spec *spec, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif

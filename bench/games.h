/* `hvi bench games`: the loop on small games, next to what a loop written by hand needs; an inner
 * step of players behind networks, next to its bare arithmetic. */
#pragma once

#include "options.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* One method on one game. Times are nanoseconds per outer step (and instance). */
typedef struct games_row {
  const char *game, *label;
  double trajectory; /* through the general interfaces */
  double by_hand;    /* the hand-written loop; NaN where there is none */
  double lanes;      /* per instance, ensemble in SIMD lanes, one thread */
  double one_by_one; /* per instance, ensemble through the ordinary solver, one thread */
  double model_passes, grad_evals, f_evals; /* per outer step */
  bool agrees; /* general and hand-written end at the same distance, within 1e-9 */
  /* players behind networks: rows of inputs, width of the hidden layers, seconds of a step and of the
   * arithmetic alone; NaN when not measured */
  bool first_order, single;
  size_t rows, width;
  double step, limit;
  double fma; /* the arithmetic at the speed of FMAs in registers: see peak.h */
} games_row;

enum { GAMES_SMALL = 10, GAMES_NETWORKS = 29, GAMES_ROWS = GAMES_SMALL + GAMES_NETWORKS };

/* Fills rows[GAMES_ROWS], each a games_row; *done says how many before an error or a stop. */
hvi_status bench_games_run(void *rows, size_t *done, const bench_options *options, hvi_error *err);

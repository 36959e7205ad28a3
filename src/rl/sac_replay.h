/*
 * The replay buffer: the last `capacity` transitions, one record of floats each,
 *
 *   obs | action | reward | next obs | 1 where the next state has a future, 0 where it ended
 *
 * so that a random row is a few cache lines side by side. Memory is taken in blocks as the buffer
 * fills, so a short run stays small.
 */
#ifndef HVI_RL_SAC_REPLAY_H
#define HVI_RL_SAC_REPLAY_H

#include <hvi/error.h>
#include <hvi/rng.h>

#include <stdbool.h>

enum { HVI_REPLAY_BLOCK = 16384 }; /* rows */

typedef struct hvi_replay {
  size_t obs, act, row; /* row: floats of a record */
  size_t capacity, count, next;
  size_t block_count;
  float **blocks; /* [block_count], NULL where not reached yet */
} hvi_replay;

/* A batch, laid out for the networks: x and next are [rows][x_row], obs first and then an action
 * (which is for others to fill in in `next`). */
typedef struct hvi_replay_batch {
  float *x, *next;
  size_t x_row;
  float *reward, *future; /* [rows] */
} hvi_replay_batch;

hvi_status hvi_replay_new(hvi_replay *r, size_t obs, size_t act, size_t capacity, hvi_error *err);
void hvi_replay_free(hvi_replay *r);
/* Makes sure that rows 0 .. count - 1 have memory. */
hvi_status hvi_replay_reserve(hvi_replay *r, size_t count, hvi_error *err);
float *hvi_replay_row(const hvi_replay *r, size_t i);
hvi_status hvi_replay_add(hvi_replay *r, const double *obs, const double *action, double reward,
                          const double *next, bool terminated, hvi_error *err);
/* Draws rows uniformly, with replacement. places[rows] is room for their numbers. */
void hvi_replay_draw(const hvi_replay *r, hvi_replay_batch *batch, size_t rows, uint32_t *places,
                     hvi_rng *rng);

#endif

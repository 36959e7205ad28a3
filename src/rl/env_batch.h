/*
 * Many environments of one kind, over threads. Each draws from a stream of its own, so what happens
 * to one depends neither on the others nor on who moves it: the same bits for any thread count.
 */
#ifndef HVI_RL_ENV_BATCH_H
#define HVI_RL_ENV_BATCH_H

#include <hvi/env.h>

#include <stdint.h>

typedef struct hvi_env_batch {
  size_t count;
  hvi_env **envs;       /* [count] */
  hvi_rng *rngs;        /* [count], that of environment i being (seed, stream, i) */
  double *obs;          /* [count][obs] as of the last reset or step */
  hvi_transition *last; /* [count] of the last step */
} hvi_env_batch;

/* Clones of `env` in its state. */
hvi_status hvi_env_batch_new(hvi_env_batch **batch, const hvi_env *env, size_t count, uint64_t seed,
                             const char *stream, hvi_error *err);
void hvi_env_batch_free(hvi_env_batch *batch);

/* Does what there is to do for environments first .. first + count - 1 on worker `worker` (below
 * the number of threads, for workspaces). */
typedef hvi_status (*hvi_env_batch_fn)(void *context, hvi_env_batch *batch, size_t first,
                                       size_t count, size_t worker, hvi_error *err);
/* Calls it for chunks of environments, on at most `threads` threads (0: one per core). */
hvi_status hvi_env_batch_each(hvi_env_batch *batch, size_t threads, hvi_env_batch_fn run,
                              void *context, hvi_error *err);

/* Draws initial states for all. */
hvi_status hvi_env_batch_reset(hvi_env_batch *batch, size_t threads, hvi_error *err);
/* One step of all with actions[count][act]. An environment whose last step ended an episode draws a
 * new initial state instead, and its transition is all zero. */
hvi_status hvi_env_batch_step(hvi_env_batch *batch, const double *actions, size_t threads,
                              hvi_error *err);

#endif

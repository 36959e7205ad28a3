/* `hvi env bench`: steps of an environment, next to what the physics alone takes. */
#pragma once

#include <hvi/env.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct env_bench_options {
  size_t repeats; /* of each measurement, taken in turn; the fastest counts */
  size_t steps;   /* of one measurement */
  size_t threads;
  /* Called before each repeat; false stops. */
  bool (*progress)(void *context, size_t done, size_t total);
  void *context;
} env_bench_options;

/* Seconds per step: of processor time for one environment and the bare loop, by the clock for
 * batches. */
typedef struct env_bench_result {
  double one;       /* one environment: step and observation */
  double bare;      /* mj_step alone, on the same states and controls; NaN without MuJoCo */
  double batch_one; /* a batch of environments on one thread; per step of one of them */
  double batch_all; /* the same batch on `threads` */
  size_t batch;     /* environments in it */
  bool agrees;      /* the bare loop ends in the same state, and the two batches too */
} env_bench_result;

/* *done is false when it was stopped before the first repeat was over. */
hvi_status bench_env_run(env_bench_result *result, bool *done, const hvi_env *env,
                         const env_bench_options *options, hvi_error *err);

/*
 * Many trajectories of one chain, side by side: the state of a chunk of runs, and the kernels that
 * move it on.
 *
 * A lane holds one number of HVI_LINEAR_LANES runs. Kernels are loops over lanes that compile to
 * SIMD code, built once per instruction set like those of src/ensemble.
 */
#ifndef HVI_EXPERIMENTS_LINEAR_LANES_H
#define HVI_EXPERIMENTS_LINEAR_LANES_H

#include <stddef.h>
#include <stdint.h>

enum {
  HVI_LINEAR_LANES = 16,
  HVI_LINEAR_MOST = 5, /* features */
  HVI_LINEAR_PACKED = HVI_LINEAR_MOST * (HVI_LINEAR_MOST + 1) / 2
};

/* Who moves along a trajectory. Surr-GD comes first, by its inner steps. */
typedef enum hvi_linear_mover {
  HVI_MOVER_SURR_1,
  HVI_MOVER_SURR_5,
  HVI_MOVER_SURR_10,
  HVI_MOVER_SURR_50,
  HVI_MOVER_SURR_100,
  HVI_MOVER_LSPE,
  HVI_MOVER_TD0,
  HVI_MOVER_TDC,
  HVI_MOVER_GTD2,
  HVI_MOVER_RESIDUAL,
  HVI_MOVER_COUNT,
  HVI_SURR_COUNT = HVI_MOVER_LSPE
} hvi_linear_mover;

typedef struct hvi_linear_lane {
  _Alignas(64) double at[HVI_LINEAR_LANES];
} hvi_linear_lane;

typedef struct hvi_linear_chunk {
  size_t d;
  double gamma, ridge;
  size_t wait;
  double rate, decay; /* the learners' step at time t is rate / (1 + decay (t - 1)) */
  double second_rate;
  size_t count; /* t */

  /* the last transition */
  hvi_linear_lane now[HVI_LINEAR_MOST], next[HVI_LINEAR_MOST], reward;
  /* running means; D is symmetric, its lower half by rows */
  hvi_linear_lane D[HVI_LINEAR_PACKED], C[HVI_LINEAR_MOST * HVI_LINEAR_MOST], r[HVI_LINEAR_MOST];
  /* the movers' theta, and the second weights of TDC and GTD2 */
  hvi_linear_lane theta[HVI_MOVER_COUNT][HVI_LINEAR_MOST], second[2][HVI_LINEAR_MOST];

  /* random numbers: keys of the runs, and the two uniforms of the current block */
  _Alignas(64) uint64_t key[2][HVI_LINEAR_LANES];
  hvi_linear_lane uniform[2];
  uint32_t state[HVI_LINEAR_LANES];
} hvi_linear_chunk;

typedef struct hvi_linear_kernel {
  const char *name; /* as in ensemble/lanes.h */
  /* The uniforms of block `number` of every run's generator, the same as hvi_rng_uniform's. */
  void (*uniforms)(hvi_linear_chunk *c, uint64_t number);
  /* Takes the last transition in and moves everybody on; for three and for five features. */
  void (*step_3)(hvi_linear_chunk *c);
  void (*step_5)(hvi_linear_chunk *c);
} hvi_linear_kernel;

extern const hvi_linear_kernel hvi_linear_baseline, hvi_linear_avx2, hvi_linear_avx512;

/* The fastest that this CPU can run. */
const hvi_linear_kernel *hvi_linear_kernel_best(void);

#endif

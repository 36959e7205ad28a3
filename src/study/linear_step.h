/*
 * Many trajectories of one chain, side by side: the state of a batch of runs, and the step that
 * moves it on. Number i of run l is x[i * HVI_LINEAR_BATCH + l].
 */
#pragma once

#include <stddef.h>

enum {
  HVI_LINEAR_BATCH = 16, /* runs */
  HVI_LINEAR_POWERS = 6  /* A, A^2, A^4, ... A^32 */
};

/* Who learns along a trajectory. Surr-GD comes first, by its inner steps. */
typedef enum hvi_linear_learner {
  HVI_LEARNER_SURR_1,
  HVI_LEARNER_SURR_5,
  HVI_LEARNER_SURR_10,
  HVI_LEARNER_SURR_50,
  HVI_LEARNER_SURR_100,
  HVI_LEARNER_LSPE,
  HVI_LEARNER_TD0,
  HVI_LEARNER_TDC,
  HVI_LEARNER_GTD2,
  HVI_LEARNER_RESIDUAL,
  HVI_LEARNER_COUNT,
  HVI_SURR_COUNT = HVI_LEARNER_LSPE
} hvi_linear_learner;

/* Inner steps of the five surrogate methods: 1, 5, 10, 50, 100. */
extern const size_t hvi_linear_inner[HVI_SURR_COUNT];

/* Arrays have a last dimension [HVI_LINEAR_BATCH] besides the ones shown. */
typedef struct hvi_linear_batch {
  size_t d;
  double gamma, ridge;
  size_t wait;
  double rate, decay; /* the learners' step at time t is rate / (1 + decay (t - 1)) */
  double second_rate;

  size_t count;                /* t */
  double *now, *next, *reward; /* [d], [d], []: the last transition */
  double *D, *C, *r;           /* [d][d], [d][d], [d]: running means */
  double *theta;               /* [HVI_LEARNER_COUNT][d] */
  double *second;              /* [2][d]: second weights of TDC and GTD2 */
  double *power, *inverse;     /* [HVI_LINEAR_POWERS][d][d], [d][d]: workspace */
  double *error;               /* [2][d]: workspace */
} hvi_linear_batch;

/* Lays the arrays of a batch with b->d features into memory, zero at the start; returns how many
 * doubles they are. Memory may be NULL, to count them. */
size_t hvi_linear_batch_place(hvi_linear_batch *b, double *memory);

static inline double *hvi_linear_theta(const hvi_linear_batch *b, size_t m) {
  return b->theta + m * b->d * HVI_LINEAR_BATCH;
}

/* Takes the last transition in and moves every learner on. */
typedef void hvi_linear_step_fn(hvi_linear_batch *b);

/* The step for a level of instructions (base/cpu.h). All give the same bits. */
typedef struct hvi_linear_build {
  const char *name;
  hvi_linear_step_fn *step;
} hvi_linear_build;

extern const hvi_linear_build hvi_linear_baseline, hvi_linear_avx2, hvi_linear_avx512;
/* Those that this machine can run, fastest first, ending in NULL. */
const hvi_linear_build *const *hvi_linear_builds(void);

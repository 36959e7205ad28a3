/*
 * Many trajectories of one chain, side by side: the state of a batch of runs, and the step that
 * moves it on. Number i of run l is x[i * HVI_LINEAR_BATCH + l].
 */
#ifndef HVI_EXPERIMENTS_LINEAR_STEP_H
#define HVI_EXPERIMENTS_LINEAR_STEP_H

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

static inline double *hvi_linear_theta(const hvi_linear_batch *b, hvi_linear_learner m) {
  return b->theta + (size_t)m * b->d * HVI_LINEAR_BATCH;
}

/* Takes the last transition in and moves every learner on. The builds for wider registers, on
 * x86-64 only, give the same bits. */
typedef void hvi_linear_step_fn(hvi_linear_batch *b);
hvi_linear_step_fn hvi_linear_step, hvi_linear_step_avx2, hvi_linear_step_avx512;

#endif

/*
 * Acceleration: the iterate corrected between two outer steps. The step from the corrected point is
 * the same step, so its fixed points are the same and the loop need not know of the correction.
 */
#ifndef HVI_OUTER_ACCELERATE_H
#define HVI_OUTER_ACCELERATE_H

#include "base/memory.h"

#include <hvi/solver.h>

/* Iterates that Anderson acceleration may look back at. */
enum { HVI_MEMORY_MOST = 8 };

/* What is known of the error along the slow mode: part of the saved state. Doubles only. */
typedef struct hvi_filter {
  double steps;                /* samples seen */
  double mean;                 /* of the error: what the last inner loop left of it */
  double variance;             /* of the error, in units of noise; infinite at the start */
  double noise;                /* variance of <test, F> within samples, a running mean */
  double between;              /* and between them */
  double left;                 /* what is left of the last sample's news */
  double weight, news, spread; /* sums over recent samples: of weights, of weights times what was
                                * new, of squared shares */
} hvi_filter;
enum { HVI_FILTER_DOUBLES = sizeof(hvi_filter) / sizeof(double) };

typedef enum hvi_correction {
  HVI_CORRECTION_NONE,
  HVI_CORRECTION_TARGET, /* the point that the target is made from */
  HVI_CORRECTION_THETA   /* theta_t itself; z is its output to rounding only */
} hvi_correction;

typedef struct hvi_accelerator {
  double *z, *f;             /* [n] the corrected point, and F there */
  double *mode, *mode_f;     /* [n] the problem's slow mode, and F's change along it */
  double *mode_test;         /* [n] what F is tested with for it */
  hvi_correction correction; /* along the mode, at this step */
  hvi_filter filter;
} hvi_accelerator;

/* The arrays, from an arena that counts or from one that gives; the start of the filter. */
void hvi_accelerator_place(hvi_accelerator *a, size_t n, hvi_arena *arena);

/* Before a step: corrects where it starts from. After it: learns from what it left. */
void hvi_solver_correct(hvi_solver *s);
void hvi_solver_learn(hvi_solver *s);
/* The part of a correction that lies in the span of earlier iterates; accelerate_anderson.c. */
void hvi_solver_correct_anderson(hvi_solver *s);

#endif

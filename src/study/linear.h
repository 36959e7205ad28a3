/*
 * Surr-GD against the exact update (LSPE) and other learners, along many trajectories of one chain.
 */
#pragma once

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hvi_problem;

/* Who learns along a trajectory. Surr-GD comes first, by its inner steps. */
typedef enum hvi_linear_learner {
  HVI_SURR_COUNT = 5,
  HVI_LEARNER_LSPE = HVI_SURR_COUNT,
  HVI_LEARNER_TD0,
  HVI_LEARNER_TDC,
  HVI_LEARNER_GTD2,
  HVI_LEARNER_RESIDUAL,
  HVI_LEARNER_COUNT
} hvi_linear_learner;

/* Inner steps of the five surrogate methods: 1, 5, 10, 50, 100. */
extern const size_t hvi_linear_inner[HVI_SURR_COUNT];

/* What is recorded of a run. */
enum {
  HVI_LINEAR_THETA = 0,                                  /* |theta_M - theta_LSPE|, five of them */
  HVI_LINEAR_VALUE = HVI_LINEAR_THETA + HVI_SURR_COUNT,  /* the same of the values, norm of Xi */
  HVI_LINEAR_GOAL = HVI_LINEAR_VALUE + HVI_SURR_COUNT,   /* values to those of the fixed point: */
  HVI_LINEAR_LSTD = HVI_LINEAR_GOAL + HVI_LEARNER_COUNT, /* every learner's, and LSTD's */
  HVI_LINEAR_CURVES
};

typedef struct hvi_linear_settings {
  size_t runs, steps; /* trajectories; transitions of each */
  size_t rows;        /* how many times are recorded */
  const size_t *time; /* [rows] ascending, at most `steps` */
  uint64_t seed;      /* run i has the draws of a solver with seed + i */
  size_t threads;
  double rate, decay, second_rate; /* of the learners with a step size */
  /* Told after each run how many are done, by any thread; false stops. Optional. */
  bool (*progress)(void *context, size_t done);
  void *context;
} hvi_linear_settings;

typedef struct hvi_linear_result {
  hvi_linear_settings of;
  double *value; /* [rows][HVI_LINEAR_CURVES][runs], then [runs] for statistics to work with */
  bool stopped;  /* by the progress function: incomplete */
} hvi_linear_result;

/* `p` is a problem along a trajectory with scale=trace and a ridge above 0. */
hvi_status hvi_linear_simulate(hvi_linear_result *out, const struct hvi_problem *p,
                               const hvi_linear_settings *s, hvi_error *err);
void hvi_linear_result_free(hvi_linear_result *r);

static inline double *hvi_linear_values(const hvi_linear_result *r, size_t row, size_t curve) {
  return r->value + (row * HVI_LINEAR_CURVES + curve) * r->of.runs;
}

/* How far, in values, the limit of the residual gradient and the minimiser of the Bellman error are
 * from the projected fixed point. */
hvi_status hvi_linear_limits(double *single, double *bellman, const struct hvi_problem *p,
                             hvi_error *err);

/* A number and the half width of its 95 % interval over the runs. */
typedef struct hvi_estimate {
  double value, half;
} hvi_estimate;

/* The mean over the runs. kind_linear.c */
hvi_estimate hvi_linear_mean(const hvi_linear_result *r, size_t row, size_t curve);
/* The last row whose time is at most t. */
size_t hvi_linear_row(const hvi_linear_result *r, size_t t);
/* Decades that the mean of a curve falls or rises in a decade of t, from row `first` to the end. */
hvi_estimate hvi_linear_slope(const hvi_linear_result *r, size_t curve, size_t first);
/* log10 of the mean at the end over the mean in row `first`. */
hvi_estimate hvi_linear_fall(const hvi_linear_result *r, size_t curve, size_t first);
/* The mean of curve a minus curve b on the same run, in that row. */
hvi_estimate hvi_linear_difference(const hvi_linear_result *r, size_t row, size_t a, size_t b);
/* The first time from which the mean stays below `level`; NaN when it does not. */
double hvi_linear_below(const hvi_linear_result *r, size_t curve, double level);

/*
 * What the parts of `theory` work with: inner solvers whose errors are placed on purpose, problems
 * made to measure, and runs of which every step is seen.
 */
#ifndef HVI_EXPERIMENTS_THEORY_LAB_H
#define HVI_EXPERIMENTS_THEORY_LAB_H

#include "theory/steps.h"

#include <hvi/builtin.h>

/* Where an inner error points, seen from the exact point z_t^*. */
typedef enum hvi_bias {
  HVI_BIAS_AWAY,  /* away from the solution: the worst for the distance */
  HVI_BIAS_ASIDE, /* across the step, in a random direction */
  HVI_BIAS_RANDOM,
  HVI_BIAS_SHORT, /* back to z_t: too small a step */
  HVI_BIAS_OVER,  /* beyond z_t^*: too large a step */
  HVI_BIAS_COUNT
} hvi_bias;

const char *hvi_bias_name(hvi_bias b); /* "away" */

/* An inner solver that errs: by exactly alpha, or by a length that is given for each outer step. */
typedef struct hvi_placement {
  const hvi_problem *problem;
  bool direct; /* g is the identity: theta is z */
  hvi_bias bias;
  double alpha;
  double (*length)(size_t outer); /* of the error; NULL: by alpha */
  uint64_t seed;
} hvi_placement;

/* gd's settings with such a solver instead; the placement must outlive them. */
hvi_settings hvi_lab_settings(const hvi_placement *placement, double eta, size_t steps);

/* Sees each outer step: what it did, and the row. False ends the run. */
typedef bool (*hvi_lab_see)(void *context, const hvi_step *step, const hvi_record *row);

/* Runs to the end of the settings. */
hvi_status hvi_lab_run(const hvi_problem *p, const hvi_settings *s, hvi_lab_see see, void *context,
                       hvi_error *err);

/* The built-in `quadratic` with the identity or a linear map as model. */
typedef struct hvi_lab_shape {
  size_t n;
  double mu, lipschitz, rotation;
  bool linear; /* a random linear g with more parameters than outputs, instead of the identity */
} hvi_lab_shape;
hvi_status hvi_lab_quadratic(hvi_problem **p, const hvi_lab_shape *shape, uint64_t seed,
                             uint64_t instance, hvi_error *err);

/* The same operator over a box or a simplex, with a solution in the relative interior at which F
 * is normal to Z, but not zero. */
hvi_status hvi_lab_constrained(hvi_problem **p, const hvi_lab_shape *shape, hvi_set_kind set,
                               uint64_t seed, uint64_t instance, hvi_error *err);

/* theory/NAME.csv of a part. */
struct hvi_csv;
hvi_status hvi_lab_csv(struct hvi_csv *csv, const char *folder, const char *name,
                       const char *header, hvi_error *err);

#endif

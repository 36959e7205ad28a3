/*
 * What the parts of `theory` work with: inner solvers whose errors are placed on purpose, problems
 * made to measure, and runs of which every step is seen.
 */
#pragma once

#include "study/study.h"
#include "theory/steps.h"

#include <hvi/theory.h>

/* Where an inner error points, seen from the exact point z_t^*. */
typedef enum hvi_bias {
  HVI_BIAS_AWAY,  /* away from the solution: the worst for the distance */
  HVI_BIAS_ASIDE, /* across the step, in a random direction */
  HVI_BIAS_RANDOM,
  HVI_BIAS_SHORT, /* back to z_t: too small a step */
  HVI_BIAS_OVER,  /* beyond z_t^*: too large a step */
  HVI_BIAS_COUNT
} hvi_bias;

/* An inner solver that errs: by exactly alpha, or by a length that is given for each outer step. */
typedef struct hvi_placement {
  const hvi_problem *problem;
  bool direct; /* g is the identity: theta is z */
  hvi_bias bias;
  double alpha;
  double chance; /* below 1: of an alpha^2 / chance, none otherwise; 0 or 1: alpha in every step */
  double (*length)(size_t outer); /* of the error; NULL: by alpha */
  uint64_t seed;
} hvi_placement;

/* gd's settings with such a solver instead; the placement must outlive them. */
hvi_settings hvi_lab_settings(const hvi_placement *placement, double eta, size_t steps);

/* The operator of an affine problem over a box or a simplex, with a solution in the relative
 * interior at which F is normal to Z, but not zero. */
hvi_status hvi_lab_constrained(hvi_problem **p, const hvi_problem *affine, hvi_set_kind set,
                               uint64_t seed, uint64_t instance, hvi_error *err);

/*
 * What the levels of a cell ask for. Of the problem: its options, `instance`, and `set` (box or
 * simplex). Of the accuracy and the step: `alpha`, or `alpha_share` of mu / L; `eta`, or
 * `eta_share` of the largest step that the theorem allows at this alpha, or `step`: mu / L^2 (best),
 * 2 mu / 5 L^2 (theorem, which has an alpha of its own) or a number. `mu` and `L` are levels or, for
 * `step`, the problem's. Of the inner solver: `bias`, and `stream` by which its
 * random directions are drawn (a number, or `cell` for the cell's index; the instance unless it is
 * given); or `method` and its settings.
 */
typedef struct hvi_lab {
  hvi_problem *problem;
  double alpha, eta; /* NaN: not given */
  hvi_rates rates;
  hvi_placement place;
  hvi_settings settings; /* the part's iterations, standing still or not */
} hvi_lab;

/* The factors that it reads, for its kinds. */
#define HVI_LAB_FACTORS(more_words)                                                                \
  .flags = HVI_KIND_SETTINGS, .numbers = "instance alpha_share eta_share mu L alpha eta",          \
  .words = "set step bias stream method g" more_words, .describe = hvi_lab_describe
/* Of a lab that is zero; it must not be moved, and is to be closed, also after an error. */
hvi_status hvi_lab_open(hvi_lab *lab, const hvi_cell *c, hvi_error *err);
void hvi_lab_close(hvi_lab *lab);
/* Its settings on its problem, every step measured. */
hvi_status hvi_lab_run(const hvi_lab *lab, hvi_steps_see see, void *context, hvi_error *err);
/* For hvi_kind.describe: the cell's index, which may draw the errors. */
void hvi_lab_describe(const hvi_cell *c, struct hvi_text *text);

/* What came of one method on one problem, kept in memory for the judges. */
#ifndef HVI_EXPERIMENTS_CURVE_H
#define HVI_EXPERIMENTS_CURVE_H

#include "experiments/experiment.h"

typedef struct hvi_curve {
  const hvi_contender *contender;
  size_t rows;      /* outer iterations 0 .. rows-1 */
  double *dist2;    /* [rows] */
  double *residual; /* [rows] */
  double *ratio;    /* [rows] NaN in row 0 */
  hvi_outcome outcome;
  hvi_counts counts;
  size_t inner; /* steps in all */
  double seconds;
} hvi_curve;

typedef struct hvi_curves {
  size_t count;
  hvi_curve *items;
  bool solved; /* the solution is known: dist2 means something */
} hvi_curves;

/* The curve of the contender with that label, or NULL. */
const hvi_curve *hvi_curves_find(const hvi_curves *c, const char *label);
void hvi_curves_free(hvi_curves *c);

/* dist2 after `outer` iterations; the last value when the run ended before, infinite when it ended
 * by diverging. NaN for a NULL curve. */
double hvi_curve_at(const hvi_curve *c, size_t outer);
/* Whether the run got away from the solution: diverged, or farther at the end than at the start. */
bool hvi_curve_diverged(const hvi_curve *c);
/* Median loss ratio of iterations first .. last. */
double hvi_curve_ratio(const hvi_curve *c, size_t first, size_t last);

/* The line log10 y[i] = a + slope i through rows first .. last, leaving out what is not above
 * `floor` (where rounding takes over). */
typedef struct hvi_fit {
  double slope; /* per row, in decades */
  double r2;    /* 1: exactly a line; NaN with fewer than three points */
  size_t points;
} hvi_fit;

hvi_fit hvi_fit_log(const double *y, size_t first, size_t last, double floor);
/* The same of a curve's dist2. */
hvi_fit hvi_curve_fit(const hvi_curve *c, size_t first, size_t last);

/* Below this squared distance rounding decides who is nearer. */
#define HVI_ROUNDING 1e-26

#endif

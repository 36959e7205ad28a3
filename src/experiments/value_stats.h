/* Statistics of a study: curves at a point, means over seeds, comparisons seed by seed. */
#ifndef HVI_EXPERIMENTS_VALUE_STATS_H
#define HVI_EXPERIMENTS_VALUE_STATS_H

#include "experiments/value_study.h"

const hvi_study_curve *hvi_study_at(const hvi_study_results *r, size_t place, size_t contender,
                                    size_t seed);
double hvi_study_x(const hvi_evaluation_row *row, hvi_study_axis axis);
double hvi_study_y(const hvi_evaluation_row *row, hvi_study_measure measure);

/* A measure at x, on a straight line between the rows around it (of its logarithm where both are
 * positive); past the end the last value, infinite for a run that diverged. NaN before the first
 * row that has one. */
double hvi_study_value(const hvi_study_curve *c, hvi_study_axis axis, hvi_study_measure measure,
                       double x);
/* Where every curve of a contender has ended, or the first of them. */
double hvi_study_end(const hvi_study_results *r, size_t place, size_t contender,
                     hvi_study_axis axis);

typedef struct hvi_study_mean {
  double value, half; /* 95 % Student-t; infinite and NaN where a run diverged */
  size_t seeds;
} hvi_study_mean;
hvi_study_mean hvi_study_mean_at(const hvi_study_results *r, size_t place, size_t contender,
                                 hvi_study_axis axis, hvi_study_measure measure, double x);

/* A contender's ends, one a seed: the middle and the largest. A mean alone hides that one of twenty
 * was lost. */
typedef struct hvi_study_spread {
  double median, worst; /* infinite where runs diverged */
} hvi_study_spread;
hvi_study_spread hvi_study_spread_of(const hvi_study_results *r, size_t place, size_t contender,
                                     hvi_study_measure measure);

/* Where a contender's mean is least, by outer steps, and how low. */
typedef struct hvi_study_least {
  double x, value;
} hvi_study_least;
hvi_study_least hvi_study_least_of(const hvi_study_results *r, size_t place, size_t contender,
                                   hvi_study_measure measure);

/*
 * Two contenders on the same seeds: the geometric mean of a / b over the seeds, and its 95 %
 * interval from the Student-t interval of log a - log b. Errors are without the noise of the test
 * set. `less`: whether a < b (1), a > b (-1), or not decided (0). A contender of which a run
 * diverged loses to one of which none did, with a ratio of infinity or 0, unless its other runs are
 * ahead: then nothing is decided.
 */
typedef struct hvi_study_ratio {
  double ratio, low, high;
  size_t seeds;
  int less;
} hvi_study_ratio;
hvi_study_ratio hvi_study_compare(const hvi_study_results *r, size_t place, size_t a, double x_a,
                                  size_t b, double x_b, hvi_study_axis axis,
                                  hvi_study_measure measure);
/* At the end of both. */
hvi_study_ratio hvi_study_compare_ends(const hvi_study_results *r, size_t place, size_t a, size_t b,
                                       hvi_study_measure measure);

#endif

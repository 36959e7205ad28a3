/*
 * The runs of a method: its rows in a table, one curve for each seed, and statistics of them.
 *
 * Rows of a run lie in the table in their order. The columns are `outer`, which counts the outer
 * steps, `seed` if there are several runs, and `diverged`, which is 1 in the last row of a run that
 * did. Levels of `seed` are those of the whole table, so that runs of two methods can be paired; a
 * run that is not there has no rows, and NaN for a value.
 *
 * Methods of one seed share what was drawn, so they are compared seed by seed; and they differ by
 * factors rather than by amounts, so it is their logarithms whose mean difference gets an interval.
 */
#pragma once

#include "num/stats.h"
#include "study/table.h"

#include <hvi/error.h>

typedef struct hvi_runs {
  const hvi_table *table;
  size_t outer, diverged; /* columns; table->columns: there is none */
  bool seeded;            /* there is a column of seeds with a number in it */
  size_t seeds;           /* 1 where it is not */
  size_t *start;          /* [seeds + 1] in `row` */
  size_t *row;            /* of the table, by seed */
  double *work;           /* [2 seeds], or the rows of a run */
  size_t also;            /* where times is not 0: column x counts with times this one added */
  double times;
} hvi_runs;

/* Rows that match the filters and whose column `method` has the word of that index. */
hvi_status hvi_runs_find(hvi_runs *r, const hvi_table *t, double method,
                         const hvi_table_filter *filters, size_t count, hvi_error *err);
void hvi_runs_free(hvi_runs *r);

/* Column y where column x is X, on a straight line between the rows around it (of the logarithm
 * where both are positive). Past the end the last value, infinite for a run that diverged or whose
 * y has become NaN after it was a number. NaN before the first row that has one. */
double hvi_runs_value(const hvi_runs *r, size_t seed, size_t x, size_t y, double X);
/* x in the last row of a run. */
double hvi_runs_last(const hvi_runs *r, size_t seed, size_t x);
/* The smallest x at which a run ended that did not diverge; of all, where all did. */
double hvi_runs_finish(const hvi_runs *r, size_t x);

typedef struct hvi_mean {
  double value, half; /* 95 % Student-t; infinite and NaN where a run diverged */
  size_t count;       /* values that are finite */
} hvi_mean;

/* Of a sample y[n]; work[n]. */
hvi_mean hvi_mean_of(const double *y, size_t n, double *work);
/* Of the runs' values. */
hvi_mean hvi_runs_mean(const hvi_runs *r, size_t x, size_t y, double X);
/* Where the mean over all seeds is least, by outer steps, and how low: *X is NaN and the result
 * infinite when there is none. */
double hvi_runs_least(const hvi_runs *r, size_t y, double *X);

/* Outer steps of a run that are looked at. */
typedef struct hvi_window {
  double first, last, every; /* every: multiples of it; 1 for all */
} hvi_window;

/* Below this a squared distance is rounding. */
#define HVI_STUDY_ROUNDING 1e-26

/* The line log10 y = c + slope * outer, leaving out what is not above rounding. */
hvi_stats_line hvi_runs_line(const hvi_runs *r, size_t seed, size_t y, hvi_window w);
/* The median of y's finite values. */
double hvi_runs_typical(const hvi_runs *r, size_t seed, size_t y, hvi_window w);
/* The largest y[t] / y[s], s < t: how far it rose again. At least 1; what is below rounding counts
 * as rounding; infinite where y is not finite or the run diverged. */
double hvi_runs_rise(const hvi_runs *r, size_t seed, size_t y, hvi_window w);
double hvi_rise_of(const double *y, size_t n);

/*
 * Two samples on the same seeds: the geometric mean of a / b, its 95 % interval from the Student-t
 * interval of log a - log b, and whether a / b < margin: true when the whole interval is below,
 * false when it is above. A sample with an infinite value (a run that diverged) loses to one that
 * has none, with a ratio of infinity or 0, unless its other seeds are ahead: then nothing is
 * decided. Zero counts as the least positive value. With negative ones it is the difference a -
 * margin b that has the interval, around 0.
 */
typedef struct hvi_ratio {
  double ratio, low, high;
  int less; /* 1: below the margin, -1: above, 0: not decided */
  bool difference;
} hvi_ratio;
/* work[n] */
hvi_ratio hvi_ratio_of(const double *a, const double *b, size_t n, double margin, double *work);

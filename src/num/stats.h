/* Statistics of a sample. Values that are not finite must be left out by the caller. */
#pragma once

#include <hvi/error.h>

#include <stddef.h>

/* NaN for an empty sample. */
double hvi_stats_mean(const double *x, size_t n);
/* Sample variance with n - 1; zero for n < 2. */
double hvi_stats_variance(const double *x, size_t n);
/* Quantile q in [0, 1] by linear interpolation (NumPy's default); sorts x in place. NaN for an
 * empty sample. Infinite values have their place in the order. */
double hvi_stats_quantile(double *x, size_t n, double q);
/* The same of what is finite in x, which it moves to the front. */
double hvi_stats_finite_quantile(double *x, size_t n, double q);
/* 95 % interval of a share of n, what a bootstrap gives in the limit of many resamples: quantiles of
 * the binomial law, as shares. Of a share of a half it gives the quantiles between which the median
 * lies, whatever the law of the sample. */
typedef struct hvi_stats_range {
  double low, high;
} hvi_stats_range;
hvi_stats_range hvi_stats_share95(double share, size_t n);
/* Moves the distinct values to the front, in ascending order; returns how many there are. */
size_t hvi_stats_distinct(double *x, size_t n);
/* Half width of the 95 % Student-t interval of the mean; NaN for n < 2. */
double hvi_stats_interval95(const double *x, size_t n);
/* Slope of the least-squares line through (i, y[i]), i = 0 .. n-1; NaN for n < 2. */
double hvi_stats_slope(const double *y, size_t n);

/* The line log10 y[i] = c + slope i, leaving out what is not finite or not above `floor`. */
typedef struct hvi_stats_line {
  double slope;
  double r2; /* 1: exactly a line; both are NaN with fewer than three points */
} hvi_stats_line;
/* The line through points that come one by one. Welford's updates: no cancellation between large
 * sums. Not a number below three points. */
typedef struct hvi_stats_fit {
  double count, x_mean, y_mean, xx, xy, yy;
} hvi_stats_fit;
void hvi_stats_fit_add(hvi_stats_fit *f, double x, double y);
hvi_stats_line hvi_stats_fit_line(const hvi_stats_fit *f);
hvi_stats_line hvi_stats_log_line(const double *y, size_t n, double floor);

/*
 * The 95 % interval, by the bootstrap, of the sum of above over the sum of below: a mean over all
 * members of clusters, of which above[i] is the sum and below[i] the number. HVI_BOOTSTRAP times n
 * clusters are drawn with replacement from the n that there are, and the interval reaches from the
 * 2.5 % to the 97.5 % quantile of the ratio in such samples. Clusters have to be independent: whole
 * episodes, not their states. The generator is always the same, so that a result has one interval,
 * and two statistics of the same clusters have one set of samples. NaN for n < 2.
 */
enum { HVI_BOOTSTRAP = 1000 };
hvi_status hvi_stats_bootstrap_ratio(hvi_stats_range *range, const double *above,
                                     const double *below, size_t n, hvi_error *err);

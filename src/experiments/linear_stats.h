/* What a sample of runs says: means, slopes and ratios with 95 % intervals. */
#ifndef HVI_EXPERIMENTS_LINEAR_STATS_H
#define HVI_EXPERIMENTS_LINEAR_STATS_H

#include "experiments/linear.h"

/* A number and the half width of its 95 % interval over the runs. */
typedef struct hvi_estimate {
  double value, half;
} hvi_estimate;

/* One chain's runs, summed up. */
typedef struct hvi_linear_summary {
  const char *chain;      /* "walk", "blocks" */
  const size_t *time;     /* [rows] */
  hvi_linear_result runs; /* what it sums up */
  double residual_limit;  /* |Phi (x - theta*)|_Xi of the residual gradient's limit x, */
  double bellman_limit;   /* and of the minimiser of the Bellman error */
  hvi_estimate *mean;     /* [rows][HVI_LINEAR_CURVES] */
  double *scratch;        /* [runs] */
} hvi_linear_summary;

/* Fills in `mean` from `runs`. */
hvi_status hvi_linear_sum_up(hvi_linear_summary *s, hvi_error *err);
void hvi_linear_summary_free(hvi_linear_summary *s);

static inline hvi_estimate hvi_linear_mean(const hvi_linear_summary *s, size_t row, size_t curve) {
  return s->mean[row * HVI_LINEAR_CURVES + curve];
}

/* The last row whose time is at most t. */
size_t hvi_linear_row(const hvi_linear_summary *s, size_t t);
/* Decades that the mean of a curve falls or rises in a decade of t, from row `first` to the end. */
hvi_estimate hvi_linear_slope(const hvi_linear_summary *s, size_t curve, size_t first);
/* log10 of the mean at the end over the mean in row `first`. */
hvi_estimate hvi_linear_fall(const hvi_linear_summary *s, size_t curve, size_t first);
/* The mean of curve a minus curve b on the same run, in that row. */
hvi_estimate hvi_linear_difference(const hvi_linear_summary *s, size_t row, size_t a, size_t b);
/* The first time from which the mean stays below `level`; NaN when it does not. */
double hvi_linear_below(const hvi_linear_summary *s, size_t curve, double level);

/* linear-CHAIN.csv; the figures of both chains; the claims of one. */
hvi_status hvi_linear_write(const hvi_run *run, const hvi_linear_summary *s, hvi_error *err);
hvi_status hvi_linear_draw(hvi_run *run, const hvi_linear_summary *s, hvi_error *err);
void hvi_claims_linear(hvi_claims *claims, const hvi_linear_summary *s);

#endif

/* The kinds of experiment, and the judges of the paper's claims. */
#ifndef HVI_EXPERIMENTS_KINDS_H
#define HVI_EXPERIMENTS_KINDS_H

#include "experiments/curve.h"
#include "experiments/run.h"

#include <hvi/ensemble.h>

/* trajectory: every method on the fixed instance; traces, a summary, a figure. */
hvi_status hvi_trajectory_run(hvi_run *run, hvi_error *err);
/* The runs alone, with a trace CSV each: for judges that want more than the figure. */
hvi_status hvi_trajectory_solve(hvi_curves *curves, hvi_run *run, hvi_error *err);

/* timing: seconds of a fixed number of iterations, the fastest of several repeats. */
typedef struct hvi_timing {
  const hvi_contender *contender;
  double seconds; /* NaN when the run ended early */
  hvi_counts counts;
  size_t inner;
} hvi_timing;

typedef struct hvi_timings {
  size_t count, iterations;
  hvi_timing *items;
  double f_seconds; /* of one evaluation of F */
} hvi_timings;

hvi_status hvi_timing_run(hvi_run *run, hvi_error *err);
const hvi_timing *hvi_timings_find(const hvi_timings *t, const char *label);

/* ensemble: every method on many random instances. */
typedef struct hvi_summary {
  const hvi_contender *contender;
  size_t rows, count;
  const size_t *outer;    /* [rows] */
  double *mean, *median;  /* [rows] of dist2 over the instances where it is finite */
  double *low, *high;     /* [rows] quartiles */
  double *solved;         /* [rows] share of instances below 1e-6 */
  double *diverged;       /* [rows] share that is not finite */
  hvi_ensemble *ensemble; /* what it sums up */
} hvi_summary;

hvi_status hvi_ensembles_run(hvi_run *run, hvi_error *err);
/* One contender on the scale's number of instances: those 1, 2, ... of the experiment's seed.
 * `share` and `weight` say which part of the experiment's progress this is. */
hvi_status hvi_ensemble_contender(hvi_ensemble **out, hvi_run *run, const hvi_contender *c,
                                  size_t record_every, double share, double weight, hvi_error *err);

/* Judges: each adds the claims of one experiment of the paper. */
void hvi_claims_pennies(hvi_claims *claims, const hvi_curves *curves);
void hvi_claims_pennies_time(hvi_claims *claims, const hvi_timings *timings);
void hvi_claims_pennies_random(hvi_claims *claims, const hvi_summary *items, size_t count);
void hvi_claims_rps_random(hvi_claims *claims, const hvi_summary *items, size_t count);
void hvi_claims_rps(hvi_claims *claims, const hvi_curves *curves);
/* The open search for the fixed rps game, with its own claims and CSV. */
hvi_status hvi_rps_scan(hvi_run *run, hvi_error *err);

#endif

/*
 * Ensembles: the same method on many instances of a problem.
 *
 * Instances are cut into fixed chunks that threads pick up, so the results are the same bits for
 * any number of threads. Where problem and method allow it (games of fixed layers without biases,
 * as the built-in ones; gd, or lm with a fixed damping, without alpha) a chunk runs all its instances
 * side by side in SIMD lanes; otherwise each instance runs through the ordinary solver.
 */
#ifndef HVI_ENSEMBLE_H
#define HVI_ENSEMBLE_H

#include <hvi/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes instance `index`, and instance 0 to see what they look like; the same one each time it is asked. Called from several
 * threads at once. */
typedef hvi_status (*hvi_instance_fn)(void *context, size_t index, hvi_problem **problem,
                                      hvi_error *err);

typedef struct hvi_ensemble_settings {
  size_t count;        /* instances */
  size_t threads;      /* 0: one per core */
  size_t record_every; /* rows at 0, k, 2k, ... and at the end; 0: 1 */
  bool scalar;         /* use the ordinary solver even where lanes would do */
  /* Called after each chunk, from any thread but never at once; false stops the run. */
  bool (*progress)(void *context, size_t instances_done);
  void *progress_context;
  size_t first; /* instances are first .. first + count - 1 */
} hvi_ensemble_settings;

/*
 * What came out. Rows of dist2 and residual that an instance did not reach repeat its last values
 * when it converged or stalled; they are infinite from the row on in which it was seen to diverge.
 * Instances that the progress function cut off have outcome HVI_STOPPED and NaN in every row.
 */
typedef struct hvi_ensemble {
  size_t count, rows;
  size_t *outer;        /* [rows] iteration of each row */
  double *dist2;        /* [rows][count]; NaN where no solution is known */
  double *residual;     /* [rows][count] */
  double *ratio;        /* [rows][count] loss ratio of that iteration; NaN where there was none */
  hvi_outcome *outcome; /* [count] */
  bool lanes;           /* whether every chunk ran in SIMD lanes */
  double seconds;       /* of the iterations, over all threads together */
} hvi_ensemble;

/* The method must have an iteration limit and no observer. An error in one instance ends the run;
 * its text names the instance. */
HVI_API hvi_status hvi_ensemble_run(hvi_ensemble **ensemble, hvi_instance_fn make, void *context,
                                    const hvi_settings *method, const hvi_ensemble_settings *s,
                                    hvi_error *err);
HVI_API void hvi_ensemble_free(hvi_ensemble *e);

#ifdef __cplusplus
}
#endif

#endif

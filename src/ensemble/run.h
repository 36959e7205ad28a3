/* An ensemble under way, and the two ways to run a chunk of it. */
#ifndef HVI_ENSEMBLE_RUN_H
#define HVI_ENSEMBLE_RUN_H

#include "ensemble/lanes.h"

#include <hvi/ensemble.h>

#include <pthread.h>

/* What a chunk tells besides its rows. */
typedef struct hvi_chunk_note {
  double seconds;
  bool lanes;
} hvi_chunk_note;

typedef struct hvi_ensemble_job {
  hvi_ensemble *out;
  hvi_instance_fn make;
  void *context;
  const hvi_settings *method;
  const hvi_ensemble_settings *settings;
  size_t every;                   /* iterations between rows */
  const hvi_lanes_plan *plan;     /* NULL: the ordinary solver */
  const hvi_lanes_kernel *kernel; /* with a plan */
  hvi_chunk_note *notes;          /* [chunks] */

  pthread_mutex_t lock; /* of what follows, and of the progress function */
  size_t done;
  bool stopped;
} hvi_ensemble_job;

/* Makes instance `index` and checks the method on it; *eta is the step size in force. */
hvi_status hvi_ensemble_make(const hvi_ensemble_job *job, size_t index, hvi_problem **problem,
                             double *eta, hvi_error *err);

/* Instances first .. first + count - 1, side by side. *fits is false, and nothing has been done,
 * when they do not all have the plan's shape. */
hvi_status hvi_ensemble_run_lanes(const hvi_ensemble_job *job, size_t first, size_t count,
                                  double *seconds, bool *fits, hvi_error *err);
/* The same instances one after another. */
hvi_status hvi_ensemble_run_scalar(const hvi_ensemble_job *job, size_t first, size_t count,
                                   double *seconds, hvi_error *err);

#endif

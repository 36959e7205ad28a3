/* An optimizer with a clock: seconds inside inner steps, told apart from the rest of a step. */
#ifndef HVI_EVALUATE_STOPWATCH_H
#define HVI_EVALUATE_STOPWATCH_H

#include <hvi/solver.h>

typedef struct hvi_stopwatch {
  hvi_optimizer timed;          /* what the solver sees */
  const hvi_optimizer *inside;  /* what does the work, */
  hvi_optimizer_settings inner; /* with settings of its own */
  size_t threads;               /* that share a step */
  double seconds;               /* so far */
} hvi_stopwatch;

/* Puts the watch between a solver that has taken no step and its optimizer. The watch outlives the
 * solver. */
void hvi_stopwatch_install(hvi_stopwatch *watch, hvi_solver *solver, size_t threads);

#endif

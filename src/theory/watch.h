/* A short run under given settings, and what it did. */
#ifndef HVI_THEORY_WATCH_H
#define HVI_THEORY_WATCH_H

#include <hvi/solver.h>

typedef struct hvi_watch {
  double eta; /* in force */
  double alpha_median, alpha_worst;
  double alpha_late; /* median over the last quarter of the steps */
  double step_share; /* median of the step taken over the exact one */
  double rate;       /* per step, of dist2 or the squared residual */
  double drop;       /* largest value in the last quarter of the run over that in the second */
  bool arrived;      /* as close as rounding allows */
  hvi_outcome outcome;
  size_t outer;
  double dist2, residual; /* at the end */
} hvi_watch;

/* Whether the loop is the one of the theorem: plain targets, a constant eta, all players at once,
 * no sampling. */
bool hvi_watch_is_plain(const hvi_problem *p, const hvi_settings *s);

hvi_status hvi_watch_run(hvi_watch *w, const hvi_problem *p, const hvi_settings *s, size_t steps,
                         hvi_error *err);

#endif

/* From numbers to a verdict in plain words. */
#ifndef HVI_THEORY_VERDICT_H
#define HVI_THEORY_VERDICT_H

#include "theory/watch.h"

#include <hvi/theory.h>

/* Fills obstacle, converging, verdict, explanation and advice from the rest of the inspection. */
void hvi_verdict_reach(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s,
                       const hvi_watch *w);

/* explanation and advice; words.c. */
void hvi_verdict_explain(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s,
                         const hvi_watch *w);

#endif

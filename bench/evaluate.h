/* `hvi bench evaluate`: where the time of an outer step of policy evaluation goes. */
#pragma once

#include "options.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* One environment, batches of 1,000, 256 and 256 hidden units, 50 steps of adamw. Times are seconds
 * of one thread's processor an outer step. */
typedef struct evaluate_row {
  const char *env;
  bool available; /* false: this build lacks the environment, and the rest is 0 */
  size_t obs;
  double collect;  /* a batch of transitions, under a linear policy */
  double targets;  /* draw, values at the states and their successors */
  double inner;    /* the inner steps */
  double sgemm;    /* their bare products by OpenBLAS */
  double fma;      /* the same at the speed of FMAs in registers: see peak.h */
  double step;     /* targets and inner steps by the evaluation's own loop */
  size_t cores;    /* that run an evaluation each, at the same time: */
  double together; /* step, on the slowest of them */
  double measure;  /* the error on 1,000 states */
} evaluate_row;

enum { EVALUATE_ROWS = 3, EVALUATE_BATCH = 1000, EVALUATE_INNER = 50 };

/* Fills rows[EVALUATE_ROWS], each an evaluate_row; *done says how many before an error or a stop. */
hvi_status bench_evaluate_run(void *rows, size_t *done, const bench_options *options,
                              hvi_error *err);

/* `hvi bench solve`: how many random problems a method solves, and at what cost. */
#pragma once

#include "options.h"

#include <hvi/error.h>

/* One method on one kind of problem. Costs are of what was solved; NaN where nothing was. */
typedef struct solve_row {
  const char *kind, *method;
  size_t games, solved;
  double evals, seconds; /* medians: evaluations of F, processor time */
  double slowest;        /* seconds */
} solve_row;

enum { SOLVE_ROWS = 256 };

/* Fills at most SOLVE_ROWS rows; *done says how many. Writes games.csv, a line for
 * each run, the profiles' CSVs and their picture to options->out. */
hvi_status bench_solve_run(void *rows, size_t *done, const bench_options *options, hvi_error *err);

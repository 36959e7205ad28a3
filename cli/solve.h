/* The parts of `hvi solve`. */
#pragma once

#include "setup.h"

/* What was asked for. */
typedef struct hvi_solve {
  hvi_setup setup;
  const char *trace, *save; /* files, or NULL */
  size_t every;             /* rows of the table */
  size_t ensemble, jobs;    /* instances; threads */
} hvi_solve;

/* Before the iterations: the problem, the method and the rules to stop. eta is NaN where each
 * instance has its own. */
void hvi_solve_header(const hvi_setup *s, double eta);

/* Many random instances; returns the exit code. */
int hvi_solve_ensemble(const hvi_solve *s);

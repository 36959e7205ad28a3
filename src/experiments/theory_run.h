/* The kind of experiment `theory`; it brings its own problems. */
#ifndef HVI_EXPERIMENTS_THEORY_RUN_H
#define HVI_EXPERIMENTS_THEORY_RUN_H

#include "experiments/run.h"

hvi_status hvi_theory_run(hvi_run *run, hvi_error *err);

#endif

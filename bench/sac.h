/* `hvi bench sac`: updates of soft actor-critic, next to what their bare matrix products take in
 * the same run. */
#pragma once

#include "options.h"

#include <hvi/error.h>
#include <hvi/sac.h>

#include <stdbool.h>
#include <stddef.h>

/* Sizes of one environment, default settings otherwise. Times are seconds of one thread's
 * processor an environment step; the actor's part is its steps over the delay between them. */
typedef struct sac_row {
  const char *env; /* whose sizes these are */
  size_t obs, act;
  double critics, actor;
  double flops; /* of the products */
  double sgemm; /* the same products by OpenBLAS, one thread */
  double fma;   /* floating-point operations a second of FMAs in registers: see peak.h */
} sac_row;

enum { SAC_ROWS = 2 };

/* A trainer of default settings whose buffer holds random transitions. */
hvi_status bench_sac_trainer(hvi_sac **sac, size_t obs, size_t act, uint64_t seed, hvi_error *err);

/* Fills rows[SAC_ROWS], each a sac_row; *done says how many before an error or a stop. */
hvi_status bench_sac_run(void *rows, size_t *done, const bench_options *options, hvi_error *err);

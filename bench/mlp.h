/* `hvi bench mlp`: inner steps on networks, next to what their bare matrix products take in the
 * same run. */
#pragma once

#include "options.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* One network, batch and optimizer; times are seconds of one thread's processor. */
typedef struct mlp_row {
  size_t hidden, batch; /* hidden layers of 256 units; rows */
  const char *optimizer;
  bool first_order; /* gd or adamw; otherwise lm */
  double step;      /* an inner step: forward, backward, update; lm: with its linear system */
  double flops;     /* of the products of a first-order step */
  double sgemm;     /* the same products by OpenBLAS, whole batch, one thread */
  double own;       /* the same products by the library's kernel, in slices */
  double peak; /* floating-point operations a second of OpenBLAS's sgemm at 1024 x 1024 x 1024 */
  double fma;  /* floating-point operations a second of FMAs in registers: see peak.h */
} mlp_row;

enum { MLP_ROWS = 18 };

/* Fills rows[MLP_ROWS], each an mlp_row; *done says how many before an error or a stop. */
hvi_status bench_mlp_run(void *rows, size_t *done, const bench_options *options, hvi_error *err);

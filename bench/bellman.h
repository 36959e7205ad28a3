/* `hvi bench bellman`: the products that policy evaluation is made of, next to the bandwidth that
 * plain streaming reaches in the same run. */
#pragma once

#include "options.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* One product. Bytes are those that must move at least once: matrix, input, output. */
typedef struct bellman_row {
  const char *label, *matrix;
  double seconds, bytes;
} bellman_row;

enum { BELLMAN_TRIAD, BELLMAN_ROWS = 5 };

/* Fills rows[BELLMAN_ROWS], the first being the plain streaming that the others are compared with;
 * *done says how many before an error or a stop. */
hvi_status bench_bellman_run(void *rows, size_t *done, const bench_options *options,
                             hvi_error *err);

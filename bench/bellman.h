/* `hvi bench bellman`: the products that policy evaluation is made of, next to the bandwidth that
 * plain streaming reaches in the same run. */
#ifndef HVI_BENCH_BELLMAN_H
#define HVI_BENCH_BELLMAN_H

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct bellman_options {
  size_t repeats; /* of each measurement; the fastest counts */
  size_t states;
  /* Called before each measurement; false stops. */
  bool (*progress)(void *context, size_t done, size_t total);
  void *context;
} bellman_options;

/* One product. Bytes are those that must move at least once: matrix, input, output. */
typedef struct bellman_row {
  const char *label, *matrix;
  double seconds, bytes;
} bellman_row;

enum { BELLMAN_TRIAD, BELLMAN_ROWS = 5 };

/* Fills rows[BELLMAN_ROWS], the first being the plain streaming that the others are compared with;
 * *done says how many before an error or a stop. */
hvi_status bench_bellman_run(bellman_row *rows, size_t *done, const bellman_options *options,
                             hvi_error *err);

#endif

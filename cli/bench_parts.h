/* The benchmarks of `hvi bench`: each measures rows, and prints them for people or as JSON. */
#ifndef HVI_CLI_BENCH_PARTS_H
#define HVI_CLI_BENCH_PARTS_H

#include "json.h"
#include "options.h"

#include <hvi/error.h>

typedef struct hvi_bench_part {
  const char *name;
  size_t rows, row_size;
  /* Fills the rows; *done says how many before an error or a stop. */
  hvi_status (*run)(void *rows, size_t *done, const bench_options *o, hvi_error *err);
  void (*print)(const void *rows, size_t count, const bench_options *o);
  void (*json)(hvi_json *j, const void *rows, size_t count, const bench_options *o);
} hvi_bench_part;

extern const hvi_bench_part hvi_bench_games, hvi_bench_bellman, hvi_bench_mlp, hvi_bench_sac,
    hvi_bench_evaluate;

/* "0.97", or "-" where one of the two was not measured. */
const char *hvi_bench_ratio(char text[16], double above, double below);

#endif

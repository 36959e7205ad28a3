/* What `hvi bench bellman` prints. */
#include "bench_parts.h"

#include "bellman.h"

#include <stdio.h>

static void print(const void *measured, size_t count, const bench_options *o) {
  const bellman_row *rows = measured;
  char ratio[16];
  printf("policy evaluation with %zu states, one thread: products and memory bandwidth\n",
         o->states);
  printf("  %-10s %-18s %10s %8s %10s\n", "product", "matrix", "ms", "GB/s", "of triad");
  for (size_t i = 0; i < count; i++) {
    const double speed = rows[i].bytes / rows[i].seconds;
    const double limit = rows[BELLMAN_TRIAD].bytes / rows[BELLMAN_TRIAD].seconds;
    printf("  %-10s %-18s %10.2f %8.2f %10s\n", rows[i].label, rows[i].matrix,
           1e3 * rows[i].seconds, 1e-9 * speed, hvi_bench_ratio(ratio, speed, limit));
  }
  printf("  bytes that must move; a gather from anywhere moves a whole cache line for its 8\n");
}

static void print_json(hvi_json *j, const void *measured, size_t count, const bench_options *o) {
  const bellman_row *rows = measured;
  hvi_json_count(j, "states", o->states);
  hvi_json_open(j, "bellman", '[');
  for (size_t i = 0; i < count; i++) {
    const double speed = rows[i].bytes / rows[i].seconds;
    const double limit = rows[BELLMAN_TRIAD].bytes / rows[BELLMAN_TRIAD].seconds;
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "product", rows[i].label);
    hvi_json_text(j, "matrix", rows[i].matrix);
    hvi_json_number(j, "seconds", rows[i].seconds);
    hvi_json_number(j, "gb_per_s", 1e-9 * speed);
    hvi_json_number(j, "of_triad", speed / limit);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static hvi_status run(void *rows, size_t *done, const bench_options *o, hvi_error *err) {
  return bench_bellman_run(rows, done, o, err);
}

const hvi_bench_part hvi_bench_bellman = {"bellman", BELLMAN_ROWS, sizeof(bellman_row),
                                          run,       print,        print_json};

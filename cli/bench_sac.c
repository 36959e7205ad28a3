/* What `hvi bench sac` prints. */
#include "bench_parts.h"

#include "sac.h"

#include <stdio.h>

static void print(const void *rows, size_t count, const bench_options *o) {
  const sac_row *r = rows;
  (void)o;
  char ratio[16];
  printf("soft actor-critic, batch 256, hidden 256 and 256: an environment step's updates, one\n"
         "thread, by its processor time\n");
  printf("  %-14s %9s %9s %9s %8s %9s\n", "sizes of", "critics", "actor", "both", "GFLOP/s",
         "of sgemm");
  for (size_t i = 0; i < count; i++, r++) {
    const double both = r->critics + r->actor;
    printf("  %-14s %6.2f ms %6.2f ms %6.2f ms %8.1f %9s\n", r->env, 1e3 * r->critics,
           1e3 * r->actor, 1e3 * both, 1e-9 * r->flops / both,
           hvi_bench_ratio(ratio, r->sgemm, both));
  }
  printf("  of sgemm: the bare products' time by OpenBLAS over the updates'\n");
}

static void print_json(hvi_json *j, const void *rows, size_t count, const bench_options *o) {
  const sac_row *r = rows;
  (void)o;
  hvi_json_open(j, "sac", '[');
  for (size_t i = 0; i < count; i++, r++) {
    const double both = r->critics + r->actor;
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "env", r->env);
    hvi_json_number(j, "critics_seconds", r->critics);
    hvi_json_number(j, "actor_seconds", r->actor);
    hvi_json_number(j, "update_seconds", both);
    hvi_json_number(j, "sgemm_seconds", r->sgemm);
    hvi_json_number(j, "of_sgemm", r->sgemm / both);
    hvi_json_number(j, "gflop_per_s", 1e-9 * r->flops / both);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static hvi_status run(void *rows, size_t *done, const bench_options *o, hvi_error *err) {
  return bench_sac_run(rows, done, o, err);
}

const hvi_bench_part hvi_bench_sac = {"sac", SAC_ROWS, sizeof(sac_row), run, print, print_json};

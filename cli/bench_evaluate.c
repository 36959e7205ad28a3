/* What `hvi bench evaluate` prints. */
#include "bench_parts.h"

#include "evaluate.h"

#include <stdio.h>

static void print(const void *rows, size_t count, const bench_options *o) {
  const evaluate_row *r = rows;
  (void)o;
  char ratio[16];
  size_t cores = 1;
  printf("policy evaluation, batches of %d, 256 and 256 hidden units, %d steps of adamw: an outer\n"
         "step, one thread, by its processor time, ms\n",
         EVALUATE_BATCH, EVALUATE_INNER);
  printf("  %-13s %9s %9s %9s %9s %9s %9s %9s\n", "environment", "collect", "targets", "inner",
         "of sgemm", "loop", "seeds", "measure");
  for (size_t i = 0; i < count; i++, r++) {
    if (!r->available) {
      printf("  %-13s not in this build\n", r->env);
      continue;
    }
    cores = r->cores;
    printf("  %-13s %9.2f %9.2f %9.1f %9s %+8.2f%% %+8.1f%% %9.2f\n", r->env, 1e3 * r->collect,
           1e3 * r->targets, 1e3 * r->inner, hvi_bench_ratio(ratio, r->sgemm, r->inner),
           100.0 * (r->step / (r->targets + r->inner) - 1.0), 100.0 * (r->together / r->step - 1.0),
           1e3 * r->measure);
  }
  printf(
      "  of sgemm: the bare products' time by OpenBLAS over the inner steps'\n"
      "  loop: what the evaluation's own loop takes beyond targets and inner steps done bare\n"
      "  seeds: what a step takes more when each core runs an evaluation of its own (%zu cores)\n"
      "  measure: the error on 1000 states\n",
      cores);
}

static void print_json(hvi_json *j, const void *rows, size_t count, const bench_options *o) {
  const evaluate_row *r = rows;
  (void)o;
  hvi_json_open(j, "evaluate", '[');
  for (size_t i = 0; i < count; i++, r++) {
    if (!r->available) continue;
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "env", r->env);
    hvi_json_number(j, "collect_seconds", r->collect);
    hvi_json_number(j, "targets_seconds", r->targets);
    hvi_json_number(j, "inner_seconds", r->inner);
    hvi_json_number(j, "sgemm_seconds", r->sgemm);
    hvi_json_number(j, "of_sgemm", r->sgemm / r->inner);
    hvi_json_number(j, "step_seconds", r->step);
    hvi_json_number(j, "overhead", r->step / (r->targets + r->inner) - 1.0);
    hvi_json_count(j, "cores", r->cores);
    hvi_json_number(j, "step_seconds_on_all_cores", r->together);
    hvi_json_number(j, "measure_seconds", r->measure);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static hvi_status run(void *rows, size_t *done, const bench_options *o, hvi_error *err) {
  return bench_evaluate_run(rows, done, o, err);
}

const hvi_bench_part hvi_bench_evaluate = {"evaluate", EVALUATE_ROWS, sizeof(evaluate_row),
                                           run,        print,         print_json};

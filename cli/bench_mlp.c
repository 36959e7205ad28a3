/* What `hvi bench mlp` prints. */
#include "bench_parts.h"

#include "mlp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_first_order(const mlp_row *rows, size_t count) {
  char of_blas[16], of_own[16], of_peak[16];
  printf("inner steps on networks 27-256x..-1, one thread, by its processor time\n");
  printf("  %6s %6s %-9s %12s %8s %9s %9s %9s\n", "layers", "batch", "optimizer", "us", "GFLOP/s",
         "of sgemm", "of own", "of best");
  for (size_t i = 0; i < count; i++) {
    const mlp_row *r = &rows[i];
    if (!r->first_order) continue;
    printf("  %6zu %6zu %-9s %12.1f %8.1f %9s %9s %9s\n", r->hidden, r->batch, r->optimizer,
           1e6 * r->step, 1e-9 * r->flops / r->step, hvi_bench_ratio(of_blas, r->sgemm, r->step),
           hvi_bench_ratio(of_own, r->own, r->step),
           hvi_bench_ratio(of_peak, r->flops / r->step, r->peak));
  }
  printf("  of sgemm, of own: the bare products' time by OpenBLAS, by our kernel, over the step's\n"
         "  of best: GFLOP/s over those of OpenBLAS's sgemm at 1024 x 1024 x 1024\n");
}

/* The rows of lm, each after the gradient descent on the same network and batch. */
static void print_newton(const mlp_row *rows, size_t count) {
  char ratio[16];
  double gradient = NAN;
  printf("\none exact damped step, lm(1) through J J': in gradient steps\n");
  printf("  %6s %6s %12s %8s\n", "layers", "batch", "us", "steps");
  for (size_t i = 0; i < count; i++) {
    const mlp_row *r = &rows[i];
    if (strcmp(r->optimizer, "gd") == 0) gradient = r->step;
    if (r->first_order) continue;
    printf("  %6zu %6zu %12.1f %8s\n", r->hidden, r->batch, 1e6 * r->step,
           hvi_bench_ratio(ratio, r->step, gradient));
  }
}

static void print(const void *rows, size_t count, const bench_options *o) {
  (void)o;
  print_first_order(rows, count);
  print_newton(rows, count);
}

static void print_json(hvi_json *j, const void *rows, size_t count, const bench_options *o) {
  const mlp_row *r = rows;
  (void)o;
  hvi_json_open(j, "mlp", '[');
  for (size_t i = 0; i < count; i++, r++) {
    hvi_json_open(j, NULL, '{');
    hvi_json_count(j, "hidden_layers", r->hidden);
    hvi_json_count(j, "batch", r->batch);
    hvi_json_text(j, "optimizer", r->optimizer);
    hvi_json_number(j, "step_seconds", r->step);
    hvi_json_number(j, "sgemm_seconds", r->sgemm);
    hvi_json_number(j, "own_seconds", r->own);
    hvi_json_number(j, "of_sgemm", r->sgemm / r->step);
    hvi_json_number(j, "of_own", r->own / r->step);
    if (r->first_order) {
      hvi_json_number(j, "gflop_per_s", 1e-9 * r->flops / r->step);
      hvi_json_number(j, "of_best", r->flops / r->step / r->peak);
    }
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static hvi_status run(void *rows, size_t *done, const bench_options *o, hvi_error *err) {
  return bench_mlp_run(rows, done, o, err);
}

const hvi_bench_part hvi_bench_mlp = {"mlp", MLP_ROWS, sizeof(mlp_row), run, print, print_json};

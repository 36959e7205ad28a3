/*
 * Products of a layer by kernels with tiles of several heights, one thread, GFLOP/s, next to FMAs
 * that stay in registers. "x 16" is sixteen layers in turn, more than caches hold; `ahead` fetches
 * the matrix of the next while one is at work. scripts/bench-processor.sh builds it, with the list
 * of kernels in variants.h.
 */
#include "base/clock.h"
#include "net/kernels.h"
#include "peak.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define VARIANT(name) extern const hvi_net_kernels hvi_net_##name;
#include "variants.h"
#undef VARIANT
#define VARIANT(name) {#name, &hvi_net_##name},
static const struct {
  const char *name;
  const hvi_net_kernels *kernels;
} variants[] = {
#include "variants.h"
};

enum { VARIANTS = sizeof variants / sizeof *variants, LAYERS = 16, SIDE = 256, REPEATS = 15 };
enum { FORWARD, BACKWARD, GRADIENT, KINDS };
static const char *const kinds[] = {"forward", "backward", "gradient"};

typedef struct shape {
  size_t rows, in, out, layers;
  bool ahead;
} shape;

static float *a[LAYERS + 1], *d[LAYERS + 1], *w[LAYERS], *g[LAYERS], *bias;

static float *numbers(void) {
  float *x = aligned_alloc(64, (SIDE * SIDE + HVI_NET_SLACK) * sizeof *x);
  for (size_t i = 0; x && i < SIDE * SIDE + HVI_NET_SLACK; i++) x[i] = 1e-3F * (float)(i % 7);
  if (!x) exit(1);
  return x;
}

static hvi_product product_of(const shape *s, int kind, size_t l) {
  const size_t in = s->in, out = s->out;
  hvi_product p;
  if (kind == FORWARD) {
    p = hvi_product_of(a[l + 1], s->rows, out, in, a[l], in, w[l], out);
    p.finish = HVI_FINISH_ACTIVATE;
    p.bias = bias;
  } else if (kind == BACKWARD) {
    p = hvi_product_of(d[l], s->rows, in, out, d[l + 1], out, w[l], in);
    p.finish = HVI_FINISH_PULL;
    p.y = a[l];
  } else {
    p = hvi_product_of(g[l], out, in, s->rows, d[l + 1], 1, a[l], in);
    p.a_step = out;
  }
  p.activation = HVI_RELU;
  if (s->ahead && l + 1 < s->layers) {
    p.next = kind == GRADIENT ? a[l + 1] : w[l + 1];
    p.next_size = in * (kind == GRADIENT ? s->rows : out) * sizeof(float);
  }
  return p;
}

static void measure(const shape *s, int kind) {
  const double flops = 2.0 * (double)(s->rows * s->in * s->out * s->layers);
  const size_t times = (size_t)fmax(1.0, 3e7 / flops);
  double best[VARIANTS];
  for (size_t v = 0; v < VARIANTS; v++) best[v] = INFINITY;
  for (size_t r = 0; r < REPEATS * VARIANTS; r++) {
    const size_t v = r % VARIANTS;
    const double start = hvi_clock_work(1);
    for (size_t i = 0; i < times * s->layers; i++) {
      const hvi_product p = product_of(s, kind, i % s->layers);
      variants[v].kernels->product(&p);
    }
    best[v] = fmin(best[v], (hvi_clock_work(1) - start) / (double)times);
  }
  printf("%-8s %3zu %3zu %3zu x%2zu%-6s", kinds[kind], s->rows, s->in, s->out, s->layers,
         s->ahead ? " ahead" : "");
  for (size_t v = 0; v < VARIANTS; v++) printf(" %8.1f", 1e-9 * flops / best[v]);
  printf("\n");
}

int main(void) {
  static const shape shapes[] = {{256, 256, 256, 1, false},  {232, 256, 256, 1, false},
                                 {256, 256, 256, 16, false}, {256, 256, 256, 16, true},
                                 {256, 28, 256, 1, false},   {256, 32, 32, 1, false}};
  for (size_t l = 0; l <= LAYERS; l++) {
    a[l] = numbers();
    d[l] = numbers();
    if (l == LAYERS) continue;
    w[l] = numbers();
    g[l] = numbers();
  }
  bias = numbers();
  printf("FMA in registers: %.1f single, %.1f double\n%31s", 1e-9 * bench_peak(true),
         1e-9 * bench_peak(false), "");
  for (size_t v = 0; v < VARIANTS; v++) printf(" %8s", variants[v].name);
  printf("\n");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int kind = 0; kind < KINDS; kind++) measure(&shapes[i], kind);
  return 0;
}

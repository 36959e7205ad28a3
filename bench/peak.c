/*
 * What is measured: x <- a x + b on as many vectors at once as hide the latency of an FMA, all of
 * them in registers. No load, no store, no cache: nothing made of such steps can be faster. At the
 * baseline, which has no FMA, a product and a sum each. The fastest of several repeats counts, by
 * the thread's own clock.
 */
#include "peak.h"

#include "base/clock.h"
#include "base/cpu.h"

#include <math.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { STEPS = 20000, REPEATS = 9, VECTORS = 12 };

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* The sum of what came out, so that the loop is not left out. */
#define DEFINE_LOOP(name, extra, vector, number, fma)                                              \
  extra static double name(void) {                                                                 \
    const vector a = (number)0.999 - (vector){0}, b = (number)1e-3 - (vector){0};                  \
    vector x[VECTORS], sum = {0};                                                                  \
    UNROLL for (int i = 0; i < VECTORS; i++) x[i] = (number)i - (vector){0};                       \
    for (int n = 0; n < STEPS; n++) UNROLL for (int i = 0; i < VECTORS; i++) x[i] = fma;           \
    UNROLL for (int i = 0; i < VECTORS; i++) sum += x[i];                                          \
    return (double)sum[0];                                                                         \
  }

typedef float f4 __attribute__((vector_size(16)));
typedef double d2 __attribute__((vector_size(16)));
DEFINE_LOOP(baseline_floats, , f4, float, x[i] * a + b)
DEFINE_LOOP(baseline_doubles, , d2, double, x[i] * a + b)

typedef struct loop {
  double (*run)(void);
  double lanes;
} loop;

#if defined(__x86_64__)

#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
typedef float f8 __attribute__((vector_size(32)));
typedef double d4 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef double d8 __attribute__((vector_size(64)));
DEFINE_LOOP(avx2_floats, AVX2, f8, float, (f8)_mm256_fmadd_ps(x[i], a, b))
DEFINE_LOOP(avx2_doubles, AVX2, d4, double, (d4)_mm256_fmadd_pd(x[i], a, b))
DEFINE_LOOP(avx512_floats, AVX512, f16, float, (f16)_mm512_fmadd_ps(x[i], a, b))
DEFINE_LOOP(avx512_doubles, AVX512, d8, double, (d8)_mm512_fmadd_pd(x[i], a, b))

static const loop loops[][2] = {[HVI_CPU_BASELINE] = {{baseline_doubles, 2}, {baseline_floats, 4}},
                                [HVI_CPU_AVX2] = {{avx2_doubles, 4}, {avx2_floats, 8}},
                                [HVI_CPU_AVX512] = {{avx512_doubles, 8}, {avx512_floats, 16}}};

#else

static const loop loops[][2] = {[HVI_CPU_BASELINE] = {{baseline_doubles, 2}, {baseline_floats, 4}}};

#endif

double bench_peak(bool single) {
  const loop l = loops[hvi_cpu_level()][single];
  volatile double kept = 0.0;
  double best = INFINITY;
  for (int r = 0; r < REPEATS; r++) {
    const double start = hvi_clock_work(1);
    kept += l.run();
    best = fmin(best, hvi_clock_work(1) - start);
  }
  (void)kept;
  return 2.0 * VECTORS * STEPS * l.lanes / best;
}

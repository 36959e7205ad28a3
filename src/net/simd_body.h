/*
 * One vector of floats, as wide as the instruction set of the including file has it. Arithmetic is
 * that of the compiler's vector extensions; what they lack stands here: parts of vectors, roots,
 * choices, bits.
 */
#ifndef HVI_NET_SIMD_BODY_H
#define HVI_NET_SIMD_BODY_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { WIDTH = 16, TILE_ROWS = 8 };
#define MM(operation) _mm512_##operation
#elif defined(__AVX2__)
enum { WIDTH = 8, TILE_ROWS = 6 };
#define MM(operation) _mm256_##operation
#elif defined(__x86_64__)
enum { WIDTH = 4, TILE_ROWS = 6 };
#define MM(operation) _mm_##operation
#else
enum { WIDTH = 4, TILE_ROWS = 8 };
#endif

typedef float vf __attribute__((vector_size(4 * WIDTH)));
typedef float vq __attribute__((vector_size(16)));
typedef float vh __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t vu __attribute__((vector_size(4 * WIDTH)));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A loop of constant length that must become straight code, its arrays registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* x - 0 is x, also for -0, so that nothing but the broadcast is left of it. */
ALWAYS_INLINE vf splat(float x) { return x - (vf){0}; }

ALWAYS_INLINE vf load(const float *x) {
  vf v;
  memcpy(&v, x, sizeof v);
  return v;
}

ALWAYS_INLINE void store(float *x, vf v) { memcpy(x, &v, sizeof v); }

/* The first `count` lanes, 1 .. WIDTH; the others are zero, or stay as they are in memory. */
#if defined(__AVX512F__)

ALWAYS_INLINE vf load_part(const float *x, size_t count) {
  return (vf)_mm512_maskz_loadu_ps((__mmask16)(0xFFFFu >> (16 - count)), x);
}

ALWAYS_INLINE void store_part(float *x, vf v, size_t count) {
  _mm512_mask_storeu_ps(x, (__mmask16)(0xFFFFu >> (16 - count)), (__m512)v);
}

#elif defined(__AVX2__)

ALWAYS_INLINE __m256i first(size_t count) {
  return (__m256i)((vi){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)count);
}

ALWAYS_INLINE vf load_part(const float *x, size_t count) {
  return (vf)_mm256_maskload_ps(x, first(count));
}

ALWAYS_INLINE void store_part(float *x, vf v, size_t count) {
  _mm256_maskstore_ps(x, first(count), (__m256)v);
}

#else

ALWAYS_INLINE vf load_part(const float *x, size_t count) {
  vf v = {0};
  memcpy(&v, x, count * sizeof *x);
  return v;
}

ALWAYS_INLINE void store_part(float *x, vf v, size_t count) { memcpy(x, &v, count * sizeof *x); }

#endif

/* Lanes of x where the mask (a comparison's result: all bits or none) is set, else of y. */
ALWAYS_INLINE vf choose(vi mask, vf x, vf y) { return (vf)((mask & (vi)x) | (~mask & (vi)y)); }

ALWAYS_INLINE vf magnitude(vf x) { return (vf)((vi)x & 0x7FFFFFFF); }

ALWAYS_INLINE vf with_sign_of(vf x, vf sign) {
  return (vf)(((vi)x & 0x7FFFFFFF) | ((vi)sign & INT32_MIN));
}

/* A NaN in x stays: maximum and minimum of the hardware give their second operand then. */
#if defined(__x86_64__)

ALWAYS_INLINE vf at_least(vf x, float low) { return MM(max_ps)(splat(low), x); }
ALWAYS_INLINE vf at_most(vf x, float high) { return MM(min_ps)(splat(high), x); }
ALWAYS_INLINE vf root(vf x) { return MM(sqrt_ps)(x); }

#else

ALWAYS_INLINE vf at_least(vf x, float low) { return choose(x < low, splat(low), x); }
ALWAYS_INLINE vf at_most(vf x, float high) { return choose(x > high, splat(high), x); }

ALWAYS_INLINE vf root(vf x) {
  for (size_t i = 0; i < WIDTH; i++) x[i] = sqrtf(x[i]);
  return x;
}

#endif

/* The sum of all lanes, halves added to halves. */
ALWAYS_INLINE float across(vf x) {
#if defined(__AVX512F__)
  const vh eight = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                   __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(__AVX2__)
  const vf eight = x;
#endif
#if defined(__AVX2__)
  const vq four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                  __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#else
  const vq four = x;
#endif
  return (four[0] + four[2]) + (four[1] + four[3]);
}

/* y[n] = f(x[n]) */
#define DEFINE_MAP(name, f)                                                                        \
  static void name(float *y, const float *x, size_t n) {                                           \
    size_t i = 0;                                                                                  \
    for (; i + WIDTH <= n; i += WIDTH) store(y + i, f(load(x + i)));                               \
    if (i < n) store_part(y + i, f(load_part(x + i, n - i)), n - i);                               \
  }

#endif

/*
 * One vector of floats, or of doubles where NET_DOUBLE is defined, as wide as the instruction set of
 * the including file has it. Arithmetic is that of the compiler's vector extensions; what they lack
 * stands here: parts of vectors, roots, choices, bits.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(NET_DOUBLE)
typedef double real;
typedef int64_t whole;
typedef uint64_t bits;
#define SIGN_BIT INT64_MIN
#define SUFFIX   pd
#else
typedef float real;
typedef int32_t whole;
typedef uint32_t bits;
#define SIGN_BIT INT32_MIN
#define SUFFIX   ps
#endif

#if defined(__AVX512F__)
enum { BYTES = 64, TILE_ROWS = 8, TALL_ROWS = 12 };
#define MM_NAME(operation, suffix) _mm512_##operation##_##suffix
#elif defined(__AVX2__)
enum { BYTES = 32, TILE_ROWS = 6, TALL_ROWS = 6 };
#define MM_NAME(operation, suffix) _mm256_##operation##_##suffix
#elif defined(__x86_64__)
enum { BYTES = 16, TILE_ROWS = 6, TALL_ROWS = 6 };
#define MM_NAME(operation, suffix) _mm_##operation##_##suffix
#else
enum { BYTES = 16, TILE_ROWS = 8, TALL_ROWS = 8 };
#endif
#define MM_OF(operation, suffix) MM_NAME(operation, suffix)
#define MM(operation)            MM_OF(operation, SUFFIX)

enum { WIDTH = BYTES / sizeof(real) };

typedef real vf __attribute__((vector_size(BYTES)));
typedef real vq __attribute__((vector_size(16)));
typedef real vh __attribute__((vector_size(32)));
typedef whole vi __attribute__((vector_size(BYTES)));
typedef bits vu __attribute__((vector_size(BYTES)));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A loop of constant length that must become straight code, its arrays registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* x - 0 is x, also for -0, so that nothing but the broadcast is left of it. */
ALWAYS_INLINE vf splat(real x) { return x - (vf){0}; }

ALWAYS_INLINE vf load(const real *x) {
  vf v;
  memcpy(&v, x, sizeof v);
  return v;
}

ALWAYS_INLINE void store(real *x, vf v) { memcpy(x, &v, sizeof v); }

/* The first `count` lanes, 1 .. WIDTH; the others are zero, or stay as they are in memory. */
#if defined(__AVX512F__)

#if defined(NET_DOUBLE)
#define LANE_MASK __mmask8
#else
#define LANE_MASK __mmask16
#endif

ALWAYS_INLINE vf load_part(const real *x, size_t count) {
  return (vf)MM(maskz_loadu)((LANE_MASK)(0xFFFFu >> (16 - count)), x);
}

ALWAYS_INLINE void store_part(real *x, vf v, size_t count) {
  MM(mask_storeu)(x, (LANE_MASK)(0xFFFFu >> (16 - count)), v);
}

#elif defined(__AVX2__)

ALWAYS_INLINE __m256i first(size_t count) {
#if defined(NET_DOUBLE)
  return (__m256i)((vi){0, 1, 2, 3} < (whole)count);
#else
  return (__m256i)((vi){0, 1, 2, 3, 4, 5, 6, 7} < (whole)count);
#endif
}

ALWAYS_INLINE vf load_part(const real *x, size_t count) {
  return (vf)MM(maskload)(x, first(count));
}

ALWAYS_INLINE void store_part(real *x, vf v, size_t count) { MM(maskstore)(x, first(count), v); }

#else

ALWAYS_INLINE vf load_part(const real *x, size_t count) {
  vf v = {0};
  memcpy(&v, x, count * sizeof *x);
  return v;
}

ALWAYS_INLINE void store_part(real *x, vf v, size_t count) { memcpy(x, &v, count * sizeof *x); }

#endif

/* Lanes of x where the mask (a comparison's result: all bits or none) is set, else of y. */
ALWAYS_INLINE vf choose(vi mask, vf x, vf y) { return (vf)((mask & (vi)x) | (~mask & (vi)y)); }

/* Lanes of a where x is positive, else of b. */
ALWAYS_INLINE vf choose_positive(vf x, vf a, vf b) {
#if defined(__AVX512F__) && defined(NET_DOUBLE)
  return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, (vf){0}, _CMP_GT_OQ), b, a);
#else
  return choose(x > 0, a, b);
#endif
}

ALWAYS_INLINE vf magnitude(vf x) { return (vf)((vi)x & ~SIGN_BIT); }
ALWAYS_INLINE vf minus_magnitude(vf x) { return (vf)((vi)x | SIGN_BIT); }

/* A NaN in x stays: maximum and minimum of the hardware give their second operand then. */
#if defined(__x86_64__)

ALWAYS_INLINE vf at_least(vf x, vf low) { return MM(max)(low, x); }
ALWAYS_INLINE vf at_most(vf x, vf high) { return MM(min)(high, x); }
ALWAYS_INLINE vf root(vf x) { return MM(sqrt)(x); }

#else

ALWAYS_INLINE vf at_least(vf x, vf low) { return choose(x < low, low, x); }
ALWAYS_INLINE vf at_most(vf x, vf high) { return choose(x > high, high, x); }

ALWAYS_INLINE vf root(vf x) {
  for (size_t i = 0; i < WIDTH; i++) x[i] = (real)sqrt(x[i]);
  return x;
}

#endif

/* The sum of all lanes, halves added to halves. */
ALWAYS_INLINE real across(vf x) {
  vq q[BYTES / 16];
  memcpy(q, &x, sizeof x);
  UNROLL for (size_t half = BYTES / 32; half > 0; half /= 2) {
    UNROLL for (size_t i = 0; i < half; i++) q[i] += q[i + half];
  }
#if defined(NET_DOUBLE)
  return q[0][0] + q[0][1];
#else
  return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
#endif
}

/* How many of the next vector's lanes there are, with so many numbers left; and these alone. */
ALWAYS_INLINE size_t lanes(size_t left) { return left < WIDTH ? left : WIDTH; }
ALWAYS_INLINE vf load_some(const real *x, size_t count) {
  return count == WIDTH ? load(x) : load_part(x, count);
}
ALWAYS_INLINE void store_some(real *x, vf v, size_t count) {
  if (count == WIDTH)
    store(x, v);
  else
    store_part(x, v, count);
}

/* out[n] = value, an expression in x, which is a vector of in[n] */
#define DEFINE_MAP(name, value)                                                                    \
  static void name(void *to, const void *from, size_t n) {                                         \
    real *out = to;                                                                                \
    const real *in = from;                                                                         \
    for (size_t i = 0; i < n; i += WIDTH) {                                                        \
      const size_t count = lanes(n - i);                                                           \
      const vf x = load_some(in + i, count);                                                       \
      store_some(out + i, value, count);                                                           \
    }                                                                                              \
  }

/* c[0] x^k + c[step] x^(k-1) + .. to the end of c[n]; the coefficients are constants where this is
 * inlined */
ALWAYS_INLINE vf polynomial(vf x, const real *c, size_t n, size_t step) {
  vf q = splat(c[0]);
  UNROLL for (size_t i = step; i < n; i += step) q = q * x + c[i];
  return q;
}

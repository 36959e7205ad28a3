/*
 * One vector of floats, as wide as the instruction set of the including file has it. Arithmetic is
 * that of the compiler's vector extensions; what they lack stands here: parts of vectors, roots,
 * choices, bits.
 */
#pragma once

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

/* How many of the next vector's lanes there are, with so many floats left; and these alone. */
ALWAYS_INLINE size_t lanes(size_t left) { return left < WIDTH ? left : WIDTH; }
ALWAYS_INLINE vf load_some(const float *x, size_t count) {
  return count == WIDTH ? load(x) : load_part(x, count);
}
ALWAYS_INLINE void store_some(float *x, vf v, size_t count) {
  if (count == WIDTH)
    store(x, v);
  else
    store_part(x, v, count);
}

/* out[n] = value, an expression in x, which is a vector of in[n] */
#define DEFINE_MAP(name, value)                                                                    \
  static void name(float *out, const float *in, size_t n) {                                        \
    for (size_t i = 0; i < n; i += WIDTH) {                                                        \
      const size_t count = lanes(n - i);                                                           \
      const vf x = load_some(in + i, count);                                                       \
      store_some(out + i, value, count);                                                           \
    }                                                                                              \
  }

/* c[0] x^(n-1) + .. + c[n-1]; the coefficients are constants where this is inlined */
ALWAYS_INLINE vf polynomial(vf x, const float *c, size_t n) {
  vf q = splat(c[0]);
  UNROLL for (size_t i = 1; i < n; i++) q = q * x + c[i];
  return q;
}

/*
 * Elementary functions of a vector of floats, without branches, tables or calls.
 *
 *   exp      x = k ln 2 + r, |r| <= ln 2 / 2;   exp(x) = 2^k (1 + p),   p = r + r^2 q(r)
 *   log      x = 2^e (1 + f), 1 + f in [sqrt 1/2, sqrt 2);   log x = e ln 2 + f - f^2/2 + f^3 q(f)
 *   tanh     -t / (2 + t), t = exp(-2|x|) - 1, and the sign of x: t is in [-1, 0], so that the
 *            result never exceeds 1
 *   normal   Phi(-a) = exp(-a^2/2) R(a), a >= 0, where R falls so slowly that it is a polynomial in
 *            (a - 3) / (a + 3)
 *
 * k is rounded by adding 1.5 * 2^23, which leaves it in the low bits of the sum; ln 2 is split so
 * that k times its high part is exact (Cody and Waite). The polynomials are minimax for the
 * relative error of the function: 4.6e-9 for exp, 5.9e-9 for log, 1.1e-8 for R, all below half a
 * unit in the last place (3e-8). 2^k is applied in two halves, so that results underflow gradually.
 */

#define LN2_HIGH 0x1.62e4p-1f
#define LN2_LOW  0x1.7f7d1cp-20f

/* exp(x + low) = 2^k (1 + p); `low` carries bits of the exponent that x has no room for. */
typedef struct power {
  vf p;
  vu k; /* two's complement, so that what a NaN leaves here cannot overflow */
} power;

ALWAYS_INLINE power split(vf x, vf low) {
  const float round = 0x1.8p23f, log2e = 0x1.715476p0f;
  const vf sum = (x + low) * log2e + round, k = sum - round;
  const vf r = ((x - k * LN2_HIGH) - k * LN2_LOW) + low;
  static const float c[] = {0x1.69e7dap-10f, 0x1.125e62p-7f, 0x1.5559e2p-5f, 0x1.55545ep-3f,
                            0x1.fffffap-2f};
  return (power){polynomial(r, c, 5) * (r * r) + r, (vu)sum - 0x4B400000u};
}

ALWAYS_INLINE vf power_of_two(vu k) { return (vf)((k + 127u) << 23); }

ALWAYS_INLINE vf join(power e) {
  const vu half = (vu)((vi)e.k >> 1);
  const vf scale = power_of_two(half);
  return (e.p * scale + scale) * power_of_two(e.k - half);
}

/* Beyond the bounds the result is zero, or infinite. */
ALWAYS_INLINE vf exp_of(vf x) { return join(split(at_most(at_least(x, -104.0f), 89.0f), (vf){0})); }

/* exp(x) - 1 for x <= 0; from -30 down it is -1 */
ALWAYS_INLINE vf expm1_of(vf x) {
  const power e = split(at_least(x, -30.0f), (vf){0});
  const vf scale = power_of_two(e.k);
  return e.p * scale + (scale - 1.0f);
}

ALWAYS_INLINE vf tanh_of(vf x) {
  const vf t = expm1_of(magnitude(x) * -2.0f);
  return (vf)((vi)magnitude(t / (t + 2.0f)) | ((vi)x & INT32_MIN));
}

/* 1 / (1 + exp(-x)), by an exponential that cannot overflow */
ALWAYS_INLINE vf sigmoid_of(vf x) {
  const vf e = exp_of(-magnitude(x));
  return choose(x < 0.0f, e, splat(1.0f)) / (e + 1.0f);
}

/* log(x) for 0 < x < infinity */
ALWAYS_INLINE vf log_of_positive(vf x) {
  const vi tiny = x < 0x1p-126f;
  const vu bits = (vu)choose(tiny, x * 0x1p23f, x);
  const vi e = (vi)(bits - 0x3F3504F3u) >> 23; /* sqrt 1/2 */
  const vf f = (vf)(bits - ((vu)e << 23)) - 1.0f;
  const vf k = __builtin_convertvector(e - (tiny & 23), vf);
  static const float c[] = {-0x1.38b3fp-4f,  0x1.056f7p-3f,  -0x1.0d8ed2p-3f, 0x1.22d81ap-3f,
                            -0x1.547128p-3f, 0x1.99a014p-3f, -0x1.00022ap-2f, 0x1.555554p-2f};
  const vf f2 = f * f, tail = (f * f2) * polynomial(f, c, 8) + k * LN2_LOW;
  return k * LN2_HIGH + ((tail - 0.5f * f2) + f);
}

ALWAYS_INLINE vf log_of(vf x) {
  const vf edge = choose(x == 0.0f, splat(-INFINITY), choose(x > 0.0f, x, splat(NAN)));
  return choose((x > 0.0f) & (x < INFINITY), log_of_positive(x), edge);
}

/* log(1 + e) for 0 <= e <= 1: what 1 + e rounds away is put back to first order */
ALWAYS_INLINE vf log1p_of(vf e) {
  const vf u = e + 1.0f;
  return log_of_positive(u) + (e - (u - 1.0f)) / u;
}

/* Phi(x), and exp(-x^2/2) beside it. The square is taken in two parts, of which the first is exact:
 * far out, its rounding would be all of the error. */
ALWAYS_INLINE vf normal_of(vf x, vf *bell) {
  const vf a = at_most(magnitude(x), 15.0f), high = (vf)((vi)a & (int32_t)0xFFFFF000);
  *bell = join(split(high * high * -0.5f, (a - high) * (a + high) * -0.5f));
  const vf t = (a - 3.0f) / (a + 3.0f);
  static const float c[] = {0x1.b9e1b6p-15f, 0x1.e0445ep-14f, -0x1.62fdb8p-12f, -0x1.01a418p-10f,
                            0x1.7ca93ep-9f,  0x1.91dab8p-8f,  -0x1.7a942ep-5f,  0x1.f8bad6p-4f,
                            -0x1.a6b66ap-3f, 0x1.f1b89cp-4f};
  const vf below = *bell * polynomial(t, c, 10);
  return choose(x > 0.0f, 1.0f - below, below);
}

DEFINE_MAP(exponentials, exp_of(x))
DEFINE_MAP(tangents, tanh_of(x))
DEFINE_MAP(logarithms, log_of(x))

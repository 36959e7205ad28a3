/*
 * Elementary functions of a vector, without branches, tables or calls.
 *
 *   exp      x = k ln 2 + r, |r| <= ln 2 / 2;   exp(x) = 2^k (1 + p),   p = r + r^2 q(r)
 *   log      x = 2^e (1 + f), 1 + f in [sqrt 1/2, sqrt 2);   log x = e ln 2 + log(1 + f):
 *            f - f^2/2 + f^3 q(f) in floats, and in doubles with s = f / (2 + f)
 *            f - (f^2/2 - s (f^2/2 + s^2 q(s^2)))
 *   tanh     t = exp(-2|x|) - 1 and the sign of x: -t / (2 + t) in floats, and in doubles with
 *            e = 1 + t and one division -t / (1 + e), slope 4 e / (1 + e)^2; t is in [-1, 0], so that
 *            the result never exceeds 1
 *   normal   Phi(-a) = exp(-a^2/2) R(a), a >= 0, where R falls so slowly that it is a polynomial in
 *            (a - m) / (a + m), m = 3 in floats and 4 in doubles
 *
 * k is rounded by adding 1.5 * 2^23 or 2^52, which leaves it in the low bits of the sum; ln 2 is
 * split so that k times its high part is exact (Cody and Waite). The polynomials are minimax for the
 * relative error of the function, all below half a unit in the last place: 4.6e-9 and 3.6e-18 for
 * exp, 5.9e-9 and 1.3e-18 for log, 1.1e-8 and 1.2e-17 for R. That of exp is taken by its even and its
 * odd powers, two chains half as long. 2^k is applied in two halves, so that results underflow gradually.
 *
 * In doubles slopes keep their digits in the tails, where 1 - y^2 would have none left, since
 * Gauss-Newton divides by them. So they are computed beside the value, and kept. Beyond an exponent
 * of -700 they stay what they are there, some 1e-304. In floats only those of gelu and softplus are:
 * the others are had from the outputs (net/kernels.h).
 */
#pragma once

#include "net/simd_body.h"

#if defined(NET_DOUBLE)

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1023, NORMAL_MIDDLE = 4, NORMAL_MOST = 39 };
#define LEAST_NORMAL   0x1p-1022
#define LN2_HIGH       0x1.62e42feep-1
#define LN2_LOW        0x1.a39ef35793c76p-33
#define LOG2_E         0x1.71547652b82fep0
#define ROOT_HALF      0x1.6a09e667f3bcdp-1
#define ROOT_2PI_BELOW 0x1.9884533d43651p-2
#define EXP_LEAST      (-746)
#define EXP_MOST       710
#define LESS_LEAST     (-700)
#define LOW_HALF       0x7FFFFFF

static const double exp_terms[] = {
    0x1.ad7f88b9dd914p-26, 0x1.28ad731740566p-22, 0x1.71df253f8af97p-19, 0x1.a0199a0c19ccfp-16,
    0x1.a01a012a61a12p-13, 0x1.6c16c1842a2ddp-10, 0x1.1111111127bc1p-7,  0x1.555555555087cp-5,
    0x1.55555555554fap-3,  0x1.000000000000ap-1};
static const double log_terms[] = {0x1.2f0d8f3f87d66p-3, 0x1.39a0f5198585ep-3, 0x1.74664629f554p-3,
                                   0x1.c71c51e80d016p-3, 0x1.24924942177a6p-2, 0x1.999999997fb35p-2,
                                   0x1.5555555555593p-1};
static const double normal_terms[] = {
    0x1.bcb9be8a6aa2dp-34, -0x1.93dc1553cc918p-33, -0x1.d2de047f2d052p-30, 0x1.fc931ec23a04fp-34,
    0x1.87aa963b195a4p-27, 0x1.43b781e4cf85fp-27,  -0x1.c1d60bb10708ep-25, -0x1.94b8375c867fcp-24,
    0x1.b9df2c12bb853p-23, 0x1.632be6eb63a85p-21,  -0x1.bd3e009fa7504p-21, -0x1.20cf0f464fadcp-18,
    0x1.36d140d5b65eep-18, 0x1.e0a3beaa76472p-16,  -0x1.7e2462abf1acp-15,  -0x1.888dca56504e1p-13,
    0x1.4eec24ce729dcp-11, 0x1.0a1bd41bfff84p-11,  -0x1.1644dc2f62a9fp-7,  0x1.f9b05f0efaaa9p-6,
    -0x1.25b6aa96582e3p-4, 0x1.fd751a1fba3f5p-4,   -0x1.5cf97b0ae882bp-3,  0x1.82b4bb8c94dcep-4};

#else

enum { FRACTION_BITS = 23, EXPONENT_BIAS = 127, NORMAL_MIDDLE = 3, NORMAL_MOST = 15 };
#define LEAST_NORMAL   0x1p-126f
#define LN2_HIGH       0x1.62e4p-1f
#define LN2_LOW        0x1.7f7d1cp-20f
#define LOG2_E         0x1.715476p0f
#define ROOT_HALF      0x1.6a09e6p-1f
#define ROOT_2PI_BELOW 0x1.988454p-2f
#define EXP_LEAST      (-104)
#define EXP_MOST       89
#define LESS_LEAST     (-30)
#define LOW_HALF       0xFFF

static const float exp_terms[] = {0x1.69e7dap-10f, 0x1.125e62p-7f, 0x1.5559e2p-5f, 0x1.55545ep-3f,
                                  0x1.fffffap-2f};
static const float log_terms[] = {-0x1.38b3fp-4f,  0x1.056f7p-3f,  -0x1.0d8ed2p-3f, 0x1.22d81ap-3f,
                                  -0x1.547128p-3f, 0x1.99a014p-3f, -0x1.00022ap-2f, 0x1.555554p-2f};
static const float normal_terms[] = {
    0x1.b9e1b6p-15f, 0x1.e0445ep-14f, -0x1.62fdb8p-12f, -0x1.01a418p-10f, 0x1.7ca93ep-9f,
    0x1.91dab8p-8f,  -0x1.7a942ep-5f, 0x1.f8bad6p-4f,   -0x1.a6b66ap-3f,  0x1.f1b89cp-4f};

#endif

#define POLYNOMIAL(x, terms) polynomial(x, terms, sizeof(terms) / sizeof *(terms), 1)

static const real half = (real)0.5, fraction_scale = (real)(1LL << FRACTION_BITS);

/* Rounds what it is added to. Its low bits, shifted to where the exponent is, are 2^128. */
#define ROUND ((real)1.5 * fraction_scale + EXPONENT_BIAS + 128)

/* exp(x - less) = 2^k (1 + p); `less` carries bits of the exponent that x has no room for. Taking off
 * a zero is free, where adding one is not: -0 + 0 is 0. */
typedef struct power {
  vf p;
  vu k; /* two's complement, so that what a NaN leaves here cannot overflow */
} power;

ALWAYS_INLINE power split(vf x, vf less) {
  enum { TERMS = sizeof exp_terms / sizeof *exp_terms, ODD = TERMS % 2 };
  const vf sum = (x - less) * LOG2_E + ROUND, k = sum - ROUND;
  const vf r = ((x - k * LN2_HIGH) - k * LN2_LOW) - less, square = r * r;
  const vf even = polynomial(square, exp_terms + !ODD, TERMS - !ODD, 2);
  const vf q = polynomial(square, exp_terms + ODD, TERMS - ODD, 2) * r + even;
  return (power){q * square + r, (vu)sum - (vu)splat(ROUND)};
}

ALWAYS_INLINE vf power_of_two(vu k) { return (vf)((k + EXPONENT_BIAS) << FRACTION_BITS); }

ALWAYS_INLINE vf join(power e) {
  const vu half_k = (vu)((vi)e.k >> 1);
  const vf scale = power_of_two(half_k);
  return (e.p * scale + scale) * power_of_two(e.k - half_k);
}

/* Beyond the bounds the result is zero, or infinite. */
ALWAYS_INLINE vf exp_of(vf x) {
  return join(split(at_most(at_least(x, splat(EXP_LEAST)), splat(EXP_MOST)), (vf){0}));
}

/* exp(x) for LESS_LEAST <= x <= 0, and exp(x) - 1 beside it, which in floats is -1 below that. With
 * WHOLE_TAILS exp(x) for all x <= 0: 2^k comes from 2^(k + 128), and underflows gradually. */
ALWAYS_INLINE vf exp_and_less(vf x, vf *less) {
#if defined(WHOLE_TAILS)
  const power e = split(at_least(x, splat(EXP_LEAST)), (vf){0});
  const vf small = (vf)((e.k + (vu)splat(ROUND)) << FRACTION_BITS) * 0x1p-128;
  *less = e.p * small + (small - 1);
  return e.p * small + small;
#else
  const power e = split(at_least(x, splat(LESS_LEAST)), (vf){0});
  const vf scale = power_of_two(e.k);
  *less = e.p * scale + (scale - 1);
  return e.p * scale + scale;
#endif
}

/* log(x) for 0 < x < infinity */
ALWAYS_INLINE vf log_of_positive(vf x) {
  const vi tiny = x < LEAST_NORMAL;
  const vu word = (vu)choose(tiny, x * fraction_scale, x);
  const vi e = (vi)(word - (vu)splat(ROOT_HALF)) >> FRACTION_BITS;
  const vf f = (vf)(word - ((vu)e << FRACTION_BITS)) - 1;
  const vf k = __builtin_convertvector(e - (tiny & FRACTION_BITS), vf);
#if defined(NET_DOUBLE)
  const vf s = f / (f + 2), w = s * s, square = half * f * f;
  const vf tail = s * (w * POLYNOMIAL(w, log_terms) + square) + k * LN2_LOW;
  return k * LN2_HIGH - ((square - tail) - f);
#else
  const vf square = f * f, tail = (f * square) * POLYNOMIAL(f, log_terms) + k * LN2_LOW;
  return k * LN2_HIGH + ((tail - half * square) + f);
#endif
}

ALWAYS_INLINE vf log_of(vf x) {
  const vf edge = choose(x == 0, splat(-INFINITY), choose(x > 0, x, splat(NAN)));
  return choose((x > 0) & (x < INFINITY), log_of_positive(x), edge);
}

/* Phi(x), and exp(-x^2/2) beside it. The square is taken in two parts, of which the first is exact:
 * far out, its rounding would be all of the error. */
ALWAYS_INLINE vf normal_of(vf x, vf *bell) {
  const vf a = at_most(magnitude(x), splat(NORMAL_MOST)), high = (vf)((vi)a & ~(whole)LOW_HALF);
  *bell = join(split(high * high * -half, (a - high) * (a + high) * half));
  const vf t = (a - NORMAL_MIDDLE) / (a + NORMAL_MIDDLE);
  const vf below = *bell * POLYNOMIAL(t, normal_terms);
  return choose(x > 0, 1 - below, below);
}

ALWAYS_INLINE vf gelu_and(vf x, vf *slope) {
  vf bell;
  const vf phi = normal_of(x, &bell);
  *slope = x * bell * ROOT_2PI_BELOW + phi;
  return x * phi;
}

/* What the exponential of a positive x leaves is not taken. */
ALWAYS_INLINE vf celu_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(x, &less);
  *slope = choose_positive(x, splat(1), e);
  return choose_positive(x, x, less);
}

/* softplus is max(x, 0) + log(1 + e): what u = 1 + e rounds away is put back to first order */
#if defined(NET_DOUBLE)

ALWAYS_INLINE vf tanh_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(minus_magnitude(x) * 2, &less), q = 1 / (e + 1);
  *slope = 4 * e * (q * q);
  return (vf)((vi)magnitude(less * q) | ((vi)x & SIGN_BIT));
}

ALWAYS_INLINE vf sigmoid_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(minus_magnitude(x), &less), q = 1 / (e + 1), low = e * q;
  *slope = low * q;
  return choose_positive(x, q, low);
}

ALWAYS_INLINE vf softplus_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(minus_magnitude(x), &less), u = e + 1, q = 1 / u;
  *slope = choose(x < 0, e * q, q);
  return at_least(x, splat(0)) + (log_of_positive(u) + (e - (u - 1)) * q);
}

#else

ALWAYS_INLINE vf tanh_and(vf x, vf *slope) {
  vf less;
  (void)slope;
  exp_and_less(minus_magnitude(x) * 2, &less);
  return (vf)((vi)magnitude(less / (less + 2)) | ((vi)x & SIGN_BIT));
}

/* by an exponential that cannot overflow */
ALWAYS_INLINE vf sigmoid_and(vf x, vf *slope) {
  const vf e = exp_of(minus_magnitude(x));
  (void)slope;
  return choose(x < 0, e, splat(1)) / (e + 1);
}

ALWAYS_INLINE vf softplus_and(vf x, vf *slope) {
  const vf e = exp_of(minus_magnitude(x)), u = e + 1;
  *slope = sigmoid_and(x, slope);
  return at_least(x, splat(0)) + (log_of_positive(u) + (e - (u - 1)) / u);
}

#endif

ALWAYS_INLINE vf tanh_of(vf x) {
  vf slope;
  return tanh_and(x, &slope);
}

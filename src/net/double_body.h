/*
 * Elementary functions of a vector of doubles, without branches, tables or calls: those of
 * net/float_body.h, with more terms.
 *
 *   log      x = 2^e (1 + f), s = f / (2 + f):   log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 q(s^2)))
 *   tanh     with e = exp(-2|x|), t = e - 1 and one division:
 *            -t / (1 + e), slope 4 e / (1 + e)^2
 *   normal   as there, with (a - 4) / (a + 4)
 *
 * The polynomials are minimax for the relative error of the function: 3.6e-18 for exp, 1.3e-18 for
 * log, 1.2e-17 for R. Slopes keep their digits in the tails, where 1 - y^2 would have none left,
 * since Gauss-Newton divides by them. So they are computed beside the value, and kept. Beyond an
 * exponent of -700 they stay what they are there, some 1e-304.
 */
#pragma once

#include "net/simd_body.h"

#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33

/* exp(x + low) = 2^k (1 + p); `low` carries bits of the exponent that x has no room for. */
typedef struct power {
  vf p;
  vu k; /* two's complement, so that what a NaN leaves here cannot overflow */
} power;

ALWAYS_INLINE power split(vf x, vf low) {
  const double round = 0x1.8p52, log2e = 0x1.71547652b82fep0;
  const vf sum = (x + low) * log2e + round, k = sum - round;
  const vf r = ((x - k * LN2_HIGH) - k * LN2_LOW) + low;
  static const double c[] = {0x1.ad7f88b9dd914p-26, 0x1.28ad731740566p-22, 0x1.71df253f8af97p-19,
                             0x1.a0199a0c19ccfp-16, 0x1.a01a012a61a12p-13, 0x1.6c16c1842a2ddp-10,
                             0x1.1111111127bc1p-7,  0x1.555555555087cp-5,  0x1.55555555554fap-3,
                             0x1.000000000000ap-1};
  return (power){polynomial(r, c, 10) * (r * r) + r, (vu)sum - 0x4338000000000000u};
}

ALWAYS_INLINE vf power_of_two(vu k) { return (vf)((k + 1023u) << 52); }

ALWAYS_INLINE vf join(power e) {
  const vu half = (vu)((vi)e.k >> 1);
  const vf scale = power_of_two(half);
  return (e.p * scale + scale) * power_of_two(e.k - half);
}

/* Beyond the bounds the result is zero, or infinite. */
ALWAYS_INLINE vf exp_of(vf x) { return join(split(at_most(at_least(x, -746.0), 710.0), (vf){0})); }

/* exp(x) for -700 <= x <= 0, and exp(x) - 1 beside it */
ALWAYS_INLINE vf exp_and_less(vf x, vf *less) {
  const power e = split(at_least(x, -700.0), (vf){0});
  const vf scale = power_of_two(e.k);
  *less = e.p * scale + (scale - 1.0);
  return e.p * scale + scale;
}

ALWAYS_INLINE vf celu_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(at_most(x, 0.0), &less);
  *slope = choose(x > 0.0, splat(1.0), e);
  return choose(x > 0.0, x, less);
}

ALWAYS_INLINE vf tanh_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(magnitude(x) * -2.0, &less), q = 1.0 / (e + 1.0);
  *slope = 4.0 * e * (q * q);
  return (vf)((vi)magnitude(less * q) | ((vi)x & SIGN_BIT));
}

ALWAYS_INLINE vf sigmoid_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(-magnitude(x), &less), q = 1.0 / (e + 1.0);
  *slope = e * (q * q);
  return choose(x < 0.0, e * q, q);
}

ALWAYS_INLINE vf tanh_of(vf x) {
  vf slope;
  return tanh_and(x, &slope);
}

/* log(x) for 0 < x < infinity */
ALWAYS_INLINE vf log_of_positive(vf x) {
  const vi tiny = x < 0x1p-1022;
  const vu word = (vu)choose(tiny, x * 0x1p52, x);
  const vi e = (vi)(word - 0x3FE6A09E667F3BCDu) >> 52; /* sqrt 1/2 */
  const vf f = (vf)(word - ((vu)e << 52)) - 1.0;
  const vf k = __builtin_convertvector(e - (tiny & 52), vf);
  static const double c[] = {0x1.2f0d8f3f87d66p-3, 0x1.39a0f5198585ep-3, 0x1.74664629f554p-3,
                             0x1.c71c51e80d016p-3, 0x1.24924942177a6p-2, 0x1.999999997fb35p-2,
                             0x1.5555555555593p-1};
  const vf s = f / (f + 2.0), w = s * s, half = 0.5 * f * f;
  const vf tail = s * (w * polynomial(w, c, 7) + half) + k * LN2_LOW;
  return k * LN2_HIGH - ((half - tail) - f);
}

ALWAYS_INLINE vf log_of(vf x) {
  const vf edge = choose(x == 0.0, splat(-INFINITY), choose(x > 0.0, x, splat(NAN)));
  return choose((x > 0.0) & (x < INFINITY), log_of_positive(x), edge);
}

/* max(x, 0) + log(1 + e): what 1 + e rounds away is put back to first order */
ALWAYS_INLINE vf softplus_and(vf x, vf *slope) {
  vf less;
  const vf e = exp_and_less(-magnitude(x), &less), u = e + 1.0, q = 1.0 / u;
  *slope = choose(x < 0.0, e * q, q);
  return at_least(x, 0.0) + (log_of_positive(u) + (e - (u - 1.0)) * q);
}

/* Phi(x), and exp(-x^2/2) beside it. The square is taken in two parts, of which the first is exact:
 * far out, its rounding would be all of the error. */
ALWAYS_INLINE vf normal_of(vf x, vf *bell) {
  const vf a = at_most(magnitude(x), 39.0), high = (vf)((vi)a & ~(whole)0x7FFFFFF);
  *bell = join(split(high * high * -0.5, (a - high) * (a + high) * -0.5));
  const vf t = (a - 4.0) / (a + 4.0);
  static const double c[] = {
      0x1.bcb9be8a6aa2dp-34, -0x1.93dc1553cc918p-33, -0x1.d2de047f2d052p-30, 0x1.fc931ec23a04fp-34,
      0x1.87aa963b195a4p-27, 0x1.43b781e4cf85fp-27,  -0x1.c1d60bb10708ep-25, -0x1.94b8375c867fcp-24,
      0x1.b9df2c12bb853p-23, 0x1.632be6eb63a85p-21,  -0x1.bd3e009fa7504p-21, -0x1.20cf0f464fadcp-18,
      0x1.36d140d5b65eep-18, 0x1.e0a3beaa76472p-16,  -0x1.7e2462abf1acp-15,  -0x1.888dca56504e1p-13,
      0x1.4eec24ce729dcp-11, 0x1.0a1bd41bfff84p-11,  -0x1.1644dc2f62a9fp-7,  0x1.f9b05f0efaaa9p-6,
      -0x1.25b6aa96582e3p-4, 0x1.fd751a1fba3f5p-4,   -0x1.5cf97b0ae882bp-3,  0x1.82b4bb8c94dcep-4};
  const vf below = *bell * polynomial(t, c, 24);
  return choose(x > 0.0, 1.0 - below, below);
}

ALWAYS_INLINE vf gelu_and(vf x, vf *slope) {
  vf bell;
  const vf phi = normal_of(x, &bell);
  *slope = x * bell * 0x1.9884533d43651p-2 + phi; /* 1 / sqrt(2 pi) */
  return x * phi;
}

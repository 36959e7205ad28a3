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
#pragma once

#include "net/simd_body.h"

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
  const vu word = (vu)choose(tiny, x * 0x1p23f, x);
  const vi e = (vi)(word - 0x3F3504F3u) >> 23; /* sqrt 1/2 */
  const vf f = (vf)(word - ((vu)e << 23)) - 1.0f;
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

/* With their slopes, those that must be kept: the others are had from the outputs (net/kernels.h). */
ALWAYS_INLINE vf celu_and(vf x, vf *slope) {
  (void)slope;
  return choose(x > 0.0f, x, expm1_of(at_most(x, 0.0f)));
}

ALWAYS_INLINE vf sigmoid_and(vf x, vf *slope) {
  (void)slope;
  return sigmoid_of(x);
}

ALWAYS_INLINE vf tanh_and(vf x, vf *slope) {
  (void)slope;
  return tanh_of(x);
}

ALWAYS_INLINE vf gelu_and(vf x, vf *slope) {
  vf bell;
  const vf phi = normal_of(x, &bell);
  *slope = x * bell * 0x1.988454p-2f + phi; /* 1 / sqrt(2 pi) */
  return x * phi;
}

ALWAYS_INLINE vf softplus_and(vf x, vf *slope) {
  *slope = sigmoid_of(x);
  return at_least(x, 0.0f) + log1p_of(exp_of(-magnitude(x)));
}

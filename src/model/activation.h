/*
 * Activations: value and slope side by side.
 *
 *   y = s(a), slope = s'(a) elementwise; softmax is the one that mixes its inputs and has the
 *   product  J'u = J u = y * (u - <u, y>)  instead of a slope.
 *
 * The elementwise ones are inline: in a small game they are most of the work, and fused with the
 * product before them they need no trip through memory.
 *
 * Slopes keep their digits in the tails too, since Gauss-Newton divides by them: y (1 - y) would
 * lose all of them where y rounds to 1.
 */
#pragma once

#include <hvi/model.h>

#include <math.h>

/* One exponential either way: exp(a) and exp(a) - 1 from whichever of the two loses no digits. */
static inline double hvi_celu(double a, double *slope) {
  if (a > 0.0) {
    *slope = 1.0;
    return a;
  }
  if (a > -1.0) {
    const double y = expm1(a);
    *slope = y + 1.0;
    return y;
  }
  *slope = exp(a);
  return *slope - 1.0;
}

/* 1 - y = e y; no branch on the sign of a, which near zero is a coin. */
static inline double hvi_sigmoid(double a, double *slope) {
  const double e = exp(-a), y = 1.0 / (1.0 + e);
  *slope = y > 0.0 ? y * (e * y) : 0.0; /* e is infinite where y is zero */
  return y;
}

static inline double hvi_tanh(double a, double *slope) {
  const double y = tanh(a);
  if (fabs(y) < 0.9) {
    *slope = 1.0 - y * y;
  } else {
    const double e = exp(-2.0 * fabs(a));
    *slope = 4.0 * e / ((1.0 + e) * (1.0 + e));
  }
  return y;
}

/* relu with slope `below` left of zero */
static inline double hvi_leaky(double a, double *slope, double below) {
  *slope = a > 0.0 ? 1.0 : below;
  return a * *slope;
}

static inline double hvi_gelu(double a, double *slope) {
  const double root_half = 0.70710678118654752440, inverse_root_2pi = 0.39894228040143267794;
  const double phi = 0.5 * erfc(-a * root_half);
  *slope = phi + a * inverse_root_2pi * exp(-0.5 * a * a);
  return a * phi;
}

static inline double hvi_softplus(double a, double *slope) {
  const double e = exp(-fabs(a));
  *slope = (a > 0.0 ? 1.0 : e) / (1.0 + e);
  return (a > 0.0 ? a : 0.0) + log1p(e);
}

/* s(a) and its slope; softmax passes through, to be finished over the whole layer. Inline by order: the slope
 * stays in a register. */
__attribute__((always_inline)) static inline double hvi_activation_value(hvi_activation kind,
                                                                         double a, double *slope) {
  if (kind == HVI_CELU) return hvi_celu(a, slope);
  if (kind == HVI_SIGMOID) return hvi_sigmoid(a, slope);
  if (kind == HVI_TANH) return hvi_tanh(a, slope);
  if (kind == HVI_RELU) return hvi_leaky(a, slope, 0.0);
  if (kind == HVI_LEAKY_RELU) return hvi_leaky(a, slope, 0.01);
  if (kind == HVI_GELU) return hvi_gelu(a, slope);
  if (kind == HVI_SOFTPLUS) return hvi_softplus(a, slope);
  *slope = 1.0;
  return a;
}

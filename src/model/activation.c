/*
 * Activations and their slopes.
 *
 * Slopes are taken from the value where that needs no second exponential: sigmoid' = y (1 - y),
 * tanh' = 1 - y^2. The sigmoid is written as 1 / (1 + exp(-a)): for very
 * negative a the exponential overflows to infinity and the quotient is the right zero.
 */
#include "model/activation.h"

#include <math.h>
#include <string.h>

static const char *const names[HVI_ACTIVATION_COUNT] = {
    [HVI_IDENTITY] = "identity",     [HVI_CELU] = "celu", [HVI_SIGMOID] = "sigmoid",
    [HVI_SOFTMAX] = "softmax",       [HVI_TANH] = "tanh", [HVI_RELU] = "relu",
    [HVI_LEAKY_RELU] = "leaky_relu", [HVI_GELU] = "gelu", [HVI_SOFTPLUS] = "softplus",
};

const char *hvi_activation_name(hvi_activation a) {
  return (unsigned)a < HVI_ACTIVATION_COUNT ? names[a] : NULL;
}

hvi_activation hvi_activation_find(const char *name) {
  for (int i = 0; name && i < HVI_ACTIVATION_COUNT; i++) {
    if (strcmp(names[i], name) == 0) return (hvi_activation)i;
  }
  return HVI_ACTIVATION_COUNT;
}

/* One exponential either way: exp(a) and exp(a) - 1 from whichever of the two loses no digits. */
static void celu(double *y, double *slope) {
  const double a = *y;
  if (a > 0.0) {
    *slope = 1.0;
  } else if (a > -1.0) {
    *y = expm1(a);
    *slope = *y + 1.0;
  } else {
    *slope = exp(a);
    *y = *slope - 1.0;
  }
}

static void sigmoid(double *y, double *slope) {
  *y = 1.0 / (1.0 + exp(-*y));
  *slope = *y * (1.0 - *y);
}

static void hyperbolic_tangent(double *y, double *slope) {
  *y = tanh(*y);
  *slope = 1.0 - *y * *y;
}

static void leaky(double *y, double *slope, double below) {
  *slope = *y > 0.0 ? 1.0 : below;
  *y *= *slope;
}

static void gelu(double *y, double *slope) {
  const double a = *y, root_half = 0.70710678118654752440, root_2pi = 0.39894228040143267794;
  const double phi = 0.5 * erfc(-a * root_half);
  *y = a * phi;
  *slope = phi + a * root_2pi * exp(-0.5 * a * a);
}

static void softplus(double *y, double *slope) {
  const double a = *y, e = exp(-fabs(a));
  *y = (a > 0.0 ? a : 0.0) + log1p(e);
  *slope = a > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

static void softmax(double *y, size_t n) {
  double top = y[0], sum = 0.0;
  for (size_t i = 1; i < n; i++) top = y[i] > top ? y[i] : top;
  for (size_t i = 0; i < n; i++) sum += y[i] = exp(y[i] - top);
  const double scale = 1.0 / sum;
  for (size_t i = 0; i < n; i++) y[i] *= scale;
}

void hvi_activation_apply(hvi_activation kind, double *y, double *slope, size_t n) {
  switch (kind) {
  case HVI_CELU:
    for (size_t i = 0; i < n; i++) celu(y + i, slope + i);
    break;
  case HVI_SIGMOID:
    for (size_t i = 0; i < n; i++) sigmoid(y + i, slope + i);
    break;
  case HVI_SOFTMAX:
    softmax(y, n);
    break;
  case HVI_TANH:
    for (size_t i = 0; i < n; i++) hyperbolic_tangent(y + i, slope + i);
    break;
  case HVI_RELU:
    for (size_t i = 0; i < n; i++) leaky(y + i, slope + i, 0.0);
    break;
  case HVI_LEAKY_RELU:
    for (size_t i = 0; i < n; i++) leaky(y + i, slope + i, 0.01);
    break;
  case HVI_GELU:
    for (size_t i = 0; i < n; i++) gelu(y + i, slope + i);
    break;
  case HVI_SOFTPLUS:
    for (size_t i = 0; i < n; i++) softplus(y + i, slope + i);
    break;
  case HVI_IDENTITY:
  case HVI_ACTIVATION_COUNT:
    break;
  }
}

void hvi_activation_pull(hvi_activation kind, double *u, const double *y, const double *slope,
                         size_t n) {
  if (kind == HVI_IDENTITY) return;
  if (kind != HVI_SOFTMAX) {
    for (size_t i = 0; i < n; i++) u[i] *= slope[i];
    return;
  }
  double mean = 0.0;
  for (size_t i = 0; i < n; i++) mean += u[i] * y[i];
  for (size_t i = 0; i < n; i++) u[i] = y[i] * (u[i] - mean);
}

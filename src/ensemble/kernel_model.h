/*
 * Kernels, part 1: models on lanes.
 *
 *   forward    y = s(W x + b) layer by layer, slopes kept
 *   vjp        u <- W' (s'(a) u) layer by layer, downwards
 */
#pragma once

#include "ensemble/lanes.h"
#include "num/simd_exp.h"

#include <math.h>

static inline void lane_fill(hvi_lane *x, double value) {
  for (int l = 0; l < HVI_LANES; l++) x->at[l] = value;
}

static inline void lane_copy(hvi_lane *restrict out, const hvi_lane *restrict x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = x[i];
}

/* y = w0 x0 + .. + w_{n-1} x_{n-1}, or y += that; both flags are constants where this is inlined */
static inline __attribute__((always_inline)) void terms(hvi_lane *restrict y,
                                                        const hvi_lane *restrict w, size_t stride,
                                                        const hvi_lane *restrict x, int n,
                                                        bool add) {
  for (int l = 0; l < HVI_LANES; l++) {
    double sum = w->at[l] * x->at[l];
    if (n > 1) sum += w[stride].at[l] * x[1].at[l];
    if (n > 2) sum += w[2 * stride].at[l] * x[2].at[l];
    if (n > 3) sum += w[3 * stride].at[l] * x[3].at[l];
    y->at[l] = add ? y->at[l] + sum : sum;
  }
}

/* y = sum_i w[i * stride] x[i], in groups of four after the remainder; n >= 1 */
static inline void product(hvi_lane *restrict y, const hvi_lane *restrict w, size_t stride,
                           const hvi_lane *restrict x, size_t n) {
  size_t i = (n - 1) % 4 + 1;
  if (i == 1) terms(y, w, stride, x, 1, false);
  if (i == 2) terms(y, w, stride, x, 2, false);
  if (i == 3) terms(y, w, stride, x, 3, false);
  if (i == 4) terms(y, w, stride, x, 4, false);
  for (; i < n; i += 4) terms(y, w + i * stride, stride, x + i, 4, true);
}

static inline void celu(hvi_lane *restrict y, hvi_lane *restrict slope) {
  for (int l = 0; l < HVI_LANES; l++) {
    const double a = y->at[l], below = a > 0.0 ? 0.0 : a;
    const double value = hvi_simd_expm1(below, &slope->at[l]);
    y->at[l] = a > 0.0 ? a : value;
  }
}

/* With e = exp(-|a|): y = 1 / (1 + e), or e / (1 + e) left of zero; y (1 - y) = e / (1 + e)^2. */
static inline void sigmoid(hvi_lane *restrict y, hvi_lane *restrict slope) {
  for (int l = 0; l < HVI_LANES; l++) {
    const double a = y->at[l];
    const double e = hvi_simd_exp(a > 0.0 ? -a : a), inverse = 1.0 / (1.0 + e);
    y->at[l] = a > 0.0 ? inverse : e * inverse;
    slope->at[l] = e * inverse * inverse;
  }
}

/* With e = exp(-2 |a|): |y| = (1 - e) / (1 + e), 1 - y^2 = 4 e / (1 + e)^2. */
static inline void hyperbolic_tangent(hvi_lane *restrict y, hvi_lane *restrict slope) {
  for (int l = 0; l < HVI_LANES; l++) {
    double e;
    const double a = y->at[l], m = hvi_simd_expm1(a > 0.0 ? -2.0 * a : 2.0 * a, &e);
    const double inverse = 1.0 / (1.0 + e);
    y->at[l] = (a > 0.0 ? -m : m) * inverse;
    slope->at[l] = 4.0 * e * inverse * inverse;
  }
}

static inline void leaky(hvi_lane *restrict y, hvi_lane *restrict slope, double below) {
  for (int l = 0; l < HVI_LANES; l++) {
    const double s = y->at[l] > 0.0 ? 1.0 : below;
    slope->at[l] = s;
    y->at[l] *= s;
  }
}

static inline void softmax(hvi_lane *restrict y, size_t n) {
  hvi_lane top = y[0], sum;
  for (size_t i = 1; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) top.at[l] = y[i].at[l] > top.at[l] ? y[i].at[l] : top.at[l];
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] = hvi_simd_exp(y[i].at[l] - top.at[l]);
  sum = y[0];
  for (size_t i = 1; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) sum.at[l] += y[i].at[l];
  for (int l = 0; l < HVI_LANES; l++) sum.at[l] = 1.0 / sum.at[l];
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) y[i].at[l] *= sum.at[l];
}

/* The identity does nothing; no plan has another. */
static inline void activate(size_t kind, hvi_lane *restrict y, hvi_lane *restrict slope, size_t n) {
  if (kind == HVI_SOFTMAX) softmax(y, n);
  for (size_t i = 0; i < n; i++) {
    if (kind == HVI_CELU) celu(y + i, slope + i);
    if (kind == HVI_SIGMOID) sigmoid(y + i, slope + i);
    if (kind == HVI_TANH) hyperbolic_tangent(y + i, slope + i);
    if (kind == HVI_RELU) leaky(y + i, slope + i, 0.0);
    if (kind == HVI_LEAKY_RELU) leaky(y + i, slope + i, 0.01);
  }
}

/* z = g(theta), slopes filled */
static inline void forward(const hvi_lanes_plan *plan, hvi_lane *s) {
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *player = &plan->players[k];
    const hvi_lane *x = s + plan->theta + player->theta;
    for (size_t j = 0; j < player->layer_count; j++) {
      const hvi_lanes_layer *layer = &plan->layers[player->first_layer + j];
      hvi_lane *y = s + layer->y;
      const hvi_lane *W = s + layer->matrix, *b = s + layer->bias;
      for (size_t i = 0; i < layer->out; i++) {
        product(y + i, W + i * layer->in, 1, x, layer->in);
        if (!layer->biased) continue;
        for (int l = 0; l < HVI_LANES; l++) y[i].at[l] += b[i].at[l];
      }
      activate(layer->activation, y, s + layer->slope, layer->out);
      x = y;
    }
  }
}

/* out = u through the activation's derivative */
static inline void pull(const hvi_lanes_layer *layer, const hvi_lane *s, hvi_lane *restrict out,
                        const hvi_lane *restrict u) {
  const hvi_lane *y = s + layer->y, *slope = s + layer->slope;
  if (layer->activation == HVI_IDENTITY) {
    lane_copy(out, u, layer->out);
  } else if (layer->activation == HVI_SOFTMAX) {
    hvi_lane mean;
    product(&mean, y, 1, u, layer->out);
    for (size_t i = 0; i < layer->out; i++)
      for (int l = 0; l < HVI_LANES; l++) out[i].at[l] = y[i].at[l] * (u[i].at[l] - mean.at[l]);
  } else {
    for (size_t i = 0; i < layer->out; i++)
      for (int l = 0; l < HVI_LANES; l++) out[i].at[l] = slope[i].at[l] * u[i].at[l];
  }
}

/* out = J' u for one player */
static inline void vjp(const hvi_lanes_plan *plan, const hvi_lanes_player *player, hvi_lane *s,
                       const hvi_lane *u, hvi_lane *out) {
  hvi_lane *delta = s + plan->back, *down = delta + plan->widest;
  for (size_t j = player->layer_count; j-- > 0;) {
    const hvi_lanes_layer *layer = &plan->layers[player->first_layer + j];
    const hvi_lane *W = s + layer->matrix;
    pull(layer, s, delta, u);
    hvi_lane *to = j == 0 ? out : down;
    for (size_t i = 0; i < layer->in; i++) product(to + i, W + i, layer->in, delta, layer->out);
    u = down;
  }
}

/* J of one player, row by row */
static inline void jacobian(const hvi_lanes_plan *plan, const hvi_lanes_player *player,
                            hvi_lane *s) {
  hvi_lane *unit = s + plan->scratch;
  for (size_t i = 0; i < player->out; i++) lane_fill(unit + i, 0.0);
  for (size_t i = 0; i < player->out; i++) {
    lane_fill(unit + i, 1.0);
    vjp(plan, player, s, unit, s + player->jacobian + i * player->dim);
    lane_fill(unit + i, 0.0);
  }
}

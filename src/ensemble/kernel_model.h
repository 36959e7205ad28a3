/*
 * Kernels, part 1: models on lanes.
 *
 *   forward    y = s(W x) layer by layer, slopes kept
 *   vjp        u <- W' (s'(a) u) layer by layer, downwards
 */
#pragma once

#include "ensemble/lanes.h"
#define NET_DOUBLE
#define WHOLE_TAILS
#include "net/elementary_body.h"

#include <math.h>

static inline void lane_fill(hvi_lane *x, double value) {
  for (int l = 0; l < HVI_LANES; l++) x->at[l] = value;
}

static inline void lane_copy(hvi_lane *restrict out, const hvi_lane *restrict x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = x[i];
}

/* WIDTH lanes of x */
ALWAYS_INLINE vf part(const hvi_lane *x, int l) { return load(x->at + l); }

/* Vectors that a loop has at a time: the sums stay in registers, and their chains overlap. */
enum { GROUP = BYTES == 64 && HVI_LANES % 64 == 0 ? 8 : 4 };
_Static_assert(HVI_LANES % (GROUP * WIDTH) == 0, "whole groups");
#define EACH_GROUP for (int l = 0; l < HVI_LANES; l += GROUP * (int)WIDTH)
#define EACH_OF_IT UNROLL for (int g = 0, m = l; g < GROUP; g++, m += (int)WIDTH)

/* sum + w[0] x[0] + w[stride] x[1] + .., in this order */
ALWAYS_INLINE void add_terms(vf sum[GROUP], int l, const hvi_lane *w, size_t stride,
                             const hvi_lane *x, size_t n) {
  for (size_t i = 0; i < n; i++) EACH_OF_IT sum[g] += part(w + i * stride, m) * part(x + i, m);
}

/* y = (sum_i w[i * stride] x[i]) slope, without the last where slope is NULL */
static inline void product(hvi_lane *y, const hvi_lane *w, size_t stride, const hvi_lane *x,
                           size_t n, const hvi_lane *slope) {
  EACH_GROUP {
    vf sum[GROUP] = {{0}};
    add_terms(sum, l, w, stride, x, n);
    if (slope) EACH_OF_IT sum[g] *= part(slope, m);
    EACH_OF_IT store(y->at + m, sum[g]);
  }
}

/* y = s(w x) and its slope. The expression in a[g] sets s, the slope. */
#define DEFINE_UNIT(name, value)                                                                   \
  static inline void name(hvi_lane *y, hvi_lane *slope, const hvi_lane *w, const hvi_lane *x,      \
                          size_t in) {                                                             \
    EACH_GROUP {                                                                                   \
      vf a[GROUP] = {{0}};                                                                         \
      add_terms(a, l, w, 1, x, in);                                                                \
      EACH_OF_IT {                                                                                 \
        vf s;                                                                                      \
        store(y->at + m, value);                                                                   \
        store(slope->at + m, s);                                                                   \
      }                                                                                            \
    }                                                                                              \
  }

DEFINE_UNIT(identity_unit, (s = splat(1.0), a[g]))
DEFINE_UNIT(celu_unit, celu_and(a[g], &s))
DEFINE_UNIT(sigmoid_unit, sigmoid_and(a[g], &s))
DEFINE_UNIT(tanh_unit, tanh_and(a[g], &s))

static inline void softmax(hvi_lane *y, size_t n) {
  for (int l = 0; l < HVI_LANES; l += WIDTH) {
    vf top = part(y, l), sum = {0};
    for (size_t i = 1; i < n; i++) top = choose(part(y + i, l) > top, part(y + i, l), top);
    for (size_t i = 0; i < n; i++) {
      const vf e = exp_of(part(y + i, l) - top);
      store(y[i].at + l, e);
      sum += e;
    }
    sum = 1 / sum;
    for (size_t i = 0; i < n; i++) store(y[i].at + l, part(y + i, l) * sum);
  }
}

/* All units of a layer; no plan has another activation. */
static inline void activate(const hvi_lanes_layer *layer, hvi_lane *s, const hvi_lane *x) {
  const size_t in = layer->in, kind = layer->activation;
  for (size_t i = 0; i < layer->out; i++) {
    hvi_lane *y = s + layer->y + i, *slope = s + layer->slope + i;
    const hvi_lane *w = s + layer->matrix + i * in;
    if (kind == HVI_IDENTITY || kind == HVI_SOFTMAX) identity_unit(y, slope, w, x, in);
    if (kind == HVI_CELU) celu_unit(y, slope, w, x, in);
    if (kind == HVI_SIGMOID) sigmoid_unit(y, slope, w, x, in);
    if (kind == HVI_TANH) tanh_unit(y, slope, w, x, in);
  }
  if (kind == HVI_SOFTMAX) softmax(s + layer->y, layer->out);
}

/* z = g(theta), slopes filled */
static inline void forward(const hvi_lanes_plan *plan, hvi_lane *s) {
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *player = &plan->players[k];
    const hvi_lane *x = s + plan->theta + player->theta;
    for (size_t j = 0; j < player->layer_count; j++) {
      const hvi_lanes_layer *layer = &plan->layers[player->first_layer + j];
      activate(layer, s, x);
      x = s + layer->y;
    }
  }
}

/* out = u through the activation's derivative; they may be the same */
static inline void pull(const hvi_lanes_layer *layer, const hvi_lane *s, hvi_lane *out,
                        const hvi_lane *u) {
  const hvi_lane *y = s + layer->y, *slope = s + layer->slope;
  if (layer->activation == HVI_SOFTMAX) {
    hvi_lane mean;
    product(&mean, y, 1, u, layer->out, NULL);
    for (size_t i = 0; i < layer->out; i++)
      for (int l = 0; l < HVI_LANES; l++) out[i].at[l] = y[i].at[l] * (u[i].at[l] - mean.at[l]);
  } else {
    for (size_t i = 0; i < layer->out; i++)
      for (int l = 0; l < HVI_LANES; l += WIDTH)
        store(out[i].at + l, part(slope + i, l) * part(u + i, l));
  }
}

/* out = J' u for one player. Products of all but the first layer go through the slopes below at once. */
static inline void vjp(const hvi_lanes_plan *plan, const hvi_lanes_player *player, hvi_lane *s,
                       const hvi_lane *u, hvi_lane *out) {
  hvi_lane *delta = s + plan->back, *down = delta + plan->widest;
  bool pulled = false;
  for (size_t j = player->layer_count; j-- > 0;) {
    const hvi_lanes_layer *layer = &plan->layers[player->first_layer + j];
    const hvi_lane *W = s + layer->matrix;
    hvi_lane *to = j == 0 ? out : down;
    if (!pulled) pull(layer, s, delta, u);
    pulled = j > 0 && layer[-1].activation != HVI_SOFTMAX;
    for (size_t i = 0; i < layer->in; i++)
      product(to + i, W + i, layer->in, delta, layer->out, pulled ? s + layer[-1].slope + i : NULL);
    down = delta;
    u = delta = to;
  }
}

/* J of one player, row by row */
static inline void jacobian(const hvi_lanes_plan *plan, const hvi_lanes_player *player,
                            hvi_lane *s) {
  hvi_lane *unit = s + plan->scratch;
  for (size_t i = 0; i < player->out; i++) {
    for (size_t k = 0; k < player->out; k++) lane_fill(unit + k, k == i ? 1.0 : 0.0);
    vjp(plan, player, s, unit, s + player->jacobian + i * player->dim);
  }
}

/*
 * What follows a product on a panel of its rows: activations, and pulling back through them.
 *
 *   y = s(x)        u <- u * s'(x), with s' from y:
 *
 *   relu 1[y > 0]   leaky 1[y > 0] or 1/100   celu 1[y > 0] or y + 1   tanh 1 - y^2
 *   sigmoid y (1 - y)   softmax u <- y * (u - <u, y>)   gelu, softplus: from an array of slopes
 */
#ifndef HVI_NET_FINISH_BODY_H
#define HVI_NET_FINISH_BODY_H

#include "net/functions_body.h"
#include "net/kernels.h"

ALWAYS_INLINE vf relu_of(vf x) { return at_least(x, 0.0f); }
ALWAYS_INLINE vf leaky_of(vf x) { return choose(x < 0.0f, x * 0.01f, x); }
ALWAYS_INLINE vf celu_of(vf x) { return choose(x > 0.0f, x, expm1_of(at_most(x, 0.0f))); }

ALWAYS_INLINE vf gelu_of(vf x, vf *slope) {
  vf bell;
  const vf phi = normal_of(x, &bell);
  *slope = x * bell * 0x1.988454p-2f + phi; /* 1 / sqrt(2 pi) */
  return x * phi;
}

ALWAYS_INLINE vf softplus_of(vf x, vf *slope) {
  *slope = sigmoid_of(x);
  return at_least(x, 0.0f) + log1p_of(exp_of(-magnitude(x)));
}

DEFINE_MAP(relu, relu_of)
DEFINE_MAP(leaky, leaky_of)
DEFINE_MAP(celu, celu_of)
DEFINE_MAP(sigmoid, sigmoid_of)

/* c[n] <- s(c[n]), slope[n] = s'; slopes are not wanted when slope is NULL */
#define DEFINE_KEEPING(name, f)                                                                    \
  static void name(float *c, float *slope, size_t n) {                                             \
    vf s;                                                                                          \
    size_t i = 0;                                                                                  \
    for (; i + WIDTH <= n; i += WIDTH) {                                                           \
      store(c + i, f(load(c + i), &s));                                                            \
      if (slope) store(slope + i, s);                                                              \
    }                                                                                              \
    if (i == n) return;                                                                            \
    store_part(c + i, f(load_part(c + i, n - i), &s), n - i);                                      \
    if (slope) store_part(slope + i, s, n - i);                                                    \
  }

DEFINE_KEEPING(gelu, gelu_of)
DEFINE_KEEPING(softplus, softplus_of)

ALWAYS_INLINE vf relu_pull(vf u, vf y) { return choose(y > 0.0f, u, (vf){0}); }
ALWAYS_INLINE vf leaky_pull(vf u, vf y) { return choose(y > 0.0f, u, u * 0.01f); }
ALWAYS_INLINE vf celu_pull(vf u, vf y) { return u * (at_most(y, 0.0f) + 1.0f); }
ALWAYS_INLINE vf tanh_pull(vf u, vf y) { return u * (1.0f - y * y); }
ALWAYS_INLINE vf sigmoid_pull(vf u, vf y) { return u * (y * (1.0f - y)); }
ALWAYS_INLINE vf slope_pull(vf u, vf slope) { return u * slope; }

/* u[n] <- f(u[n], y[n]) */
#define DEFINE_PULL(name, f)                                                                       \
  static void name(float *u, const float *y, size_t n) {                                           \
    size_t i = 0;                                                                                  \
    for (; i + WIDTH <= n; i += WIDTH) store(u + i, f(load(u + i), load(y + i)));                  \
    if (i == n) return;                                                                            \
    store_part(u + i, f(load_part(u + i, n - i), load_part(y + i, n - i)), n - i);                 \
  }

DEFINE_PULL(pull_relu, relu_pull)
DEFINE_PULL(pull_leaky, leaky_pull)
DEFINE_PULL(pull_celu, celu_pull)
DEFINE_PULL(pull_tanh, tanh_pull)
DEFINE_PULL(pull_sigmoid, sigmoid_pull)
DEFINE_PULL(pull_slope, slope_pull)

static void softmax(float *c, size_t n) {
  float top = c[0];
  for (size_t i = 1; i < n; i++) top = c[i] > top ? c[i] : top;
  vf sum = {0};
  for (size_t i = 0; i < n; i += WIDTH) {
    const size_t count = n - i < WIDTH ? n - i : WIDTH;
    store_part(c + i, exp_of(load_part(c + i, count) - top), count);
    sum += load_part(c + i, count);
  }
  const float scale = 1.0f / across(sum);
  for (size_t i = 0; i < n; i++) c[i] *= scale;
}

static void pull_softmax(float *u, const float *y, size_t n) {
  vf sum = {0};
  for (size_t i = 0; i < n; i += WIDTH) {
    const size_t count = n - i < WIDTH ? n - i : WIDTH;
    sum += load_part(u + i, count) * load_part(y + i, count);
  }
  const float mean = across(sum);
  for (size_t i = 0; i < n; i++) u[i] = y[i] * (u[i] - mean);
}

static void activate(hvi_activation s, float *c, float *slope, size_t n) {
  switch (s) {
  case HVI_RELU:
    relu(c, c, n);
    break;
  case HVI_LEAKY_RELU:
    leaky(c, c, n);
    break;
  case HVI_TANH:
    tangents(c, c, n);
    break;
  case HVI_SIGMOID:
    sigmoid(c, c, n);
    break;
  case HVI_CELU:
    celu(c, c, n);
    break;
  case HVI_GELU:
    gelu(c, slope, n);
    break;
  case HVI_SOFTPLUS:
    softplus(c, slope, n);
    break;
  case HVI_SOFTMAX:
    softmax(c, n);
    break;
  case HVI_IDENTITY:
  case HVI_ACTIVATION_COUNT:
    break;
  }
}

static void pull(hvi_activation s, float *u, const float *y, const float *slope, size_t n) {
  switch (s) {
  case HVI_RELU:
    pull_relu(u, y, n);
    break;
  case HVI_LEAKY_RELU:
    pull_leaky(u, y, n);
    break;
  case HVI_TANH:
    pull_tanh(u, y, n);
    break;
  case HVI_SIGMOID:
    pull_sigmoid(u, y, n);
    break;
  case HVI_CELU:
    pull_celu(u, y, n);
    break;
  case HVI_GELU:
  case HVI_SOFTPLUS:
    pull_slope(u, slope, n);
    break;
  case HVI_SOFTMAX:
    pull_softmax(u, y, n);
    break;
  case HVI_IDENTITY:
  case HVI_ACTIVATION_COUNT:
    break;
  }
}

/* n elements from offset `at` of C, y and the slopes */
static void finish_run(const hvi_product *p, size_t at, size_t n) {
  if (p->finish == HVI_FINISH_ACTIVATE) {
    activate(p->activation, p->c + at, p->slope ? p->slope + at : NULL, n);
  } else {
    pull(p->activation, p->c + at, p->y ? p->y + at : NULL, p->y_slope ? p->y_slope + at : NULL, n);
  }
}

/* Rows first .. first + rows; those without gaps are one run, unless the activation mixes a row. */
static void finish(const hvi_product *p, size_t first, size_t rows) {
  if (p->finish != HVI_FINISH_ACTIVATE && p->finish != HVI_FINISH_PULL) return;
  if (p->c_row == p->n && p->activation != HVI_SOFTMAX) {
    finish_run(p, first * p->c_row, rows * p->n);
  } else {
    for (size_t i = first; i < first + rows; i++) finish_run(p, i * p->c_row, p->n);
  }
}

#endif

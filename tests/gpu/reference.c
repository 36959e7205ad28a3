/*
 * Rows are taken eight at a time: an array of a layer is [unit][8], so that compilers see loops
 * over rows and sums over units keep their order.
 *
 *   a_l = W_l z_{l-1} + b_l,   z_l = s(a_l),   the last of them without s
 *   back:     d_L = u,  d_{l-1} = s'(a_{l-1}) (W_l' d_l),  dW_l += d_l z_{l-1}',  db_l += d_l
 *   tangent:  t_l = s'(a_l) (V_l z_{l-1} + c_l + W_l t_{l-1}),  t_0 = 0
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = REFERENCE_LANES };

static size_t padded(size_t n) { return (n + 7) / 8 * 8; }

bool reference_new(reference *r, const hvi_device_shape *shape) {
  size_t units = 0;
  *r = (reference){.shape = shape};
  for (size_t l = 0; l <= shape->layer_count; l++) units += shape->width[l];
  r->block = calloc(3 * units * LANES, sizeof *r->block);
  if (!r->block) return false;
  double *at = r->block;
  for (size_t l = 0; l <= shape->layer_count; l++) {
    r->value[l] = at;
    r->slope[l] = at + units * LANES;
    r->delta[l] = at + 2 * units * LANES;
    at += shape->width[l] * LANES;
  }
  return true;
}

void reference_free(reference *r) { free(r->block); }

static double activate(hvi_activation kind, double a, double *slope) {
  double y = a;
  *slope = 1.0;
  if (kind == HVI_RELU || kind == HVI_LEAKY_RELU) {
    if (a <= 0.0) *slope = kind == HVI_RELU ? 0.0 : 0.01;
    y = a * *slope;
  } else if (kind == HVI_TANH) {
    y = tanh(a);
    *slope = 1.0 / (cosh(a) * cosh(a));
  } else if (kind == HVI_SIGMOID) {
    y = 1.0 / (1.0 + exp(-a));
    *slope = 1.0 / (2.0 + exp(a) + exp(-a));
  } else if (kind == HVI_CELU && a <= 0.0) {
    y = expm1(a);
    *slope = exp(a);
  } else if (kind == HVI_SOFTPLUS) {
    y = fmax(a, 0.0) + log1p(exp(-fabs(a)));
    *slope = 1.0 / (1.0 + exp(-a));
  }
  return y;
}

/* sum[8] = W's row times z, plus b. */
static void affine(double *sum, const double *w, double b, size_t in, const double *z) {
  for (size_t k = 0; k < LANES; k++) sum[k] = b;
  for (size_t i = 0; i < in; i++)
    for (size_t k = 0; k < LANES; k++) sum[k] += w[i] * z[i * LANES + k];
}

static void load(reference *r, size_t count, const float *x) {
  const size_t in = r->shape->width[0], row = padded(in);
  for (size_t i = 0; i < in; i++)
    for (size_t k = 0; k < LANES; k++)
      r->value[0][i * LANES + k] = k < count ? (double)x[k * row + i] : 0.0;
}

/* Where W_l begins after W_{l-1}, b_{l-1}. */
static const double *after(const double *w, size_t in, size_t out) {
  return w + out * padded(in) + padded(out);
}

static void forward(reference *r, const double *theta) {
  const hvi_device_shape *s = r->shape;
  const double *w = theta;
  for (size_t l = 0; l < s->layer_count; l++) {
    const size_t in = s->width[l], out = s->width[l + 1];
    const double *b = w + out * padded(in);
    const hvi_activation kind = l + 1 < s->layer_count ? s->activation : HVI_IDENTITY;
    for (size_t o = 0; o < out; o++) {
      double a[LANES];
      affine(a, w + o * padded(in), b[o], in, r->value[l]);
      for (size_t k = 0; k < LANES; k++)
        r->value[l + 1][o * LANES + k] = activate(kind, a[k], &r->slope[l + 1][o * LANES + k]);
    }
    w = after(w, in, out);
  }
}

/* Of the head. */
static double size_of_terms(const reference *r, const double *theta, size_t lane) {
  const hvi_device_shape *s = r->shape;
  const double *w = theta;
  for (size_t l = 0; l + 1 < s->layer_count; l++) w = after(w, s->width[l], s->width[l + 1]);
  const size_t in = s->width[s->layer_count - 1];
  const double *z = r->value[s->layer_count - 1];
  double sum = w[padded(in)] * w[padded(in)];
  for (size_t i = 0; i < in; i++) sum += pow(w[i] * z[i * LANES + lane], 2.0);
  return sqrt(sum);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void reference_eval(reference *r, const double *theta, size_t rows, const float *x, double *y,
                    double *size) {
  const double *out = r->value[r->shape->layer_count];
  for (size_t first = 0; first < rows; first += LANES) {
    const size_t count = least(LANES, rows - first);
    load(r, count, x + first * padded(r->shape->width[0]));
    forward(r, theta);
    memcpy(y + first, out, count * sizeof *y);
    for (size_t k = 0; size && k < count; k++) size[first + k] = size_of_terms(r, theta, k);
  }
}

/* |a| / |terms of a| of one unit, where it is less than before. */
static void closer(double *margin, const double *w, double b, size_t in, const double *z) {
  double a[LANES], squares[LANES];
  affine(a, w, b, in, z);
  for (size_t k = 0; k < LANES; k++) squares[k] = b * b;
  for (size_t i = 0; i < in; i++)
    for (size_t k = 0; k < LANES; k++)
      squares[k] += w[i] * z[i * LANES + k] * w[i] * z[i * LANES + k];
  for (size_t k = 0; k < LANES; k++) margin[k] = fmin(margin[k], fabs(a[k]) / sqrt(squares[k]));
}

void reference_margin(reference *r, const double *theta, size_t rows, const float *x,
                      double *margin) {
  const hvi_device_shape *s = r->shape;
  const double *w = theta;
  double all[LANES];
  for (size_t k = 0; k < LANES; k++) all[k] = INFINITY;
  load(r, rows, x);
  forward(r, theta);
  for (size_t l = 0; l + 1 < s->layer_count; l++) {
    const size_t in = s->width[l], out = s->width[l + 1];
    for (size_t o = 0; o < out; o++)
      closer(all, w + o * padded(in), w[out * padded(in) + o], in, r->value[l]);
    w = after(w, in, out);
  }
  memcpy(margin, all, rows * sizeof *margin);
}

/* Layer l's share of the gradient, and delta of the layer before it. */
static void back(reference *r, size_t l, const double *w, double *g) {
  const size_t in = r->shape->width[l], out = r->shape->width[l + 1];
  const double *z = r->value[l], *d = r->delta[l + 1];
  double *before = r->delta[l];
  memset(before, 0, in * LANES * sizeof *before);
  for (size_t o = 0; o < out; o++) {
    const double *row = w + o * padded(in);
    double *to = g + o * padded(in), *bias = g + out * padded(in) + o;
    for (size_t i = 0; i < in; i++)
      for (size_t k = 0; k < LANES; k++) {
        to[i] += d[o * LANES + k] * z[i * LANES + k];
        before[i * LANES + k] += row[i] * d[o * LANES + k];
      }
    for (size_t k = 0; k < LANES; k++) *bias += d[o * LANES + k];
  }
  for (size_t i = 0; l > 0 && i < in * LANES; i++) before[i] *= r->slope[l][i];
}

void reference_pull(reference *r, const double *theta, size_t rows, const float *x, const double *u,
                    double *gradient) {
  const hvi_device_shape *s = r->shape;
  size_t at[HVI_DEVICE_MOST_LAYERS + 1] = {0};
  for (size_t l = 0; l < s->layer_count; l++)
    at[l + 1] = (size_t)(after(theta + at[l], s->width[l], s->width[l + 1]) - theta);
  memset(gradient, 0, at[s->layer_count] * sizeof *gradient);
  for (size_t first = 0; first < rows; first += LANES) {
    const size_t count = least(LANES, rows - first);
    load(r, count, x + first * padded(s->width[0]));
    forward(r, theta);
    for (size_t k = 0; k < LANES; k++) r->delta[s->layer_count][k] = k < count ? u[first + k] : 0.0;
    for (size_t l = s->layer_count; l-- > 0;) back(r, l, theta + at[l], gradient + at[l]);
  }
}

/* delta holds tangents here. */
static void tangent(reference *r, const double *theta, const double *v) {
  const hvi_device_shape *s = r->shape;
  const double *w = theta, *c = v;
  memset(r->delta[0], 0, s->width[0] * LANES * sizeof *r->delta[0]);
  for (size_t l = 0; l < s->layer_count; l++) {
    const size_t in = s->width[l], out = s->width[l + 1];
    for (size_t o = 0; o < out; o++) {
      double along[LANES], through[LANES];
      affine(along, c + o * padded(in), c[out * padded(in) + o], in, r->value[l]);
      affine(through, w + o * padded(in), 0.0, in, r->delta[l]);
      for (size_t k = 0; k < LANES; k++)
        r->delta[l + 1][o * LANES + k] = r->slope[l + 1][o * LANES + k] * (along[k] + through[k]);
    }
    w = after(w, in, out);
    c = after(c, in, out);
  }
}

void reference_push(reference *r, const double *theta, size_t rows, const float *x, const double *v,
                    double *y) {
  for (size_t first = 0; first < rows; first += LANES) {
    const size_t count = least(LANES, rows - first);
    load(r, count, x + first * padded(r->shape->width[0]));
    forward(r, theta);
    tangent(r, theta, v);
    memcpy(y + first, r->delta[r->shape->layer_count], count * sizeof *y);
  }
}

double reference_loss(const hvi_device_descent *d, size_t rows, const double *y, double *u,
                      double *size) {
  double loss = 0.0;
  *size = 0.0;
  for (size_t i = 0; i < rows; i++) {
    const double e = d->shift + d->scale * y[i] - d->target[i];
    const double square = 0.5 * d->weight[i] * e * e, line = d->linear ? d->linear[i] * e : 0.0;
    loss += square + line;
    const double terms = fabs(d->shift) + fabs(d->scale * y[i]) + fabs(d->target[i]);
    *size += fabs(d->weight[i]) * (fabs(e) + 1e-5 * terms) * terms;
    if (d->linear) *size += fabs(d->linear[i]) * terms;
    if (u) u[i] = d->scale * (d->weight[i] * e + (d->linear ? d->linear[i] : 0.0));
  }
  return loss;
}

/* One step of the rule on n numbers. */
static void step(const hvi_device_descent *d, double lr, size_t n, double *theta, const double *g,
                 reference_state *s) {
  s->power[0] *= d->beta1;
  s->power[1] *= d->beta2;
  for (size_t i = 0; i < n; i++) {
    if (d->rule == HVI_DEVICE_GD) {
      theta[i] -= lr * g[i];
    } else if (d->rule == HVI_DEVICE_MOMENTUM) {
      s->m[i] = d->beta1 * s->m[i] + g[i];
      theta[i] -= lr * s->m[i];
    } else {
      s->m[i] = d->beta1 * s->m[i] + (1.0 - d->beta1) * g[i];
      s->v[i] = d->beta2 * s->v[i] + (1.0 - d->beta2) * g[i] * g[i];
      theta[i] =
          (1.0 - lr * d->decay) * theta[i] -
          lr * (s->m[i] / (1.0 - s->power[0])) / (sqrt(s->v[i] / (1.0 - s->power[1])) + d->epsilon);
    }
  }
}

void reference_descend(reference *r, reference_run *run, hvi_device_descent *d) {
  const hvi_device_shape *s = r->shape;
  size_t n = 0;
  double lr = d->lr, size;
  for (size_t l = 0; l < s->layer_count; l++)
    n += s->width[l + 1] * padded(s->width[l]) + padded(s->width[l + 1]);
  if (d->forget) {
    run->state->power[0] = run->state->power[1] = 1.0;
    memset(run->state->m, 0, n * sizeof *run->state->m);
    memset(run->state->v, 0, n * sizeof *run->state->v);
  }
  d->least = INFINITY;
  for (d->steps = 0;; d->steps++) {
    reference_eval(r, run->theta, run->rows, run->x, run->y, NULL);
    d->loss = reference_loss(d, run->rows, run->y, run->u, &size);
    if (run->losses) run->losses[d->steps] = d->loss;
    if (d->steps > 0) d->least = fmin(d->least, d->loss);
    if (d->steps == d->most || (d->loss <= d->goal && d->steps >= d->at_least)) return;
    reference_pull(r, run->theta, run->rows, run->x, run->u, run->gradient);
    step(d, lr, n, run->theta, run->gradient, run->state);
    lr *= d->lr_factor;
  }
}

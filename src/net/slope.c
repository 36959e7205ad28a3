/*
 * Slopes of activations, by what a forward pass has left:
 *
 *   sigmoid y (1 - y),   tanh 1 - y^2,   relu 1 or 0,   celu 1 or y + 1 = exp(x),
 *   softmax d_i = y_i (u_i - <u, y>),    gelu and softplus kept beside y
 *
 * The backward pass has its slopes from the kernels; this is for heads and tangents.
 */
#include "net/net.h"

#include <string.h>

/* d = y * (u - <u, y>), row by row: the slope of softmax, which is symmetric */
static void pull_softmax(float *d, const float *u, const float *y, size_t rows, size_t n) {
  for (size_t i = 0; i < rows; i++, d += n, u += n, y += n) {
    float mean = 0.0F;
    for (size_t j = 0; j < n; j++) mean += u[j] * y[j];
    for (size_t j = 0; j < n; j++) d[j] = y[j] * (u[j] - mean);
  }
}

/* d[n] *= s', from outputs or slopes. */
static void scale_by_slope(hvi_activation kind, float *restrict d, const float *restrict y,
                           const float *restrict slope, size_t n) {
  switch (kind) {
  case HVI_SIGMOID:
    for (size_t j = 0; j < n; j++) d[j] = d[j] * y[j] * (1.0F - y[j]);
    break;
  case HVI_TANH:
    for (size_t j = 0; j < n; j++) d[j] = d[j] * (1.0F - y[j] * y[j]);
    break;
  case HVI_RELU:
    for (size_t j = 0; j < n; j++) d[j] = y[j] > 0.0F ? d[j] : 0.0F;
    break;
  case HVI_LEAKY_RELU:
    for (size_t j = 0; j < n; j++) d[j] = y[j] > 0.0F ? d[j] : 0.01F * d[j];
    break;
  case HVI_CELU:
    for (size_t j = 0; j < n; j++) d[j] = y[j] > 0.0F ? d[j] : d[j] * (y[j] + 1.0F);
    break;
  case HVI_GELU:
  case HVI_SOFTPLUS:
    for (size_t j = 0; j < n; j++) d[j] = d[j] * slope[j];
    break;
  case HVI_IDENTITY:
  case HVI_SOFTMAX:
  case HVI_ACTIVATION_COUNT:
    break;
  }
}

void hvi_net_pull_slope(const hvi_net *net, size_t rows, size_t l, const float *trace,
                        const float *u, float *d) {
  const hvi_net_layer *layer = &net->layers[l];
  const float *y = hvi_net_output(net, (float *)(size_t)trace, rows, l);
  if (layer->activation == HVI_SOFTMAX) {
    pull_softmax(d, u, y, rows, layer->out);
    return;
  }
  const size_t n = rows * layer->out;
  if (d != u) memcpy(d, u, n * sizeof *d);
  scale_by_slope(layer->activation, d, y, hvi_net_slope(net, trace, rows, l), n);
}

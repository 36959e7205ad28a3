/*
 * First parameters.
 *
 *   Kaiming uniform as PyTorch's Linear has it: W and b uniform on +-1/sqrt(in).
 *   Orthogonal: W = gain Q, Q with orthonormal rows (or columns, when there are more rows than
 *   columns) from Gaussian numbers by Gram-Schmidt; b = 0.
 */
#include "base/error.h"
#include "base/memory.h"
#include "net/net.h"

#include <math.h>
#include <string.h>

void hvi_net_init_kaiming(const hvi_net *net, float *params, hvi_rng *rng) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    const double bound = 1.0 / sqrt((double)y->in);
    float *w = params + y->weight; /* the biases follow the weights */
    for (size_t i = 0; i < (y->in + 1) * y->out; i++) {
      w[i] = (float)hvi_rng_range(rng, -bound, bound);
    }
  }
}

static double gain_of(hvi_activation a) {
  switch (a) {
  case HVI_RELU:
  case HVI_CELU:
  case HVI_GELU:
    return sqrt(2.0);
  case HVI_LEAKY_RELU:
    return sqrt(2.0 / (1.0 + 1e-4));
  case HVI_TANH:
    return 5.0 / 3.0;
  default:
    return 1.0;
  }
}

/* v[n] -= <v, q> q */
static void remove_part(double *v, const double *q, size_t n) {
  double dot = 0.0;
  for (size_t i = 0; i < n; i++) dot += v[i] * q[i];
  for (size_t i = 0; i < n; i++) v[i] -= dot * q[i];
}

/* q[few][many]: orthonormal rows. Each is cleared of the earlier ones twice, which is enough. */
static void orthonormalise(double *q, size_t few, size_t many, hvi_rng *rng) {
  hvi_rng_fill_normal(rng, 0.0, 1.0, few * many, q);
  for (size_t i = 0; i < few; i++) {
    double *v = q + i * many, norm = 0.0;
    for (size_t pass = 0; pass < 2; pass++) {
      for (size_t j = 0; j < i; j++) remove_part(v, q + j * many, many);
    }
    for (size_t j = 0; j < many; j++) norm += v[j] * v[j];
    norm = sqrt(norm);
    for (size_t j = 0; j < many; j++) v[j] /= norm;
  }
}

hvi_status hvi_net_init_orthogonal(const hvi_net *net, float *params, hvi_rng *rng,
                                   hvi_error *err) {
  size_t most = 0;
  for (size_t l = 0; l < net->layer_count; l++) {
    const size_t size = net->layers[l].in * net->layers[l].out;
    if (size > most) most = size;
  }
  double *q = hvi_alloc_doubles(most);
  if (!q) return hvi_error_set(err, HVI_ERROR_MEMORY, "no memory for a layer's first weights");
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    const double gain = gain_of(y->activation);
    const bool wide = y->out <= y->in;
    orthonormalise(q, wide ? y->out : y->in, wide ? y->in : y->out, rng);
    float *w = params + y->weight;
    for (size_t i = 0; i < y->out; i++) {
      for (size_t j = 0; j < y->in; j++) {
        w[i * y->in + j] = (float)(gain * (wide ? q[i * y->in + j] : q[j * y->out + i]));
      }
    }
    memset(params + y->bias, 0, y->out * sizeof *params);
  }
  hvi_free(q);
  return HVI_OK;
}

/* Activations by name, and the one that mixes its inputs. */
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

void hvi_activation_softmax(double *y, size_t n) {
  double top = y[0], sum = 0.0;
  for (size_t i = 1; i < n; i++) top = y[i] > top ? y[i] : top;
  for (size_t i = 0; i < n; i++) sum += y[i] = exp(y[i] - top);
  const double scale = 1.0 / sum;
  for (size_t i = 0; i < n; i++) y[i] *= scale;
}

void hvi_activation_pull_softmax(double *out, const double *u, const double *y, size_t n) {
  double mean = 0.0;
  for (size_t i = 0; i < n; i++) mean += u[i] * y[i];
  for (size_t i = 0; i < n; i++) out[i] = y[i] * (u[i] - mean);
}

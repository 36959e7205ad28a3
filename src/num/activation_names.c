/* Activations by name. */
#include "base/base.h"

#include <hvi/activation.h>

static const char *const names[HVI_ACTIVATION_COUNT] = {
    [HVI_IDENTITY] = "identity",     [HVI_CELU] = "celu", [HVI_SIGMOID] = "sigmoid",
    [HVI_SOFTMAX] = "softmax",       [HVI_TANH] = "tanh", [HVI_RELU] = "relu",
    [HVI_LEAKY_RELU] = "leaky_relu", [HVI_GELU] = "gelu", [HVI_SOFTPLUS] = "softplus",
};

const char *hvi_activation_name(hvi_activation a) {
  return (unsigned)a < HVI_ACTIVATION_COUNT ? names[a] : NULL;
}

hvi_activation hvi_activation_find(const char *name) {
  for (int i = 0; name && i < HVI_ACTIVATION_COUNT; i++)
    if (strcmp(names[i], name) == 0) return (hvi_activation)i;
  return HVI_ACTIVATION_COUNT;
}

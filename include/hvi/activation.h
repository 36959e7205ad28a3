/* Activations: the elementwise functions of a layer, and softmax over a whole one. */
#ifndef HVI_ACTIVATION_H
#define HVI_ACTIVATION_H

#include <hvi/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hvi_activation {
  HVI_IDENTITY,
  HVI_CELU,    /* x, or exp(x) - 1 below zero */
  HVI_SIGMOID, /* 1 / (1 + exp(-x)) */
  HVI_SOFTMAX, /* exp(x_i) / sum_j exp(x_j), over the whole layer */
  HVI_TANH,
  HVI_RELU,
  HVI_LEAKY_RELU, /* x, or x / 100 below zero */
  HVI_GELU,       /* x Phi(x), exact */
  HVI_SOFTPLUS,   /* log(1 + exp(x)) */
  HVI_ACTIVATION_COUNT
} hvi_activation;

/* "celu" and so on; NULL out of range. The reverse: HVI_ACTIVATION_COUNT for an unknown name. */
HVI_API const char *hvi_activation_name(hvi_activation a);
HVI_API hvi_activation hvi_activation_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif

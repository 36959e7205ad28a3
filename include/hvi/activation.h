/* Activations, the elementwise functions of a layer and softmax over a whole one; and layers. */
#ifndef HVI_ACTIVATION_H
#define HVI_ACTIVATION_H

#include <hvi/export.h>

#include <stdbool.h>
#include <stddef.h>

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

/* One layer y = activation(W x + b). */
typedef struct hvi_layer {
  size_t out;           /* length of y */
  const double *matrix; /* W[out][in] row-major when fixed; NULL: trainable */
  const double *bias;   /* b[out] when fixed; NULL: none, or trainable */
  bool train_bias;      /* b is part of theta (bias must then be NULL) */
  hvi_activation activation;
} hvi_layer;

#ifdef __cplusplus
}
#endif

#endif

/*
 * Adam's rule, over many parameters:
 *
 *   m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
 *   theta <- keep theta - rate m / (sqrt(scale v) + eps)
 */
#pragma once

#include <stddef.h>

typedef struct hvi_adam_rates {
  double beta1, beta2, epsilon;
  double rate;  /* lr / (1 - beta1^k) */
  double scale; /* 1 / (1 - beta2^k) */
  double keep;  /* 1 - lr * weight_decay */
} hvi_adam_rates;

void hvi_adam_update(double *theta, double *m, double *v, const double *g, const hvi_adam_rates *r,
                     size_t n);

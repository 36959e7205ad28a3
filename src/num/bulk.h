/*
 * Long elementwise loops, built once per instruction set and chosen when the library runs: the
 * updates of first-order optimizers, and the border between the doubles of interfaces and the
 * floats of networks.
 *
 * Nothing is contracted or reordered, so every build gives the same bits as the plain loop.
 */
#pragma once

#include <stddef.h>

/* Shorter loops are not worth a call. */
enum { HVI_BULK_LEAST = 64 };

typedef struct hvi_adam_rates {
  double beta1, beta2, epsilon;
  double rate;  /* lr / (1 - beta1^k) */
  double scale; /* 1 / (1 - beta2^k) */
  double keep;  /* 1 - lr * weight_decay */
} hvi_adam_rates;

typedef struct hvi_bulk {
  const char *name; /* "avx512" ... */
  /* next = theta - rate g */
  void (*descend)(double *next, const double *theta, const double *g, double rate, size_t n);
  /* velocity <- keep velocity + g;  next = theta - rate velocity */
  void (*momentum)(double *next, double *velocity, const double *theta, const double *g,
                   double keep, double rate, size_t n);
  /* m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
   * next = keep theta - rate m / (sqrt(scale v) + eps) */
  void (*adam)(double *next, double *m, double *v, const double *theta, const double *g,
               const hvi_adam_rates *r, size_t n);
  void (*narrow)(float *out, const double *x, size_t n);
  void (*widen)(double *out, const float *x, size_t n);
} hvi_bulk;

extern const hvi_bulk hvi_bulk_baseline, hvi_bulk_avx2, hvi_bulk_avx512;

/* The builds that this CPU can run, fastest first, ending in NULL. */
const hvi_bulk *const *hvi_bulk_list(void);
const hvi_bulk *hvi_bulk_best(void); /* the first of them */

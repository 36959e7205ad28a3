/*
 * The single-precision kernels of networks, built once per instruction set and chosen when the
 * library runs.
 *
 * A layer of a network needs three products, with X[rows][in], W[out][in] and D =
 * dloss/dA[rows][out]:
 *
 *   forward    Y  = s(X W' + b)        A = X, B = W' (kept beside W)
 *   backward   Dx = (D W) * s'         A = D, B = W
 *   gradient   dW = D' X               A = D read down its columns, B = X
 *
 * In all three the rows of B are contiguous, and so are either the rows or the columns of A: one
 * kernel serves them without packing. Lanes of the last vector that lie outside B are computed and
 * thrown away, so B must be readable for HVI_NET_SLACK floats past its end.
 *
 * A sum over k is taken in the order of k by one FMA each, whatever the tile, so a row of C depends
 * on that row of A and on B alone, not on how many rows are computed with it. One column (n = b_row
 * = a_step = 1) is summed by lanes instead, in an order that depends on k alone. The build without
 * FMA rounds each product as well.
 */
#pragma once

#include <hvi/activation.h>
#include <hvi/rng.h>

#include <stdbool.h>
#include <stddef.h>

enum { HVI_NET_SLACK = 64 };

/* So many floats, filled up to whole lines of cache. */
static inline size_t hvi_net_aligned(size_t floats) { return (floats + 15) / 16 * 16; }

typedef enum hvi_finish {
  HVI_FINISH_STORE,    /* C = AB */
  HVI_FINISH_ADD,      /* C += AB */
  HVI_FINISH_ACTIVATE, /* C = s(AB + bias); softmax over whole rows */
  HVI_FINISH_PULL      /* C = AB * s', by the outputs y (and slopes) of that layer */
} hvi_finish;

/* C[m][n] = A[m][k] B[k][n], finished while the rows are in cache. */
typedef struct hvi_product {
  size_t m, n, k;
  const float *a;
  size_t a_row, a_step; /* A[i][l] = a[i * a_row + l * a_step]; one of them is 1 */
  const float *b;
  size_t b_row; /* B[l][j] = b[l * b_row + j] */
  float *c;
  size_t c_row;
  hvi_finish finish;
  hvi_activation activation;
  const float *bias; /* [n] ACTIVATE; NULL: none */
  float *slope; /* [m][c_row] ACTIVATE: receives s'(.), unless NULL; see hvi_activation_keeps */
  const float *y, *y_slope; /* [m][c_row] PULL: outputs of the layer below, and s'(.) if kept */
} hvi_product;

/* C = AB with rows of A and B that begin a_row and b_row apart, and rows of C without gaps. */
static inline hvi_product hvi_product_of(float *c, size_t m, size_t n, size_t k, const float *a,
                                         size_t a_row, const float *b, size_t b_row) {
  hvi_product p = {.m = m, .n = n, .k = k, .a = a, .a_row = a_row, .a_step = 1};
  p.b = b;
  p.b_row = b_row;
  p.c = c;
  p.c_row = n;
  return p;
}

/* PyTorch's Adam and AdamW on floats: see adam in the table below. */
typedef struct hvi_adam_step {
  float beta1, beta2, epsilon;
  float rate;  /* lr / (1 - beta1^k) */
  float scale; /* 1 / (1 - beta2^k) */
  float keep;  /* 1 - lr * weight_decay */
} hvi_adam_step;

typedef struct hvi_net_kernels {
  const char *name; /* "avx512" ... */
  void (*product)(const hvi_product *p);
  /* out[j] += sum over rows of d[i][j]: gradients of biases, rows in order */
  void (*add_rows)(float *out, const float *d, size_t rows, size_t n, size_t row);
  /* out[cols][rows] = in[rows][cols]' */
  void (*transpose)(float *out, const float *in, size_t rows, size_t cols);
  /* m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
   * theta <- keep theta - rate m / (sqrt(scale v) + eps) */
  void (*adam)(float *theta, float *m, float *v, const float *g, size_t n, const hvi_adam_step *s);
  /* target <- target + tau (source - target) */
  void (*follow)(float *target, const float *source, size_t n, float tau);
  /* out[n] ~ N(0, 1), four from each whole block of the generator's stream (Box-Muller) */
  void (*normals)(float *out, size_t n, hvi_rng *rng);
  /* elementwise, within 2 ulp or so: for policies and for the tests of accuracy. y may be x. */
  void (*exp)(float *y, const float *x, size_t n);
  void (*tanh)(float *y, const float *x, size_t n);
  void (*log)(float *y, const float *x, size_t n);
} hvi_net_kernels;

extern const hvi_net_kernels hvi_net_baseline, hvi_net_avx2, hvi_net_avx512;

/* The builds that this CPU can run, fastest first, ending in NULL. */
const hvi_net_kernels *const *hvi_net_kernel_list(void);

/* Whether s' cannot be had from the output and is kept in an array of its own (gelu, softplus). */
static inline bool hvi_activation_keeps(hvi_activation a) {
  return a == HVI_GELU || a == HVI_SOFTPLUS;
}

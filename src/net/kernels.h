/*
 * The kernels of networks, in single and in double precision, built once per instruction set and
 * chosen when the library runs. Arrays of the kernels' own numbers are `void` here, and `real` says
 * how long a number is.
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
 * thrown away, so B must be readable for HVI_NET_SLACK numbers past its end.
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

/* So many numbers, filled up to whole lines of cache. */
static inline size_t hvi_net_aligned(size_t n) { return (n + 15) / 16 * 16; }

typedef enum hvi_finish {
  HVI_FINISH_STORE,    /* C = AB */
  HVI_FINISH_ADD,      /* C += AB */
  HVI_FINISH_ACTIVATE, /* C = s(AB + bias); softmax over whole rows */
  HVI_FINISH_PULL      /* C = AB * s', by the outputs y (and slopes) of that layer */
} hvi_finish;

/* C[m][n] = A[m][k] B[k][n], finished while the rows are in cache. */
typedef struct hvi_product {
  size_t m, n, k;
  const void *a;
  size_t a_row, a_step; /* A[i][l] = a[i * a_row + l * a_step]; one of them is 1 */
  const void *b;
  size_t b_row; /* B[l][j] = b[l * b_row + j] */
  void *c;
  size_t c_row;
  hvi_finish finish;
  hvi_activation activation;
  const void *bias;        /* [n] ACTIVATE; NULL: none */
  void *slope;             /* [m][c_row] ACTIVATE: receives s'(.), unless NULL; see hvi_net_keeps */
  const void *y, *y_slope; /* [m][c_row] PULL: outputs of the layer below, and s'(.) if kept */
  const void *next;        /* what the next product streams, fetched into L2 meanwhile; or NULL */
  size_t next_size;        /* in bytes */
} hvi_product;

/* C = AB with rows of A and B that begin a_row and b_row apart, and rows of C without gaps. */
static inline hvi_product hvi_product_of(void *c, size_t m, size_t n, size_t k, const void *a,
                                         size_t a_row, const void *b, size_t b_row) {
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
  size_t real;      /* bytes of a number: those of a float or a double */
  unsigned kept;    /* activations whose slopes are kept, a bit each */
  void (*product)(const hvi_product *p);
  /* out[j] += sum over rows of d[i][j]: gradients of biases, rows in order */
  void (*add_rows)(void *out, const void *d, size_t rows, size_t n, size_t row);
  /* out[cols][rows] = in[rows][cols]' */
  void (*transpose)(void *out, const void *in, size_t rows, size_t cols);
  /* u[rows][n] <- u s', by the outputs y[rows][n], or by the slopes where they are kept; softmax's
   * s' is symmetric, so this is also what a tangent is multiplied by */
  void (*pull)(hvi_activation s, void *u, const void *y, size_t rows, size_t n);
  /* from doubles, and to them */
  void (*take)(void *out, const double *x, size_t n);
  void (*give)(double *out, const void *x, size_t n);
  /* out += x */
  void (*add)(void *out, const void *x, size_t n);
  /* out[i * step] += p[i] (q[i] + more) */
  void (*add_gram)(double *out, const void *p, const void *q, double more, size_t n, size_t step);
  /* out[i] = d x[i] */
  void (*multiples)(double *out, const void *x, const void *d, size_t n);
  /* elementwise, within 2 ulp or so: for policies and for the tests of accuracy. y may be x. */
  void (*exp)(void *y, const void *x, size_t n);
  void (*tanh)(void *y, const void *x, size_t n);
  void (*log)(void *y, const void *x, size_t n);
  /* The rest is for learners, and in single precision alone.
   * m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
   * theta <- keep theta - rate m / (sqrt(scale v) + eps) */
  void (*adam)(float *theta, float *m, float *v, const float *g, size_t n, const hvi_adam_step *s);
  /* target <- target + tau (source - target) */
  void (*follow)(float *target, const float *source, size_t n, float tau);
  /* out[n] ~ N(0, 1), four from each whole block of the generator's stream (Box-Muller) */
  void (*normals)(float *out, size_t n, hvi_rng *rng);
} hvi_net_kernels;

extern const hvi_net_kernels hvi_net_baseline, hvi_net_avx2, hvi_net_avx512;
extern const hvi_net_kernels hvi_net_double_baseline, hvi_net_double_avx2, hvi_net_double_avx512;

/* The builds that this CPU can run, fastest first, ending in NULL. */
const hvi_net_kernels *const *hvi_net_kernel_list(void);
const hvi_net_kernels *const *hvi_net_double_kernel_list(void);

/* Whether s' cannot be had from the output, or not to all its digits, and is kept in an array of its
 * own: gelu and softplus, and in doubles celu, tanh and sigmoid as well. */
static inline bool hvi_net_keeps(const hvi_net_kernels *k, hvi_activation s) {
  return k->kept >> s & 1u;
}

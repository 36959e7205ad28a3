/*
 * Networks in single or double precision: shapes, passes forward and backward.
 *
 *   A_0 = X,   A_l = s_l(A_{l-1} W_l' + b_l),   l = 1 .. L
 *
 * Parameters are one flat vector, W_1 b_1 W_2 b_2 ..., each W row-major [out][in] as PyTorch has
 * it. A pass works on a slice of at most HVI_NET_ROWS rows, which stays in cache; larger batches
 * are slices (net/batch.h). A network is constant and shared; weights and traces belong to the
 * caller, and are floats, or doubles if it is one of doubles.
 */
#pragma once

#include "net/kernels.h"

#include <hvi/error.h>
#include <hvi/rng.h>

#include <stdint.h>

enum { HVI_NET_ROWS = 256 };

typedef struct hvi_net_layer {
  size_t in, out;
  size_t weight;                 /* where W[out][in] begins among the parameters */
  size_t bias;                   /* where b[out] begins */
  size_t transposed;             /* where W'[in][out] begins behind the parameters */
  bool fixed_weight, fixed_bias; /* no derivatives are wanted */
  hvi_activation activation;
} hvi_net_layer;

typedef struct hvi_net {
  size_t in, out;
  size_t dim;     /* parameters */
  size_t weights; /* numbers that weights take: parameters, transposed matrices, slack */
  size_t layer_count, widest;
  size_t cache; /* bytes: what is larger is fetched from behind it, ahead of its use */
  const hvi_net_kernels *kernels;
  hvi_net_layer layers[];
} hvi_net;

typedef struct hvi_net_spec {
  size_t in;
  size_t layer_count;   /* with the head */
  const size_t *widths; /* [layer_count]; the last is the number of outputs */
  hvi_activation hidden, head;
  const hvi_layer
      *layers; /* [layer_count] instead of these: widths, activations, what is trained */
} hvi_net_spec;

/* Number n of an array of the network's numbers. */
static inline void *hvi_net_at(const hvi_net *net, const void *array, size_t n) {
  return (void *)((uintptr_t)array + n * net->kernels->real);
}

/* Floats. Before it is used the kernels may be others: hvi_net_double_kernel_list has those that make
 * it one of doubles. */
hvi_status hvi_net_new(hvi_net **net, const hvi_net_spec *spec, hvi_error *err);
void hvi_net_free(hvi_net *net);

/* PyTorch's default: W and b uniform on +-1/sqrt(in). Orthogonal: orthonormal rows or columns, from
 * Gaussian numbers by Gram-Schmidt, times the gain of the activation (sqrt 2 for relu and its kin,
 * 5/3 for tanh, else 1), b = 0. Floats, whatever the network's numbers are. */
void hvi_net_init_kaiming(const hvi_net *net, float *params, hvi_rng *rng);
hvi_status hvi_net_init_orthogonal(const hvi_net *net, float *params, hvi_rng *rng, hvi_error *err);

/* weights[net->weights] has the parameters first; fills in the rest, of all layers or of one. After every
 * change of them. */
void hvi_net_prepare(const hvi_net *net, void *weights);
void hvi_net_prepare_layer(const hvi_net *net, void *weights, size_t l);

/* Numbers that a trace of `rows` rows takes: outputs of all layers, slopes where kept, slack. */
size_t hvi_net_trace(const hvi_net *net, size_t rows);
/* Where layer l's output [rows][out] lies in a trace, l = 0 .. layer_count - 1. */
void *hvi_net_output(const hvi_net *net, const void *trace, size_t rows, size_t l);

/* Fills the trace; x[rows][x_row], readable for HVI_NET_SLACK numbers past its end. */
void hvi_net_forward(const hvi_net *net, const void *weights, size_t rows, const void *x,
                     size_t x_row, void *trace);

/*
 * After a forward pass with the same x and trace: dy[rows][out] = dloss/doutput, gives
 *   grad[dim] += dloss/dparameters          when grad is not NULL,
 *   dx[rows][dx_count] = dloss/dx[:, dx_first ..]    when dx is not NULL (a critic's actions, say).
 * deltas (hvi_net_trace numbers) keeps dloss/d(pre-activation) of every layer, laid out as the
 * trace.
 */
typedef struct hvi_net_pull {
  const void *dy; /* [rows][out] */
  void *deltas;
  void *grad;
  bool fresh; /* grad = instead of += */
  void *dx;
  size_t dx_first, dx_count;
} hvi_net_pull;

void hvi_net_backward(const hvi_net *net, const void *weights, size_t rows, const void *x,
                      size_t x_row, const void *trace, const hvi_net_pull *pull);

/* The derivative of the outputs along a change of the parameters, after a forward pass. `direction`
 * is laid out as weights, and prepared as they are; `tangent` as the trace, and its last layer is
 * the result. */
void hvi_net_tangent(const hvi_net *net, const void *weights, size_t rows, const void *x,
                     size_t x_row, const void *trace, const void *direction, void *tangent);

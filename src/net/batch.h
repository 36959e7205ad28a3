/*
 * Batches of any size: slices of HVI_NET_ROWS rows, which threads pick up.
 *
 * What a slice computes depends on its rows alone, and the gradients of slices are added in the
 * order of slices, so results are the same bits for any number of threads. Outputs, and what they
 * are multiplied by, are doubles, as a model's are.
 */
#pragma once

#include "net/net.h"

typedef struct hvi_batch {
  const hvi_net *net;
  const void *weights; /* prepared */
  size_t rows;
  const void *x; /* [rows][x_row], with HVI_NET_SLACK numbers after it */
  size_t x_row;
  size_t threads; /* at least 1 */
  void *trace;    /* hvi_batch_trace numbers, filled by forward and read by the rest */
  void *scratch;  /* hvi_batch_scratch numbers */
} hvi_batch;

size_t hvi_batch_trace(const hvi_net *net, size_t rows);
size_t hvi_batch_scratch(const hvi_net *net, size_t rows, size_t threads);

/* y[rows][out] */
void hvi_batch_forward(const hvi_batch *b, double *y);
/* grad[dim] = J'u, u[rows][out] */
void hvi_batch_backward(const hvi_batch *b, const double *u, void *grad);
/* out[rows][out] = J v, with v as `direction`, laid out and prepared as weights */
void hvi_batch_tangent(const hvi_batch *b, const void *direction, double *out);

/* J[(end - first) * out][row]: rows of J of the examples first .. end, without what is fixed */
void hvi_batch_jacobian(const hvi_batch *b, size_t first, size_t end, double *J, size_t row);
/* K[rows * out][row] = J J', without J; its lower triangle at least. Without what is fixed. */
void hvi_batch_outer(const hvi_batch *b, double *K, size_t row, void *work);
size_t hvi_batch_outer_work(const hvi_net *net, size_t rows, size_t threads); /* numbers */

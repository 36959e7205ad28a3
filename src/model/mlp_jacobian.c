/*
 * Rows of a network's Jacobian. With D_l the sensitivities of one output of example i, the part of
 * its row that belongs to layer l is the outer product D_l[i] A_{l-1}[i]' for W_l, and D_l[i] for
 * b_l. One backward pass a slice and output, without gradients.
 */
#include "model/mlp.h"

#include "num/vec.h"

/* The row of example i of a slice. */
static void write_row(double *row, const hvi_batch *b, const hvi_slice *s, const float *deltas,
                      size_t i) {
  const hvi_net *net = b->net;
  const float *a = s->x + i * b->x_row;
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    const float *d = hvi_net_output(net, (float *)(size_t)deltas, s->rows, l) + i * layer->out;
    for (size_t j = 0; j < layer->out; j++) {
      double *w = row + layer->weight + j * layer->in;
      for (size_t k = 0; k < layer->in; k++) w[k] = (double)(d[j] * a[k]);
      row[layer->bias + j] = (double)d[j];
    }
    a = hvi_net_output(net, s->trace, s->rows, l) + i * layer->out;
  }
}

/* Those rows of a slice that lie in first .. end, J beginning at `first`. */
static void write_slice(double *J, const hvi_batch *b, const hvi_slice *s, size_t first,
                        size_t end) {
  const hvi_net *net = b->net;
  float *dy = hvi_batch_dy(b, 0), *deltas = hvi_batch_deltas(b, 0);
  const size_t from = first > s->first ? first : s->first;
  const size_t to = end < s->first + s->rows ? end : s->first + s->rows;
  for (size_t unit = 0; unit < net->out; unit++) {
    hvi_slice_sensitivity(b, s, unit, dy, deltas);
    for (size_t i = from; i < to; i++) {
      write_row(J + ((i - first) * net->out + unit) * net->dim, b, s, deltas, i - s->first);
    }
  }
}

void hvi_mlp_jacobian_rows(const hvi_model *model, double *cache, size_t first, size_t count,
                           double *J) {
  const hvi_mlp *mlp = hvi_mlp_of(model);
  if (!mlp || first >= mlp->rows) return;
  const hvi_batch b = hvi_mlp_batch_of(mlp, cache);
  const size_t end = count < mlp->rows - first ? first + count : mlp->rows;
  const size_t bound = end < b.rows ? end : b.rows;
  for (size_t k = first / HVI_NET_ROWS; k * HVI_NET_ROWS < bound; k++) {
    const hvi_slice s = hvi_batch_slice(&b, k);
    write_slice(J, &b, &s, first, bound);
  }
  const size_t row = mlp->net->out * mlp->net->dim, begin = first > bound ? first : bound;
  if (begin < end) hvi_vec_zero(J + (begin - first) * row, (end - begin) * row);
}

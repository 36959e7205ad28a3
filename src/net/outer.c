/*
 * K = J J' of a network with one output. The row of J that belongs to example i is, layer by layer,
 * the outer product of D_l[i] and (A_{l-1}[i], 1), and the inner product of two outer products is
 * the product of two inner products:
 *
 *   K[i][j] = sum_l <D_l[i], D_l[j]> (<A_{l-1}[i], A_{l-1}[j]> + 1)
 *
 * It is computed in tiles, a slice of rows by a slice of columns: P = D D' and Q = A A' in floats,
 * then K += P (Q + 1) in doubles, layers in order. A chunk of work is the tiles of one slice of
 * columns, at and below the diagonal, so no two threads write to the same place.
 */
#include "base/parallel.h"
#include "net/batch.h"
#include "num/bulk.h"

enum { TILE = HVI_NET_ROWS * HVI_NET_ROWS + HVI_NET_SLACK };

static size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

static size_t widest_row(const hvi_net *net) {
  const size_t in = aligned(net->in);
  return in > net->widest ? in : net->widest;
}

/* A worker's own: A' and D' of a slice of columns, layer by layer as they are needed, P and Q. */
static size_t turned_room(const hvi_net *net) {
  return aligned(HVI_NET_ROWS * widest_row(net) + HVI_NET_SLACK);
}

static size_t worker_room(const hvi_net *net) { return 2 * turned_room(net) + 2 * aligned(TILE); }

static size_t slice_room(const hvi_net *net) { return aligned(hvi_net_trace(net, HVI_NET_ROWS)); }

size_t hvi_batch_outer_work(const hvi_net *net, size_t rows, size_t threads) {
  const size_t slices = (rows + HVI_NET_ROWS - 1) / HVI_NET_ROWS;
  return slices * slice_room(net) + threads * worker_room(net);
}

typedef struct outer {
  const hvi_batch *b;
  const hvi_bulk *bulk;
  double *K;
  size_t row; /* of K */
  float *deltas, *rooms;
} outer;

/* The matrix that layer l of a slice multiplies: its inputs, rows of `*row` floats. */
static const float *layer_input(const outer *o, const hvi_slice *s, size_t l, size_t *row) {
  if (l == 0) {
    *row = o->b->x_row;
    return s->x;
  }
  *row = o->b->net->layers[l].in;
  return hvi_net_output(o->b->net, s->trace, s->rows, l - 1);
}

static float *layer_deltas(const outer *o, size_t slice, size_t rows, size_t l) {
  return hvi_net_output(o->b->net, o->deltas + slice * slice_room(o->b->net), rows, l);
}

/* c[m][n] = a bt, a[m][k] in rows of a_row, bt[k][n] */
static void multiply(const hvi_net *net, float *c, const float *a, size_t a_row, const float *bt,
                     size_t m, size_t n, size_t k) {
  net->kernels->product(&(hvi_product){.m = m,
                                       .n = n,
                                       .k = k,
                                       .a = a,
                                       .a_row = a_row,
                                       .a_step = 1,
                                       .b = bt,
                                       .b_row = n,
                                       .c = c,
                                       .c_row = n,
                                       .finish = HVI_FINISH_STORE});
}

/* Adds layer l to the tiles of a slice of columns. */
static void add_layer(const outer *o, size_t column, size_t l, float *room) {
  const hvi_net *net = o->b->net;
  const hvi_net_layer *layer = &net->layers[l];
  const hvi_slice left = hvi_batch_slice(o->b, column);
  float *at = room, *dt = at + turned_room(net), *q = dt + turned_room(net), *p = q + aligned(TILE);
  size_t row;
  const float *a = layer_input(o, &left, l, &row);
  net->kernels->transpose(at, a, left.rows, row);
  net->kernels->transpose(dt, layer_deltas(o, column, left.rows, l), left.rows, layer->out);
  for (size_t k = column; k < hvi_batch_slices(o->b); k++) {
    const hvi_slice s = hvi_batch_slice(o->b, k);
    a = layer_input(o, &s, l, &row);
    multiply(net, q, a, row, at, s.rows, left.rows, layer->in);
    multiply(net, p, layer_deltas(o, k, s.rows, l), layer->out, dt, s.rows, left.rows, layer->out);
    for (size_t i = 0; i < s.rows; i++) {
      o->bulk->add_gram(o->K + (s.first + i) * o->row + left.first, p + i * left.rows,
                        q + i * left.rows, l == 0, left.rows);
    }
  }
}

static hvi_status do_column(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  for (size_t l = 0; l < o->b->net->layer_count; l++) {
    add_layer(o, chunk, l, o->rooms + worker * worker_room(o->b->net));
  }
  return HVI_OK;
}

static hvi_status do_deltas(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  const hvi_slice s = hvi_batch_slice(o->b, chunk);
  hvi_slice_sensitivity(o->b, &s, 0, o->rooms + worker * worker_room(o->b->net),
                        o->deltas + chunk * slice_room(o->b->net));
  return HVI_OK;
}

void hvi_batch_outer(const hvi_batch *b, double *K, size_t row, float *work) {
  const size_t slices = hvi_batch_slices(b);
  outer o = {.b = b, .bulk = hvi_bulk_best(), .K = K, .row = row, .deltas = work};
  o.rooms = work + slices * slice_room(b->net);
  hvi_parallel_run(slices, b->threads, do_deltas, &o, NULL);
  hvi_parallel_run(slices, b->threads, do_column, &o, NULL);
}

/*
 * Batches in slices. Gradients are added in the order of slices,
 *
 *   grad = ((g_0 + g_1) + g_2) + ...
 *
 * by one thread directly, since the kernels add a slice's whole sum to what is there. Several
 * threads keep a gradient each, and a slice waits until all before it have been added; slices are
 * handed out in order, so the one that is waited for is always at work.
 */
#include "net/batch.h"

#include "base/base.h"
#include "base/parallel.h"
#include "num/bulk.h"

#include <pthread.h>

static size_t slice_count(size_t rows) { return (rows + HVI_NET_ROWS - 1) / HVI_NET_ROWS; }

static size_t slice_trace(const hvi_net *net, size_t rows) {
  return hvi_net_aligned(hvi_net_trace(net, rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS));
}

hvi_slice hvi_batch_slice(const hvi_batch *b, size_t k) {
  const size_t first = k * HVI_NET_ROWS, left = b->rows - first;
  return (hvi_slice){.first = first,
                     .rows = left < HVI_NET_ROWS ? left : HVI_NET_ROWS,
                     .x = b->x + first * b->x_row,
                     .trace = b->trace + k * slice_trace(b->net, b->rows)};
}

size_t hvi_batch_trace(const hvi_net *net, size_t rows) {
  return slice_count(rows) * slice_trace(net, rows);
}

/* A worker's scratch: dy[rows][out], then deltas or tangents, then a gradient when there are
 * several workers. */
static size_t slice_outputs(const hvi_net *net, size_t rows) {
  return hvi_net_aligned((rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS) * net->out + HVI_NET_SLACK);
}

static size_t worker_scratch(const hvi_net *net, size_t rows, size_t threads) {
  return slice_outputs(net, rows) + slice_trace(net, rows) +
         (threads > 1 ? hvi_net_aligned(net->dim) : 0);
}

size_t hvi_batch_scratch(const hvi_net *net, size_t rows, size_t threads) {
  return threads * worker_scratch(net, rows, threads);
}

float *hvi_batch_dy(const hvi_batch *b, size_t worker) {
  return b->scratch + worker * worker_scratch(b->net, b->rows, b->threads);
}

float *hvi_batch_deltas(const hvi_batch *b, size_t worker) {
  return hvi_batch_dy(b, worker) + slice_outputs(b->net, b->rows);
}

static float *gradient_of(const hvi_batch *b, size_t worker) {
  return hvi_batch_deltas(b, worker) + slice_trace(b->net, b->rows);
}

/* What the chunks of one pass share. */
typedef struct pass {
  const hvi_batch *b;
  double *y;
  const double *u;
  const float *direction;
  float *grad;
  pthread_mutex_t lock;
  pthread_cond_t moved;
  size_t added; /* slices whose gradient has been added */
} pass;

/* Outputs, or their derivatives along a direction. */
static hvi_status value_slice(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const pass *p = context;
  const hvi_batch *b = p->b;
  const hvi_net *net = b->net;
  const hvi_slice s = hvi_batch_slice(b, chunk);
  float *to = p->direction ? hvi_batch_deltas(b, worker) : s.trace;
  if (p->direction)
    hvi_net_tangent(net, b->weights, s.rows, s.x, b->x_row, s.trace, p->direction, to);
  else
    hvi_net_forward(net, b->weights, s.rows, s.x, b->x_row, to);
  const float *y = hvi_net_output(net, to, s.rows, net->layer_count - 1);
  hvi_bulk_best()->widen(p->y + s.first * net->out, y, s.rows * net->out);
  return HVI_OK;
}

void hvi_batch_forward(const hvi_batch *b, double *y) {
  pass p = {.b = b, .y = y};
  hvi_parallel_run(slice_count(b->rows), b->threads, value_slice, &p, NULL);
}

void hvi_batch_tangent(const hvi_batch *b, const float *direction, double *out) {
  pass p = {.b = b, .y = out, .direction = direction};
  hvi_parallel_run(slice_count(b->rows), b->threads, value_slice, &p, NULL);
}

/* What is pulled back through a slice, in a worker's scratch. */
static hvi_net_pull pull_of(const hvi_batch *b, const hvi_slice *s, size_t worker,
                            const double *u) {
  const size_t out = b->net->out;
  float *dy = hvi_batch_dy(b, worker);
  hvi_bulk_best()->narrow(dy, u + s->first * out, s->rows * out);
  return (hvi_net_pull){.dy = dy, .deltas = hvi_batch_deltas(b, worker), .fresh = true};
}

static hvi_status backward_slice(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  pass *p = context;
  const hvi_batch *b = p->b;
  const hvi_slice s = hvi_batch_slice(b, chunk);
  hvi_net_pull pull = pull_of(b, &s, worker, p->u);
  pull.grad = gradient_of(b, worker);
  hvi_net_backward(b->net, b->weights, s.rows, s.x, b->x_row, s.trace, &pull);
  pthread_mutex_lock(&p->lock);
  while (p->added != chunk) pthread_cond_wait(&p->moved, &p->lock);
  if (chunk == 0)
    memcpy(p->grad, pull.grad, b->net->dim * sizeof *p->grad);
  else
    hvi_bulk_best()->add(p->grad, pull.grad, b->net->dim);
  p->added++;
  pthread_cond_broadcast(&p->moved);
  pthread_mutex_unlock(&p->lock);
  return HVI_OK;
}

void hvi_batch_backward(const hvi_batch *b, const double *u, float *grad) {
  const size_t slices = slice_count(b->rows);
  if (b->threads > 1) {
    pass p = {.b = b, .u = u, .grad = grad};
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.moved, NULL);
    hvi_parallel_run(slices, b->threads, backward_slice, &p, NULL);
    pthread_cond_destroy(&p.moved);
    pthread_mutex_destroy(&p.lock);
    return;
  }
  for (size_t k = 0; k < slices; k++) {
    const hvi_slice s = hvi_batch_slice(b, k);
    hvi_net_pull pull = pull_of(b, &s, 0, u);
    pull.grad = grad;
    pull.fresh = k == 0;
    hvi_net_backward(b->net, b->weights, s.rows, s.x, b->x_row, s.trace, &pull);
  }
}

void hvi_slice_sensitivity(const hvi_batch *b, const hvi_slice *s, size_t unit, float *dy,
                           float *deltas) {
  const size_t out = b->net->out;
  for (size_t i = 0; i < s->rows * out; i++) dy[i] = i % out == unit ? 1.0F : 0.0F;
  const hvi_net_pull pull = {.dy = dy, .deltas = deltas};
  hvi_net_backward(b->net, b->weights, s->rows, s->x, b->x_row, s->trace, &pull);
}

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
enum { TILE = HVI_NET_ROWS * HVI_NET_ROWS + HVI_NET_SLACK };

/* A worker's own: A' and D' of a slice of columns, layer by layer as they are needed, P and Q. */
static size_t transposed_size(const hvi_net *net) {
  const size_t in = hvi_net_aligned(net->in), widest = in > net->widest ? in : net->widest;
  return hvi_net_aligned(HVI_NET_ROWS * widest + HVI_NET_SLACK);
}

static size_t worker_size(const hvi_net *net) {
  return 2 * transposed_size(net) + 2 * hvi_net_aligned(TILE);
}

size_t hvi_batch_outer_work(const hvi_net *net, size_t rows, size_t threads) {
  return slice_count(rows) * slice_trace(net, HVI_NET_ROWS) + threads * worker_size(net);
}

typedef struct outer {
  const hvi_batch *b;
  double *K;
  size_t row; /* of K */
  float *deltas, *workspaces;
} outer;

static float *slice_deltas(const outer *o, size_t slice) {
  return o->deltas + slice * slice_trace(o->b->net, HVI_NET_ROWS);
}

/* The matrix that layer l of a slice multiplies. */
static const float *layer_input(const outer *o, const hvi_slice *s, size_t l) {
  return l == 0 ? s->x : hvi_net_output(o->b->net, s->trace, s->rows, l - 1);
}

/* c[m][n] = a bt, a[m][k] in rows of a_row, bt[k][n] */
static void multiply(const hvi_net *net, float *c, const float *a, size_t a_row, const float *bt,
                     size_t m, size_t n, size_t k) {
  const hvi_product p = hvi_product_of(c, m, n, k, a, a_row, bt, n);
  net->kernels->product(&p);
}

/* Adds layer l to the tiles of a slice of columns. */
static void add_layer(const outer *o, size_t column, size_t l, float *work) {
  const hvi_net *net = o->b->net;
  const size_t in = net->layers[l].in, out = net->layers[l].out;
  const size_t in_row = l == 0 ? o->b->x_row : in;
  const hvi_slice left = hvi_batch_slice(o->b, column);
  float *at = work, *dt = at + transposed_size(net), *q = dt + transposed_size(net),
        *p = q + hvi_net_aligned(TILE);
  net->kernels->transpose(at, layer_input(o, &left, l), left.rows, in_row);
  net->kernels->transpose(dt, hvi_net_output(net, slice_deltas(o, column), left.rows, l), left.rows,
                          out);
  for (size_t k = column; k < slice_count(o->b->rows); k++) {
    const hvi_slice s = hvi_batch_slice(o->b, k);
    const float *d = hvi_net_output(net, slice_deltas(o, k), s.rows, l);
    multiply(net, q, layer_input(o, &s, l), in_row, at, s.rows, left.rows, in);
    multiply(net, p, d, out, dt, s.rows, left.rows, out);
    for (size_t i = 0; i < s.rows; i++)
      hvi_bulk_best()->add_gram(o->K + (s.first + i) * o->row + left.first, p + i * left.rows,
                                q + i * left.rows, l == 0, left.rows);
  }
}

static hvi_status do_column(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  for (size_t l = 0; l < o->b->net->layer_count; l++)
    add_layer(o, chunk, l, o->workspaces + worker * worker_size(o->b->net));
  return HVI_OK;
}

static hvi_status do_deltas(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  const hvi_slice s = hvi_batch_slice(o->b, chunk);
  hvi_slice_sensitivity(o->b, &s, 0, o->workspaces + worker * worker_size(o->b->net),
                        slice_deltas(o, chunk));
  return HVI_OK;
}

void hvi_batch_outer(const hvi_batch *b, double *K, size_t row, float *work) {
  const size_t slices = slice_count(b->rows);
  outer o = {.b = b, .K = K, .row = row, .deltas = work};
  o.workspaces = slice_deltas(&o, slices);
  hvi_parallel_run(slices, b->threads, do_deltas, &o, NULL);
  hvi_parallel_run(slices, b->threads, do_column, &o, NULL);
}

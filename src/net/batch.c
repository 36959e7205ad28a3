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

#include <pthread.h>

static size_t slice_count(size_t rows) { return (rows + HVI_NET_ROWS - 1) / HVI_NET_ROWS; }

/* Rows of the first slice, which has most. */
static size_t slice_rows(size_t rows) { return rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS; }

static size_t slice_trace(const hvi_net *net, size_t rows) {
  return hvi_net_aligned(hvi_net_trace(net, slice_rows(rows)));
}

size_t hvi_batch_trace(const hvi_net *net, size_t rows) {
  return slice_count(rows) * slice_trace(net, rows);
}

/* One slice of a batch: which rows, their inputs, and where their trace lies. */
typedef struct slice {
  size_t first, rows;
  const void *x;
  void *trace;
} slice;

static slice slice_of(const hvi_batch *b, size_t k) {
  const size_t first = k * HVI_NET_ROWS;
  return (slice){.first = first,
                 .rows = slice_rows(b->rows - first),
                 .x = hvi_net_at(b->net, b->x, first * b->x_row),
                 .trace = hvi_net_at(b->net, b->trace, k * slice_trace(b->net, b->rows))};
}

/* The matrix that layer l of a slice multiplies, and how far apart its rows are. */
static const void *layer_input(const hvi_batch *b, const slice *s, size_t l, size_t *row) {
  *row = l == 0 ? b->x_row : b->net->layers[l].in;
  return l == 0 ? s->x : hvi_net_output(b->net, s->trace, s->rows, l - 1);
}

/* A worker's scratch: dy[rows][out], then deltas or tangents, then a gradient when there are
 * several workers. */
static size_t slice_outputs(const hvi_net *net, size_t rows) {
  return hvi_net_aligned(slice_rows(rows) * net->out + HVI_NET_SLACK);
}

static size_t worker_scratch(const hvi_net *net, size_t rows, size_t threads) {
  return slice_outputs(net, rows) + slice_trace(net, rows) +
         (threads > 1 ? hvi_net_aligned(net->dim) : 0);
}

size_t hvi_batch_scratch(const hvi_net *net, size_t rows, size_t threads) {
  return threads * worker_scratch(net, rows, threads);
}

static void *dy_of(const hvi_batch *b, size_t worker) {
  return hvi_net_at(b->net, b->scratch, worker * worker_scratch(b->net, b->rows, b->threads));
}

static void *deltas_of(const hvi_batch *b, size_t worker) {
  return hvi_net_at(b->net, dy_of(b, worker), slice_outputs(b->net, b->rows));
}

/* What the chunks of one pass share. */
typedef struct pass {
  const hvi_batch *b;
  double *y;
  const double *u;
  const void *direction;
  void *grad;
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
  const slice s = slice_of(b, chunk);
  void *to = p->direction ? deltas_of(b, worker) : s.trace;
  if (p->direction)
    hvi_net_tangent(net, b->weights, s.rows, s.x, b->x_row, s.trace, p->direction, to);
  else
    hvi_net_forward(net, b->weights, s.rows, s.x, b->x_row, to);
  net->kernels->give(p->y + s.first * net->out,
                     hvi_net_output(net, to, s.rows, net->layer_count - 1), s.rows * net->out);
  return HVI_OK;
}

void hvi_batch_forward(const hvi_batch *b, double *y) { hvi_batch_tangent(b, NULL, y); }

void hvi_batch_tangent(const hvi_batch *b, const void *direction, double *out) {
  pass p = {.b = b, .y = out, .direction = direction};
  hvi_parallel_run(slice_count(b->rows), b->threads, value_slice, &p, NULL);
}

static hvi_status backward_slice(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  pass *p = context;
  const hvi_batch *b = p->b;
  const hvi_net *net = b->net;
  const slice s = slice_of(b, chunk);
  const bool alone = b->threads == 1;
  hvi_net_pull pull = {.dy = dy_of(b, worker), .deltas = deltas_of(b, worker)};
  pull.grad = alone ? p->grad : hvi_net_at(net, pull.deltas, slice_trace(net, b->rows));
  pull.fresh = !alone || chunk == 0;
  net->kernels->take(dy_of(b, worker), p->u + s.first * net->out, s.rows * net->out);
  hvi_net_backward(net, b->weights, s.rows, s.x, b->x_row, s.trace, &pull);
  if (alone) return HVI_OK;
  pthread_mutex_lock(&p->lock);
  while (p->added != chunk) pthread_cond_wait(&p->moved, &p->lock);
  if (chunk == 0)
    memcpy(p->grad, pull.grad, net->dim * net->kernels->real);
  else
    net->kernels->add(p->grad, pull.grad, net->dim);
  p->added++;
  pthread_cond_broadcast(&p->moved);
  pthread_mutex_unlock(&p->lock);
  return HVI_OK;
}

void hvi_batch_backward(const hvi_batch *b, const double *u, void *grad) {
  pass p = {.b = b, .u = u, .grad = grad};
  pthread_mutex_init(&p.lock, NULL);
  pthread_cond_init(&p.moved, NULL);
  hvi_parallel_run(slice_count(b->rows), b->threads, backward_slice, &p, NULL);
  pthread_cond_destroy(&p.moved);
  pthread_mutex_destroy(&p.lock);
}

/* deltas (hvi_net_trace numbers) = how output number `unit` of each row of the slice changes with
 * the sums before the activations */
static void find_sensitivity(const hvi_batch *b, const slice *s, size_t unit, size_t worker,
                             void *deltas) {
  const hvi_net *net = b->net;
  const double one = 1.0;
  void *dy = dy_of(b, worker);
  memset(dy, 0, s->rows * net->out * net->kernels->real);
  for (size_t i = 0; i < s->rows; i++)
    net->kernels->take(hvi_net_at(net, dy, i * net->out + unit), &one, 1);
  const hvi_net_pull pull = {.dy = dy, .deltas = deltas};
  hvi_net_backward(net, b->weights, s->rows, s->x, b->x_row, s->trace, &pull);
}

/*
 * Rows of J. With D_l the sensitivities of one output of example i, the part of its row that belongs
 * to layer l is the outer product D_l[i] A_{l-1}[i]' for W_l, and D_l[i] for b_l. One backward pass
 * a slice and output, without gradients.
 */
static void write_row(double *row, const hvi_batch *b, const slice *s, const void *deltas,
                      size_t i) {
  const hvi_net *net = b->net;
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    size_t step;
    const void *input = layer_input(b, s, l, &step), *a = hvi_net_at(net, input, i * step);
    const void *d = hvi_net_at(net, hvi_net_output(net, deltas, s->rows, l), i * layer->out);
    for (size_t j = 0; !layer->fixed_weight && j < layer->out; j++, row += layer->in)
      net->kernels->multiples(row, a, hvi_net_at(net, d, j), layer->in);
    if (layer->fixed_bias) continue;
    net->kernels->give(row, d, layer->out);
    row += layer->out;
  }
}

void hvi_batch_jacobian(const hvi_batch *b, size_t first, size_t end, double *J, size_t row) {
  const size_t out = b->net->out;
  void *deltas = deltas_of(b, 0);
  for (size_t k = first / HVI_NET_ROWS; k * HVI_NET_ROWS < end; k++) {
    const slice s = slice_of(b, k);
    const size_t from = first > s.first ? first : s.first;
    const size_t to = end < s.first + s.rows ? end : s.first + s.rows;
    for (size_t unit = 0; unit < out; unit++) {
      find_sensitivity(b, &s, unit, 0, deltas);
      for (size_t i = from; i < to; i++)
        write_row(J + ((i - first) * out + unit) * row, b, &s, deltas, i - s.first);
    }
  }
}

/*
 * K = J J'. The row of J that belongs to output a of example i is a sum over layers of outer
 * products, and the inner product of two outer products is the product of two inner products:
 *
 *   K[i, a][j, b] = sum_l <D_l[i, a], D_l[j, b]> (<A_{l-1}[i], A_{l-1}[j]> + 1)
 *
 * without the first summand in brackets where W_l is fixed, and without the 1 where b_l is. It is
 * computed in tiles, a slice of rows by a slice of columns: Q = A A' and, for every a and b, P = D D'
 * in the network's numbers, then K += P (Q + 1) in doubles, layers in order. A chunk of work is the
 * tiles of one slice of columns, at and below the diagonal, so no two threads write to the same
 * place.
 */
static size_t tile_size(size_t rows) {
  return hvi_net_aligned(slice_rows(rows) * slice_rows(rows) + HVI_NET_SLACK);
}

/* A worker's own: A' and D' of a slice of columns, layer by layer as they are needed, P and Q. */
static size_t transposed_size(const hvi_net *net, size_t rows) {
  const size_t in = hvi_net_aligned(net->in), widest = in > net->widest ? in : net->widest;
  return hvi_net_aligned(slice_rows(rows) * widest + HVI_NET_SLACK);
}

static size_t worker_size(const hvi_net *net, size_t rows) {
  return 2 * transposed_size(net, rows) + 2 * tile_size(rows);
}

size_t hvi_batch_outer_work(const hvi_net *net, size_t rows, size_t threads) {
  return slice_count(rows) * net->out * slice_trace(net, rows) + threads * worker_size(net, rows);
}

typedef struct outer {
  const hvi_batch *b;
  double *K;
  size_t row; /* of K */
  void *deltas, *workspaces;
} outer;

/* Sensitivities of one output of a slice's rows. */
static void *unit_deltas(const outer *o, size_t k, size_t unit) {
  const hvi_net *net = o->b->net;
  return hvi_net_at(net, o->deltas, (k * net->out + unit) * slice_trace(net, o->b->rows));
}

/* c[m][n] = a bt, a[m][k] in rows of a_row, bt[k][n] */
static void multiply(const hvi_net *net, void *c, const void *a, size_t a_row, const void *bt,
                     size_t m, size_t n, size_t k) {
  const hvi_product p = hvi_product_of(c, m, n, k, a, a_row, bt, n);
  net->kernels->product(&p);
}

/* Adds layer l to the tiles of a slice of columns. */
static void add_layer(const outer *o, size_t column, size_t l, void *at) {
  const hvi_batch *b = o->b;
  const hvi_net *net = b->net;
  const hvi_net_layer *layer = &net->layers[l];
  const size_t out = net->out, wide = layer->out;
  const slice left = slice_of(b, column);
  void *dt = hvi_net_at(net, at, transposed_size(net, b->rows));
  void *p = hvi_net_at(net, dt, transposed_size(net, b->rows));
  void *q = hvi_net_at(net, p, tile_size(b->rows));
  size_t row;
  const void *a = layer_input(b, &left, l, &row);
  if (layer->fixed_weight && layer->fixed_bias) return;
  memset(q, 0, tile_size(b->rows) * net->kernels->real);
  net->kernels->transpose(at, a, left.rows, row);
  for (size_t k = column; k < slice_count(b->rows); k++) {
    const slice s = slice_of(b, k);
    a = layer_input(b, &s, l, &row);
    if (!layer->fixed_weight) multiply(net, q, a, row, at, s.rows, left.rows, layer->in);
    for (size_t pair = 0; pair < out * out; pair++) {
      const size_t unit = pair % out, other = pair / out;
      const void *d = hvi_net_output(net, unit_deltas(o, k, unit), s.rows, l);
      const void *e = hvi_net_output(net, unit_deltas(o, column, other), left.rows, l);
      double *K = o->K + (s.first * out + unit) * o->row + left.first * out + other;
      if (unit == 0) net->kernels->transpose(dt, e, left.rows, wide);
      multiply(net, p, d, wide, dt, s.rows, left.rows, wide);
      for (size_t i = 0; i < s.rows; i++)
        net->kernels->add_gram(K + i * out * o->row, hvi_net_at(net, p, i * left.rows),
                               hvi_net_at(net, q, i * left.rows), !layer->fixed_bias, left.rows,
                               out);
    }
  }
}

static hvi_status do_column(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  const hvi_net *net = o->b->net;
  const slice left = slice_of(o->b, chunk);
  void *work = hvi_net_at(net, o->workspaces, worker * worker_size(net, o->b->rows));
  for (size_t i = left.first * net->out; i < o->b->rows * net->out; i++)
    memset(o->K + i * o->row + left.first * net->out, 0, left.rows * net->out * sizeof *o->K);
  for (size_t l = 0; l < net->layer_count; l++) add_layer(o, chunk, l, work);
  return HVI_OK;
}

static hvi_status do_deltas(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  const slice s = slice_of(o->b, chunk);
  for (size_t unit = 0; unit < o->b->net->out; unit++)
    find_sensitivity(o->b, &s, unit, worker, unit_deltas(o, chunk, unit));
  return HVI_OK;
}

void hvi_batch_outer(const hvi_batch *b, double *K, size_t row, void *work) {
  const size_t slices = slice_count(b->rows);
  outer o = {.b = b, .K = K, .row = row, .deltas = work};
  o.workspaces = unit_deltas(&o, slices, 0);
  hvi_parallel_run(slices, b->threads, do_deltas, &o, NULL);
  hvi_parallel_run(slices, b->threads, do_column, &o, NULL);
}

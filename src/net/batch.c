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

static size_t slice_trace(const hvi_net *net, size_t rows) {
  return hvi_net_aligned(hvi_net_trace(net, rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS));
}

hvi_slice hvi_batch_slice(const hvi_batch *b, size_t k) {
  const size_t first = k * HVI_NET_ROWS, left = b->rows - first;
  return (hvi_slice){.first = first,
                     .rows = left < HVI_NET_ROWS ? left : HVI_NET_ROWS,
                     .x = hvi_net_at(b->net, b->x, first * b->x_row),
                     .trace = hvi_net_at(b->net, b->trace, k * slice_trace(b->net, b->rows))};
}

const void *hvi_slice_input(const hvi_batch *b, const hvi_slice *s, size_t l, size_t *row) {
  *row = l == 0 ? b->x_row : b->net->layers[l].in;
  return l == 0 ? s->x : hvi_net_output(b->net, s->trace, s->rows, l - 1);
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

void *hvi_batch_dy(const hvi_batch *b, size_t worker) {
  return hvi_net_at(b->net, b->scratch, worker * worker_scratch(b->net, b->rows, b->threads));
}

void *hvi_batch_deltas(const hvi_batch *b, size_t worker) {
  return hvi_net_at(b->net, hvi_batch_dy(b, worker), slice_outputs(b->net, b->rows));
}

static void *gradient_of(const hvi_batch *b, size_t worker) {
  return hvi_net_at(b->net, hvi_batch_deltas(b, worker), slice_trace(b->net, b->rows));
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
  const hvi_slice s = hvi_batch_slice(b, chunk);
  void *to = p->direction ? hvi_batch_deltas(b, worker) : s.trace;
  if (p->direction)
    hvi_net_tangent(net, b->weights, s.rows, s.x, b->x_row, s.trace, p->direction, to);
  else
    hvi_net_forward(net, b->weights, s.rows, s.x, b->x_row, to);
  net->kernels->give(p->y + s.first * net->out,
                     hvi_net_output(net, to, s.rows, net->layer_count - 1), s.rows * net->out);
  return HVI_OK;
}

void hvi_batch_forward(const hvi_batch *b, double *y) {
  pass p = {.b = b, .y = y};
  hvi_parallel_run(slice_count(b->rows), b->threads, value_slice, &p, NULL);
}

void hvi_batch_tangent(const hvi_batch *b, const void *direction, double *out) {
  pass p = {.b = b, .y = out, .direction = direction};
  hvi_parallel_run(slice_count(b->rows), b->threads, value_slice, &p, NULL);
}

/* What is pulled back through a slice, in a worker's scratch. */
static hvi_net_pull pull_of(const hvi_batch *b, const hvi_slice *s, size_t worker,
                            const double *u) {
  const size_t out = b->net->out;
  void *dy = hvi_batch_dy(b, worker);
  b->net->kernels->take(dy, u + s->first * out, s->rows * out);
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
    memcpy(p->grad, pull.grad, b->net->dim * b->net->kernels->real);
  else
    b->net->kernels->add(p->grad, pull.grad, b->net->dim);
  p->added++;
  pthread_cond_broadcast(&p->moved);
  pthread_mutex_unlock(&p->lock);
  return HVI_OK;
}

void hvi_batch_backward(const hvi_batch *b, const double *u, void *grad) {
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

void hvi_slice_sensitivity(const hvi_batch *b, const hvi_slice *s, size_t unit, void *dy,
                           void *deltas) {
  const hvi_net *net = b->net;
  const double one = 1.0;
  memset(dy, 0, s->rows * net->out * net->kernels->real);
  for (size_t i = 0; i < s->rows; i++)
    net->kernels->take(hvi_net_at(net, dy, i * net->out + unit), &one, 1);
  const hvi_net_pull pull = {.dy = dy, .deltas = deltas};
  hvi_net_backward(net, b->weights, s->rows, s->x, b->x_row, s->trace, &pull);
}

/*
 * K = J J'. The row of J that belongs to output a of example i is, layer by layer, the outer product
 * of D_l[i, a] and (A_{l-1}[i], 1), and the inner product of two outer products is the product of
 * two inner products:
 *
 *   K[i, a][j, b] = sum_l <D_l[i, a], D_l[j, b]> (<A_{l-1}[i], A_{l-1}[j]> + 1)
 *
 * without the first summand in brackets where W_l is fixed, and without the 1 where b_l is. It is
 * computed in tiles, a slice of rows by a slice of columns: Q = A A' and, for every a and b, P = D D'
 * in the network's numbers, then K += P (Q + 1) in doubles, layers in order. A chunk of work is the
 * tiles of one slice of columns, at and below the diagonal, so no two threads write to the same
 * place.
 */
static size_t slice_rows(size_t rows) { return rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS; }

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

static void *workspace_of(const outer *o, size_t worker) {
  return hvi_net_at(o->b->net, o->workspaces, worker * worker_size(o->b->net, o->b->rows));
}

/* Sensitivities of one output of a slice's rows. */
static void *unit_deltas(const outer *o, size_t slice, size_t unit) {
  const hvi_net *net = o->b->net;
  return hvi_net_at(net, o->deltas, (slice * net->out + unit) * slice_trace(net, o->b->rows));
}

/* c[m][n] = a bt, a[m][k] in rows of a_row, bt[k][n] */
static void multiply(const hvi_net *net, void *c, const void *a, size_t a_row, const void *bt,
                     size_t m, size_t n, size_t k) {
  const hvi_product p = hvi_product_of(c, m, n, k, a, a_row, bt, n);
  net->kernels->product(&p);
}

/* A tile of a layer: two slices, the room for D' of the left one and for P, and Q. */
typedef struct tile {
  size_t k, column, l;
  hvi_slice s, left;
  void *dt, *p, *q;
} tile;

static void add_tile(const outer *o, const tile *t) {
  const hvi_net *net = o->b->net;
  const hvi_net_layer *layer = &net->layers[t->l];
  const size_t out = net->out, m = t->s.rows, n = t->left.rows, wide = layer->out;
  const double more = layer->fixed_bias ? 0.0 : 1.0;
  for (size_t b = 0; b < out; b++) {
    const void *left = hvi_net_output(net, unit_deltas(o, t->column, b), n, t->l);
    net->kernels->transpose(t->dt, left, n, wide);
    for (size_t a = 0; a < out; a++) {
      const void *d = hvi_net_output(net, unit_deltas(o, t->k, a), m, t->l);
      double *K = o->K + (t->s.first * out + a) * o->row + t->left.first * out + b;
      multiply(net, t->p, d, wide, t->dt, m, n, wide);
      for (size_t i = 0; i < m; i++)
        net->kernels->add_gram(K + i * out * o->row, hvi_net_at(net, t->p, i * n),
                               hvi_net_at(net, t->q, i * n), more, n, out);
    }
  }
}

/* Adds layer l to the tiles of a slice of columns. */
static void add_layer(const outer *o, size_t column, size_t l, void *work) {
  const hvi_batch *b = o->b;
  const hvi_net *net = b->net;
  const hvi_net_layer *layer = &net->layers[l];
  if (layer->fixed_weight && layer->fixed_bias) return;
  tile t = {.column = column, .l = l, .left = hvi_batch_slice(b, column)};
  t.dt = hvi_net_at(net, work, transposed_size(net, b->rows));
  t.p = hvi_net_at(net, t.dt, transposed_size(net, b->rows));
  t.q = hvi_net_at(net, t.p, tile_size(b->rows));
  memset(t.q, 0, tile_size(b->rows) * net->kernels->real);
  size_t row;
  const void *a = hvi_slice_input(b, &t.left, l, &row);
  net->kernels->transpose(work, a, t.left.rows, row);
  for (t.k = column; t.k < slice_count(b->rows); t.k++) {
    t.s = hvi_batch_slice(b, t.k);
    a = hvi_slice_input(b, &t.s, l, &row);
    if (!layer->fixed_weight) multiply(net, t.q, a, row, work, t.s.rows, t.left.rows, layer->in);
    add_tile(o, &t);
  }
}

static hvi_status do_column(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  const hvi_slice left = hvi_batch_slice(o->b, chunk);
  const size_t out = o->b->net->out;
  for (size_t i = left.first * out; i < o->b->rows * out; i++)
    memset(o->K + i * o->row + left.first * out, 0, left.rows * out * sizeof *o->K);
  for (size_t l = 0; l < o->b->net->layer_count; l++)
    add_layer(o, chunk, l, workspace_of(o, worker));
  return HVI_OK;
}

static hvi_status do_deltas(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const outer *o = context;
  const hvi_slice s = hvi_batch_slice(o->b, chunk);
  for (size_t unit = 0; unit < o->b->net->out; unit++)
    hvi_slice_sensitivity(o->b, &s, unit, hvi_batch_dy(o->b, worker), unit_deltas(o, chunk, unit));
  return HVI_OK;
}

void hvi_batch_outer(const hvi_batch *b, double *K, size_t row, void *work) {
  const size_t slices = slice_count(b->rows);
  outer o = {.b = b, .K = K, .row = row, .deltas = work};
  o.workspaces = unit_deltas(&o, slices, 0);
  hvi_parallel_run(slices, b->threads, do_deltas, &o, NULL);
  hvi_parallel_run(slices, b->threads, do_column, &o, NULL);
}

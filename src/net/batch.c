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

#include "base/parallel.h"
#include "num/bulk.h"

#include <pthread.h>
#include <string.h>

static size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

static size_t slice_count(size_t rows) { return (rows + HVI_NET_ROWS - 1) / HVI_NET_ROWS; }

static size_t slice_trace(const hvi_net *net, size_t rows) {
  return aligned(hvi_net_trace(net, rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS));
}

size_t hvi_batch_slices(const hvi_batch *b) { return slice_count(b->rows); }

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
  return aligned((rows < HVI_NET_ROWS ? rows : HVI_NET_ROWS) * net->out + HVI_NET_SLACK);
}

static size_t worker_scratch(const hvi_net *net, size_t rows, size_t threads) {
  return slice_outputs(net, rows) + slice_trace(net, rows) + (threads > 1 ? aligned(net->dim) : 0);
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
  const hvi_bulk *bulk;
  double *y;
  const double *u;
  const float *direction;
  float *grad;
  pthread_mutex_t lock;
  pthread_cond_t moved;
  size_t turn; /* slices whose gradient has been added */
} pass;

static void widen_outputs(const pass *p, const hvi_slice *s, float *trace) {
  const hvi_net *net = p->b->net;
  const float *y = hvi_net_output(net, trace, s->rows, net->layer_count - 1);
  p->bulk->widen(p->y + s->first * net->out, y, s->rows * net->out);
}

static hvi_status forward_slice(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)worker, (void)err;
  const pass *p = context;
  const hvi_slice s = hvi_batch_slice(p->b, chunk);
  hvi_net_forward(p->b->net, p->b->weights, s.rows, s.x, p->b->x_row, s.trace);
  widen_outputs(p, &s, s.trace);
  return HVI_OK;
}

void hvi_batch_forward(const hvi_batch *b, double *y) {
  pass p = {.b = b, .bulk = hvi_bulk_best(), .y = y};
  hvi_parallel_run(hvi_batch_slices(b), b->threads, forward_slice, &p, NULL);
}

static void pull_slice(const pass *p, const hvi_slice *s, size_t worker, float *grad, bool fresh) {
  const hvi_net *net = p->b->net;
  float *dy = hvi_batch_dy(p->b, worker);
  p->bulk->narrow(dy, p->u + s->first * net->out, s->rows * net->out);
  const hvi_net_pull pull = {
      .dy = dy, .deltas = hvi_batch_deltas(p->b, worker), .grad = grad, .fresh = fresh};
  hvi_net_backward(net, p->b->weights, s->rows, s->x, p->b->x_row, s->trace, &pull);
}

static hvi_status backward_slice(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  pass *p = context;
  const hvi_slice s = hvi_batch_slice(p->b, chunk);
  float *own = gradient_of(p->b, worker);
  pull_slice(p, &s, worker, own, true);
  pthread_mutex_lock(&p->lock);
  while (p->turn != chunk) pthread_cond_wait(&p->moved, &p->lock);
  if (chunk == 0) {
    memcpy(p->grad, own, p->b->net->dim * sizeof *p->grad);
  } else {
    p->bulk->add(p->grad, own, p->b->net->dim);
  }
  p->turn++;
  pthread_cond_broadcast(&p->moved);
  pthread_mutex_unlock(&p->lock);
  return HVI_OK;
}

void hvi_batch_backward(const hvi_batch *b, const double *u, float *grad) {
  pass p = {.b = b, .bulk = hvi_bulk_best(), .u = u, .grad = grad};
  const size_t slices = hvi_batch_slices(b);
  if (b->threads == 1) {
    for (size_t k = 0; k < slices; k++) {
      const hvi_slice s = hvi_batch_slice(b, k);
      pull_slice(&p, &s, 0, grad, k == 0);
    }
    return;
  }
  pthread_mutex_init(&p.lock, NULL);
  pthread_cond_init(&p.moved, NULL);
  hvi_parallel_run(slices, b->threads, backward_slice, &p, NULL);
  pthread_cond_destroy(&p.moved);
  pthread_mutex_destroy(&p.lock);
}

static hvi_status tangent_slice(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)err;
  const pass *p = context;
  const hvi_slice s = hvi_batch_slice(p->b, chunk);
  float *tangent = hvi_batch_deltas(p->b, worker);
  hvi_net_tangent(p->b->net, p->b->weights, s.rows, s.x, p->b->x_row, s.trace, p->direction,
                  tangent);
  widen_outputs(p, &s, tangent);
  return HVI_OK;
}

void hvi_batch_tangent(const hvi_batch *b, const float *direction, double *out) {
  pass p = {.b = b, .bulk = hvi_bulk_best(), .y = out, .direction = direction};
  hvi_parallel_run(hvi_batch_slices(b), b->threads, tangent_slice, &p, NULL);
}

void hvi_slice_sensitivity(const hvi_batch *b, const hvi_slice *s, size_t unit, float *dy,
                           float *deltas) {
  const size_t out = b->net->out;
  for (size_t i = 0; i < s->rows * out; i++) dy[i] = i % out == unit ? 1.0F : 0.0F;
  const hvi_net_pull pull = {.dy = dy, .deltas = deltas};
  hvi_net_backward(b->net, b->weights, s->rows, s->x, b->x_row, s->trace, &pull);
}

/*
 * Values of many states, without derivatives: V = shift + scale * network((s - center) / spread).
 *
 * States are gathered slice by slice, and a thread's slices share one trace, so that a data set
 * takes no more room than a slice of it.
 */
#include "problems/value/value.h"

#include "base/parallel.h"
#include "num/bulk.h"

#include <string.h>

static size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

void hvi_value_scale_state(const hvi_value *v, float *x, const float *s) {
  if (!v->center) {
    memcpy(x, s, v->obs * sizeof *x);
    return;
  }
  for (size_t j = 0; j < v->obs; j++) {
    x[j] = (float)(((double)s[j] - v->center[j]) * v->inverse[j]);
  }
}

/* A worker's inputs and trace. */
static size_t inputs(const hvi_value *v) {
  return aligned(HVI_NET_ROWS * aligned(v->obs) + HVI_NET_SLACK);
}

static size_t worker_room(const hvi_value *v) {
  return inputs(v) + aligned(hvi_net_trace(v->net, HVI_NET_ROWS));
}

size_t hvi_value_room(const hvi_value *v) {
  return aligned(v->net->weights) + v->spec.threads * worker_room(v);
}

typedef struct pass {
  const hvi_value *v;
  float *weights, *rooms;
  const float *source;
  const size_t *index;
  size_t rows;
  double *values;
} pass;

static void gather(const pass *p, float *x, size_t first, size_t count) {
  const size_t obs = p->v->obs, row = aligned(obs);
  for (size_t i = 0; i < count; i++) {
    const size_t from = p->index ? p->index[first + i] : first + i;
    hvi_value_scale_state(p->v, x + i * row, p->source + from * obs);
  }
}

static hvi_status forward_slice(void *context, size_t slice, size_t worker, hvi_error *err) {
  (void)err;
  const pass *p = context;
  const hvi_value *v = p->v;
  const size_t first = slice * HVI_NET_ROWS, left = p->rows - first;
  const size_t count = left < HVI_NET_ROWS ? left : HVI_NET_ROWS;
  float *x = p->rooms + worker * worker_room(v), *trace = x + inputs(v);
  gather(p, x, first, count);
  hvi_net_forward(v->net, p->weights, count, x, aligned(v->obs), trace);
  const float *y = hvi_net_output(v->net, trace, count, v->net->layer_count - 1);
  for (size_t i = 0; i < count; i++) {
    p->values[first + i] = v->spec.shift + v->spec.scale * (double)y[i];
  }
  return HVI_OK;
}

void hvi_value_forward(const hvi_value *v, float *room, const double *theta, const float *source,
                       const size_t *index, size_t rows, double *values) {
  pass p = {.v = v,
            .weights = room,
            .rooms = room + aligned(v->net->weights),
            .source = source,
            .index = index,
            .rows = rows,
            .values = values};
  hvi_bulk_best()->narrow(p.weights, theta, v->net->dim);
  hvi_net_prepare(v->net, p.weights);
  hvi_parallel_run((rows + HVI_NET_ROWS - 1) / HVI_NET_ROWS, v->spec.threads, forward_slice, &p,
                   NULL);
}

/*
 * A network's shapes, and its passes:
 *
 *   forward    A_l = s_l(A_{l-1} W_l' + b_l)
 *   backward   D_L = dy * s_L',   D_{l-1} = (D_l W_l) * s_{l-1}'
 *              dW_l += D_l' A_{l-1},   db_l += D_l' 1
 *
 * One product each, finished by the kernel while its rows are in cache.
 */
#include "net/net.h"

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { ALIGN = 16, MOST_PARAMETERS = 1 << 30 };

static size_t aligned(size_t floats) { return (floats + ALIGN - 1) / ALIGN * ALIGN; }

static hvi_status check_spec(const hvi_net_spec *s, hvi_error *err) {
  if (s->in == 0 || s->layer_count == 0 || !s->widths) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "a network needs an input and at least one layer");
  }
  if (s->hidden == HVI_SOFTMAX) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "softmax is for the head, not for hidden layers");
  }
  size_t in = s->in;
  double dim = 0.0;
  for (size_t l = 0; l < s->layer_count; l++) {
    if (s->widths[l] == 0) {
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "layer %zu has no units", l + 1);
    }
    dim += ((double)in + 1.0) * (double)s->widths[l];
    in = s->widths[l];
  }
  if (dim > (double)MOST_PARAMETERS) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%.0f parameters are too many; at most %d", dim,
                         (int)MOST_PARAMETERS);
  }
  return HVI_OK;
}

/* Parameters lie as PyTorch flattens them; the turned matrices follow, aligned. */
static void lay_out(hvi_net *net, const hvi_net_spec *s) {
  size_t in = s->in, at = 0;
  for (size_t l = 0; l < s->layer_count; l++) {
    hvi_net_layer *y = &net->layers[l];
    *y = (hvi_net_layer){.in = in, .out = s->widths[l], .weight = at};
    y->bias = y->weight + y->in * y->out;
    y->activation = l + 1 < s->layer_count ? s->hidden : s->head;
    at = y->bias + y->out;
    in = y->out;
    if (in > net->widest) net->widest = in;
  }
  net->dim = at;
  net->out = in;
  at = aligned(at);
  for (size_t l = 0; l < s->layer_count; l++) {
    net->layers[l].turned = at;
    at += aligned(net->layers[l].in * net->layers[l].out);
  }
  net->weights = at + HVI_NET_SLACK;
}

const hvi_net_kernels *const *hvi_net_kernel_list(void) {
  static const hvi_net_kernels *const all[] = HVI_CPU_BUILDS(hvi_net);
  return all + hvi_cpu_builds_skipped();
}

hvi_status hvi_net_new(hvi_net **out, const hvi_net_spec *spec, hvi_error *err) {
  *out = NULL;
  const hvi_status status = check_spec(spec, err);
  if (status != HVI_OK) return status;
  hvi_net *net = hvi_alloc(1, sizeof *net);
  hvi_net_layer *layers = hvi_alloc(spec->layer_count, sizeof *layers);
  if (!net || !layers) {
    hvi_free(net);
    hvi_free(layers);
    return hvi_error_set(err, HVI_ERROR_MEMORY, "no memory for a network of %zu layers",
                         spec->layer_count);
  }
  *net = (hvi_net){.in = spec->in,
                   .layer_count = spec->layer_count,
                   .layers = layers,
                   .kernels = hvi_net_kernel_list()[0]};
  lay_out(net, spec);
  *out = net;
  return HVI_OK;
}

void hvi_net_free(hvi_net *net) {
  if (!net) return;
  hvi_free(net->layers);
  hvi_free(net);
}

void hvi_net_prepare(const hvi_net *net, float *weights) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    net->kernels->transpose(weights + y->turned, weights + y->weight, y->out, y->in);
  }
}

/* Outputs of all layers, then the slopes of those that keep them. */
static size_t output_at(const hvi_net *net, size_t rows, size_t l) {
  size_t at = 0;
  for (size_t i = 0; i < l; i++) at += aligned(rows * net->layers[i].out);
  return at;
}

static size_t slope_at(const hvi_net *net, size_t rows, size_t l) {
  size_t at = output_at(net, rows, net->layer_count);
  for (size_t i = 0; i < l; i++) {
    if (hvi_activation_keeps(net->layers[i].activation)) at += aligned(rows * net->layers[i].out);
  }
  return at;
}

size_t hvi_net_trace(const hvi_net *net, size_t rows) {
  return slope_at(net, rows, net->layer_count) + HVI_NET_SLACK;
}

float *hvi_net_output(const hvi_net *net, float *trace, size_t rows, size_t l) {
  return trace + output_at(net, rows, l);
}

const float *hvi_net_slope(const hvi_net *net, const float *trace, size_t rows, size_t l) {
  return hvi_activation_keeps(net->layers[l].activation) ? trace + slope_at(net, rows, l) : NULL;
}

void hvi_net_forward(const hvi_net *net, const float *weights, size_t rows, const float *x,
                     size_t x_row, float *trace) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    float *y = hvi_net_output(net, trace, rows, l);
    net->kernels->product(&(hvi_product){
        .m = rows,
        .n = layer->out,
        .k = layer->in,
        .a = x,
        .a_row = x_row,
        .a_step = 1,
        .b = weights + layer->turned,
        .b_row = layer->out,
        .c = y,
        .c_row = layer->out,
        .finish = HVI_FINISH_ACTIVATE,
        .activation = layer->activation,
        .bias = weights + layer->bias,
        .slope = hvi_activation_keeps(layer->activation) ? trace + slope_at(net, rows, l) : NULL});
    x = y;
    x_row = layer->out;
  }
}

/* dW += D'X, db += D'1; or = when fresh */
static void add_gradient(const hvi_net *net, const hvi_net_layer *layer, size_t rows,
                         const float *delta, const float *x, size_t x_row, float *grad,
                         bool fresh) {
  net->kernels->product(&(hvi_product){.m = layer->out,
                                       .n = layer->in,
                                       .k = rows,
                                       .a = delta,
                                       .a_row = 1,
                                       .a_step = layer->out,
                                       .b = x,
                                       .b_row = x_row,
                                       .c = grad + layer->weight,
                                       .c_row = layer->in,
                                       .finish = fresh ? HVI_FINISH_STORE : HVI_FINISH_ADD});
  if (fresh) memset(grad + layer->bias, 0, layer->out * sizeof *grad);
  net->kernels->add_rows(grad + layer->bias, delta, rows, layer->out, layer->out);
}

/* D W, over columns first .. first + n of W; by the layer below's slopes when there is one */
static void pull_layer(const hvi_net *net, const float *weights, size_t rows, size_t l,
                       const float *delta, const float *trace, float *out, size_t first, size_t n) {
  const hvi_net_layer *layer = &net->layers[l];
  hvi_product p = {.m = rows,
                   .n = n,
                   .k = layer->out,
                   .a = delta,
                   .a_row = layer->out,
                   .a_step = 1,
                   .b = weights + layer->weight + first,
                   .b_row = layer->in,
                   .c = out,
                   .c_row = n,
                   .finish = HVI_FINISH_STORE};
  if (l > 0) {
    p.finish = HVI_FINISH_PULL;
    p.activation = net->layers[l - 1].activation;
    p.y = trace + output_at(net, rows, l - 1);
    p.y_slope = hvi_net_slope(net, trace, rows, l - 1);
  }
  net->kernels->product(&p);
}

void hvi_net_backward(const hvi_net *net, const float *weights, size_t rows, const float *x,
                      size_t x_row, const float *trace, const hvi_net_pull *pull) {
  size_t l = net->layer_count - 1;
  float *delta = hvi_net_output(net, pull->deltas, rows, l);
  hvi_net_pull_slope(net, rows, l, trace, pull->dy, delta);
  for (; l > 0; l--) {
    const hvi_net_layer *layer = &net->layers[l];
    float *below = hvi_net_output(net, pull->deltas, rows, l - 1);
    if (pull->grad) {
      add_gradient(net, layer, rows, delta, trace + output_at(net, rows, l - 1), layer->in,
                   pull->grad, pull->fresh);
    }
    pull_layer(net, weights, rows, l, delta, trace, below, 0, layer->in);
    delta = below;
  }
  if (pull->grad) {
    add_gradient(net, &net->layers[0], rows, delta, x, x_row, pull->grad, pull->fresh);
  }
  if (pull->dx) {
    pull_layer(net, weights, rows, 0, delta, trace, pull->dx, pull->dx_first, pull->dx_count);
  }
}

/*
 * Forward differentiation: how the outputs change with the parameters.
 *
 *   dA_0 = 0,   dA_l = (A_{l-1} dW_l' + db_l + dA_{l-1} W_l') * s_l'
 *
 * Two products a layer, and one at the first.
 */
#include "net/net.h"

/* out = a W' + b, or += without b; W' and b from `from`, which is laid out as weights */
static void add_layer(const hvi_net *net, const hvi_net_layer *layer, const float *from,
                      size_t rows, const float *a, size_t a_row, float *out, bool first) {
  net->kernels->product(&(hvi_product){.m = rows,
                                       .n = layer->out,
                                       .k = layer->in,
                                       .a = a,
                                       .a_row = a_row,
                                       .a_step = 1,
                                       .b = from + layer->turned,
                                       .b_row = layer->out,
                                       .c = out,
                                       .c_row = layer->out,
                                       .finish = first ? HVI_FINISH_ACTIVATE : HVI_FINISH_ADD,
                                       .activation = HVI_IDENTITY,
                                       .bias = first ? from + layer->bias : NULL});
}

void hvi_net_tangent(const hvi_net *net, const float *weights, size_t rows, const float *x,
                     size_t x_row, const float *trace, const float *direction, float *tangent) {
  const float *t = NULL; /* NULL: zero */
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    float *out = hvi_net_output(net, tangent, rows, l);
    add_layer(net, layer, direction, rows, x, x_row, out, true);
    if (t) add_layer(net, layer, weights, rows, t, layer->in, out, false);
    hvi_net_pull_slope(net, rows, l, trace, out, out);
    t = out;
    x = hvi_net_output(net, (float *)(size_t)trace, rows, l);
    x_row = layer->out;
  }
}

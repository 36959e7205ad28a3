/*
 * A network's shapes, first parameters, and passes:
 *
 *   forward    A_l = s_l(A_{l-1} W_l' + b_l)
 *   backward   D_L = dy * s_L',   D_{l-1} = (D_l W_l) * s_{l-1}'
 *              dW_l += D_l' A_{l-1},   db_l += D_l' 1
 *   tangent    dA_0 = 0,   dA_l = (A_{l-1} dW_l' + db_l + dA_{l-1} W_l') * s_l'
 *
 * One product each, finished by the kernel while its rows are in cache; a tangent takes two, and
 * one at the first layer.
 */
#include "net/net.h"

#include "base/base.h"
#include "base/cpu.h"
#include "num/vec.h"

enum { MOST_PARAMETERS = 1 << 30 };

static hvi_layer layer_of(const hvi_net_spec *s, size_t l) {
  if (s->layers) return s->layers[l];
  const hvi_activation activation = l + 1 < s->layer_count ? s->hidden : s->head;
  return (hvi_layer){.out = s->widths[l], .train_bias = true, .activation = activation};
}

static hvi_status check_spec(const hvi_net_spec *s, hvi_error *err) {
  if (s->in == 0 || s->layer_count == 0 || !(s->widths || s->layers))
    return hvi_error_argument(err, "a network needs an input and at least one layer");
  if (s->hidden == HVI_SOFTMAX)
    return hvi_error_argument(err, "softmax is for the head, not for hidden layers");
  size_t in = s->in;
  double dim = 0.0;
  for (size_t l = 0; l < s->layer_count; l++) {
    const size_t out = layer_of(s, l).out;
    if (out == 0) return hvi_error_argument(err, "layer %zu has no units", l + 1);
    dim += ((double)in + 1.0) * (double)out;
    in = out;
  }
  if (dim > (double)MOST_PARAMETERS)
    return hvi_error_argument(err, "%.0f parameters are too many; at most %d", dim,
                              (int)MOST_PARAMETERS);
  return HVI_OK;
}

/* Parameters lie as PyTorch flattens them; the transposed matrices follow, aligned. */
static void lay_out(hvi_net *net, const hvi_net_spec *s) {
  size_t in = s->in, at = 0;
  for (size_t l = 0; l < s->layer_count; l++) {
    const hvi_layer from = layer_of(s, l);
    net->layers[l] = (hvi_net_layer){.in = in,
                                     .out = from.out,
                                     .weight = at,
                                     .bias = at + in * from.out,
                                     .fixed_weight = from.matrix != NULL,
                                     .fixed_bias = !from.train_bias,
                                     .activation = from.activation};
    at += (in + 1) * from.out;
    in = from.out;
    if (in > net->widest) net->widest = in;
  }
  net->dim = at;
  net->out = in;
  at = hvi_net_aligned(at);
  for (size_t l = 0; l < s->layer_count; l++) {
    net->layers[l].transposed = at;
    at += hvi_net_aligned(net->layers[l].in * net->layers[l].out);
  }
  net->weights = at + HVI_NET_SLACK;
}

const hvi_net_kernels *const *hvi_net_kernel_list(void) {
  static const hvi_net_kernels *const all[] = HVI_CPU_BUILDS(hvi_net);
  return all + hvi_cpu_builds_skipped();
}

const hvi_net_kernels *const *hvi_net_double_kernel_list(void) {
  static const hvi_net_kernels *const all[] = HVI_CPU_BUILDS(hvi_net_double);
  return all + hvi_cpu_builds_skipped();
}

hvi_status hvi_net_new(hvi_net **out, const hvi_net_spec *spec, hvi_error *err) {
  *out = NULL;
  HVI_TRY(check_spec(spec, err));
  hvi_net *net = hvi_alloc(1, sizeof *net + spec->layer_count * sizeof *net->layers);
  if (!net)
    return hvi_error_set(err, HVI_ERROR_MEMORY, "no memory for a network of %zu layers",
                         spec->layer_count);
  net->in = spec->in;
  net->layer_count = spec->layer_count;
  net->kernels = hvi_net_kernel_list()[0];
  net->cache = hvi_cpu_l2();
  lay_out(net, spec);
  *out = net;
  return HVI_OK;
}

void hvi_net_free(hvi_net *net) { hvi_free(net); }

void hvi_net_init_kaiming(const hvi_net *net, float *params, hvi_rng *rng) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    const double bound = 1.0 / sqrt((double)y->in);
    float *w = params + y->weight; /* the biases follow the weights */
    for (size_t i = 0; i < (y->in + 1) * y->out; i++)
      w[i] = (float)hvi_rng_range(rng, -bound, bound);
  }
}

static double gain_of(hvi_activation a) {
  if (a == HVI_TANH) return 5.0 / 3.0;
  if (a == HVI_LEAKY_RELU) return sqrt(2.0 / (1.0 + 1e-4));
  return a == HVI_RELU || a == HVI_CELU || a == HVI_GELU ? sqrt(2.0) : 1.0;
}

/* q[few][many]: orthonormal rows. Each is cleared of the earlier ones twice, which is enough. */
static void orthonormalise(double *q, size_t few, size_t many, hvi_rng *rng) {
  hvi_rng_fill_normal(rng, 0.0, 1.0, few * many, q);
  for (size_t i = 0; i < few; i++) {
    double *v = q + i * many;
    for (size_t j = 0; j < 2 * i; j++) {
      const double *earlier = q + j % i * many;
      hvi_vec_add(v, -hvi_vec_dot(v, earlier, many), earlier, many);
    }
    const double norm = sqrt(hvi_vec_norm2(v, many));
    for (size_t j = 0; j < many; j++) v[j] /= norm;
  }
}

hvi_status hvi_net_init_orthogonal(const hvi_net *net, float *params, hvi_rng *rng,
                                   hvi_error *err) {
  HVI_OWN double *q = hvi_alloc_doubles(net->dim);
  if (!q) return hvi_error_set(err, HVI_ERROR_MEMORY, "no memory for a layer's first weights");
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    const double gain = gain_of(y->activation);
    const bool wide = y->out <= y->in;
    orthonormalise(q, wide ? y->out : y->in, wide ? y->in : y->out, rng);
    float *w = params + y->weight;
    for (size_t i = 0; i < y->out; i++)
      for (size_t j = 0; j < y->in; j++)
        w[i * y->in + j] = (float)(gain * (wide ? q[i * y->in + j] : q[j * y->out + i]));
    memset(params + y->bias, 0, y->out * sizeof *params);
  }
  return HVI_OK;
}

void hvi_net_prepare_layer(const hvi_net *net, void *weights, size_t l) {
  const hvi_net_layer *y = &net->layers[l];
  net->kernels->transpose(hvi_net_at(net, weights, y->transposed),
                          hvi_net_at(net, weights, y->weight), y->out, y->in);
}

void hvi_net_prepare(const hvi_net *net, void *weights) {
  for (size_t l = 0; l < net->layer_count; l++) hvi_net_prepare_layer(net, weights, l);
}

/* Outputs of all layers, then the slopes of those that keep them. */
static size_t output_at(const hvi_net *net, size_t rows, size_t l) {
  size_t at = 0;
  for (size_t i = 0; i < l; i++) at += hvi_net_aligned(rows * net->layers[i].out);
  return at;
}

static size_t slope_at(const hvi_net *net, size_t rows, size_t l) {
  size_t at = output_at(net, rows, net->layer_count);
  for (size_t i = 0; i < l; i++)
    if (hvi_net_keeps(net->kernels, net->layers[i].activation))
      at += hvi_net_aligned(rows * net->layers[i].out);
  return at;
}

size_t hvi_net_trace(const hvi_net *net, size_t rows) {
  return slope_at(net, rows, net->layer_count) + HVI_NET_SLACK;
}

void *hvi_net_output(const hvi_net *net, const void *trace, size_t rows, size_t l) {
  return hvi_net_at(net, trace, output_at(net, rows, l));
}

/* Where the slopes of layer l are, or NULL where they are not kept. */
static void *slope_of(const hvi_net *net, const void *trace, size_t rows, size_t l) {
  return hvi_net_keeps(net->kernels, net->layers[l].activation)
             ? hvi_net_at(net, trace, slope_at(net, rows, l))
             : NULL;
}

/* What the next product streams is fetched during this one where the cache has no room for all. */
static void fetch_next(const hvi_net *net, hvi_product *p, const void *matrix, size_t count) {
  if (net->weights * net->kernels->real <= net->cache) return;
  p->next = matrix;
  p->next_size = count * net->kernels->real;
}

void hvi_net_forward(const hvi_net *net, const void *weights, size_t rows, const void *x,
                     size_t x_row, void *trace) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    void *y = hvi_net_output(net, trace, rows, l);
    hvi_product p = hvi_product_of(y, rows, layer->out, layer->in, x, x_row,
                                   hvi_net_at(net, weights, layer->transposed), layer->out);
    p.finish = HVI_FINISH_ACTIVATE;
    p.activation = layer->activation;
    p.bias = hvi_net_at(net, weights, layer->bias);
    p.slope = slope_of(net, trace, rows, l);
    if (l + 1 < net->layer_count)
      fetch_next(net, &p, hvi_net_at(net, weights, layer[1].transposed),
                 layer[1].in * layer[1].out);
    net->kernels->product(&p);
    x = y;
    x_row = layer->out;
  }
}

/* d[rows][out] = u * s' of layer l, by its outputs or slopes in the trace; d may be u. The slopes of
 * layers below are the products' to apply. */
static void pull_slope(const hvi_net *net, size_t rows, size_t l, const void *trace, const void *u,
                       void *d) {
  const hvi_net_layer *layer = &net->layers[l];
  const void *slope = slope_of(net, trace, rows, l), *y = hvi_net_output(net, trace, rows, l);
  if (d != u) memcpy(d, u, rows * layer->out * net->kernels->real);
  net->kernels->pull(layer->activation, d, slope ? slope : y, rows, layer->out);
}

/* X[rows][row] */
typedef struct input {
  const void *x;
  size_t row;
} input;

/* dW += D'X, db += D'1; or = when fresh */
static void add_gradient(const hvi_net *net, const void *weights, const hvi_net_layer *layer,
                         size_t rows, const void *delta, input in, const hvi_net_pull *pull) {
  void *db = hvi_net_at(net, pull->grad, layer->bias);
  hvi_product p = hvi_product_of(hvi_net_at(net, pull->grad, layer->weight), layer->out, layer->in,
                                 rows, delta, 1, in.x, in.row);
  p.a_step = layer->out;
  if (layer > net->layers)
    fetch_next(net, &p, hvi_net_at(net, weights, layer->weight), layer->in * layer->out);
  p.finish = pull->fresh ? HVI_FINISH_STORE : HVI_FINISH_ADD;
  if (!layer->fixed_weight) net->kernels->product(&p);
  if (layer->fixed_bias) return;
  if (pull->fresh) memset(db, 0, layer->out * net->kernels->real);
  net->kernels->add_rows(db, delta, rows, layer->out, layer->out);
}

/* D W, over columns first .. first + n of W; by the layer below's slopes when there is one */
static void pull_layer(const hvi_net *net, const void *weights, size_t rows, size_t l,
                       const void *delta, const void *trace, void *out, size_t first, size_t n) {
  const hvi_net_layer *layer = &net->layers[l];
  hvi_product p = hvi_product_of(out, rows, n, layer->out, delta, layer->out,
                                 hvi_net_at(net, weights, layer->weight + first), layer->in);
  if (l > 0) {
    p.finish = HVI_FINISH_PULL;
    p.activation = net->layers[l - 1].activation;
    p.y = hvi_net_output(net, trace, rows, l - 1);
    p.y_slope = slope_of(net, trace, rows, l - 1);
  }
  if (l > 1)
    fetch_next(net, &p, hvi_net_output(net, trace, rows, l - 2), rows * net->layers[l - 1].in);
  net->kernels->product(&p);
}

void hvi_net_backward(const hvi_net *net, const void *weights, size_t rows, const void *x,
                      size_t x_row, const void *trace, const hvi_net_pull *pull) {
  size_t l = net->layer_count - 1;
  void *delta = hvi_net_output(net, pull->deltas, rows, l);
  pull_slope(net, rows, l, trace, pull->dy, delta);
  for (; l > 0; l--) {
    const hvi_net_layer *layer = &net->layers[l];
    const input in = {hvi_net_output(net, trace, rows, l - 1), layer->in};
    void *below = hvi_net_output(net, pull->deltas, rows, l - 1);
    if (pull->grad) add_gradient(net, weights, layer, rows, delta, in, pull);
    pull_layer(net, weights, rows, l, delta, trace, below, 0, layer->in);
    delta = below;
  }
  if (pull->grad) add_gradient(net, weights, net->layers, rows, delta, (input){x, x_row}, pull);
  if (pull->dx)
    pull_layer(net, weights, rows, 0, delta, trace, pull->dx, pull->dx_first, pull->dx_count);
}

/* out = a W' + b, or += without b; W' and b from `from`, which is laid out as weights */
static void add_layer(const hvi_net *net, const hvi_net_layer *layer, const void *from, size_t rows,
                      const void *a, size_t a_row, void *out, bool first) {
  hvi_product p = hvi_product_of(out, rows, layer->out, layer->in, a, a_row,
                                 hvi_net_at(net, from, layer->transposed), layer->out);
  p.finish = first ? HVI_FINISH_ACTIVATE : HVI_FINISH_ADD;
  p.activation = HVI_IDENTITY;
  p.bias = first ? hvi_net_at(net, from, layer->bias) : NULL;
  net->kernels->product(&p);
}

void hvi_net_tangent(const hvi_net *net, const void *weights, size_t rows, const void *x,
                     size_t x_row, const void *trace, const void *direction, void *tangent) {
  const void *t = NULL; /* NULL: zero */
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    void *out = hvi_net_output(net, tangent, rows, l);
    add_layer(net, layer, direction, rows, x, x_row, out, true);
    if (t) add_layer(net, layer, weights, rows, t, layer->in, out, false);
    pull_slope(net, rows, l, trace, out, out);
    t = out;
    x = hvi_net_output(net, trace, rows, l);
    x_row = layer->out;
  }
}

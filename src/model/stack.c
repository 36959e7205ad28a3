/*
 * A stack of affine layers with activations.
 *
 *   y_0 = input,   a_l = W_l y_{l-1} + b_l,   y_l = s_l(a_l),   z = y_L
 *
 * Backwards, with delta_L = u:      delta <- s_l'(delta),  dW_l = delta y_{l-1}',  db_l = delta,
 *                                   delta <- W_l' delta
 * Forwards, with t_0 = d(input):    t <- W_l t + dW_l y_{l-1} + db_l,  t <- s_l'(t)
 *
 * The cache keeps every y_l and every elementwise slope s_l'(a_l), so that the products need no
 * exponential. Rows (several fixed inputs) are independent but for the shared parameters.
 *
 * These plain loops are for small stacks, and the reference for the others: with fixed inputs and
 * NETWORK_LEAST products forward or more, a network (model/mlp.h) does the work.
 */
#include "model/stack.h"

#include "base/base.h"
#include "model/mlp.h"
#include "num/dense.h"

HVI_RELEASE(hvi_model)

/* Up to this many entries a matrix is multiplied in place, above it by BLAS. From so many rows times
 * parameters on a network does the work: it is then at least twice as fast. */
enum { SMALL = 64, NETWORK_LEAST = 1024 };

/* y[n] holds a on entry and softmax(a) on return. */
static void softmax(double *y, size_t n) {
  double top = y[0], sum = 0.0;
  for (size_t i = 1; i < n; i++) top = y[i] > top ? y[i] : top;
  for (size_t i = 0; i < n; i++) sum += y[i] = exp(y[i] - top);
  const double scale = 1.0 / sum;
  for (size_t i = 0; i < n; i++) y[i] *= scale;
}

/* out = (ds/da)' u, which is also (ds/da) u; out may be u. */
static inline void pull(hvi_activation kind, double *out, const double *u, const double *y,
                        const double *slope, size_t n) {
  if (kind != HVI_SOFTMAX) {
    for (size_t i = 0; i < n; i++) out[i] = u[i] * slope[i];
    return;
  }
  double mean = 0.0;
  for (size_t i = 0; i < n; i++) mean += u[i] * y[i];
  for (size_t i = 0; i < n; i++) out[i] = y[i] * (u[i] - mean);
}

static const double *layer_matrix(const hvi_stack_layer *layer, const double *theta) {
  return layer->matrix ? layer->matrix : theta + layer->theta_matrix;
}

static const double *layer_input(const hvi_stack *s, const double *cache, const double *theta,
                                 size_t l) {
  if (l > 0) return cache + s->layers[l - 1].y;
  return s->input ? s->input : theta;
}

static void add_product(double *y, const double *W, const double *x, size_t m, size_t n) {
  if (m * n > SMALL) {
    hvi_dense_mul_add(y, W, x, m, n);
    return;
  }
  for (size_t i = 0; i < m; i++) {
    double sum = y[i];
    for (size_t j = 0; j < n; j++) sum += W[i * n + j] * x[j];
    y[i] = sum;
  }
}

static void product_t(double *x, const double *W, const double *y, size_t m, size_t n) {
  if (m * n > SMALL) {
    hvi_dense_mul_t(x, W, y, m, n);
    return;
  }
  for (size_t j = 0; j < n; j++) x[j] = W[j] * y[0];
  for (size_t i = 1; i < m; i++)
    for (size_t j = 0; j < n; j++) x[j] += W[i * n + j] * y[i];
}

/* One row through one layer: small layers fused, unit by unit; large ones by BLAS first. */
static void layer_eval(const hvi_stack_layer *layer, const double *W, const double *b,
                       const double *x, double *y, double *slope) {
  const size_t in = layer->in, out = layer->out;
  const bool small = in * out <= SMALL;
  if (!small) hvi_dense_mul(y, W, x, out, in);
  for (size_t i = 0; i < out; i++) {
    double a = b ? b[i] : 0.0;
    if (small)
      for (size_t j = 0; j < in; j++) a += W[i * in + j] * x[j];
    else
      a += y[i];
    y[i] = hvi_activation_value(layer->activation, a, slope + i);
  }
  if (layer->activation == HVI_SOFTMAX) softmax(y, out);
}

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const hvi_stack *s = (const hvi_stack *)m;
  for (size_t l = 0; l < s->layer_count; l++) {
    const hvi_stack_layer *layer = &s->layers[l];
    const double *x = layer_input(s, cache, theta, l);
    const double *W = layer_matrix(layer, theta);
    const double *b = layer->train_bias ? theta + layer->theta_bias : layer->bias;
    for (size_t r = 0; r < s->rows; r++)
      layer_eval(layer, W, b, x + r * layer->in, cache + layer->y + r * layer->out,
                 cache + layer->slope + r * layer->out);
  }
  hvi_vec_copy(z, cache + s->layers[s->layer_count - 1].y, m->out);
}

/* Adds one layer's own gradient, given delta = dl/da for every row. */
static void add_layer_gradient(const hvi_stack *s, const hvi_stack_layer *layer, const double *x,
                               const double *delta, double *grad) {
  const size_t in = layer->in, out = layer->out;
  for (size_t r = 0; r < s->rows; r++)
    for (size_t i = 0; i < out; i++) {
      const double d = delta[r * out + i];
      if (!layer->matrix) hvi_vec_add(grad + layer->theta_matrix + i * in, d, x + r * in, in);
      if (layer->train_bias) grad[layer->theta_bias + i] += d;
    }
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *grad) {
  const hvi_stack *s = (const hvi_stack *)m;
  double *delta = cache + s->back, *below = delta + s->widest;
  if (s->input || m->dim > s->in) hvi_vec_zero(grad, m->dim); /* layers add theirs */
  for (size_t l = s->layer_count; l-- > 0;) {
    const hvi_stack_layer *layer = &s->layers[l];
    const size_t in = layer->in, out = layer->out;
    for (size_t r = 0; r < s->rows; r++)
      pull(layer->activation, delta + r * out, u + r * out, cache + layer->y + r * out,
           cache + layer->slope + r * out, out);
    if (!layer->matrix || layer->train_bias)
      add_layer_gradient(s, layer, layer_input(s, cache, theta, l), delta, grad);
    if (l == 0 && s->input) break;
    double *next = l == 0 ? grad : below;
    for (size_t r = 0; r < s->rows; r++)
      product_t(next + r * in, layer_matrix(layer, theta), delta + r * out, out, in);
    u = below;
  }
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  const hvi_stack *s = (const hvi_stack *)m;
  double *tangent = cache + s->back, *above = tangent + s->widest;
  const double *t = s->input ? NULL : v; /* NULL: zero */
  for (size_t l = 0; l < s->layer_count; l++) {
    const hvi_stack_layer *layer = &s->layers[l];
    const size_t wide = layer->out, in = layer->in;
    const double *x = layer_input(s, cache, theta, l);
    for (size_t r = 0; r < s->rows; r++) {
      double *a = above + r * wide;
      for (size_t i = 0; i < wide; i++) a[i] = layer->train_bias ? v[layer->theta_bias + i] : 0.0;
      if (t) add_product(a, layer_matrix(layer, theta), t + r * in, wide, in);
      if (!layer->matrix) add_product(a, v + layer->theta_matrix, x + r * in, wide, in);
      pull(layer->activation, a, a, cache + layer->y + r * wide, cache + layer->slope + r * wide,
           wide);
    }
    t = above;
    above = tangent;
    tangent = (double *)t;
  }
  hvi_vec_copy(out, t, m->out);
}

static void free_stack(hvi_model *m) {
  hvi_model_free((hvi_model *)((hvi_stack *)m)->model.network);
  hvi_free(((hvi_stack *)m)->constants);
  hvi_free(m);
}

static const hvi_model_ops stack_ops = {
    .name = "stack", .eval = eval, .vjp = vjp, .jvp = jvp, .free = free_stack};

static const hvi_setting precisions[] = {
    {"precision", HVI_SETTING_CHOICE, .choices = "double|single", .fallback = "double",
     .help = "of players behind networks: single takes half the time, and has seven digits"},
    {.name = NULL}};

const hvi_setting_table hvi_precision_table = {"precision", sizeof(hvi_precision), precisions};

/*
 * A stack whose every width is one: z = s_L(w_L ... s_1(w_1 theta + b_1) ... + b_L), a player of
 * hidden matching pennies.
 *
 * The value stays in a register from layer to layer, and the evaluation already multiplies up
 * J = prod_l s_l' w_l, so that a product with J costs one multiplication. The general stack would
 * send each of these numbers through memory several times, which for one unit is most of its time.
 */
static void chain_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const hvi_stack *s = (const hvi_stack *)m;
  double x = *theta, product = 1.0, slope;
  for (const hvi_stack_layer *y = s->layers; y < s->layers + s->layer_count; y++) {
    x = hvi_activation_value(y->activation, y->w * x + y->b, &slope);
    product *= slope * y->w;
  }
  *cache = product;
  *z = x;
}

/* J' u and J v are the same product here. */
static void chain_mul(const hvi_model *m, double *cache, const double *theta, const double *u,
                      double *out) {
  (void)m, (void)theta;
  *out = *cache * *u;
}

static const hvi_model_ops chain_ops = {
    .name = "chain", .eval = chain_eval, .vjp = chain_mul, .jvp = chain_mul, .free = free_stack};

const hvi_stack *hvi_stack_of(const hvi_model *m) {
  return m && m->ops->free == free_stack ? (const hvi_stack *)m : NULL;
}

/* Whether a stack is a chain: theta the input, fixed layers, one unit each, elementwise. */
static bool chain_fits(const hvi_stack *s) {
  bool fits = !s->input && s->in == 1;
  for (size_t l = 0; l < s->layer_count; l++) {
    const hvi_stack_layer *layer = &s->layers[l];
    const bool fixed = layer->matrix && !layer->train_bias;
    fits = fits && layer->out == 1 && fixed && layer->activation != HVI_SOFTMAX;
  }
  return fits;
}

static hvi_status check_numbers(const double *x, size_t n, const char *what, size_t layer,
                                hvi_error *err) {
  if (!x || hvi_vec_finite(x, n)) return HVI_OK;
  return hvi_error_input(err, "layer %zu: the %s holds a number that is not finite", layer + 1,
                         what);
}

static hvi_status check_layer(const hvi_stack_spec *spec, size_t l, size_t in, hvi_error *err) {
  const hvi_layer *layer = &spec->layers[l];
  if (layer->out == 0) return hvi_error_input(err, "layer %zu has no outputs", l + 1);
  if ((unsigned)layer->activation >= HVI_ACTIVATION_COUNT)
    return hvi_error_argument(err, "layer %zu: unknown activation %d", l + 1,
                              (int)layer->activation);
  if (layer->train_bias && layer->bias)
    return hvi_error_argument(err, "layer %zu: a bias is either fixed or trainable, not both",
                              l + 1);
  size_t entries;
  if (!hvi_multiply_sizes(layer->out, in, &entries))
    return hvi_error_input(err, "layer %zu is too large", l + 1);
  HVI_TRY(check_numbers(layer->matrix, entries, "matrix", l, err));
  return check_numbers(layer->bias, layer->out, "bias", l, err);
}

static hvi_status check_spec(const hvi_stack_spec *spec, hvi_error *err) {
  if (!spec || spec->in == 0 || spec->layer_count == 0 || !spec->layers || spec->rows == 0)
    return hvi_error_argument(err,
                              "a stack needs an input, at least one row and at least one layer");
  if (!spec->input && spec->rows != 1)
    return hvi_error_argument(err, "a stack whose input is theta has one row");
  size_t in = spec->in, numbers;
  if (!hvi_multiply_sizes(in, spec->rows, &numbers))
    return hvi_error_input(err, "the fixed input is too large");
  if (spec->input && !hvi_vec_finite(spec->input, numbers))
    return hvi_error_input(err, "the fixed input holds a number that is not finite");
  for (size_t l = 0; l < spec->layer_count; l++) {
    HVI_TRY(check_layer(spec, l, in, err));
    in = spec->layers[l].out;
  }
  return HVI_OK;
}

/* Lays out theta and the cache: the one table of shapes that everything reads. Returns how many
 * doubles the constants take. */
static size_t lay_out(hvi_stack *s, const hvi_stack_spec *spec) {
  size_t theta = spec->input ? 0 : spec->in, cache = 0, in = spec->in;
  size_t constants = spec->input ? spec->rows * in : 0;
  s->widest = s->rows * in;
  for (size_t l = 0; l < spec->layer_count; l++) {
    const hvi_layer *from = &spec->layers[l];
    const size_t out = from->out, entries = in * out;
    s->layers[l] = (hvi_stack_layer){.in = in,
                                     .out = out,
                                     .activation = from->activation,
                                     .train_bias = from->train_bias,
                                     .theta_matrix = theta,
                                     .theta_bias = theta + (from->matrix ? 0 : entries),
                                     .y = cache,
                                     .slope = cache + s->rows * out};
    theta += (from->matrix ? 0 : entries) + (from->train_bias ? out : 0);
    constants += (from->matrix ? entries : 0) + (from->bias ? out : 0);
    cache += 2 * s->rows * out;
    in = out;
    if (s->rows * in > s->widest) s->widest = s->rows * in;
  }
  s->back = cache;
  s->block = (hvi_block){.dim = theta, .out = s->rows * in};
  return constants;
}

/* x[n] copied to *at, which moves on; NULL when there is no x. */
static double *keep(double **at, const double *x, size_t n) {
  if (!x) return NULL;
  double *copy = memcpy(*at, x, n * sizeof *x);
  *at += n;
  return copy;
}

static void copy_constants(hvi_stack *s, const hvi_stack_spec *spec) {
  double *at = s->constants;
  s->input = keep(&at, spec->input, s->rows * s->in);
  for (size_t l = 0; l < s->layer_count; l++) {
    hvi_stack_layer *to = &s->layers[l];
    to->matrix = keep(&at, spec->layers[l].matrix, to->in * to->out);
    to->bias = keep(&at, spec->layers[l].bias, to->out);
    to->w = to->matrix ? *to->matrix : 0.0;
    to->b = to->bias ? *to->bias : 0.0;
  }
}

/* The stack's own description, as a network. */
static hvi_status make_network(hvi_model **network, const hvi_stack *s, hvi_precision precision,
                               hvi_error *err) {
  HVI_NEW(hvi_layer, layers, s->layer_count, "a model's layers", err);
  for (size_t l = 0; l < s->layer_count; l++) {
    const hvi_stack_layer *from = &s->layers[l];
    layers[l] =
        (hvi_layer){from->out, from->matrix, from->bias, from->train_bias, from->activation};
  }
  const hvi_stack_spec spec = {s->in, s->input, s->rows, s->layer_count, layers, precision};
  return hvi_network_new(network, &spec, err);
}

hvi_status hvi_stack_set_precision(hvi_stack *s, hvi_precision precision, hvi_error *err) {
  if ((unsigned)precision > HVI_PRECISION_REFERENCE)
    return hvi_error_argument(err, "unknown precision %d", (int)precision);
  const bool large = s->block.dim >= NETWORK_LEAST / s->rows;
  const bool wanted =
      precision == HVI_PRECISION_SINGLE || (precision == HVI_PRECISION_DOUBLE && large);
  HVI_OWN_BY(hvi_model_release) hvi_model *network = NULL;
  if (s->input && wanted) HVI_TRY(make_network(&network, s, precision, err));
  hvi_model *m = &s->model.base, *before = (hvi_model *)s->model.network;
  const hvi_model plain = {
      .dim = s->block.dim, .out = s->block.out, .cache = s->back + 2 * s->widest, .block_count = 1};
  *m = network ? *network : plain;
  m->blocks = &s->block;
  m->ops = chain_fits(s) ? &chain_ops : &stack_ops;
  if (network) {
    s->ops = *network->ops;
    s->ops.name = "network";
    s->ops.free = free_stack;
    m->ops = &s->ops;
  }
  s->precision = precision;
  s->model.network = (hvi_mlp *)network;
  network = before; /* let go */
  return HVI_OK;
}

hvi_status hvi_stack_new(hvi_model **model, const hvi_stack_spec *spec, hvi_error *err) {
  *model = NULL;
  HVI_TRY(check_spec(spec, err));
  HVI_OWN_BY(hvi_model_release)
  hvi_model *made = hvi_alloc(1, sizeof(hvi_stack) + spec->layer_count * sizeof(hvi_stack_layer));
  hvi_stack *s = (hvi_stack *)made;
  if (!s) return hvi_error_memory(err, "a model");
  made->ops = &stack_ops;
  s->in = spec->in;
  s->rows = spec->rows;
  s->layer_count = spec->layer_count;
  const size_t constants = lay_out(s, spec);
  if (s->block.dim == 0)
    return hvi_error_input(err,
                           "the model has no parameters: its input and all its layers are fixed");
  HVI_TRY(hvi_new(&s->constants, constants, "a model's layers", err));
  copy_constants(s, spec);
  HVI_TRY(hvi_stack_set_precision(s, spec->precision, err));
  HVI_GIVE(model, made);
}

hvi_status hvi_affine_new(hvi_model **model, size_t n, size_t d, const double *A, const double *b,
                          hvi_error *err) {
  *model = NULL;
  if (!A) return hvi_error_argument(err, "an affine model needs its matrix");
  const hvi_layer layer = {.out = n, .matrix = A, .bias = b, .activation = HVI_IDENTITY};
  const hvi_stack_spec spec = {.in = d, .rows = 1, .layer_count = 1, .layers = &layer};
  return hvi_stack_new(model, &spec, err);
}

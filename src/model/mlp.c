/*
 * A network as a model: doubles outside; floats, or doubles for players of games, inside.
 *
 * eval takes theta over into the network's numbers, turns the matrices (net/net.h) and leaves the
 * activations of all layers in the cache; vjp and jvp read them there, so a value and its gradient
 * are one pass forward and one backward.
 *
 * theta holds what is trained. The network computes with all its matrices and biases: what is fixed
 * is copied in, and its derivatives are left out.
 *
 * A cache is an array of doubles. It begins with the number of rows that are bound and whose they are, and
 * goes on with the network's numbers: weights, a direction in their layout, a gradient, the inputs (when they are
 * bound), the trace and the threads' scratch. That of a network on a device has the inputs alone.
 */
#include "model/mlp.h"

#include "base/base.h"
#include "num/vec.h"

#include <float.h>

HVI_RELEASE(hvi_model)

/* What a cache begins with, and how many doubles of it. */
typedef struct bound {
  size_t rows; /* 0: none */
  hvi_device_rows whose;
} bound;

enum {
  LINE = 64,
  PIECE = 2048,
  MOST_THREADS = 1024,
  HEAD = (sizeof(bound) - 1) / sizeof(double) + 1
};

/* The ops below serve the network's own model and a stack's alike. */
static const hvi_mlp *network_of(const hvi_model *m) {
  return ((const hvi_network_model *)m)->network;
}

/* The network's numbers in a cache, from the n-th on: after its head, on whole cache lines. */
static void *numbers_of(const hvi_mlp *mlp, double *cache, size_t n) {
  const uintptr_t at = (uintptr_t)(cache + HEAD), over = at % LINE;
  return hvi_net_at(mlp->net, (char *)(cache + HEAD) + (over ? LINE - over : 0), n);
}

static bound bound_to(const hvi_mlp *mlp, const double *cache) {
  bound b = {.whose = HVI_DEVICE_STATES};
  if (!mlp->input) memcpy(&b, cache, sizeof b);
  if (b.rows == 0) b.rows = mlp->rows;
  return b;
}

static hvi_batch batch_of(const hvi_mlp *mlp, double *cache) {
  return (hvi_batch){.net = mlp->net,
                     .weights = numbers_of(mlp, cache, mlp->weights),
                     .rows = bound_to(mlp, cache).rows,
                     .x = mlp->input ? mlp->input : numbers_of(mlp, cache, mlp->x),
                     .x_row = mlp->x_row,
                     .threads = mlp->threads,
                     .trace = numbers_of(mlp, cache, mlp->trace),
                     .scratch = numbers_of(mlp, cache, mlp->scratch)};
}

/* Its inputs, for a device. */
static hvi_inputs inputs_of(const hvi_mlp *mlp, const double *cache, const hvi_batch *b) {
  return (hvi_inputs){b->x, b->x_row, b->rows, bound_to(mlp, cache).whose};
}

/* Where part i of theta lies among the network's parameters, and how long it is: the matrix of a
 * layer, then its bias; nothing where that is fixed. */
typedef struct span {
  size_t parameter, length;
} span;

static span span_of(const hvi_net *net, size_t i) {
  const hvi_net_layer *y = &net->layers[i / 2];
  return i % 2 ? (span){y->bias, y->fixed_bias ? 0 : y->out}
               : (span){y->weight, y->fixed_weight ? 0 : y->in * y->out};
}

/* Weights that are all fixed, or zero, but for theta's; ready for a pass. */
static void place(const hvi_mlp *mlp, void *weights, const void *fixed, const double *theta) {
  const hvi_net *net = mlp->net;
  if (mlp->fixed && fixed) memcpy(weights, fixed, net->dim * net->kernels->real);
  if (mlp->fixed && !fixed) memset(weights, 0, net->dim * net->kernels->real);
  for (size_t i = 0; i < 2 * net->layer_count; i++) {
    const span s = span_of(net, i);
    net->kernels->take(hvi_net_at(net, weights, s.parameter), theta, s.length);
    theta += s.length;
    if (i % 2 == 0) hvi_net_prepare_layer(net, weights, i / 2); /* while it is in the cache */
  }
}

/* Outputs of rows that are not bound. */
static void clear_rest(const hvi_mlp *mlp, const hvi_batch *b, double *z) {
  const size_t out = mlp->net->out;
  if (b->rows < mlp->rows) hvi_vec_zero(z + b->rows * out, (mlp->rows - b->rows) * out);
}

/* z from the network's own outputs, those of the bound rows. */
static void rescale(const hvi_mlp *mlp, const hvi_batch *b, double *z) {
  clear_rest(mlp, b, z);
  if (mlp->shift == 0.0 && mlp->scale == 1.0) return;
  for (size_t i = 0; i < mlp->model.base.out; i++) z[i] = mlp->shift + mlp->scale * z[i];
}

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const hvi_mlp *mlp = network_of(m);
  const hvi_batch b = batch_of(mlp, cache);
  const hvi_inputs in = inputs_of(mlp, cache, &b);
  if (!mlp->member) place(mlp, numbers_of(mlp, cache, mlp->weights), mlp->fixed, theta);
  if (mlp->member)
    hvi_member_eval(mlp->member, theta, &in, z);
  else
    hvi_batch_forward(&b, z);
  rescale(mlp, &b, z);
}

static void descend(const hvi_model *m, double *cache, double *theta, hvi_device_descent *d,
                    double *z) {
  const hvi_mlp *mlp = network_of(m);
  const hvi_batch b = batch_of(mlp, cache);
  const hvi_inputs in = inputs_of(mlp, cache, &b);
  d->shift = mlp->shift;
  d->scale = mlp->scale;
  hvi_member_descend(mlp->member, theta, &in, d, z);
  rescale(mlp, &b, z);
}

/* The gradient that a pass backward left in the cache: into out, or piece by piece to `take`. */
static void give(const hvi_mlp *mlp, double *cache, double *out, hvi_gradient_piece take,
                 void *context) {
  const hvi_net *net = mlp->net;
  void *gradient = numbers_of(mlp, cache, mlp->gradient);
  double piece[PIECE];
  size_t first = 0;
  for (size_t i = 0; i < 2 * net->layer_count; i++) {
    const span s = span_of(net, i);
    for (size_t at = 0, n; at < s.length; at += n, first += n) {
      double *to = out ? out + first : piece;
      n = s.length - at < PIECE ? s.length - at : PIECE;
      net->kernels->give(to, hvi_net_at(net, gradient, s.parameter + at), n);
      if (mlp->scale != 1.0) hvi_vec_scale(to, mlp->scale, n);
      if (take) take(context, first, to, n);
    }
  }
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  const hvi_mlp *mlp = network_of(m);
  const hvi_batch b = batch_of(mlp, cache);
  const hvi_inputs in = inputs_of(mlp, cache, &b);
  if (mlp->member) {
    hvi_member_pull(mlp->member, theta, &in, u, out);
    if (mlp->scale != 1.0) hvi_vec_scale(out, mlp->scale, m->dim);
    return;
  }
  hvi_batch_backward(&b, u, numbers_of(mlp, cache, mlp->gradient));
  give(mlp, cache, out, NULL, NULL);
}

void hvi_mlp_pull_by(const hvi_model *m, double *cache, const double *u, hvi_gradient_piece take,
                     void *context) {
  const hvi_mlp *mlp = network_of(m);
  const hvi_batch b = batch_of(mlp, cache);
  hvi_batch_backward(&b, u, numbers_of(mlp, cache, mlp->gradient));
  give(mlp, cache, NULL, take, context);
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  const hvi_mlp *mlp = network_of(m);
  void *direction = numbers_of(mlp, cache, mlp->direction);
  const hvi_batch b = batch_of(mlp, cache);
  const hvi_inputs in = inputs_of(mlp, cache, &b);
  if (!mlp->member) place(mlp, direction, NULL, v);
  if (mlp->member)
    hvi_member_push(mlp->member, theta, &in, v, out);
  else
    hvi_batch_tangent(&b, direction, out);
  clear_rest(mlp, &b, out);
  if (mlp->scale != 1.0) hvi_vec_scale(out, mlp->scale, m->out);
}

/* Copies the inputs into rows of x_row floats, the rest of each row being 0. */
void hvi_mlp_bind(const hvi_model *m, double *cache, const hvi_mlp_batch *batch,
                  hvi_device_rows whose) {
  const hvi_mlp *mlp = network_of(m);
  const size_t in = mlp->net->in, rows = batch ? batch->rows : 0;
  const bound b = {rows < mlp->rows ? rows : mlp->rows, batch ? whose : HVI_DEVICE_OWN};
  float *x = numbers_of(mlp, cache, mlp->x);
  memset(x, 0, mlp->rows * mlp->x_row * sizeof *x);
  for (size_t i = 0; i < b.rows; i++) memcpy(x + i * mlp->x_row, batch->x + i * in, in * sizeof *x);
  memcpy(cache, &b, sizeof b);
}

static void bind(const hvi_model *m, double *cache, const void *sample) {
  hvi_mlp_bind(m, cache, sample, network_of(m)->same ? HVI_DEVICE_STATES : HVI_DEVICE_OWN);
}

static void outer_gram(const hvi_model *m, double *cache, const double *theta, double *K,
                       double *work) {
  (void)theta;
  const hvi_mlp *mlp = network_of(m);
  const hvi_batch b = batch_of(mlp, cache);
  const size_t n = m->out;
  hvi_batch_outer(&b, K, n, numbers_of(mlp, work, 0));
  for (size_t i = b.rows * mlp->net->out; i < n; i++) hvi_vec_zero(K + i * n, n);
  const double square = mlp->scale * mlp->scale;
  for (size_t i = 0; square != 1.0 && i < n; i++) hvi_vec_scale(K + i * n, square, i + 1);
}

/* Rows of the cache that are not bound have none. */
static void jacobian(const hvi_model *m, double *cache, const double *theta, double *J) {
  (void)theta;
  const hvi_mlp *mlp = network_of(m);
  const hvi_batch b = batch_of(mlp, cache);
  const size_t row = mlp->net->out * m->dim;
  hvi_batch_jacobian(&b, 0, b.rows, J, m->dim);
  if (mlp->scale != 1.0) hvi_vec_scale(J, mlp->scale, b.rows * row);
  hvi_vec_zero(J + b.rows * row, (mlp->rows - b.rows) * row);
}

static void free_mlp(hvi_model *m) {
  hvi_mlp *mlp = (hvi_mlp *)m;
  hvi_member_free(mlp->member);
  hvi_net_free(mlp->net);
  hvi_free(mlp->input);
  hvi_free(mlp->fixed);
  hvi_free(mlp);
}

static const hvi_model_ops mlp_ops = {.name = "mlp",
                                      .eval = eval,
                                      .vjp = vjp,
                                      .jvp = jvp,
                                      .bind = bind,
                                      .outer_gram = outer_gram,
                                      .jacobian = jacobian,
                                      .free = free_mlp};

const hvi_mlp *hvi_mlp_of(const hvi_model *m) {
  return m && m->ops->free == free_mlp ? (const hvi_mlp *)m : NULL;
}

void hvi_mlp_rescale(hvi_model *m, double shift, double scale) {
  hvi_mlp *mlp = (hvi_mlp *)m;
  mlp->shift = shift;
  mlp->scale = scale;
}

void hvi_mlp_keep(hvi_model *m) { ((hvi_mlp *)m)->same = true; }

/* Rows of inputs and the traces of all rows must be countable. */
static hvi_status check_size(const hvi_mlp *mlp, hvi_error *err) {
  double numbers = (double)mlp->x_row;
  for (size_t l = 0; l < mlp->net->layer_count; l++)
    numbers += 2.0 * (double)mlp->net->layers[l].out;
  if (numbers * (double)mlp->rows < 1e15) return HVI_OK;
  return hvi_error_argument(err, "%zu rows are too many for this network", mlp->rows);
}

static size_t reserve(size_t *at, size_t numbers) {
  const size_t begin = *at;
  *at += hvi_net_aligned(numbers + HVI_NET_SLACK);
  return begin;
}

/* What a product J'u costs: three products of a layer, two numbers each; J J' a product of
 * sensitivities for every pair of outputs, and one of inputs for every pair of rows. */
static void estimate(hvi_mlp *mlp) {
  const hvi_net *net = mlp->net;
  const double n = (double)mlp->model.base.out, rows = (double)mlp->rows;
  for (size_t l = 0; l < net->layer_count; l++) {
    const double in = (double)net->layers[l].in, out = (double)net->layers[l].out;
    mlp->model.base.flops += 6.0 * rows * in * out;
    mlp->model.base.outer_flops += n * n * (out + 3.0) + rows * rows * in;
  }
  mlp->model.base.outer_flops += (double)net->out * mlp->model.base.flops;
}

/* Lays out the cache and the work of the Gram form. */
static void lay_out(hvi_mlp *mlp, size_t dim) {
  const hvi_net *net = mlp->net;
  const bool doubles = net->kernels->real == sizeof(double), here = !mlp->member;
  size_t at = 0;
  mlp->weights = reserve(&at, here ? net->weights : 0);
  mlp->direction = reserve(&at, here ? net->weights : 0);
  mlp->gradient = reserve(&at, here ? net->dim : 0);
  mlp->x = mlp->input ? 0 : reserve(&at, mlp->rows * mlp->x_row);
  mlp->trace = reserve(&at, here ? hvi_batch_trace(net, mlp->rows) : 0);
  mlp->scratch = reserve(&at, here ? hvi_batch_scratch(net, mlp->rows, mlp->threads) : 0);
  const size_t before = HEAD + LINE / sizeof(double), each = doubles ? 1 : 2;
  mlp->block = (hvi_block){.dim = dim, .out = mlp->rows * net->out};
  mlp->model.base =
      (hvi_model){.ops = &mlp->ops,
                  .dim = dim,
                  .out = mlp->rows * net->out,
                  .cache = before + at / each,
                  .block_count = 1,
                  .blocks = &mlp->block,
                  .outer_work = before + hvi_batch_outer_work(net, mlp->rows, mlp->threads) / each,
                  .noise = doubles ? 0.0 : FLT_EPSILON};
  estimate(mlp);
}

hvi_status hvi_mlp_join(hvi_model *m, hvi_gang *gang, hvi_error *err) {
  hvi_mlp *mlp = (hvi_mlp *)m;
  HVI_TRY(hvi_member_new(&mlp->member, gang, mlp->net, err));
  mlp->ops.descend = descend;
  mlp->ops.outer_gram = NULL;
  mlp->ops.jacobian = NULL;
  lay_out(mlp, m->dim);
  return HVI_OK;
}

hvi_member *hvi_mlp_member(const hvi_model *m) {
  const hvi_mlp *mlp = hvi_mlp_of(m);
  return mlp ? mlp->member : NULL;
}

/* The table of theta's parts, and theta's length. */
static size_t name_parts(hvi_mlp *mlp) {
  size_t dim = 0;
  for (size_t i = 0; i < 2 * mlp->net->layer_count; i++) {
    const hvi_net_layer *layer = &mlp->net->layers[i / 2];
    const size_t bias = i % 2, length = span_of(mlp->net, i).length;
    if (length == 0) continue;
    hvi_mlp_part *part = &mlp->parts[mlp->part_count++];
    *part = (hvi_mlp_part){
        .offset = dim, .dims = 2 - bias, .shape = {layer->out, bias ? 0 : layer->in}};
    snprintf(part->name, sizeof part->name, "%zu.%s", i - bias, bias ? "bias" : "weight");
    dim += length;
  }
  return dim;
}

/* The numbers of what is not trained. */
static hvi_status take_fixed(hvi_mlp *mlp, const hvi_layer *layers, hvi_error *err) {
  const hvi_net *net = mlp->net;
  mlp->fixed = hvi_alloc(net->dim, net->kernels->real);
  if (!mlp->fixed) return hvi_error_memory(err, "a network's fixed layers");
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *to = &net->layers[l];
    void *matrix = hvi_net_at(net, mlp->fixed, to->weight),
         *bias = hvi_net_at(net, mlp->fixed, to->bias);
    if (layers[l].matrix) net->kernels->take(matrix, layers[l].matrix, to->in * to->out);
    if (layers[l].bias) net->kernels->take(bias, layers[l].bias, to->out);
  }
  return HVI_OK;
}

static hvi_status take_input(hvi_mlp *mlp, const double *input, hvi_error *err) {
  const hvi_net *net = mlp->net;
  if (!hvi_vec_finite(input, mlp->rows * net->in))
    return hvi_error_input(err, "the inputs hold a number that is not finite");
  mlp->input = hvi_alloc(mlp->rows * mlp->x_row + HVI_NET_SLACK, net->kernels->real);
  if (!mlp->input) return hvi_error_memory(err, "a network's inputs");
  for (size_t i = 0; i < mlp->rows; i++)
    net->kernels->take(hvi_net_at(net, mlp->input, i * mlp->x_row), input + i * net->in, net->in);
  return HVI_OK;
}

static hvi_status make(hvi_model **model, const hvi_net_spec *shape, size_t rows,
                       const double *input, hvi_precision precision, size_t threads,
                       hvi_error *err) {
  HVI_OWN_BY(hvi_model_release)
  hvi_model *made = hvi_alloc(1, sizeof(hvi_mlp) + 2 * shape->layer_count * sizeof(hvi_mlp_part));
  hvi_mlp *mlp = (hvi_mlp *)made;
  if (!mlp) return hvi_error_memory(err, "a network");
  made->ops = &mlp->ops;
  mlp->model.network = mlp;
  mlp->ops = mlp_ops;
  if (input) mlp->ops.bind = NULL;
  mlp->rows = rows;
  mlp->threads = threads ? threads : 1;
  mlp->scale = 1.0;
  mlp->x_row = hvi_net_aligned(shape->in);
  HVI_TRY(hvi_net_new(&mlp->net, shape, err));
  if (precision != HVI_PRECISION_SINGLE) mlp->net->kernels = hvi_net_double_kernel_list()[0];
  HVI_TRY(check_size(mlp, err));
  const size_t dim = name_parts(mlp);
  if (dim < mlp->net->dim) HVI_TRY(take_fixed(mlp, shape->layers, err));
  if (input) HVI_TRY(take_input(mlp, input, err));
  lay_out(mlp, dim);
  HVI_GIVE(model, made);
}

hvi_status hvi_network_new(hvi_model **model, const hvi_stack_spec *s, hvi_error *err) {
  const hvi_net_spec shape = {s->in, s->layer_count, .layers = s->layers};
  *model = NULL;
  return make(model, &shape, s->rows, s->input, s->precision, 1, err);
}

hvi_status hvi_mlp_new(hvi_model **model, const hvi_mlp_spec *s, hvi_error *err) {
  *model = NULL;
  if (!s || s->rows == 0)
    return hvi_error_argument(err, "a network needs at least one row of inputs");
  if ((unsigned)s->hidden >= HVI_ACTIVATION_COUNT || (unsigned)s->head >= HVI_ACTIVATION_COUNT)
    return hvi_error_argument(err, "unknown activation %d or %d", (int)s->hidden, (int)s->head);
  if (s->threads > MOST_THREADS)
    return hvi_error_argument(err, "%zu threads are too many; at most %d", s->threads,
                              (int)MOST_THREADS);
  const hvi_net_spec shape = {s->in, s->layer_count, s->widths, s->hidden, s->head, NULL};
  return make(model, &shape, s->rows, s->input, HVI_PRECISION_SINGLE, s->threads, err);
}

const hvi_mlp_part *hvi_mlp_parts(const hvi_model *model, size_t *count) {
  const hvi_mlp *mlp = hvi_mlp_of(model);
  *count = mlp ? mlp->part_count : 0;
  return mlp ? mlp->parts : NULL;
}

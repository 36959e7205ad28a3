/*
 * A network as a model: doubles outside, floats inside.
 *
 * eval narrows theta to floats, turns the matrices (net/net.h) and leaves the activations of all
 * layers in the cache; vjp and jvp read them there, so a value and its gradient are one pass
 * forward and one backward.
 *
 * A cache is an array of doubles. It begins with the number of rows that are bound, and goes on
 * with floats: weights, a direction in their layout, a gradient, the inputs (when they are bound),
 * the trace and the threads' scratch.
 */
#include "model/mlp.h"

#include "base/base.h"
#include "num/vec.h"

#include <float.h>

HVI_RELEASE(hvi_model)

enum { LINE = 64, MOST_THREADS = 1024 };

_Static_assert(sizeof(size_t) <= sizeof(double), "a count fits into a double of cache");

/* The floats of a cache: after its first double, from a whole cache line on. */
static float *floats_of(double *cache) {
  const uintptr_t at = (uintptr_t)(cache + 1), over = at % LINE;
  return (float *)(void *)((char *)(cache + 1) + (over ? LINE - over : 0));
}

static size_t bound_rows(const hvi_mlp *mlp, const double *cache) {
  size_t rows = 0;
  if (!mlp->input) memcpy(&rows, cache, sizeof rows);
  return rows ? rows : mlp->rows;
}

static hvi_batch batch_of(const hvi_mlp *mlp, double *cache) {
  float *at = floats_of(cache);
  return (hvi_batch){.net = mlp->net,
                     .weights = at + mlp->weights,
                     .rows = bound_rows(mlp, cache),
                     .x = mlp->input ? mlp->input : at + mlp->x,
                     .x_row = mlp->x_row,
                     .threads = mlp->threads,
                     .trace = at + mlp->trace,
                     .scratch = at + mlp->scratch};
}

/* Outputs of rows that are not bound. */
static void clear_rest(const hvi_mlp *mlp, const hvi_batch *b, double *z) {
  const size_t out = mlp->net->out;
  if (b->rows < mlp->rows) hvi_vec_zero(z + b->rows * out, (mlp->rows - b->rows) * out);
}

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const hvi_mlp *mlp = (const hvi_mlp *)m;
  float *weights = floats_of(cache) + mlp->weights;
  const hvi_batch b = batch_of(mlp, cache);
  hvi_bulk_best()->narrow(weights, theta, m->dim);
  hvi_net_prepare(mlp->net, weights);
  hvi_batch_forward(&b, z);
  clear_rest(mlp, &b, z);
  if (mlp->shift == 0.0 && mlp->scale == 1.0) return;
  for (size_t i = 0; i < m->out; i++) z[i] = mlp->shift + mlp->scale * z[i];
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  (void)theta;
  const hvi_mlp *mlp = (const hvi_mlp *)m;
  float *gradient = floats_of(cache) + mlp->gradient;
  const hvi_batch b = batch_of(mlp, cache);
  hvi_batch_backward(&b, u, gradient);
  hvi_bulk_best()->widen(out, gradient, m->dim);
  if (mlp->scale != 1.0) hvi_vec_scale(out, mlp->scale, m->dim);
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)theta;
  const hvi_mlp *mlp = (const hvi_mlp *)m;
  float *direction = floats_of(cache) + mlp->direction;
  const hvi_batch b = batch_of(mlp, cache);
  hvi_bulk_best()->narrow(direction, v, m->dim);
  hvi_net_prepare(mlp->net, direction);
  hvi_batch_tangent(&b, direction, out);
  clear_rest(mlp, &b, out);
  if (mlp->scale != 1.0) hvi_vec_scale(out, mlp->scale, m->out);
}

/* Copies the inputs into rows of x_row floats, the rest of each row being 0. */
static void bind(const hvi_model *m, double *cache, const void *sample) {
  const hvi_mlp *mlp = (const hvi_mlp *)m;
  const hvi_mlp_batch *batch = sample;
  const size_t in = mlp->net->in, rows = batch ? batch->rows : 0;
  const size_t kept = rows < mlp->rows ? rows : mlp->rows;
  float *x = floats_of(cache) + mlp->x;
  memset(x, 0, mlp->rows * mlp->x_row * sizeof *x);
  for (size_t i = 0; i < kept; i++) memcpy(x + i * mlp->x_row, batch->x + i * in, in * sizeof *x);
  memcpy(cache, &kept, sizeof kept);
}

static void outer_gram(const hvi_model *m, double *cache, const double *theta, double *K,
                       double *work) {
  (void)theta;
  const hvi_mlp *mlp = (const hvi_mlp *)m;
  const hvi_batch b = batch_of(mlp, cache);
  hvi_batch_outer(&b, K, mlp->rows, floats_of(work));
  for (size_t i = b.rows; i < mlp->rows; i++) hvi_vec_zero(K + i * mlp->rows, mlp->rows);
  const double square = mlp->scale * mlp->scale;
  for (size_t i = 0; square != 1.0 && i < mlp->rows; i++)
    hvi_vec_scale(K + i * mlp->rows, square, i + 1);
}

/* The row of example i of a slice. */
static void write_row(double *row, const hvi_batch *b, const hvi_slice *s, const float *deltas,
                      size_t i) {
  const hvi_net *net = b->net;
  const float *a = s->x + i * b->x_row;
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    const float *d = hvi_net_output(net, (float *)(size_t)deltas, s->rows, l) + i * layer->out;
    for (size_t j = 0; j < layer->out; j++) {
      double *w = row + layer->weight + j * layer->in;
      for (size_t k = 0; k < layer->in; k++) w[k] = (double)(d[j] * a[k]);
      row[layer->bias + j] = (double)d[j];
    }
    a = hvi_net_output(net, s->trace, s->rows, l) + i * layer->out;
  }
}

/* Those rows of a slice that lie in first .. end, J beginning at `first`. */
static void write_slice(double *J, const hvi_batch *b, const hvi_slice *s, size_t first,
                        size_t end) {
  const hvi_net *net = b->net;
  float *dy = hvi_batch_dy(b, 0), *deltas = hvi_batch_deltas(b, 0);
  const size_t from = first > s->first ? first : s->first;
  const size_t to = end < s->first + s->rows ? end : s->first + s->rows;
  for (size_t unit = 0; unit < net->out; unit++) {
    hvi_slice_sensitivity(b, s, unit, dy, deltas);
    for (size_t i = from; i < to; i++)
      write_row(J + ((i - first) * net->out + unit) * net->dim, b, s, deltas, i - s->first);
  }
}

/*
 * Rows of the Jacobian. With D_l the sensitivities of one output of example i, the part of its row
 * that belongs to layer l is the outer product D_l[i] A_{l-1}[i]' for W_l, and D_l[i] for b_l. One
 * backward pass a slice and output, without gradients.
 */
void hvi_mlp_jacobian_rows(const hvi_model *model, double *cache, size_t first, size_t count,
                           double *J) {
  const hvi_mlp *mlp = hvi_mlp_of(model);
  if (!mlp || first >= mlp->rows) return;
  const hvi_batch b = batch_of(mlp, cache);
  const size_t end = count < mlp->rows - first ? first + count : mlp->rows;
  const size_t bound = end < b.rows ? end : b.rows;
  for (size_t k = first / HVI_NET_ROWS; k * HVI_NET_ROWS < bound; k++) {
    const hvi_slice s = hvi_batch_slice(&b, k);
    write_slice(J, &b, &s, first, bound);
  }
  const size_t row = mlp->net->out * mlp->net->dim, begin = first > bound ? first : bound;
  if (mlp->scale != 1.0 && first < bound) hvi_vec_scale(J, mlp->scale, (bound - first) * row);
  if (begin < end) hvi_vec_zero(J + (begin - first) * row, (end - begin) * row);
}

static void jacobian(const hvi_model *m, double *cache, const double *theta, double *J) {
  (void)theta;
  hvi_mlp_jacobian_rows(m, cache, 0, ((const hvi_mlp *)m)->rows, J);
}

static void free_mlp(hvi_model *m) {
  hvi_mlp *mlp = (hvi_mlp *)m;
  hvi_net_free(mlp->net);
  hvi_free(mlp->input);
  hvi_free(mlp);
}

const hvi_mlp *hvi_mlp_of(const hvi_model *m) {
  return m && m->ops->free == free_mlp ? (const hvi_mlp *)m : NULL;
}

void hvi_mlp_rescale(hvi_model *m, double shift, double scale) {
  hvi_mlp *mlp = (hvi_mlp *)m;
  mlp->shift = shift;
  mlp->scale = scale;
}

static hvi_status check_spec(const hvi_mlp_spec *s, hvi_error *err) {
  if (!s || s->rows == 0)
    return hvi_error_argument(err, "a network needs at least one row of inputs");
  if ((unsigned)s->hidden >= HVI_ACTIVATION_COUNT || (unsigned)s->head >= HVI_ACTIVATION_COUNT)
    return hvi_error_argument(err, "unknown activation %d or %d", (int)s->hidden, (int)s->head);
  if (s->threads > MOST_THREADS)
    return hvi_error_argument(err, "%zu threads are too many; at most %d", s->threads,
                              (int)MOST_THREADS);
  return HVI_OK;
}

/* Rows of inputs and the traces of all rows must be countable. */
static hvi_status check_size(const hvi_mlp *mlp, hvi_error *err) {
  double floats = (double)mlp->x_row;
  for (size_t l = 0; l < mlp->net->layer_count; l++)
    floats += 2.0 * (double)mlp->net->layers[l].out;
  if (floats * (double)mlp->rows < 1e15) return HVI_OK;
  return hvi_error_argument(err, "%zu rows are too many for this network", mlp->rows);
}

static size_t reserve(size_t *at, size_t floats) {
  const size_t begin = *at;
  *at += hvi_net_aligned(floats + HVI_NET_SLACK);
  return begin;
}

/* Lays out theta, the cache and the work of the Gram form. */
static void lay_out(hvi_mlp *mlp) {
  const hvi_net *net = mlp->net;
  size_t at = 0;
  mlp->weights = reserve(&at, net->weights);
  mlp->direction = reserve(&at, net->weights);
  mlp->gradient = reserve(&at, net->dim);
  mlp->x = mlp->input ? 0 : reserve(&at, mlp->rows * mlp->x_row);
  mlp->trace = reserve(&at, hvi_batch_trace(net, mlp->rows));
  mlp->scratch = reserve(&at, hvi_batch_scratch(net, mlp->rows, mlp->threads));
  const size_t before = 1 + LINE / sizeof(double), two = sizeof(double) / sizeof(float);
  const bool single = net->out == 1;
  mlp->block = (hvi_block){.dim = net->dim, .out = mlp->rows * net->out};
  mlp->ops = (hvi_model_ops){.name = "mlp",
                             .eval = eval,
                             .vjp = vjp,
                             .jvp = jvp,
                             .bind = mlp->input ? NULL : bind,
                             .outer_gram = single ? outer_gram : NULL,
                             .jacobian = jacobian,
                             .free = free_mlp};
  mlp->base = (hvi_model){.ops = &mlp->ops,
                          .dim = net->dim,
                          .out = mlp->rows * net->out,
                          .cache = before + at / two,
                          .block_count = 1,
                          .blocks = &mlp->block,
                          .noise = FLT_EPSILON};
  if (single)
    mlp->base.outer_work = before + hvi_batch_outer_work(net, mlp->rows, mlp->threads) / two;
}

static void name_parts(hvi_mlp *mlp) {
  mlp->part_count = 2 * mlp->net->layer_count;
  for (size_t l = 0; l < mlp->net->layer_count; l++) {
    const hvi_net_layer *layer = &mlp->net->layers[l];
    hvi_mlp_part *w = &mlp->parts[2 * l], *b = w + 1;
    *w = (hvi_mlp_part){.offset = layer->weight, .dims = 2, .shape = {layer->out, layer->in}};
    *b = (hvi_mlp_part){.offset = layer->bias, .dims = 1, .shape = {layer->out}};
    snprintf(w->name, sizeof w->name, "%zu.weight", 2 * l);
    snprintf(b->name, sizeof b->name, "%zu.bias", 2 * l);
  }
}

static hvi_status take_input(hvi_mlp *mlp, const double *input, hvi_error *err) {
  const size_t in = mlp->net->in;
  if (!hvi_vec_finite(input, mlp->rows * in))
    return hvi_error_input(err, "the inputs hold a number that is not finite");
  mlp->input = hvi_alloc(mlp->rows * mlp->x_row + HVI_NET_SLACK, sizeof *mlp->input);
  if (!mlp->input) return hvi_error_memory(err, "a network's inputs");
  for (size_t i = 0; i < mlp->rows; i++)
    hvi_bulk_best()->narrow(mlp->input + i * mlp->x_row, input + i * in, in);
  return HVI_OK;
}

hvi_status hvi_mlp_new(hvi_model **model, const hvi_mlp_spec *spec, hvi_error *err) {
  *model = NULL;
  HVI_TRY(check_spec(spec, err));
  HVI_OWN_BY(hvi_model_release)
  hvi_model *made = hvi_alloc(1, sizeof(hvi_mlp) + 2 * spec->layer_count * sizeof(hvi_mlp_part));
  hvi_mlp *mlp = (hvi_mlp *)made;
  if (!mlp) return hvi_error_memory(err, "a network");
  made->ops = &mlp->ops;
  mlp->ops.free = free_mlp;
  mlp->rows = spec->rows;
  mlp->threads = spec->threads ? spec->threads : 1;
  mlp->scale = 1.0;
  mlp->x_row = hvi_net_aligned(spec->in);
  const hvi_net_spec shape = {spec->in, spec->layer_count, spec->widths, spec->hidden, spec->head};
  HVI_TRY(hvi_net_new(&mlp->net, &shape, err));
  HVI_TRY(check_size(mlp, err));
  if (spec->input) HVI_TRY(take_input(mlp, spec->input, err));
  name_parts(mlp);
  lay_out(mlp);
  *model = made;
  made = NULL;
  return HVI_OK;
}

const hvi_mlp_part *hvi_mlp_parts(const hvi_model *model, size_t *count) {
  const hvi_mlp *mlp = hvi_mlp_of(model);
  *count = mlp ? mlp->part_count : 0;
  return mlp ? mlp->parts : NULL;
}

/*
 * What is measured: an inner step of the real loop on a value network 27-256x..-1, alternately with
 * the bare products that it consists of,
 *
 *   forward A_{l-1} W_l',   backward D_l W_l (but for the first layer),   gradient D_l' A_{l-1},
 *
 * once as one cblas_sgemm each, once by the library's own kernel without bias, activation and
 * slopes. The fastest of several repeats counts, for each alone, by the thread's own clock.
 */
#include "mlp.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "inner_step.h"
#include "net/net.h"
#include "peak.h"
#include "surrogate/surrogate.h"

#include <hvi/mlp.h>
#include <hvi/optimizer.h>

#include <cblas.h>
#include <math.h>

enum { IN = 27, WIDTH = 256, MOST_LAYERS = 17, LARGE = 1024 };

static const size_t depths[] = {2, 16}, batches[] = {256, 1000, 4096};
static const char *const optimizers[] = {"gd", "adamw", "lm"};

/* Arrays of the bare products: parameters, inputs and outputs, sensitivities, gradients. */
typedef struct products {
  hvi_net *net;
  size_t batch;
  float *weights, *grad, *a[MOST_LAYERS + 1], *d[MOST_LAYERS + 1], *large;
} products;

static void free_products(products *p) {
  for (size_t l = 0; l <= MOST_LAYERS; l++) {
    hvi_free(p->a[l]);
    hvi_free(p->d[l]);
  }
  hvi_free(p->weights);
  hvi_free(p->grad);
  hvi_free(p->large);
  hvi_net_free(p->net);
}

static float *some_floats(size_t n) {
  float *x = hvi_alloc(n + HVI_NET_SLACK, sizeof *x);
  hvi_rng rng = hvi_rng_new(1, "bench", n);
  for (size_t i = 0; x && i < n; i++) x[i] = (float)hvi_rng_range(&rng, -1.0, 1.0);
  return x;
}

static hvi_status make_products(products *p, const hvi_net_spec *spec, size_t batch,
                                hvi_error *err) {
  *p = (products){.batch = batch};
  hvi_status status = hvi_net_new(&p->net, spec, err);
  if (status) return status;
  hvi_rng rng = hvi_rng_new(1, "bench", 0);
  p->weights = hvi_alloc(p->net->weights, sizeof(float));
  p->grad = some_floats(p->net->dim);
  p->large = some_floats((size_t)3 * LARGE * LARGE);
  bool good = p->weights && p->grad && p->large;
  for (size_t l = 0; l <= p->net->layer_count; l++) {
    const size_t width = l == 0 ? IN : p->net->layers[l - 1].out;
    p->a[l] = some_floats(batch * width);
    p->d[l] = some_floats(batch * width);
    good &= p->a[l] && p->d[l];
  }
  if (!good) return hvi_error_memory(err, "the benchmark's matrices");
  hvi_net_init_kaiming(p->net, p->weights, &rng);
  hvi_net_prepare(p->net, p->weights);
  return HVI_OK;
}

static void by_blas(const products *p) {
  const int rows = (int)p->batch, layers = (int)p->net->layer_count;
  for (int l = 0; l < layers; l++) {
    const hvi_net_layer *y = &p->net->layers[l];
    const int in = (int)y->in, out = (int)y->out;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1.0F, p->a[l], in,
                p->weights + y->weight, in, 0.0F, p->a[l + 1], out);
  }
  for (int l = layers - 1; l >= 0; l--) {
    const hvi_net_layer *y = &p->net->layers[l];
    const int in = (int)y->in, out = (int)y->out;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, rows, 1.0F, p->d[l + 1], out,
                p->a[l], in, 0.0F, p->grad + y->weight, in);
    if (l == 0) break;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, in, out, 1.0F, p->d[l + 1], out,
                p->weights + y->weight, in, 0.0F, p->d[l], in);
  }
}

/* The products of rows first .. first + rows, as the library takes them. */
static void own_slice(const products *p, size_t first, size_t rows) {
  const hvi_net *net = p->net;
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    net->kernels->product(&(hvi_product){.m = rows,
                                         .n = y->out,
                                         .k = y->in,
                                         .a = p->a[l] + first * y->in,
                                         .a_row = y->in,
                                         .a_step = 1,
                                         .b = p->weights + y->transposed,
                                         .b_row = y->out,
                                         .c = p->a[l + 1] + first * y->out,
                                         .c_row = y->out});
  }
  for (size_t l = net->layer_count; l-- > 0;) {
    const hvi_net_layer *y = &net->layers[l];
    net->kernels->product(&(hvi_product){.m = y->out,
                                         .n = y->in,
                                         .k = rows,
                                         .a = p->d[l + 1] + first * y->out,
                                         .a_row = 1,
                                         .a_step = y->out,
                                         .b = p->a[l] + first * y->in,
                                         .b_row = y->in,
                                         .c = p->grad + y->weight,
                                         .c_row = y->in,
                                         .finish = first ? HVI_FINISH_ADD : HVI_FINISH_STORE});
    if (l == 0) break;
    net->kernels->product(&(hvi_product){.m = rows,
                                         .n = y->in,
                                         .k = y->out,
                                         .a = p->d[l + 1] + first * y->out,
                                         .a_row = y->out,
                                         .a_step = 1,
                                         .b = p->weights + y->weight,
                                         .b_row = y->in,
                                         .c = p->d[l] + first * y->in,
                                         .c_row = y->in});
  }
}

static void by_own_kernel(const products *p) {
  for (size_t first = 0; first < p->batch; first += HVI_NET_ROWS)
    own_slice(p, first, p->batch - first < HVI_NET_ROWS ? p->batch - first : HVI_NET_ROWS);
}

static void by_large_blas(const products *p) {
  float *c = p->large, *a = c + LARGE * LARGE, *b = a + LARGE * LARGE;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, LARGE, LARGE, LARGE, 1.0F, a, LARGE, b,
              LARGE, 0.0F, c, LARGE);
}

static void time_products(double *seconds, const products *p, void (*multiply)(const products *p)) {
  const double start = hvi_clock_work(1);
  multiply(p);
  *seconds = fmin(*seconds, hvi_clock_work(1) - start);
}

static hvi_status make_model(inner_step *w, const hvi_net_spec *net, size_t batch, hvi_error *err) {
  double *input = hvi_alloc_doubles(batch * IN);
  if (!input) return hvi_error_memory(err, "the benchmark's inputs");
  hvi_rng rng = hvi_rng_new(1, "inputs", 0);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, batch * IN, input);
  const hvi_mlp_spec spec = {.in = net->in,
                             .layer_count = net->layer_count,
                             .widths = net->widths,
                             .hidden = net->hidden,
                             .head = net->head,
                             .rows = batch,
                             .input = input};
  const hvi_status status = hvi_mlp_new(&w->model, &spec, err);
  hvi_free(input);
  return status;
}

static hvi_status stand(inner_step *w, hvi_error *err) {
  const size_t d = w->model->dim, n = w->model->out;
  HVI_TRY(inner_step_place(w, err));
  HVI_OWN double *theta = hvi_alloc_doubles(d), *target = hvi_alloc_doubles(n);
  if (!theta || !target) return hvi_error_memory(err, "the benchmark's step");
  hvi_rng rng = hvi_rng_new(1, "theta0", 0);
  HVI_TRY(hvi_mlp_init(w->model, theta, HVI_INIT_KAIMING, &rng, err));
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, target);
  inner_step_freeze(w, theta, target);
  return HVI_OK;
}

static hvi_status make_work(inner_step *w, const hvi_net_spec *net, const mlp_row *row,
                            hvi_error *err) {
  *w = (inner_step){.optimizer = hvi_optimizer_find(row->optimizer),
                    .settings = hvi_optimizer_defaults()};
  w->settings.lr = 1e-5;
  w->settings.damping = (double)row->batch;
  const hvi_status status = make_model(w, net, row->batch, err);
  return status ? status : stand(w, err);
}

static double flops_of(const hvi_net *net, size_t batch) {
  double weights = 0.0;
  for (size_t l = 0; l < net->layer_count; l++)
    weights += (double)(net->layers[l].in * net->layers[l].out);
  return (double)batch * (6.0 * weights - 2.0 * IN * WIDTH);
}

/* Large measurements are steadier, and a few of them are enough. */
static size_t repeats_of(const mlp_row *row, const bench_options *o) {
  const double cost = row->flops * (row->first_order ? 1.0 : 30.0);
  const double most = fmax(2.0, 4e10 / cost);
  return (double)o->repeats < most ? o->repeats : (size_t)most;
}

static void compare(mlp_row *row, inner_step *w, const products *p, const bench_options *o) {
  double large = INFINITY;
  row->flops = flops_of(p->net, p->batch);
  const size_t repeats = repeats_of(row, o);
  for (size_t r = 0; r < repeats; r++) {
    inner_step_time(&row->step, w);
    time_products(&row->sgemm, p, by_blas);
    inner_step_time(&row->step, w);
    time_products(&row->own, p, by_own_kernel);
    if (r % 4 == 0) time_products(&large, p, by_large_blas);
  }
  row->fma = bench_peak(true);
  row->peak = 2.0 * LARGE * LARGE * LARGE / large;
}

static hvi_status measure(mlp_row *row, const bench_options *o, hvi_error *err) {
  size_t widths[MOST_LAYERS];
  for (size_t l = 0; l < row->hidden; l++) widths[l] = WIDTH;
  widths[row->hidden] = 1;
  const hvi_net_spec net = {.in = IN,
                            .layer_count = row->hidden + 1,
                            .widths = widths,
                            .hidden = HVI_RELU,
                            .head = HVI_IDENTITY};
  inner_step w;
  products p;
  hvi_status status = make_work(&w, &net, row, err);
  if (!status) {
    status = make_products(&p, &net, row->batch, err);
    if (!status) compare(row, &w, &p, o);
    free_products(&p);
  }
  inner_step_free(&w);
  return status;
}

hvi_status bench_mlp_run(void *measured, size_t *done, const bench_options *o, hvi_error *err) {
  mlp_row *rows = measured;
  hvi_status status = HVI_OK;
  for (*done = 0; !status && *done < MLP_ROWS; ++*done) {
    if (o->progress && !o->progress(o->context, *done, MLP_ROWS)) break;
    mlp_row *row = &rows[*done];
    *row = (mlp_row){.hidden = depths[*done / 9],
                     .batch = batches[*done / 3 % 3],
                     .optimizer = optimizers[*done % 3],
                     .first_order = *done % 3 < 2,
                     .step = INFINITY,
                     .sgemm = INFINITY,
                     .own = INFINITY};
    status = measure(row, o, err);
  }
  return status;
}

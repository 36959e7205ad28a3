/*
 * What is measured: an inner step of two players 8-w-w-4 (tanh, softmax) on r rows of inputs, in
 * double or single precision, alternately with the bare arithmetic that it cannot do without:
 *
 *   adam   the products of a pass forward and back, by OpenBLAS or by the library's own kernel,
 *          whichever is faster here, and the update of all parameters
 *   lm     the same products, then a step through J J': P = D D' for every layer by OpenBLAS's dsyrk,
 *          where D has a row for each output, and a Cholesky factor by LAPACK
 *
 * The fastest of several repeats counts, for each alone, by the thread's own clock.
 */
#include "network_games.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "inner_step.h"
#include "net/net.h"
#include "num/adam.h"
#include "peak.h"
#include "surrogate/surrogate.h"

#include <hvi/optimizer.h>
#include <hvi/rng.h>

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

enum { IN = 8, OUT = 4, LAYERS = 3, PLAYERS = 2 };

static double *draw(size_t n, double sd) {
  double *x = hvi_alloc_doubles(n + HVI_NET_SLACK);
  hvi_rng rng = hvi_rng_new(1, "network games", n);
  if (x) hvi_rng_fill_normal(&rng, 0.0, sd, n, x);
  return x;
}

static hvi_status make_players(hvi_model **model, const games_row *row, hvi_error *err) {
  const hvi_layer layers[LAYERS] = {{.out = row->width, .train_bias = true, .activation = HVI_TANH},
                                    {.out = row->width, .train_bias = true, .activation = HVI_TANH},
                                    {.out = OUT, .train_bias = true, .activation = HVI_SOFTMAX}};
  double *input = draw(row->rows * IN, 1.0);
  if (!input) return hvi_error_memory(err, "the benchmark's inputs");
  const hvi_stack_spec spec = {.in = IN,
                               .input = input,
                               .rows = row->rows,
                               .layer_count = LAYERS,
                               .layers = layers,
                               .precision =
                                   row->single ? HVI_PRECISION_SINGLE : HVI_PRECISION_DOUBLE};
  hvi_model *players[PLAYERS] = {NULL};
  hvi_status status = HVI_OK;
  for (int k = 0; k < PLAYERS && !status; k++) status = hvi_stack_new(&players[k], &spec, err);
  hvi_free(input);
  if (!status) return hvi_players_new(model, PLAYERS, players, err);
  for (int k = 0; k < PLAYERS; k++) hvi_model_free(players[k]);
  return status;
}

static hvi_status make_work(inner_step *w, const games_row *row, hvi_error *err) {
  *w = (inner_step){.optimizer = hvi_optimizer_find(row->first_order ? "adam" : "lm"),
                    .settings = hvi_optimizer_defaults()};
  w->settings.lr = 1e-5;
  HVI_TRY(make_players(&w->model, row, err));
  HVI_TRY(inner_step_place(w, err));
  HVI_OWN double *theta = draw(w->model->dim, 0.2), *target = draw(w->model->out, 0.5);
  if (!theta || !target) return hvi_error_memory(err, "the benchmark's step");
  inner_step_freeze(w, theta, target);
  return HVI_OK;
}

/* One player's matrices: activations and sensitivities of all layers, weights and their gradient. As
 * doubles, of which floats take the first half. */
typedef struct matrices {
  size_t rows, width[LAYERS + 1];
  bool single;
  const hvi_net_kernels *kernels;
  double *a[LAYERS + 1], *d[LAYERS + 1], *w[LAYERS], *wt[LAYERS], *grad, *K;
  size_t dim;
  double *theta; /* [4][dim]: a point, two averages, a gradient */
} matrices;

static void free_matrices(matrices *m) {
  for (int l = 0; l <= LAYERS; l++) {
    hvi_free(m->a[l]);
    hvi_free(m->d[l]);
  }
  for (int l = 0; l < LAYERS; l++) {
    hvi_free(m->w[l]);
    hvi_free(m->wt[l]);
  }
  hvi_free(m->grad);
  hvi_free(m->K);
  hvi_free(m->theta);
}

static hvi_status make_matrices(matrices *m, const games_row *row, hvi_error *err) {
  const size_t w = row->width, n = row->first_order ? 1 : row->rows * OUT;
  *m = (matrices){.rows = row->rows, .width = {IN, w, w, OUT}, .single = row->single};
  m->kernels = *(row->single ? hvi_net_kernel_list() : hvi_net_double_kernel_list());
  m->grad = draw((w > IN ? w : IN) * w, 1.0);
  m->K = draw(n * n, 0.0);
  m->dim = (IN + 1) * w + (w + 1) * w + (w + 1) * OUT;
  m->theta = draw(4 * m->dim, 1.0);
  bool good = m->grad && m->K && m->theta;
  for (size_t i = 0; good && i < m->dim; i++) m->theta[2 * m->dim + i] = 1.0;
  for (int l = 0; l <= LAYERS; l++) {
    m->a[l] = draw(row->rows * m->width[l], 0.0);
    m->d[l] = draw((row->first_order ? row->rows : n) * m->width[l], row->first_order ? 0.0 : 1.0);
    good &= m->a[l] && m->d[l];
  }
  for (int l = 0; l < LAYERS; l++) {
    m->w[l] = draw(m->width[l] * m->width[l + 1], 0.0);
    m->wt[l] = draw(m->width[l] * m->width[l + 1], 0.0);
    good &= m->w[l] && m->wt[l];
  }
  return good ? HVI_OK : hvi_error_memory(err, "the benchmark's matrices");
}

/* C = A B, A' B or A B', by BLAS */
static void gemm(const matrices *x, double *c, size_t m, size_t n, size_t k, const double *a,
                 bool turn_a, const double *b, bool turn_b) {
  const CBLAS_TRANSPOSE ta = turn_a ? CblasTrans : CblasNoTrans,
                        tb = turn_b ? CblasTrans : CblasNoTrans;
  const int M = (int)m, N = (int)n, K = (int)k, lda = turn_a ? M : K, ldb = turn_b ? K : N;
  if (x->single)
    cblas_sgemm(CblasRowMajor, ta, tb, M, N, K, 1.0F, (const float *)(const void *)a, lda,
                (const float *)(const void *)b, ldb, 0.0F, (float *)(void *)c, N);
  else
    cblas_dgemm(CblasRowMajor, ta, tb, M, N, K, 1.0, a, lda, b, ldb, 0.0, c, N);
}

static void by_blas(const matrices *x) {
  const size_t r = x->rows, *w = x->width;
  for (int l = 0; l < LAYERS; l++)
    gemm(x, x->a[l + 1], r, w[l + 1], w[l], x->a[l], false, x->w[l], true);
  for (int l = LAYERS - 1; l >= 0; l--) {
    gemm(x, x->grad, w[l + 1], w[l], r, x->d[l + 1], true, x->a[l], false);
    if (l > 0) gemm(x, x->d[l], r, w[l], w[l + 1], x->d[l + 1], false, x->w[l], false);
  }
}

/* The same in slices, as the library takes them. */
static void by_own_kernel(const matrices *x) {
  const size_t *w = x->width, real = x->kernels->real;
  for (size_t first = 0; first < x->rows; first += HVI_NET_ROWS) {
    const size_t left = x->rows - first, r = left < HVI_NET_ROWS ? left : HVI_NET_ROWS;
    char *a[LAYERS + 1], *d[LAYERS + 1];
    for (int l = 0; l <= LAYERS; l++) {
      a[l] = (char *)x->a[l] + first * w[l] * real;
      d[l] = (char *)x->d[l] + first * w[l] * real;
    }
    for (int l = 0; l < LAYERS; l++) {
      const hvi_product p =
          hvi_product_of(a[l + 1], r, w[l + 1], w[l], a[l], w[l], x->wt[l], w[l + 1]);
      x->kernels->product(&p);
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
      hvi_product p = hvi_product_of(x->grad, w[l + 1], w[l], r, d[l + 1], 1, a[l], w[l]);
      p.a_step = w[l + 1];
      p.finish = first ? HVI_FINISH_ADD : HVI_FINISH_STORE;
      x->kernels->product(&p);
      p = hvi_product_of(d[l], r, w[l], w[l + 1], d[l + 1], w[l + 1], x->w[l], w[l]);
      if (l > 0) x->kernels->product(&p);
    }
  }
}

static void update(const matrices *x) {
  const hvi_adam_rates r = {0.9, 0.999, 1e-8, 1e-5, 1.0, 1.0};
  double *t = x->theta;
  const size_t d = x->dim;
  hvi_adam_update(t, t + d, t + 2 * d, t + 3 * d, &r, d);
}

static void by_lapack(const matrices *x) {
  const size_t n = x->rows * OUT;
  for (int l = 1; l <= LAYERS; l++)
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)n, (int)x->width[l], 1.0, x->d[l],
                (int)x->width[l], l > 1, x->K, (int)n);
  for (size_t i = 0; i < n; i++) x->K[i * n + i] += 1.0;
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, x->K, (int)n);
}

static void time_limit(double *seconds, const matrices *m, void (*limit)(const matrices *m)) {
  const double start = hvi_clock_work(1);
  for (int k = 0; k < PLAYERS; k++) limit(m);
  *seconds = fmin(*seconds, hvi_clock_work(1) - start);
}

static double flops_of(const games_row *r) {
  const double rows = (double)r->rows, w = (double)r->width, n = OUT * rows;
  return r->first_order ? PLAYERS * 6.0 * rows * (w * w + (IN + OUT) * w)
                        : PLAYERS * (4.0 * n * n * w + n * n * n / 3.0);
}

/* Large measurements are steadier, and a few of them are enough; none when there is one repeat. */
static size_t repeats_of(const games_row *row, const bench_options *o) {
  const double flops = flops_of(row), most = fmax(2.0, 2e10 / flops);
  if (o->repeats == 1) return flops <= 1e9;
  return 50.0 * (double)o->repeats < most ? 50 * o->repeats : (size_t)most;
}

static hvi_status measure(games_row *row, size_t repeats, hvi_error *err) {
  inner_step w;
  matrices m = {0};
  hvi_status status = make_work(&w, row, err);
  if (!status) status = make_matrices(&m, row, err);
  double products = INFINITY, rest = INFINITY;
  row->step = INFINITY;
  for (size_t r = 0; r < repeats && !status; r++) {
    inner_step_time(&row->step, &w);
    time_limit(&products, &m, by_blas);
    time_limit(&products, &m, by_own_kernel);
    time_limit(&rest, &m, row->first_order ? update : by_lapack);
  }
  row->limit = products + rest;
  row->fma = flops_of(row) / bench_peak(row->single);
  free_matrices(&m);
  inner_step_free(&w);
  return status;
}

hvi_status bench_network_game(games_row *row, size_t i, const bench_options *o, hvi_error *err) {
  static const size_t rows[] = {1, 64, 1000, 10000}, widths[] = {16, 64, 512};
  static const size_t exact[NETWORK_GAMES_LM][2] = {
      {1, 64}, {64, 16}, {64, 64}, {64, 512}, {500, 64}};
  const bool first_order = i < NETWORK_GAMES_ADAM;
  const size_t k = i - NETWORK_GAMES_ADAM;
  *row = (games_row){.game = "network",
                     .label = first_order ? "Adam" : "LM(1)",
                     .first_order = first_order,
                     .single = first_order && i % 2,
                     .rows = first_order ? rows[i / 6] : exact[k][0],
                     .width = first_order ? widths[i / 2 % 3] : exact[k][1],
                     .agrees = true,
                     .step = NAN,
                     .limit = NAN,
                     .fma = NAN};
  const size_t repeats = repeats_of(row, o);
  return repeats ? measure(row, repeats, err) : HVI_OK;
}

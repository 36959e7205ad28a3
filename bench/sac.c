/*
 * What is measured: updates of a trainer whose buffer holds random transitions, alternately with
 * the bare products of an update as one cblas_sgemm each. In two environment steps with a delay
 * of two there are
 *
 *   critics    2 passes of the actor; 4 of target critics; 4 of critics, each forward, backward to
 *              the second layer, and gradient
 *   actor      3 passes of the actor, two of them with backward and gradient; 4 of critics forward,
 *              and 2 (each row by one of the twins) backward to the action
 *
 * The fastest of several repeats counts, by the thread's own clock.
 */
#include "sac.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "peak.h"
#include "rl/sac.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { TRANSITIONS = 100000, DELAY = 2 };

/* An environment that has sizes and nothing else. */
static void reset_empty(hvi_env *env, hvi_rng *rng) {
  (void)env;
  (void)rng;
}

static void observe_empty(const hvi_env *env, double *obs) {
  memset(obs, 0, env->obs * sizeof *obs);
}

static const hvi_env_ops empty_ops = {
    .name = "empty", .size = sizeof(hvi_env), .reset = reset_empty, .observe = observe_empty};

static hvi_status fill_buffer(hvi_sac *sac, hvi_error *err) {
  double row[256];
  hvi_rng rng = hvi_rng_new(1, "bench", 0);
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < TRANSITIONS && !status; i++) {
    hvi_rng_fill_uniform(&rng, -1.0, 1.0, 2 * sac->obs + sac->act + 1, row);
    status = hvi_sac_add(sac, row, row + sac->obs, row[2 * sac->obs + sac->act],
                         row + sac->obs + sac->act, i % 100 == 0, err);
  }
  return status;
}

/* What the bare products read and write. */
typedef struct products {
  int rows, act;
  const hvi_net *actor, *critic;
  const float *a, *w; /* as inputs or sensitivities, and as weights */
  float *c;
  double flops;
} products;

static void multiply(products *p, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                     int b_row) {
  const int a_row = ta == CblasTrans ? m : k;
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0F, p->a, a_row, p->w, b_row, 0.0F, p->c, n);
  p->flops += 2.0 * m * n * k;
}

static void forward(products *p, const hvi_net *net) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const int in = (int)net->layers[l].in, out = (int)net->layers[l].out;
    multiply(p, CblasNoTrans, CblasTrans, p->rows, out, in, in);
  }
}

static void backward(products *p, const hvi_net *net) {
  for (size_t l = net->layer_count; l-- > 1;) {
    const int in = (int)net->layers[l].in, out = (int)net->layers[l].out;
    multiply(p, CblasNoTrans, CblasNoTrans, p->rows, in, out, in);
  }
}

static void gradient(products *p, const hvi_net *net) {
  for (size_t l = 0; l < net->layer_count; l++) {
    const int in = (int)net->layers[l].in, out = (int)net->layers[l].out;
    multiply(p, CblasTrans, CblasNoTrans, out, in, p->rows, in);
  }
}

/* Of two environment steps. */
static void all_products(products *p) {
  const hvi_net_layer *first = &p->critic->layers[0];
  p->flops = 0.0;
  for (int i = 0; i < 2 + 3; i++) forward(p, p->actor);
  for (int i = 0; i < 4 + 4 + 4; i++) forward(p, p->critic);
  for (int i = 0; i < 4 + 2; i++) backward(p, p->critic);
  for (int i = 0; i < 2; i++)
    multiply(p, CblasNoTrans, CblasNoTrans, p->rows, p->act, (int)first->out, (int)first->in);
  for (int i = 0; i < 4; i++) gradient(p, p->critic);
  for (int i = 0; i < 2; i++) {
    backward(p, p->actor);
    gradient(p, p->actor);
  }
}

static float *some_floats(size_t n) {
  float *x = hvi_alloc(n, sizeof *x);
  hvi_rng rng = hvi_rng_new(1, "bench", n);
  for (size_t i = 0; x && i < n; i++) x[i] = (float)hvi_rng_range(&rng, -1.0, 1.0);
  return x;
}

static void compare(sac_row *row, hvi_sac *sac, products *p, size_t repeats) {
  double critics = INFINITY, actor = INFINITY, bare = INFINITY;
  for (size_t r = 0; r < repeats + 2; r++) {
    const double t0 = hvi_clock_work(1);
    hvi_sac_update_critics(sac);
    const double t1 = hvi_clock_work(1);
    hvi_sac_update_actor(sac);
    const double t2 = hvi_clock_work(1);
    all_products(p);
    const double t3 = hvi_clock_work(1);
    if (r < 2) continue;
    critics = fmin(critics, t1 - t0);
    actor = fmin(actor, t2 - t1);
    bare = fmin(bare, t3 - t2);
  }
  row->critics = critics;
  row->actor = actor / DELAY;
  row->sgemm = bare / DELAY;
  row->flops = p->flops / DELAY;
  row->fma = bench_peak(true);
}

hvi_status bench_sac_trainer(hvi_sac **sac, size_t obs, size_t act, uint64_t seed, hvi_error *err) {
  const hvi_env env = {
      .ops = &empty_ops, .name = "empty", .obs = obs, .act = act, .low = -1.0, .high = 1.0};
  hvi_sac_settings s = hvi_sac_defaults();
  s.buffer = TRANSITIONS;
  s.seed = seed;
  HVI_TRY(hvi_sac_new(sac, &env, &s, err));
  return fill_buffer(*sac, err);
}

static hvi_status measure(sac_row *row, size_t repeats, hvi_error *err) {
  hvi_sac *sac = NULL;
  hvi_status status = bench_sac_trainer(&sac, row->obs, row->act, 1, err);
  if (!status) {
    const size_t batch = sac->settings.batch;
    const size_t most = batch * sac->critic_net->widest + sac->critic_net->dim;
    float *a = some_floats(most), *w = some_floats(most), *c = some_floats(most);
    products p = {.rows = (int)batch,
                  .act = (int)row->act,
                  .actor = sac->actor.net,
                  .critic = sac->critic_net,
                  .a = a,
                  .w = w,
                  .c = c};
    if (a && w && c)
      compare(row, sac, &p, repeats);
    else
      status = hvi_error_memory(err, "the benchmark's matrices");
    hvi_free(a);
    hvi_free(w);
    hvi_free(c);
  }
  hvi_sac_free(sac);
  return status;
}

hvi_status bench_sac_run(void *measured, size_t *done, const bench_options *o, hvi_error *err) {
  sac_row *rows = measured;
  static const sac_row sizes[SAC_ROWS] = {{.env = "half_cheetah", .obs = 17, .act = 6},
                                          {.env = "ant", .obs = 27, .act = 8}};
  hvi_status status = HVI_OK;
  for (*done = 0; !status && *done < SAC_ROWS; ++*done) {
    if (o->progress && !o->progress(o->context, *done, SAC_ROWS)) break;
    rows[*done] = sizes[*done];
    status = measure(&rows[*done], o->repeats, err);
  }
  return status;
}

/*
 * Every row moves by the same eps thetabar_S, so X_t v = X (v - eps <thetabar_S, v_S> e_bias) and
 * nothing of the size of X is ever stored.
 */
#include "problems/performative/credit_model.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/dense.h"
#include "num/vec.h"

#include <string.h>

/* A cache: {the sample's address | theta of the last evaluation}. */
enum { SAMPLE, THETA, WIDTH = HVI_CREDIT_WIDTH, CACHE = THETA + WIDTH };

_Static_assert(sizeof(void *) <= sizeof(double), "an address fits where a double does");

typedef struct credit_model {
  hvi_model base;
  hvi_block block;
  const hvi_credit_data *data;
  double eps;
} credit_model;

static const double *deployed(const double *cache) {
  const hvi_credit_sample *sample;
  memcpy(&sample, cache + SAMPLE, sizeof sample);
  return sample ? sample->theta : cache + THETA;
}

static void bind(const hvi_model *m, double *cache, const void *sample) {
  (void)m;
  memcpy(cache + SAMPLE, &sample, sizeof sample);
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)theta;
  const credit_model *c = (const credit_model *)m;
  const double *bar = deployed(cache);
  double moved[WIDTH];
  hvi_vec_copy(moved, v, WIDTH);
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
    const size_t j = hvi_credit_strategic[k];
    moved[HVI_CREDIT_BIAS] -= c->eps * bar[j] * v[j];
  }
  hvi_dense_mul(out, c->data->x, moved, c->data->rows, WIDTH);
  hvi_vec_copy(out + c->data->rows, v, HVI_CREDIT_FEATURES);
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  (void)theta;
  const credit_model *c = (const credit_model *)m;
  const double *bar = deployed(cache);
  hvi_dense_mul_t(out, c->data->x, u, c->data->rows, WIDTH);
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
    const size_t j = hvi_credit_strategic[k];
    out[j] -= c->eps * bar[j] * out[HVI_CREDIT_BIAS];
  }
  for (size_t j = 0; j < HVI_CREDIT_FEATURES; j++) out[j] += u[c->data->rows + j];
}

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  hvi_vec_copy(cache + THETA, theta, WIDTH);
  jvp(m, cache, theta, theta, z);
}

static void free_model(hvi_model *m) { hvi_free(m); }

static const hvi_model_ops ops = {
    .name = "credit", .eval = eval, .vjp = vjp, .jvp = jvp, .bind = bind, .free = free_model};

hvi_status hvi_credit_model_new(hvi_model **model, const hvi_credit_data *data, double eps,
                                hvi_error *err) {
  *model = NULL;
  credit_model *c = hvi_alloc(1, sizeof *c);
  if (!c) return hvi_error_memory(err, "the credit model");
  c->data = data;
  c->eps = eps;
  c->block = (hvi_block){.dim = WIDTH, .out = data->rows + HVI_CREDIT_FEATURES};
  c->base = (hvi_model){.ops = &ops,
                        .dim = WIDTH,
                        .out = c->block.out,
                        .cache = CACHE,
                        .block_count = 1,
                        .blocks = &c->block};
  *model = &c->base;
  return HVI_OK;
}

/*
 * Rows are worked on in blocks of LANES, features across, so that every inner loop runs over the
 * lanes of a block and becomes SIMD code; the last block is filled up with copies that count for
 * nothing.
 */
#include "problems/performative/rir_model.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/simd_exp.h"
#include "num/vec.h"

#include <math.h>
#include <string.h>

enum { LANES = 16, WIDTH = HVI_CREDIT_WIDTH, HIDDEN = HVI_RIR_HIDDEN, DIM = HVI_RIR_DIM };
enum { SECOND = HIDDEN * WIDTH, LAST = SECOND + HIDDEN }; /* where w and c stand in theta */

_Static_assert(sizeof(void *) <= sizeof(double), "an address fits where a double does");

typedef struct rir_model {
  hvi_model base;
  hvi_block block;
  const hvi_credit_data *data;
  double delta;
  double *lot;        /* [rows] uniform numbers of the fixed lot */
  uint32_t *partners; /* [rows] whose features those get that are resampled in it */
} rir_model;

/* A block of rows, and what the network makes of it. */
typedef struct batch {
  double x[WIDTH][LANES];
  double h[HIDDEN][LANES];
  double bend[HIDDEN][LANES]; /* dh/da: 1 or 1/100 */
  double z[LANES], slope[LANES];
} batch;

/* A cache: {the sample's address | slopes and hidden units of all blocks | the fixed lot's sources}
 */
static size_t block_count(const rir_model *m) { return (m->data->rows + LANES - 1) / LANES; }

static double *block_cache(double *cache, size_t b) { return cache + 1 + b * (1 + HIDDEN) * LANES; }

static uint32_t *own_sources(const rir_model *m, double *cache) {
  return (uint32_t *)(void *)block_cache(cache, block_count(m));
}

static const uint32_t *bound_sources(const rir_model *m, double *cache) {
  const uint32_t *source;
  memcpy(&source, cache, sizeof source);
  return source ? source : own_sources(m, cache);
}

/* Rows of block b; source NULL: everybody has his own features. */
static void gather(batch *t, const rir_model *m, const uint32_t *source, size_t b) {
  for (size_t l = 0; l < LANES; l++) {
    const size_t row = b * LANES + l < m->data->rows ? b * LANES + l : m->data->rows - 1;
    const double *x = m->data->x + row * WIDTH;
    for (size_t j = 0; j < WIDTH; j++) t->x[j][l] = x[j];
    if (!source) continue;
    const double *other = m->data->x + source[row] * WIDTH;
    for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
      t->x[hvi_credit_strategic[k]][l] = other[hvi_credit_strategic[k]];
    }
  }
}

static void bend_of(batch *t) {
  for (size_t k = 0; k < HIDDEN; k++) {
    for (size_t l = 0; l < LANES; l++) t->bend[k][l] = t->h[k][l] < 0.0 ? 0.01 : 1.0;
  }
}

/* out[k] = sum_j W[k][j] x[j] */
static void first_layer(double out[HIDDEN][LANES], const double *W, const batch *t) {
  for (size_t k = 0; k < HIDDEN; k++) {
    double a[LANES] = {0.0};
    for (size_t j = 0; j < WIDTH; j++) {
      for (size_t l = 0; l < LANES; l++) a[l] += W[k * WIDTH + j] * t->x[j][l];
    }
    for (size_t l = 0; l < LANES; l++) out[k][l] = a[l];
  }
}

static void forward(batch *t, const rir_model *m, const double *theta) {
  const double top = 1.0 - m->delta;
  first_layer(t->h, theta, t);
  bend_of(t);
  double a[LANES];
  for (size_t l = 0; l < LANES; l++) a[l] = theta[LAST];
  for (size_t k = 0; k < HIDDEN; k++) {
    for (size_t l = 0; l < LANES; l++) {
      t->h[k][l] *= t->bend[k][l];
      a[l] += theta[SECOND + k] * t->h[k][l];
    }
  }
  for (size_t l = 0; l < LANES; l++) {
    const double e = hvi_simd_exp(-fabs(a[l])), small = e / (1.0 + e);
    const double s = a[l] < 0.0 ? small : 1.0 - small;
    t->z[l] = top * s;
    t->slope[l] = top * s * (1.0 - s);
  }
}

static size_t lanes_of(const rir_model *m, size_t b) {
  const size_t left = m->data->rows - b * LANES;
  return left < LANES ? left : LANES;
}

/* z on the rows as `source` mixes them; keeps what the products need when there is a cache. */
static void run(const rir_model *m, double *cache, const uint32_t *source, const double *theta,
                double *z) {
  batch t;
  for (size_t b = 0; b < block_count(m); b++) {
    gather(&t, m, source, b);
    forward(&t, m, theta);
    hvi_vec_copy(z + b * LANES, t.z, lanes_of(m, b));
    if (!cache) continue;
    double *keep = block_cache(cache, b);
    hvi_vec_copy(keep, t.slope, LANES);
    memcpy(keep + LANES, t.h, sizeof t.h);
  }
}

/* Row i is resampled when its uniform number is below z_i + delta. */
static void choose(const rir_model *m, const double *z, uint32_t *source) {
  for (size_t i = 0; i < m->data->rows; i++) {
    source[i] = m->lot[i] < z[i] + m->delta ? m->partners[i] : (uint32_t)i;
  }
}

static void eval(const hvi_model *base, double *cache, const double *theta, double *z) {
  const rir_model *m = (const rir_model *)base;
  const uint32_t *source = bound_sources(m, cache);
  if (source == own_sources(m, cache)) {
    run(m, NULL, NULL, theta, z);
    choose(m, z, own_sources(m, cache));
  }
  run(m, cache, source, theta, z);
}

static void bind(const hvi_model *base, double *cache, const void *sample) {
  (void)base;
  memcpy(cache, &sample, sizeof sample);
}

/* The block's rows and what eval kept of them. */
static void recall(batch *t, const rir_model *m, double *cache, size_t b) {
  const double *keep = block_cache(cache, b);
  gather(t, m, bound_sources(m, cache), b);
  hvi_vec_copy(t->slope, keep, LANES);
  memcpy(t->h, keep + LANES, sizeof t->h);
  bend_of(t);
}

static void vjp(const hvi_model *base, double *cache, const double *theta, const double *u,
                double *out) {
  const rir_model *m = (const rir_model *)base;
  double sums[DIM][LANES];
  memset(sums, 0, sizeof sums);
  batch t;
  for (size_t b = 0; b < block_count(m); b++) {
    double g[LANES] = {0.0};
    recall(&t, m, cache, b);
    hvi_vec_copy(g, u + b * LANES, lanes_of(m, b));
    for (size_t l = 0; l < LANES; l++) g[l] *= t.slope[l], sums[LAST][l] += g[l];
    for (size_t k = 0; k < HIDDEN; k++) {
      double d[LANES];
      for (size_t l = 0; l < LANES; l++) {
        sums[SECOND + k][l] += g[l] * t.h[k][l];
        d[l] = g[l] * theta[SECOND + k] * t.bend[k][l];
      }
      for (size_t j = 0; j < WIDTH; j++) {
        for (size_t l = 0; l < LANES; l++) sums[k * WIDTH + j][l] += d[l] * t.x[j][l];
      }
    }
  }
  for (size_t i = 0; i < DIM; i++) {
    out[i] = 0.0;
    for (size_t l = 0; l < LANES; l++) out[i] += sums[i][l];
  }
}

static void jvp(const hvi_model *base, double *cache, const double *theta, const double *v,
                double *out) {
  const rir_model *m = (const rir_model *)base;
  batch t;
  double tangent[HIDDEN][LANES], a[LANES];
  for (size_t b = 0; b < block_count(m); b++) {
    recall(&t, m, cache, b);
    first_layer(tangent, v, &t);
    for (size_t l = 0; l < LANES; l++) a[l] = v[LAST];
    for (size_t k = 0; k < HIDDEN; k++) {
      for (size_t l = 0; l < LANES; l++) {
        a[l] += v[SECOND + k] * t.h[k][l] + theta[SECOND + k] * t.bend[k][l] * tangent[k][l];
      }
    }
    for (size_t l = 0; l < LANES; l++) a[l] *= t.slope[l];
    hvi_vec_copy(out + b * LANES, a, lanes_of(m, b));
  }
}

static void free_model(hvi_model *base) {
  rir_model *m = (rir_model *)base;
  hvi_free(m->lot);
  hvi_free(m->partners);
  hvi_free(m);
}

static const hvi_model_ops ops = {
    .name = "rir", .eval = eval, .vjp = vjp, .jvp = jvp, .bind = bind, .free = free_model};

static uint32_t draw_row(const rir_model *m, hvi_rng *rng) {
  const double row = hvi_rng_uniform(rng) * (double)m->data->rows;
  return (uint32_t)fmin(row, (double)(m->data->rows - 1));
}

void hvi_rir_deploy(const hvi_model *base, const double *theta, uint32_t *source, hvi_rng *rng) {
  const rir_model *m = (const rir_model *)base;
  batch t;
  for (size_t b = 0; b < block_count(m); b++) {
    gather(&t, m, NULL, b);
    forward(&t, m, theta);
    for (size_t l = 0; l < lanes_of(m, b); l++) {
      const size_t i = b * LANES + l;
      const bool resampled = hvi_rng_uniform(rng) < t.z[l] + m->delta;
      const uint32_t other = draw_row(m, rng);
      source[i] = resampled ? other : (uint32_t)i;
    }
  }
}

void hvi_rir_predict(const hvi_model *base, const double *theta, bool deployed, double *z,
                     double *cache) {
  const rir_model *m = (const rir_model *)base;
  bind(base, cache, NULL);
  if (deployed) {
    eval(base, cache, theta, z);
  } else {
    run(m, NULL, NULL, theta, z);
  }
}

static bool draw_lot(rir_model *m, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "credit-rir-lot", 0);
  m->lot = hvi_alloc_doubles(m->data->rows);
  m->partners = hvi_alloc(m->data->rows, sizeof *m->partners);
  if (!m->lot || !m->partners) return false;
  for (size_t i = 0; i < m->data->rows; i++) {
    m->lot[i] = hvi_rng_uniform(&rng);
    m->partners[i] = draw_row(m, &rng);
  }
  return true;
}

hvi_status hvi_rir_model_new(hvi_model **model, const hvi_credit_data *data, double delta,
                             uint64_t seed, hvi_error *err) {
  *model = NULL;
  rir_model *m = hvi_alloc(1, sizeof *m);
  if (!m) return hvi_error_memory(err, "the network");
  m->data = data;
  m->delta = delta;
  if (!draw_lot(m, seed)) {
    free_model(&m->base);
    return hvi_error_memory(err, "the network");
  }
  m->block = (hvi_block){.dim = DIM, .out = data->rows};
  m->base = (hvi_model){.ops = &ops,
                        .dim = DIM,
                        .out = data->rows,
                        .cache = 1 + block_count(m) * (1 + HIDDEN) * LANES + (data->rows + 1) / 2,
                        .block_count = 1,
                        .blocks = &m->block};
  *model = &m->base;
  return HVI_OK;
}

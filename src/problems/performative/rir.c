/*
 * Resample if rejected (Mofakhami et al., 2023): a network predicts the risk of a default, and who
 * is refused comes back with other strategic features.
 *
 *   z_i = (1 - delta) sigmoid(net(x_i)),   y in {0, 1 - delta},   loss 1/2 (z - y)^2
 *   F(z) = (z - y) / n,   Xi = 1/n,   eta = 1: the target is the labels
 *
 * A deployment starts from the base data: with probability z_i + delta the strategic features of
 * row i are replaced by those of a row drawn uniformly. Labels stay. Where the mean over those
 * draws is asked for, one fixed lot of them stands for it, so that it is a function of theta alone.
 *
 * Let p be the law of the base data and q = z + delta. If strategic features do not depend on the
 * others, the law after deployment has density p (1 - q + E[q | the others]) >= delta p, and it
 * moves by p (E[dq | the others] - dq) with the predictions. In the norm of p the loss is therefore
 * delta-strongly convex in z, and as |z - y| <= 1 - delta its gradient is (1 - delta)-Lipschitz in
 * the deployed z: beta / mu = (1 - delta) / delta, below 1 for delta > 1/2.
 *
 * The network, with x row i with the strategic features of row source[i]:
 *
 *   a_k = W_k x,  h_k = max(a_k, a_k / 100),  z = (1 - delta) sigmoid(w'h + c),   k = 1 .. 8
 *
 * and theta = {W[8][11], w[8], c}. Rows are worked on in blocks of LANES, features across, so that
 * every inner loop runs over the lanes of a block and becomes SIMD code; the last block is filled up
 * with copies that count for nothing.
 */
#include "base/base.h"
#include "num/vec.h"
#include "problems/options.h"
#include "problems/performative/credit.h"
#include "problems/performative/family.h"
#include "problems/single.h"

typedef struct rir_options {
  double delta;
  const char *data;
  size_t records;
} rir_options;

#define AT(member) .offset = offsetof(rir_options, member)
/* clang-format off */
const hvi_setting_table hvi_credit_rir_options = {"credit-rir", sizeof(rir_options), (const hvi_setting[]){
    {"delta", HVI_SETTING_REAL, AT(delta), .range = "[0.001,0.999]", .fallback = "0.7",
     .help = "least share that is resampled; the answer to the model is stronger when small"},
    {"data", HVI_SETTING_TEXT, AT(data), .fallback = "synthetic", .help = "synthetic, or the path of cs-training.csv (Give Me Some Credit)"},
    {"rows", HVI_SETTING_COUNT, AT(records), .range = "[50,1e6]", .fallback = "18357", .help = "synthetic records"},
    {0}}};
/* clang-format on */

enum { LANES = 16, WIDTH = HVI_CREDIT_WIDTH, HIDDEN = HVI_RIR_HIDDEN, DIM = HVI_RIR_DIM };
enum { SECOND = HIDDEN * WIDTH, LAST = SECOND + HIDDEN }; /* where w and c stand in theta */

typedef struct rir {
  hvi_single one;
  hvi_credit_data data;
  double delta;
  double theta0[DIM];
  double *labels, *weights, *bounds; /* [n] each, bounds twice; these and the next two: one block */
  double *lot;                       /* [n] uniform numbers of the fixed lot */
  uint32_t *partners;                /* [n] whose features those get that are resampled in it */
} rir;

/* A block of rows, and what the network makes of it. */
typedef struct batch {
  double x[WIDTH][LANES];
  double h[HIDDEN][LANES];
  double bend[HIDDEN][LANES]; /* dh/da: 1 or 1/100 */
  double z[LANES], slope[LANES];
} batch;

/* A cache: {the sample's address | slopes and hidden units of the blocks | the lot's sources} */
static size_t block_count(const rir *r) { return (r->data.rows + LANES - 1) / LANES; }

static double *block_cache(double *cache, size_t b) { return cache + 1 + b * (1 + HIDDEN) * LANES; }

static uint32_t *own_sources(const rir *r, double *cache) {
  return (uint32_t *)(void *)block_cache(cache, block_count(r));
}

static const uint32_t *bound_sources(const rir *r, double *cache) {
  const uint32_t *source = hvi_single_sample(cache);
  return source ? source : own_sources(r, cache);
}

/* Rows of block b; source NULL: everybody has his own features. */
static void gather(batch *t, const rir *r, const uint32_t *source, size_t b) {
  for (size_t l = 0; l < LANES; l++) {
    const size_t row = b * LANES + l < r->data.rows ? b * LANES + l : r->data.rows - 1;
    const double *x = r->data.x + row * WIDTH;
    for (size_t j = 0; j < WIDTH; j++) t->x[j][l] = x[j];
    if (!source) continue;
    const double *other = r->data.x + source[row] * WIDTH;
    for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++)
      t->x[hvi_credit_strategic[k]][l] = other[hvi_credit_strategic[k]];
  }
}

static void bend_of(batch *t) {
  for (size_t k = 0; k < HIDDEN; k++)
    for (size_t l = 0; l < LANES; l++) t->bend[k][l] = t->h[k][l] < 0.0 ? 0.01 : 1.0;
}

/* out[k] = sum_j W[k][j] x[j] */
static void first_layer(double out[HIDDEN][LANES], const double *W, const batch *t) {
  for (size_t k = 0; k < HIDDEN; k++) {
    double a[LANES] = {0.0};
    for (size_t j = 0; j < WIDTH; j++)
      for (size_t l = 0; l < LANES; l++) a[l] += W[k * WIDTH + j] * t->x[j][l];
    for (size_t l = 0; l < LANES; l++) out[k][l] = a[l];
  }
}

static void forward(batch *t, const rir *r, const double *theta) {
  const double top = 1.0 - r->delta;
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
    const double e = exp(-fabs(a[l])), small = e / (1.0 + e);
    const double s = a[l] < 0.0 ? small : 1.0 - small;
    t->z[l] = top * s;
    t->slope[l] = top * s * (1.0 - s);
  }
}

static size_t lanes_of(const rir *r, size_t b) {
  const size_t left = r->data.rows - b * LANES;
  return left < LANES ? left : LANES;
}

/* z on the rows as `source` mixes them; keeps what the products need when there is a cache. */
static void run(const rir *r, double *cache, const uint32_t *source, const double *theta,
                double *z) {
  batch t;
  for (size_t b = 0; b < block_count(r); b++) {
    gather(&t, r, source, b);
    forward(&t, r, theta);
    hvi_vec_copy(z + b * LANES, t.z, lanes_of(r, b));
    if (!cache) continue;
    double *keep = block_cache(cache, b);
    hvi_vec_copy(keep, t.slope, LANES);
    memcpy(keep + LANES, t.h, sizeof t.h);
  }
}

static void eval(const hvi_model *base, double *cache, const double *theta, double *z) {
  const rir *r = hvi_single_of(base);
  const uint32_t *source = bound_sources(r, cache);
  uint32_t *own = own_sources(r, cache);
  if (source == own) {
    run(r, NULL, NULL, theta, z);
    /* row i is resampled when its uniform number is below z_i + delta */
    for (size_t i = 0; i < r->data.rows; i++)
      own[i] = r->lot[i] < z[i] + r->delta ? r->partners[i] : (uint32_t)i;
  }
  run(r, cache, source, theta, z);
}

/* The block's rows and what eval kept of them. */
static void recall(batch *t, const rir *r, double *cache, size_t b) {
  const double *keep = block_cache(cache, b);
  gather(t, r, bound_sources(r, cache), b);
  hvi_vec_copy(t->slope, keep, LANES);
  memcpy(t->h, keep + LANES, sizeof t->h);
  bend_of(t);
}

static void vjp(const hvi_model *base, double *cache, const double *theta, const double *u,
                double *out) {
  const rir *r = hvi_single_of(base);
  double sums[DIM][LANES];
  memset(sums, 0, sizeof sums);
  batch t;
  for (size_t b = 0; b < block_count(r); b++) {
    double g[LANES] = {0.0};
    recall(&t, r, cache, b);
    hvi_vec_copy(g, u + b * LANES, lanes_of(r, b));
    for (size_t l = 0; l < LANES; l++) g[l] *= t.slope[l], sums[LAST][l] += g[l];
    for (size_t k = 0; k < HIDDEN; k++) {
      double d[LANES];
      for (size_t l = 0; l < LANES; l++) {
        sums[SECOND + k][l] += g[l] * t.h[k][l];
        d[l] = g[l] * theta[SECOND + k] * t.bend[k][l];
      }
      for (size_t j = 0; j < WIDTH; j++)
        for (size_t l = 0; l < LANES; l++) sums[k * WIDTH + j][l] += d[l] * t.x[j][l];
    }
  }
  for (size_t i = 0; i < DIM; i++) {
    out[i] = 0.0;
    for (size_t l = 0; l < LANES; l++) out[i] += sums[i][l];
  }
}

static void jvp(const hvi_model *base, double *cache, const double *theta, const double *v,
                double *out) {
  const rir *r = hvi_single_of(base);
  batch t;
  double tangent[HIDDEN][LANES], a[LANES];
  for (size_t b = 0; b < block_count(r); b++) {
    recall(&t, r, cache, b);
    first_layer(tangent, v, &t);
    for (size_t l = 0; l < LANES; l++) a[l] = v[LAST];
    for (size_t k = 0; k < HIDDEN; k++)
      for (size_t l = 0; l < LANES; l++)
        a[l] += v[SECOND + k] * t.h[k][l] + theta[SECOND + k] * t.bend[k][l] * tangent[k][l];
    for (size_t l = 0; l < LANES; l++) a[l] *= t.slope[l];
    hvi_vec_copy(out + b * LANES, a, lanes_of(r, b));
  }
}

static uint32_t draw_row(const rir *r, hvi_rng *rng) {
  const double row = hvi_rng_uniform(rng) * (double)r->data.rows;
  return (uint32_t)fmin(row, (double)(r->data.rows - 1));
}

void hvi_rir_predict(const hvi_model *base, const double *theta, bool deployed, double *z,
                     double *cache) {
  const rir *r = hvi_single_of(base);
  hvi_single_bind(base, cache, NULL);
  if (deployed)
    eval(base, cache, theta, z);
  else
    run(r, NULL, NULL, theta, z);
}

static const hvi_model_ops model_ops = {
    .name = "rir", .eval = eval, .vjp = vjp, .jvp = jvp, .bind = hvi_single_bind};

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  const rir *r = (const rir *)p;
  const size_t n = r->data.rows;
  for (size_t i = 0; i < n; i++) f[i] = (z[i] - r->labels[i]) / (double)n;
}

/* What theta brings about with fresh random numbers. */
static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  const rir *r = (const rir *)p;
  uint32_t *source = sample;
  batch t;
  for (size_t b = 0; b < block_count(r); b++) {
    gather(&t, r, NULL, b);
    forward(&t, r, theta);
    for (size_t l = 0; l < lanes_of(r, b); l++) {
      const size_t i = b * LANES + l;
      const bool resampled = hvi_rng_uniform(rng) < t.z[l] + r->delta;
      const uint32_t other = draw_row(r, rng);
      source[i] = resampled ? other : (uint32_t)i;
    }
  }
}

static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  const double delta = ((const rir *)p)->delta;
  *beta = 1.0 - delta;
  *mu = delta;
}

/* F = Xi (z - y) */
static hvi_status constants(const hvi_problem *p, hvi_constants *out, hvi_error *err) {
  (void)p, (void)err;
  *out = (hvi_constants){.mu = 1.0, .lipschitz = 1.0, .exact = true};
  return HVI_OK;
}

static const hvi_problem_ops rir_ops = {.name = "credit-rir",
                                        .operate = operate,
                                        .draw = draw,
                                        .sensitivity = sensitivity,
                                        .constants = constants,
                                        .free = hvi_single_free};

static void score(const rir *r, const double *z, double *loss, double *accuracy) {
  const size_t n = r->data.rows;
  double right = 0.0;
  for (size_t i = 0; i < n; i++)
    right += (z[i] > 0.5 * (1.0 - r->delta)) == (r->data.y[i] > 0.5) ? 1.0 : 0.0;
  *loss = 0.5 * hvi_vec_dist2(z, r->labels, n) / (double)n;
  *accuracy = right / (double)n;
}

static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  const rir *r = (const rir *)p;
  HVI_NEW(double, work, p->model->out + p->model->cache, "measuring a deployment", err);
  double *z = work, *cache = work + p->model->out;
  hvi_rir_predict(p->model, theta, false, z, cache);
  score(r, z, &out->loss_before, &out->accuracy_before);
  hvi_rir_predict(p->model, theta, true, z, cache);
  score(r, z, &out->loss_after, &out->accuracy_after);
  return HVI_OK;
}

const hvi_performative_kind hvi_credit_rir = {
    .ops = &rir_ops,
    .measure = measure,
    .value = offsetof(rir, delta),
    .cover = {
        .key = "delta",
        .limit = 0.5,
        .how = "Bounds in the norm of the base data, if strategic features do not depend on the "
               "others: the deployed law is at least delta times the base one, and |z - y| is at "
               "most 1 - delta."}};

static void draw_start(rir *r, const hvi_options *o) {
  hvi_rng rng = hvi_rng_new(o->seed, "credit-rir", o->instance);
  const double wide = 1.0 / sqrt(WIDTH), narrow = 1.0 / sqrt(HIDDEN);
  hvi_rng_fill_uniform(&rng, -wide, wide, SECOND, r->theta0);
  hvi_rng_fill_uniform(&rng, -narrow, narrow, DIM - SECOND, r->theta0 + SECOND);
  /* the draws that stand for the mean when no sample is bound */
  rng = hvi_rng_new(o->seed, "credit-rir-lot", 0);
  for (size_t i = 0; i < r->data.rows; i++) {
    r->lot[i] = hvi_rng_uniform(&rng);
    r->partners[i] = draw_row(r, &rng);
  }
}

hvi_status hvi_credit_rir_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  const rir_options *v = (const void *)o->values;
  rir *r = hvi_alloc(1, sizeof *r);
  if (!r) return hvi_error_memory(err, "the resampling problem");
  r->one.base.ops = &rir_ops;
  *problem = &r->one.base;
  r->delta = v->delta;
  HVI_TRY(hvi_credit_data_new(&r->data, v->data, v->records, o->seed, err));
  r->one.owned[0] = r->data.x;
  const size_t n = r->data.rows;
  hvi_single_init(&r->one, &rir_ops, &model_ops, DIM, n,
                  1 + block_count(r) * (1 + HIDDEN) * LANES + (n + 1) / 2);
  double *partners;
  if (!hvi_alloc_arrays({&r->labels, n}, {&r->weights, n}, {&r->bounds, 2 * n}, {&r->lot, n},
                        {&partners, (n + 1) / 2}))
    return hvi_error_memory(err, "the resampling problem");
  r->one.owned[1] = r->labels;
  r->partners = (uint32_t *)(void *)partners;
  for (size_t i = 0; i < n; i++) {
    r->labels[i] = (1.0 - r->delta) * r->data.y[i];
    r->weights[i] = 1.0 / (double)n;
    r->bounds[n + i] = 1.0 - r->delta;
  }
  r->one.set = (hvi_set){.kind = HVI_SET_BOX, .len = n, .lower = r->bounds, .upper = r->bounds + n};
  r->one.base.theta0 = r->theta0;
  r->one.base.weights = r->weights;
  r->one.base.sample_bytes = n * sizeof(uint32_t);
  draw_start(r, o);
  return HVI_OK;
}

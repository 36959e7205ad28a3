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
 * and theta = {W[8][11], w[8], c}.
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
HVI_TABLE(const hvi_setting_table hvi_credit_rir_options, "credit-rir", rir_options,
    {"delta", HVI_SETTING_REAL, AT(delta), .range = "[0.001,0.999]", .fallback = "0.7",
     .help = "least share that is resampled; the answer to the model is stronger when small"},
    {"data", HVI_SETTING_TEXT, AT(data), .fallback = "synthetic", .help = "synthetic, or the path of cs-training.csv (Give Me Some Credit)"},
    {"rows", HVI_SETTING_COUNT, AT(records), .range = "[50,1e6]", .fallback = "18357", .help = "synthetic records"},
    {0});

enum { WIDTH = HVI_CREDIT_WIDTH, HIDDEN = HVI_RIR_HIDDEN, DIM = HVI_RIR_DIM };
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

/* A row, and what the network makes of it. */
typedef struct pass {
  double x[WIDTH];
  double h[HIDDEN], bend[HIDDEN]; /* dh/da: 1 or 1/100 */
  double z, slope;                /* dz/d(w'h + c) */
} pass;

/* A cache: {the sample's address | the rows as eval found them | the lot's sources} */
static pass *cached_rows(double *cache) { return (pass *)(void *)(cache + 1); }

/* a[k] = sum_j W[k][j] x[j] */
static void first_layer(double a[HIDDEN], const double *W, const pass *t) {
  for (size_t k = 0; k < HIDDEN; k++) a[k] = hvi_vec_dot(W + k * WIDTH, t->x, WIDTH);
}

/* Row i through the network; source NULL: everybody has his own features. */
static void forward(pass *t, const rir *r, const uint32_t *source, size_t i, const double *theta) {
  const double top = 1.0 - r->delta, *other = r->data.x + (source ? source[i] : i) * WIDTH;
  hvi_vec_copy(t->x, r->data.x + i * WIDTH, WIDTH);
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++)
    t->x[hvi_credit_strategic[k]] = other[hvi_credit_strategic[k]];
  first_layer(t->h, theta, t);
  double a = theta[LAST];
  for (size_t k = 0; k < HIDDEN; k++) {
    t->bend[k] = t->h[k] < 0.0 ? 0.01 : 1.0;
    t->h[k] *= t->bend[k];
    a += theta[SECOND + k] * t->h[k];
  }
  const double e = exp(-fabs(a)), small = e / (1.0 + e), s = a < 0.0 ? small : 1.0 - small;
  t->z = top * s;
  t->slope = top * s * (1.0 - s);
}

/* z on the base data. */
static void predict(const rir *r, const double *theta, double *z) {
  pass t;
  for (size_t i = 0; i < r->data.rows; i++) {
    forward(&t, r, NULL, i, theta);
    z[i] = t.z;
  }
}

static void eval(const hvi_model *base, double *cache, const double *theta, double *z) {
  const rir *r = hvi_single_of(base);
  const uint32_t *source = hvi_single_sample(cache);
  pass *rows = cached_rows(cache);
  if (!source) {
    uint32_t *own = (uint32_t *)(void *)(rows + r->data.rows);
    predict(r, theta, z);
    /* row i is resampled when its uniform number is below z_i + delta */
    for (size_t i = 0; i < r->data.rows; i++)
      own[i] = r->lot[i] < z[i] + r->delta ? r->partners[i] : (uint32_t)i;
    source = own;
  }
  for (size_t i = 0; i < r->data.rows; i++) {
    forward(&rows[i], r, source, i, theta);
    z[i] = rows[i].z;
  }
}

static void vjp(const hvi_model *base, double *cache, const double *theta, const double *u,
                double *out) {
  const rir *r = hvi_single_of(base);
  hvi_vec_zero(out, DIM);
  for (size_t i = 0; i < r->data.rows; i++) {
    const pass *t = &cached_rows(cache)[i];
    const double g = u[i] * t->slope;
    out[LAST] += g;
    for (size_t k = 0; k < HIDDEN; k++) {
      out[SECOND + k] += g * t->h[k];
      hvi_vec_add(out + k * WIDTH, g * theta[SECOND + k] * t->bend[k], t->x, WIDTH);
    }
  }
}

static void jvp(const hvi_model *base, double *cache, const double *theta, const double *v,
                double *out) {
  const rir *r = hvi_single_of(base);
  double tangent[HIDDEN];
  for (size_t i = 0; i < r->data.rows; i++) {
    const pass *t = &cached_rows(cache)[i];
    double a = v[LAST];
    first_layer(tangent, v, t);
    for (size_t k = 0; k < HIDDEN; k++)
      a += v[SECOND + k] * t->h[k] + theta[SECOND + k] * t->bend[k] * tangent[k];
    out[i] = a * t->slope;
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
    predict(r, theta, z);
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
  pass t;
  for (size_t i = 0; i < r->data.rows; i++) {
    forward(&t, r, NULL, i, theta);
    const bool resampled = hvi_rng_uniform(rng) < t.z + r->delta;
    const uint32_t other = draw_row(r, rng);
    source[i] = resampled ? other : (uint32_t)i;
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
                  1 + n * (sizeof(pass) / sizeof(double)) + (n + 1) / 2);
  double *partners;
  HVI_TRY(hvi_new_arrays("the resampling problem", err, {&r->labels, n}, {&r->weights, n},
                         {&r->bounds, 2 * n}, {&r->lot, n}, {&partners, (n + 1) / 2}));
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

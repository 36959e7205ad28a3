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
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"
#include "problems/options.h"
#include "problems/performative/family.h"
#include "problems/performative/rir_model.h"

#include <math.h>

typedef struct rir_options {
  double delta;
  const char *data;
  size_t records;
} rir_options;

#define AT(member) .offset = offsetof(rir_options, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"delta", HVI_SETTING_REAL, AT(delta), .range = "[0.001,0.999]", .fallback = "0.7",
     .help = "least share that is resampled; the answer to the model is stronger when small"},
    {"data", HVI_SETTING_TEXT, AT(data), .fallback = "synthetic",
     .help = "synthetic, or the path of cs-training.csv (Give Me Some Credit)"},
    {"rows", HVI_SETTING_COUNT, AT(records), .range = "[50,1e6]", .fallback = "18357",
     .help = "synthetic records"},
    {0},
};
/* clang-format on */
#undef AT

const hvi_setting_table hvi_credit_rir_options = {"credit-rir", sizeof(rir_options), rows};

typedef struct rir {
  hvi_problem base;
  hvi_set set;
  hvi_credit_data data;
  double delta;
  double theta0[HVI_RIR_DIM];
  double *labels, *weights, *bounds; /* [n] each, bounds twice */
} rir;

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  const rir *r = (const rir *)p;
  const size_t n = r->data.rows;
  for (size_t i = 0; i < n; i++) f[i] = (z[i] - r->labels[i]) / (double)n;
}

static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  hvi_rir_deploy(p->model, theta, sample, rng);
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

static void free_rir(hvi_problem *p) {
  rir *r = (rir *)p;
  hvi_model_free(p->model);
  hvi_credit_data_clear(&r->data);
  hvi_free(r->labels);
  hvi_free(r);
}

static const hvi_problem_ops rir_ops = {.name = "credit-rir",
                                        .operate = operate,
                                        .draw = draw,
                                        .sensitivity = sensitivity,
                                        .constants = constants,
                                        .free = free_rir};

static void score(const rir *r, const double *z, double *loss, double *accuracy) {
  const size_t n = r->data.rows;
  double right = 0.0;
  for (size_t i = 0; i < n; i++) {
    right += (z[i] > 0.5 * (1.0 - r->delta)) == (r->data.y[i] > 0.5) ? 1.0 : 0.0;
  }
  *loss = 0.5 * hvi_vec_dist2(z, r->labels, n) / (double)n;
  *accuracy = right / (double)n;
}

static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  const rir *r = (const rir *)p;
  double *work = hvi_alloc_doubles(p->model->out + p->model->cache);
  if (!work) return hvi_error_memory(err, "measuring a deployment");
  double *z = work, *cache = work + p->model->out;
  hvi_rir_predict(p->model, theta, false, z, cache);
  score(r, z, &out->loss_before, &out->accuracy_before);
  hvi_rir_predict(p->model, theta, true, z, cache);
  score(r, z, &out->loss_after, &out->accuracy_after);
  out->gap = NAN;
  hvi_free(work);
  return HVI_OK;
}

static void cover(hvi_performative_coverage *out, const hvi_problem *p) {
  const double delta = ((const rir *)p)->delta;
  *out = (hvi_performative_coverage){
      .beta = 1.0 - delta,
      .mu = delta,
      .key = "delta",
      .value = delta,
      .limit = 0.5,
      .below = false,
      .how = "Bounds in the norm of the base data, if strategic features do not depend on the "
             "others: the deployed law is at least delta times the base one, and |z - y| is at "
             "most 1 - delta.",
      .parameter_beta = NAN,
      .parameter_mu = NAN,
      .parameter_limit = NAN};
}

const hvi_performative_kind hvi_credit_rir = {&rir_ops, measure, cover};

static void draw_start(double *theta, uint64_t seed, uint64_t instance) {
  hvi_rng rng = hvi_rng_new(seed, "credit-rir", instance);
  const size_t first = (size_t)HVI_RIR_HIDDEN * HVI_CREDIT_WIDTH;
  const double wide = 1.0 / sqrt(HVI_CREDIT_WIDTH), narrow = 1.0 / sqrt(HVI_RIR_HIDDEN);
  hvi_rng_fill_uniform(&rng, -wide, wide, first, theta);
  hvi_rng_fill_uniform(&rng, -narrow, narrow, HVI_RIR_DIM - first, theta + first);
}

static hvi_status fill(rir *r, const rir_options *v, uint64_t seed, hvi_error *err) {
  hvi_status status = hvi_credit_data_new(&r->data, v->data, v->records, seed, err);
  if (status) return status;
  const size_t n = r->data.rows;
  r->labels = hvi_alloc_doubles(4 * n);
  if (!r->labels) return hvi_error_memory(err, "the resampling problem");
  r->weights = r->labels + n;
  r->bounds = r->weights + n;
  for (size_t i = 0; i < n; i++) {
    r->labels[i] = (1.0 - r->delta) * r->data.y[i];
    r->weights[i] = 1.0 / (double)n;
    r->bounds[n + i] = 1.0 - r->delta;
  }
  r->set = (hvi_set){.kind = HVI_SET_BOX, .len = n, .lower = r->bounds, .upper = r->bounds + n};
  return hvi_rir_model_new(&r->base.model, &r->data, r->delta, seed, err);
}

hvi_status hvi_credit_rir_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                              uint64_t instance, hvi_error *err) {
  const rir_options *v = (const void *)o->values;
  rir *r = hvi_alloc(1, sizeof *r);
  if (!r) return hvi_error_memory(err, "the resampling problem");
  r->base.ops = &rir_ops;
  r->delta = v->delta;
  hvi_status status = fill(r, v, seed, err);
  if (status) {
    free_rir(&r->base);
    return status;
  }
  draw_start(r->theta0, seed, instance);
  r->base.theta0 = r->theta0;
  r->base.weights = r->weights;
  r->base.sample_bytes = r->data.rows * sizeof(uint32_t);
  r->base.eta = 1.0;
  r->base.set_count = 1;
  r->base.sets = &r->set;
  *problem = &r->base;
  return HVI_OK;
}

/*
 * Estimating a mean that answers to its estimate (Mendler-Duenner et al., 2020).
 *
 *   D(theta) = N(m + eps theta, sigma^2),   loss 1/2 (theta - x)^2,   stable point m / (1 - eps)
 *   z = theta,   F(z) = z - mean of the observations
 *
 * Each draw deploys theta and collects `batch` observations there, batch * k^growth at the k-th
 * deployment; F needs only their mean, which is drawn as what it is: N(m + eps theta, sigma^2 / B).
 *
 * Greedy deployment is a batch of one, one gradient step, a decaying eta. Lazy deployment collects
 * n_k observations between deployments, and one step with eta = 1 goes to their mean: exactly where
 * n_k stochastic gradient steps of size 1, 1/2, 1/3, ... end.
 */
#include "base/error.h"
#include "base/memory.h"
#include "problems/options.h"
#include "problems/performative/family.h"

#include <math.h>

typedef struct mean_options {
  double mean, eps, sigma, growth;
  size_t batch;
} mean_options;

#define AT(member) .offset = offsetof(mean_options, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"mean", HVI_SETTING_REAL, AT(mean), .range = "[-1e6,1e6]", .fallback = "10",
     .help = "of the observations when theta is 0"},
    {"eps", HVI_SETTING_REAL, AT(eps), .range = "[0,100]", .fallback = "0.9",
     .help = "how far the mean follows theta: beta / mu"},
    {"sigma", HVI_SETTING_REAL, AT(sigma), .range = "[0,1e6]", .fallback = "0.1",
     .help = "standard deviation of an observation"},
    {"batch", HVI_SETTING_COUNT, AT(batch), .range = "[1,1e9]", .fallback = "1",
     .help = "observations of the first deployment"},
    {"growth", HVI_SETTING_REAL, AT(growth), .range = "[0,10]", .fallback = "0",
     .help = "the k-th deployment has batch * k^growth"},
    {0},
};
/* clang-format on */
#undef AT

const hvi_setting_table hvi_performative_mean_options = {"performative-mean", sizeof(mean_options),
                                                         rows};

typedef struct mean {
  hvi_problem base;
  hvi_set set;
  double shift, eps, sigma, batch, growth;
  double theta0, solution;
} mean;

typedef struct mean_sample {
  double observed; /* the mean of this deployment's observations */
  double count;    /* of deployments so far */
} mean_sample;

static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  const mean *m = (const mean *)p;
  mean_sample *s = sample;
  s->count += 1.0;
  const double batch = floor(m->batch * pow(s->count, m->growth));
  s->observed = m->shift + m->eps * theta[0] + m->sigma / sqrt(batch) * hvi_rng_normal(rng);
}

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)theta;
  const mean *m = (const mean *)p;
  f[0] = z[0] - (sample ? ((const mean_sample *)sample)->observed : m->shift + m->eps * z[0]);
}

static void affine(const hvi_problem *p, double *A, double *b) {
  const mean *m = (const mean *)p;
  A[0] = 1.0 - m->eps;
  b[0] = -m->shift;
}

static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  *beta = ((const mean *)p)->eps;
  *mu = 1.0;
}

static void free_mean(hvi_problem *p) {
  hvi_model_free(p->model);
  hvi_free(p);
}

static const hvi_problem_ops mean_ops = {.name = "performative-mean",
                                         .operate = operate,
                                         .draw = draw,
                                         .affine = affine,
                                         .sensitivity = sensitivity,
                                         .free = free_mean};

static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  (void)err;
  const mean *m = (const mean *)p;
  const double noise = 0.5 * m->sigma * m->sigma, t = theta[0];
  const double before = t - m->shift, after = before - m->eps * t;
  *out = (hvi_performative_measures){.loss_before = noise + 0.5 * before * before,
                                     .loss_after = noise + 0.5 * after * after,
                                     .accuracy_before = NAN,
                                     .accuracy_after = NAN,
                                     .gap = 0.5 * after * after};
  return HVI_OK;
}

static void cover(hvi_performative_coverage *out, const hvi_problem *p) {
  const double eps = ((const mean *)p)->eps;
  *out = (hvi_performative_coverage){.beta = eps,
                                     .mu = 1.0,
                                     .key = "eps",
                                     .value = eps,
                                     .limit = 1.0,
                                     .below = true,
                                     .how = "Exact: the mean moves by eps times theta.",
                                     .parameter_beta = NAN,
                                     .parameter_mu = NAN,
                                     .parameter_limit = NAN};
}

const hvi_performative_kind hvi_performative_mean = {&mean_ops, measure, cover};

hvi_status hvi_performative_mean_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                                     uint64_t instance, hvi_error *err) {
  static const double identity = 1.0;
  const mean_options *v = (const void *)o->values;
  mean *m = hvi_alloc(1, sizeof *m);
  if (!m) return hvi_error_memory(err, "performative-mean");
  hvi_status status = hvi_affine_new(&m->base.model, 1, 1, &identity, NULL, err);
  if (status) {
    hvi_free(m);
    return status;
  }
  m->shift = v->mean;
  m->eps = v->eps;
  m->sigma = v->sigma;
  m->batch = (double)v->batch;
  m->growth = v->growth;
  m->solution = m->shift / (1.0 - m->eps);
  if (instance > 0) {
    hvi_rng rng = hvi_rng_new(seed, "performative-mean", instance);
    m->theta0 = 10.0 * hvi_rng_normal(&rng);
  }
  m->set = (hvi_set){.kind = HVI_SET_FREE, .len = 1};
  m->base.ops = &mean_ops;
  m->base.theta0 = &m->theta0;
  m->base.solution = m->eps == 1.0 ? NULL : &m->solution;
  m->base.sample_bytes = sizeof(mean_sample);
  m->base.eta = 1.0;
  m->base.set_count = 1;
  m->base.sets = &m->set;
  *problem = &m->base;
  return HVI_OK;
}

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
#include "base/base.h"
#include "problems/options.h"
#include "problems/performative/family.h"
#include "problems/single.h"

typedef struct mean_options {
  double mean, eps, sigma, growth;
  size_t batch;
} mean_options;

#define AT(member) .offset = offsetof(mean_options, member)
HVI_TABLE(const hvi_setting_table hvi_performative_mean_options, "performative-mean", mean_options,
    {"mean", HVI_SETTING_REAL, AT(mean), .range = "[-1e6,1e6]", .fallback = "10", .help = "of the observations when theta is 0"},
    {"eps", HVI_SETTING_REAL, AT(eps), .range = "[0,100]", .fallback = "0.9", .help = "how far the mean follows theta: beta / mu"},
    {"sigma", HVI_SETTING_REAL, AT(sigma), .range = "[0,1e6]", .fallback = "0.1", .help = "standard deviation of an observation"},
    {"batch", HVI_SETTING_COUNT, AT(batch), .range = "[1,1e9]", .fallback = "1", .help = "observations of the first deployment"},
    {"growth", HVI_SETTING_REAL, AT(growth), .range = "[0,10]", .fallback = "0", .help = "the k-th deployment has batch * k^growth"},
    {0});

typedef struct mean {
  hvi_single one;
  mean_options options;
  double theta0, solution;
} mean;

typedef struct mean_sample {
  double observed; /* the mean of this deployment's observations */
  double count;    /* of deployments so far */
} mean_sample;

static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  const mean_options *m = &((const mean *)p)->options;
  mean_sample *s = sample;
  s->count += 1.0;
  const double batch = floor((double)m->batch * pow(s->count, m->growth));
  s->observed = m->mean + m->eps * theta[0] + m->sigma / sqrt(batch) * hvi_rng_normal(rng);
}

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)theta;
  const mean_options *m = &((const mean *)p)->options;
  f[0] = z[0] - (sample ? ((const mean_sample *)sample)->observed : m->mean + m->eps * z[0]);
}

static void affine(const hvi_problem *p, double *A, double *b) {
  const mean_options *m = &((const mean *)p)->options;
  A[0] = 1.0 - m->eps;
  b[0] = -m->mean;
}

static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  *beta = ((const mean *)p)->options.eps;
  *mu = 1.0;
}

static const hvi_problem_ops mean_ops = {.name = "performative-mean",
                                         .operate = operate,
                                         .draw = draw,
                                         .affine = affine,
                                         .sensitivity = sensitivity,
                                         .free = hvi_single_free};

static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  (void)err;
  const mean_options *m = &((const mean *)p)->options;
  const double noise = 0.5 * m->sigma * m->sigma, t = theta[0];
  const double before = t - m->mean, after = before - m->eps * t;
  out->gap = 0.5 * after * after;
  out->loss_before = noise + 0.5 * before * before;
  out->loss_after = noise + out->gap;
  return HVI_OK;
}

const hvi_performative_kind hvi_performative_mean = {
    .ops = &mean_ops,
    .measure = measure,
    .value = offsetof(mean, options.eps),
    .cover = {.key = "eps",
              .limit = 1.0,
              .below = true,
              .how = "Exact: the mean moves by eps times theta."}};

hvi_status hvi_performative_mean_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  static const double identity = 1.0;
  const mean_options *v = (const void *)o->values;
  mean *m = hvi_alloc(1, sizeof *m);
  if (!m) return hvi_error_memory(err, "performative-mean");
  hvi_single_init(&m->one, &mean_ops, NULL, 1, 1, 0);
  *problem = &m->one.base;
  m->options = *v;
  m->solution = v->mean / (1.0 - v->eps);
  m->one.base.theta0 = &m->theta0;
  if (v->eps != 1.0) m->one.base.solution = &m->solution;
  m->one.base.sample_bytes = sizeof(mean_sample);
  if (o->instance > 0) {
    hvi_rng rng = hvi_rng_new(o->seed, "performative-mean", o->instance);
    m->theta0 = 10.0 * hvi_rng_normal(&rng);
  }
  return hvi_affine_new(&m->one.base.model, 1, 1, &identity, NULL, err);
}

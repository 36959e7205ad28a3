/*
 * Linear performative prediction: targets that answer linearly to the predictions.
 *
 *   z = g(theta), a network on n fixed inputs,     y = b + eps M z,  |M| = 1
 *   f_z'(z) = 1/2 |z - b - eps M z'|^2,   F(z) = z - b - eps M z,   z* = (I - eps M)^-1 b
 *
 * grad f_z' is eps-Lipschitz in z' and f_z' is 1-strongly convex: beta = eps, mu = 1. With eta = 1
 * the surrogate's target is b + eps M z_t: an exact inner solve is repeated risk minimisation.
 *
 * The problem is built backwards from a drawn z*, b = z* - eps M z*, so that z* is the same for
 * every eps and has the same size. M is a random orthogonal matrix, or a random skew one. The skew
 * one leaves F strongly monotone with mu = 1 whatever eps is: beyond eps = 1 repeated minimisation
 * expands, and a smaller eta still converges.
 *
 * The network interpolates: its inputs are orthonormal, and with s ~ 1/sqrt(width) in front of
 * z = s a' tanh(W x) the matrix J J' is near a multiple of the identity, so that plain gradient
 * steps of size 1 are stable.
 */
#include "base/base.h"
#include "num/dense.h"
#include "problems/options.h"
#include "problems/performative/family.h"
#include "problems/single.h"

typedef struct linear_options {
  double eps;
  size_t n, hidden;
  int skew; /* kind of M */
} linear_options;

#define AT(member) .offset = offsetof(linear_options, member)
HVI_TABLE(const hvi_setting_table hvi_performative_linear_options, "performative-linear", linear_options,
    {"eps", HVI_SETTING_REAL, AT(eps), .range = "[0,100]", .fallback = "0.6", .help = "how strongly the targets answer: beta / mu"},
    {"n", HVI_SETTING_COUNT, AT(n), .range = "[2,500]", .fallback = "16", .help = "predictions, one for each fixed input"},
    {"hidden", HVI_SETTING_COUNT, AT(hidden), .range = "[1,10000]", .fallback = "64", .help = "units of the network's hidden layer"},
    {"kind", HVI_SETTING_CHOICE, AT(skew), .choices = "orthogonal|skew", .fallback = "orthogonal",
     .help = "of the matrix M; skew keeps F monotone for every eps"},
    {0});

/* Share of the identity that J J' is near to, at the start. */
static const double kernel_scale = 0.5;

typedef struct linear {
  hvi_single one;
  double eps;
  double *M, *b, *z, *theta0; /* [n][n], [n], [n], [d] in one block */
} linear;

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  const linear *l = (const linear *)p;
  const size_t n = p->model->out;
  hvi_dense_mul(f, l->M, z, n, n);
  for (size_t i = 0; i < n; i++) f[i] = z[i] - l->b[i] - l->eps * f[i];
}

static void affine(const hvi_problem *p, double *A, double *b) {
  const linear *l = (const linear *)p;
  const size_t n = p->model->out;
  for (size_t i = 0; i < n * n; i++) A[i] = (i % (n + 1) == 0 ? 1.0 : 0.0) - l->eps * l->M[i];
  for (size_t i = 0; i < n; i++) b[i] = -l->b[i];
}

static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  *beta = ((const linear *)p)->eps;
  *mu = 1.0;
}

static const hvi_problem_ops linear_ops = {.name = "performative-linear",
                                           .operate = operate,
                                           .affine = affine,
                                           .sensitivity = sensitivity,
                                           .free = hvi_single_free};

/* The least loss on any deployed targets is zero: the network reaches them. */
static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  const linear *l = (const linear *)p;
  const size_t n = p->model->out;
  HVI_NEW(double, work, 2 * n + p->model->cache, "measuring a deployment", err);
  p->model->ops->eval(p->model, work + 2 * n, theta, work);
  operate(p, NULL, theta, work, work + n);
  out->loss_before = 0.5 * hvi_vec_dist2(work, l->b, n);
  out->loss_after = out->gap = 0.5 * hvi_vec_norm2(work + n, n);
  return HVI_OK;
}

const hvi_performative_kind hvi_performative_linear = {
    .ops = &linear_ops,
    .measure = measure,
    .value = offsetof(linear, eps),
    .cover = {.key = "eps",
              .limit = 1.0,
              .below = true,
              .how = "Exact: the targets are b + eps M z with |M| = 1."}};

/* M[n][n] with |M| = 1: orthogonal, or the skew part of a normal matrix over its norm. */
static hvi_status draw_matrix(double *M, size_t n, bool skew, hvi_rng *rng, hvi_error *err) {
  if (!skew) return hvi_dense_random_orthogonal(M, n, rng, err);
  for (size_t i = 0; i < n; i++) {
    M[i * n + i] = 0.0;
    for (size_t j = 0; j < i; j++) {
      M[i * n + j] = hvi_rng_normal(rng);
      M[j * n + i] = -M[i * n + j];
    }
  }
  HVI_NEW(double, s, n, "a matrix", err);
  HVI_TRY(hvi_dense_singular_values(s, M, n, n, err));
  hvi_vec_scale(M, 1.0 / s[0], n * n);
  return HVI_OK;
}

/* z = s a' tanh(W x): W and a trainable, the scale a fixed last layer. */
static hvi_status make_network(hvi_model **model, const double *inputs, size_t n, size_t hidden,
                               hvi_error *err) {
  const double scale = sqrt(kernel_scale / (double)hidden);
  const hvi_layer layers[] = {{.out = hidden, .activation = HVI_TANH},
                              {.out = 1, .activation = HVI_IDENTITY},
                              {.out = 1, .matrix = &scale, .activation = HVI_IDENTITY}};
  const hvi_stack_spec spec = {.in = n,
                               .input = inputs,
                               .rows = n,
                               .layer_count = 3,
                               .layers = layers,
                               .precision = HVI_PRECISION_REFERENCE};
  return hvi_stack_new(model, &spec, err);
}

hvi_status hvi_performative_linear_new(hvi_problem **problem, const hvi_options *o,
                                       hvi_error *err) {
  const linear_options *v = (const void *)o->values;
  const size_t n = v->n, d = v->hidden * (n + 1);
  hvi_rng rng = hvi_rng_new(o->seed, "performative-linear", o->instance);
  linear *l = hvi_alloc(1, sizeof *l);
  if (!l) return hvi_error_memory(err, "performative-linear");
  hvi_single_init(&l->one, &linear_ops, NULL, d, n, 0);
  *problem = &l->one.base;
  l->eps = v->eps;
  HVI_NEW(double, inputs, (n * n), "performative-linear", err);
  HVI_TRY(hvi_new_arrays("performative-linear", err, {&l->M, n * n}, {&l->b, n}, {&l->z, n},
                         {&l->theta0, d}));
  l->one.owned[0] = l->M;
  l->one.base.solution = l->z;
  l->one.base.theta0 = l->theta0;
  HVI_TRY(draw_matrix(l->M, n, v->skew != 0, &rng, err));
  HVI_TRY(hvi_dense_random_orthogonal(inputs, n, &rng, err));
  HVI_TRY(make_network(&l->one.base.model, inputs, n, v->hidden, err));
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, l->z);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, d, l->theta0);
  hvi_dense_mul(l->b, l->M, l->z, n, n);
  for (size_t i = 0; i < n; i++) l->b[i] = l->z[i] - l->eps * l->b[i];
  return HVI_OK;
}

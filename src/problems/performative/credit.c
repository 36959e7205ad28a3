/*
 * Credit scoring with borrowers who answer (Perdomo et al., 2020): logistic regression on features
 * x_S - eps thetabar_S, thetabar the deployed model.
 *
 *   z = ( logits X_t theta, theta_1 .. theta_10 )
 *   F(z) = ( (sigmoid(z_i) - y_i) / n,  lambda z_{n+j} ),   Xi = ( 1/n,  4 lambda )
 *
 * F is the gradient of the regularised loss in the outputs, and since sigmoid' <= 1/4 the surrogate
 * with eta = 4 majorises that loss: its exact minimiser never goes up. Outer steps on one
 * deployment are therefore a solver of the frozen logistic problem; redraw_every = K with K large
 * is repeated risk minimisation, and K = 1 with one gd step is repeated gradient descent.
 *
 * Every row moves by the same vector, and a bias takes that up: z ranges over the same subspace Z
 * whatever was deployed, F does not know of the deployment, and so the outputs at the stable point
 * are those of plain logistic regression, for every eps. Only the bias answers:
 * theta*_bias = (fitted bias) + eps |theta*_S|^2. In the outputs beta is 0; what grows with eps is
 * the distance between outputs and parameters, which methods that step along J'F have to cover.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/dense.h"
#include "num/vec.h"
#include "problems/options.h"
#include "problems/performative/credit_fit.h"
#include "problems/performative/credit_model.h"
#include "problems/performative/family.h"

#include <math.h>

enum { WIDTH = HVI_CREDIT_WIDTH, FEATURES = HVI_CREDIT_FEATURES, BIAS = HVI_CREDIT_BIAS };
typedef struct credit_options {
  double eps, lambda;
  const char *data;
  size_t records;
} credit_options;

#define AT(member) .offset = offsetof(credit_options, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"eps", HVI_SETTING_REAL, AT(eps), .range = "[0,1e6]", .fallback = "1",
     .help = "how far borrowers move against the deployed model"},
    {"lambda", HVI_SETTING_REAL, AT(lambda), .range = "[0,1e6]", .fallback = "0",
     .help = "weight of the regulariser; 0: 1 / rows"},
    {"data", HVI_SETTING_TEXT, AT(data), .fallback = "synthetic",
     .help = "synthetic, or the path of cs-training.csv (Give Me Some Credit)"},
    {"rows", HVI_SETTING_COUNT, AT(records), .range = "[50,1e6]", .fallback = "18357",
     .help = "synthetic records"},
    {0},
};
/* clang-format on */
#undef AT

const hvi_setting_table hvi_credit_options = {"credit", sizeof(credit_options), rows};

typedef struct credit {
  hvi_problem base;
  hvi_set set;
  hvi_credit_data data;
  double eps, lambda;
  double theta0[WIDTH], stable[WIDTH];
  double curvature[WIDTH * WIDTH]; /* 1/n sum_i s'(z*_i) x_i x_i' */
  double least;                    /* loss at the stable point, and on any deployment */
  double mu, lipschitz;            /* of F on Z at z*, in the norm of Xi */
  double *weights, *basis, *solution;
} credit;

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  const credit *c = (const credit *)p;
  const size_t n = c->data.rows;
  const double share = 1.0 / (double)n;
  for (size_t i = 0; i < n; i++) f[i] = share * (hvi_credit_sigmoid(z[i]) - c->data.y[i]);
  for (size_t j = n; j < n + FEATURES; j++) f[j] = c->lambda * z[j];
}

static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)p, (void)rng;
  hvi_vec_copy(((hvi_credit_sample *)sample)->theta, theta, WIDTH);
}

static double dist2(const hvi_problem *p, const double *theta) {
  return hvi_vec_dist2(theta, ((const credit *)p)->stable, WIDTH);
}

static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  *beta = 0.0;
  *mu = ((const credit *)p)->mu;
}

/* At the stable point: elsewhere mu is smaller and L may be larger. */
static hvi_status constants(const hvi_problem *p, hvi_constants *out, hvi_error *err) {
  (void)err;
  const credit *c = (const credit *)p;
  *out = (hvi_constants){.mu = c->mu, .lipschitz = c->lipschitz, .pairs = 1};
  return HVI_OK;
}

static void free_credit(hvi_problem *p) {
  credit *c = (credit *)p;
  hvi_model_free(p->model);
  hvi_credit_data_clear(&c->data);
  hvi_free(c->weights);
  hvi_free(c->basis);
  hvi_free(c->solution);
  hvi_free(c);
}

static const hvi_problem_ops credit_ops = {.name = "credit",
                                           .operate = operate,
                                           .draw = draw,
                                           .dist2 = dist2,
                                           .sensitivity = sensitivity,
                                           .constants = constants,
                                           .free = free_credit};

/* Mean loss and accuracy of theta when its logits are shifted. */
static void score(const credit *c, const double *theta, double shift, double *loss,
                  double *accuracy) {
  const size_t n = c->data.rows;
  double sum = 0.0, right = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double s = hvi_vec_dot(c->data.x + i * WIDTH, theta, WIDTH) - shift, y = c->data.y[i];
    sum += hvi_credit_loss(s, y);
    right += (s > 0.0) == (y > 0.5) ? 1.0 : 0.0;
  }
  *loss = sum / (double)n + 0.5 * c->lambda * hvi_vec_norm2(theta, FEATURES);
  *accuracy = right / (double)n;
}

/* |theta_S|^2 */
static double strategic2(const double *theta) {
  double sum = 0.0;
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
    sum += theta[hvi_credit_strategic[k]] * theta[hvi_credit_strategic[k]];
  }
  return sum;
}

static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  (void)err;
  const credit *c = (const credit *)p;
  score(c, theta, 0.0, &out->loss_before, &out->accuracy_before);
  score(c, theta, c->eps * strategic2(theta), &out->loss_after, &out->accuracy_after);
  /* a bias takes any deployment's shift up, so the least loss is the same on all */
  const double gap = out->loss_after - c->least;
  out->gap = gap < 0.0 ? 0.0 : gap;
  return HVI_OK;
}

/*
 * In the parameters, at the stable point and to first order, with T = I - eps e_bias theta*_S':
 *   mu   = smallest eigenvalue of T' S T + lambda D,  S the curvature
 *   beta = eps |theta*_S| |T' S e_bias|, the derivative of grad f by thetabar
 */
static bool parameter_view(double *beta, double *mu, const credit *c, double eps) {
  double H[WIDTH * WIDTH], s[WIDTH] = {0.0}, w[WIDTH], h[WIDTH];
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
    s[hvi_credit_strategic[k]] = eps * c->stable[hvi_credit_strategic[k]];
  }
  const double *S = c->curvature, *last = S + BIAS * WIDTH;
  for (size_t i = 0; i < WIDTH; i++) {
    h[i] = last[i] - s[i] * last[BIAS];
    for (size_t j = 0; j < WIDTH; j++) {
      H[i * WIDTH + j] =
          S[i * WIDTH + j] - s[i] * last[j] - last[i] * s[j] + s[i] * s[j] * last[BIAS];
    }
    if (i < FEATURES) H[i * WIDTH + i] += c->lambda;
  }
  if (hvi_dense_eigenvalues(w, H, WIDTH, NULL)) return false;
  *beta = eps * sqrt(strategic2(c->stable)) * hvi_vec_norm(h, WIDTH);
  *mu = w[0];
  return true;
}

/* The eps at which beta / mu passes 1 in the parameters, by bisection of its logarithm. */
static double parameter_limit(const credit *c) {
  double low = -20.0, high = 20.0, beta, mu;
  for (int k = 0; k < 60; k++) {
    const double middle = 0.5 * (low + high);
    if (!parameter_view(&beta, &mu, c, exp(middle))) return NAN;
    if (beta < mu) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return exp(low);
}

static void cover(hvi_performative_coverage *out, const hvi_problem *p) {
  const credit *c = (const credit *)p;
  *out = (hvi_performative_coverage){
      .beta = 0.0,
      .mu = c->mu,
      .key = "eps",
      .value = c->eps,
      .limit = INFINITY,
      .below = true,
      .how = "In the outputs: every row moves alike and the bias takes that up, so the outputs do "
             "not answer at all; mu is F's at the stable point, from the data.",
      .parameter_beta = NAN,
      .parameter_mu = NAN,
      .parameter_limit = parameter_limit(c)};
  parameter_view(&out->parameter_beta, &out->parameter_mu, c, c->eps);
}

const hvi_performative_kind hvi_credit = {&credit_ops, measure, cover};

/* G = L L' in place, lower triangle; false when G is not positive definite. */
static bool cholesky(double *G) {
  for (size_t i = 0; i < WIDTH; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double sum = G[i * WIDTH + j] - hvi_vec_dot(G + i * WIDTH, G + j * WIDTH, j);
      if (i == j && !(sum > 0.0)) return false;
      G[i * WIDTH + j] = i == j ? sqrt(sum) : sum / G[j * WIDTH + j];
    }
  }
  return true;
}

/* x <- L^-1 x */
static void solve_lower(const double *L, double *x) {
  for (size_t i = 0; i < WIDTH; i++) {
    x[i] = (x[i] - hvi_vec_dot(L + i * WIDTH, x, i)) / L[i * WIDTH + i];
  }
}

/* The ends of the spectrum of L^-1 (S + lambda D) L^-T. */
static hvi_status monotonicity(credit *c, const double *L, hvi_error *err) {
  double A[WIDTH * WIDTH], w[WIDTH];
  hvi_vec_copy(A, c->curvature, (size_t)WIDTH * WIDTH);
  for (size_t j = 0; j < FEATURES; j++) A[j * WIDTH + j] += c->lambda;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < WIDTH; i++) solve_lower(L, A + i * WIDTH);
    for (size_t i = 0; i < WIDTH; i++) {
      for (size_t j = 0; j < i; j++) {
        const double swap = A[i * WIDTH + j];
        A[i * WIDTH + j] = A[j * WIDTH + i];
        A[j * WIDTH + i] = swap;
      }
    }
  }
  hvi_status status = hvi_dense_eigenvalues(w, A, WIDTH, err);
  c->mu = w[0];
  c->lipschitz = w[WIDTH - 1];
  return status;
}

/* The span of J in the inner product of Xi: rows L^-1 (x_i) and L^-1 (e_j), J'Xi J = L L'. */
static hvi_status make_subspace(credit *c, hvi_error *err) {
  const size_t n = c->data.rows;
  double L[WIDTH * WIDTH];
  hvi_vec_copy(L, c->data.product, (size_t)WIDTH * WIDTH);
  for (size_t j = 0; j < FEATURES; j++) L[j * WIDTH + j] += 4.0 * c->lambda;
  if (!cholesky(L)) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "credit: the features are linearly dependent; lambda is too small");
  }
  hvi_vec_copy(c->basis, c->data.x, n * WIDTH);
  for (size_t j = 0; j < FEATURES; j++) c->basis[(n + j) * WIDTH + j] = 1.0;
  for (size_t i = 0; i < n + FEATURES; i++) solve_lower(L, c->basis + i * WIDTH);
  c->set =
      (hvi_set){.kind = HVI_SET_SUBSPACE, .len = n + FEATURES, .basis = c->basis, .rank = WIDTH};
  return monotonicity(c, L, err);
}

/* The stable point, from plain logistic regression. */
static hvi_status find_stable(credit *c, hvi_error *err) {
  const size_t n = c->data.rows;
  hvi_status status = hvi_credit_fit(c->stable, &c->least, c->curvature, &c->data, c->lambda, err);
  if (status) return status;
  hvi_dense_mul(c->solution, c->data.x, c->stable, n, WIDTH);
  hvi_vec_copy(c->solution + n, c->stable, FEATURES);
  c->stable[BIAS] += c->eps * strategic2(c->stable);
  return HVI_OK;
}

static hvi_status fill(credit *c, const credit_options *v, uint64_t seed, hvi_error *err) {
  hvi_status status = hvi_credit_data_new(&c->data, v->data, v->records, seed, err);
  if (status) return status;
  const size_t n = c->data.rows, out = n + FEATURES;
  c->lambda = v->lambda > 0.0 ? v->lambda : 1.0 / (double)n;
  c->weights = hvi_alloc_doubles(out);
  c->solution = hvi_alloc_doubles(out);
  c->basis = hvi_alloc_doubles(out * WIDTH);
  if (!c->weights || !c->solution || !c->basis) return hvi_error_memory(err, "the credit problem");
  for (size_t i = 0; i < out; i++) c->weights[i] = i < n ? 1.0 / (double)n : 4.0 * c->lambda;
  status = hvi_credit_model_new(&c->base.model, &c->data, c->eps, err);
  if (!status) status = find_stable(c, err);
  if (!status) status = make_subspace(c, err);
  return status;
}

hvi_status hvi_credit_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                          uint64_t instance, hvi_error *err) {
  const credit_options *v = (const void *)o->values;
  credit *c = hvi_alloc(1, sizeof *c);
  if (!c) return hvi_error_memory(err, "the credit problem");
  c->base.ops = &credit_ops;
  c->eps = v->eps;
  hvi_status status = fill(c, v, seed, err);
  if (status) {
    free_credit(&c->base);
    return status;
  }
  if (instance > 0) {
    hvi_rng rng = hvi_rng_new(seed, "credit", instance);
    hvi_rng_fill_normal(&rng, 0.0, 0.1, WIDTH, c->theta0);
  }
  c->base.theta0 = c->theta0;
  c->base.weights = c->weights;
  c->base.solution = c->solution;
  c->base.sample_bytes = sizeof(hvi_credit_sample);
  c->base.eta = 4.0;
  c->base.set_count = 1;
  c->base.sets = &c->set;
  *problem = &c->base;
  return HVI_OK;
}

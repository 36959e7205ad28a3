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
 *
 * The model. Every row moves by the same eps thetabar_S, so X_t v = X (v - eps <thetabar_S, v_S>
 * e_bias) and nothing of the size of X is ever stored. Bound to a sample, thetabar is that of the
 * sample. Bound to none it is the theta of the last evaluation: what theta would meet if it were
 * deployed now. J is X_t in either case, with the deployment held fixed.
 *
 * Plain logistic regression, for the stable point:
 *
 *   f(theta) = 1/n sum_i [ log(1 + exp(s_i)) - y_i s_i ] + lambda/2 |D theta|^2,  s = X theta
 *   g = X'(sigmoid(s) - y) / n + lambda D theta,   H = X' diag(s'(s_i)) X / n + lambda D
 *
 * D leaves the bias out. Newton steps with halving while f does not fall; a handful are enough.
 */
#include "problems/performative/credit.h"
#include "base/base.h"
#include "num/dense.h"
#include "problems/options.h"
#include "problems/performative/family.h"
#include "problems/single.h"
#include "vi/sets.h"

enum { WIDTH = HVI_CREDIT_WIDTH, FEATURES = HVI_CREDIT_FEATURES, BIAS = HVI_CREDIT_BIAS };
enum { MOST_STEPS = 100, MOST_HALVINGS = 60 };

typedef struct credit_options {
  double eps, lambda;
  const char *data;
  size_t records;
} credit_options;

#define AT(member) .offset = offsetof(credit_options, member)
HVI_TABLE(const hvi_setting_table hvi_credit_options, "credit", credit_options,
    {"eps", HVI_SETTING_REAL, AT(eps), .range = "[0,1e6]", .fallback = "1", .help = "how far borrowers move against the deployed model"},
    {"lambda", HVI_SETTING_REAL, AT(lambda), .range = "[0,1e6]", .fallback = "0", .help = "weight of the regulariser; 0: 1 / rows"},
    {"data", HVI_SETTING_TEXT, AT(data), .fallback = "synthetic", .help = "synthetic, or the path of cs-training.csv (Give Me Some Credit)"},
    {"rows", HVI_SETTING_COUNT, AT(records), .range = "[50,1e6]", .fallback = "18357", .help = "synthetic records"},
    {0});

static double sigmoid(double s) {
  const double e = exp(-fabs(s)), small = e / (1.0 + e);
  return s < 0.0 ? small : 1.0 - small;
}

/* 1/n sum_i log(1 + exp(s_i)) - y_i s_i + lambda/2 |theta without its bias|^2 with the logits
 * s = x theta - shift; and the share of labels that they tell, unless accuracy is NULL. */
static double score(const hvi_credit_data *data, const double *theta, double shift, double lambda,
                    double *accuracy) {
  double sum = 0.0, right = 0.0;
  for (size_t i = 0; i < data->rows; i++) {
    const double s = hvi_vec_dot(data->x + i * WIDTH, theta, WIDTH) - shift, y = data->y[i];
    sum += log1p(exp(-fabs(s))) + fmax(s, 0.0) - y * s;
    right += (s > 0.0) == (y > 0.5) ? 1.0 : 0.0;
  }
  if (accuracy) *accuracy = right / (double)data->rows;
  return sum / (double)data->rows + 0.5 * lambda * hvi_vec_norm2(theta, FEATURES);
}

/* g and the curvature, both without the regulariser's part. */
static void differentiate(double *g, double *curvature, const double *theta,
                          const hvi_credit_data *data) {
  hvi_vec_zero(g, WIDTH);
  hvi_vec_zero(curvature, (size_t)WIDTH * WIDTH);
  for (size_t i = 0; i < data->rows; i++) {
    const double *x = data->x + i * WIDTH, p = sigmoid(hvi_vec_dot(x, theta, WIDTH));
    hvi_vec_add(g, p - data->y[i], x, WIDTH);
    for (size_t j = 0; j < WIDTH; j++)
      hvi_vec_add(curvature + j * WIDTH, p * (1.0 - p) * x[j], x, WIDTH);
  }
  hvi_vec_scale(g, 1.0 / (double)data->rows, WIDTH);
  hvi_vec_scale(curvature, 1.0 / (double)data->rows, (size_t)WIDTH * WIDTH);
}

/* Goes down along the step; false when there is nothing left to gain. */
static bool descend(double *theta, double *f, const double *step, const hvi_credit_data *data,
                    double lambda) {
  double next[WIDTH], share = 1.0;
  for (int k = 0; k < MOST_HALVINGS; k++, share *= 0.5) {
    for (size_t j = 0; j < WIDTH; j++) next[j] = theta[j] - share * step[j];
    const double reached = score(data, next, 0.0, lambda, NULL);
    if (!(reached < *f)) continue;
    hvi_vec_copy(theta, next, WIDTH);
    *f = reached;
    return true;
  }
  return false;
}

hvi_status hvi_credit_fit(double *theta, double *least, double *curvature,
                          const hvi_credit_data *data, double lambda, hvi_error *err) {
  double g[WIDTH], step[WIDTH], H[WIDTH * WIDTH];
  hvi_vec_zero(theta, WIDTH);
  *least = score(data, theta, 0.0, lambda, NULL);
  for (int k = 0; k < MOST_STEPS; k++) {
    differentiate(g, curvature, theta, data);
    hvi_vec_copy(H, curvature, (size_t)WIDTH * WIDTH);
    for (size_t j = 0; j < FEATURES; j++) {
      H[j * WIDTH + j] += lambda;
      g[j] += lambda * theta[j];
    }
    HVI_TRY(hvi_dense_solve(step, H, g, WIDTH, err));
    const double gain = hvi_vec_dot(step, g, WIDTH);
    if (gain < 1e-14 * *least) {
      /* beyond what the value can show: the last step is taken on trust */
      hvi_vec_add(theta, -1.0, step, WIDTH);
      break;
    }
    if (!descend(theta, least, step, data, lambda)) break;
  }
  differentiate(g, curvature, theta, data);
  *least = score(data, theta, 0.0, lambda, NULL);
  return HVI_OK;
}

/* A cache: {the sample's address | theta of the last evaluation}. */
enum { SAMPLE, THETA, CACHE = THETA + WIDTH };

typedef struct credit {
  hvi_single one;
  hvi_credit_data data;
  double eps, lambda;
  double theta0[WIDTH], stable[WIDTH];
  double curvature[WIDTH * WIDTH];    /* 1/n sum_i s'(z*_i) x_i x_i' */
  double least;                       /* loss at the stable point, and on any deployment */
  double mu, lipschitz;               /* of F on Z at z*, in the norm of Xi */
  double *weights, *solution, *basis; /* [out], [out], [out][11] in one block */
} credit;

static const double *deployed(const double *cache) {
  const hvi_credit_sample *sample = hvi_single_sample(cache + SAMPLE);
  return sample ? sample->theta : cache + THETA;
}

static void model_jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                      double *out) {
  (void)theta;
  const credit *c = hvi_single_of(m);
  const double *bar = deployed(cache);
  double moved[WIDTH];
  hvi_vec_copy(moved, v, WIDTH);
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
    const size_t j = hvi_credit_strategic[k];
    moved[BIAS] -= c->eps * bar[j] * v[j];
  }
  hvi_dense_mul(out, c->data.x, moved, c->data.rows, WIDTH);
  hvi_vec_copy(out + c->data.rows, v, FEATURES);
}

static void model_vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                      double *out) {
  (void)theta;
  const credit *c = hvi_single_of(m);
  const double *bar = deployed(cache);
  hvi_dense_mul_t(out, c->data.x, u, c->data.rows, WIDTH);
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++) {
    const size_t j = hvi_credit_strategic[k];
    out[j] -= c->eps * bar[j] * out[BIAS];
  }
  for (size_t j = 0; j < FEATURES; j++) out[j] += u[c->data.rows + j];
}

static void model_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  hvi_vec_copy(cache + THETA, theta, WIDTH);
  model_jvp(m, cache, theta, theta, z);
}

static const hvi_model_ops model_ops = {.name = "credit",
                                        .eval = model_eval,
                                        .vjp = model_vjp,
                                        .jvp = model_jvp,
                                        .bind = hvi_single_bind};

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  const credit *c = (const credit *)p;
  const size_t n = c->data.rows;
  const double share = 1.0 / (double)n;
  for (size_t i = 0; i < n; i++) f[i] = share * (sigmoid(z[i]) - c->data.y[i]);
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

static const hvi_problem_ops credit_ops = {.name = "credit",
                                           .operate = operate,
                                           .draw = draw,
                                           .dist2 = dist2,
                                           .sensitivity = sensitivity,
                                           .constants = constants,
                                           .free = hvi_single_free};

/* |theta_S|^2 */
static double strategic2(const double *theta) {
  double sum = 0.0;
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++)
    sum += theta[hvi_credit_strategic[k]] * theta[hvi_credit_strategic[k]];
  return sum;
}

static hvi_status measure(hvi_performative_measures *out, const hvi_problem *p, const double *theta,
                          hvi_error *err) {
  (void)err;
  const credit *c = (const credit *)p;
  out->loss_before = score(&c->data, theta, 0.0, c->lambda, &out->accuracy_before);
  const double shift = c->eps * strategic2(theta);
  out->loss_after = score(&c->data, theta, shift, c->lambda, &out->accuracy_after);
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
  for (size_t k = 0; k < HVI_CREDIT_STRATEGIC; k++)
    s[hvi_credit_strategic[k]] = eps * c->stable[hvi_credit_strategic[k]];
  const double *S = c->curvature, *last = S + BIAS * WIDTH;
  for (size_t i = 0; i < WIDTH; i++) {
    h[i] = last[i] - s[i] * last[BIAS];
    for (size_t j = 0; j < WIDTH; j++)
      H[i * WIDTH + j] =
          S[i * WIDTH + j] - s[i] * last[j] - last[i] * s[j] + s[i] * s[j] * last[BIAS];
    if (i < FEATURES) H[i * WIDTH + i] += c->lambda;
  }
  if (hvi_dense_eigenvalues(w, H, WIDTH, NULL)) return false;
  *beta = eps * sqrt(strategic2(c->stable)) * hvi_vec_norm(h, WIDTH);
  *mu = w[0];
  return true;
}

static void in_parameters(hvi_performative_coverage *out, const hvi_problem *p) {
  const credit *c = (const credit *)p;
  /* the eps at which beta / mu passes 1, by bisection of its logarithm */
  double low = -20.0, high = 20.0, beta = 0.0, mu = 0.0;
  bool found = true;
  for (int k = 0; k < 60 && found; k++) {
    const double middle = 0.5 * (low + high);
    found = parameter_view(&beta, &mu, c, exp(middle));
    if (beta < mu)
      low = middle;
    else
      high = middle;
  }
  out->parameter_limit = found ? exp(low) : NAN;
  parameter_view(&out->parameter_beta, &out->parameter_mu, c, c->eps);
}

const hvi_performative_kind hvi_credit = {
    .ops = &credit_ops,
    .measure = measure,
    .value = offsetof(credit, eps),
    .cover =
        {.key = "eps",
         .limit = INFINITY,
         .below = true,
         .how =
             "In the outputs: every row moves alike and the bias takes that up, so the outputs do "
             "not answer at all; mu is F's at the stable point, from the data."},
    .in_parameters = in_parameters};

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

/* The span of J in the inner product of Xi: rows L^-1 (x_i) and L^-1 (e_j), J'Xi J = L L'. */
static hvi_status make_subspace(credit *c, hvi_error *err) {
  const size_t n = c->data.rows;
  double L[WIDTH * WIDTH];
  hvi_vec_copy(L, c->data.product, (size_t)WIDTH * WIDTH);
  for (size_t j = 0; j < FEATURES; j++) L[j * WIDTH + j] += 4.0 * c->lambda;
  if (!cholesky(L))
    return hvi_error_input(err, "credit: the features are linearly dependent; lambda is too small");
  hvi_vec_copy(c->basis, c->data.x, n * WIDTH);
  for (size_t j = 0; j < FEATURES; j++) c->basis[(n + j) * WIDTH + j] = 1.0;
  for (size_t i = 0; i < n + FEATURES; i++) hvi_lower_solve(L, c->basis + i * WIDTH, WIDTH);
  c->one.set =
      (hvi_set){.kind = HVI_SET_SUBSPACE, .len = n + FEATURES, .basis = c->basis, .rank = WIDTH};
  /* mu and L are the ends of the spectrum of L^-1 (S + lambda D) L^-T */
  double A[WIDTH * WIDTH], w[WIDTH];
  hvi_vec_copy(A, c->curvature, (size_t)WIDTH * WIDTH);
  for (size_t j = 0; j < FEATURES; j++) A[j * WIDTH + j] += c->lambda;
  hvi_matrix_whiten(A, L, WIDTH);
  HVI_TRY(hvi_dense_eigenvalues(w, A, WIDTH, err));
  c->mu = w[0];
  c->lipschitz = w[WIDTH - 1];
  return HVI_OK;
}

hvi_status hvi_credit_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  const credit_options *v = (const void *)o->values;
  credit *c = hvi_alloc(1, sizeof *c);
  if (!c) return hvi_error_memory(err, "the credit problem");
  c->one.base.ops = &credit_ops;
  *problem = &c->one.base;
  HVI_TRY(hvi_credit_data_new(&c->data, v->data, v->records, o->seed, err));
  c->one.owned[0] = c->data.x;
  const size_t n = c->data.rows, out = n + FEATURES;
  hvi_single_init(&c->one, &credit_ops, &model_ops, WIDTH, out, CACHE);
  HVI_TRY(hvi_new_arrays("the credit problem", err, {&c->weights, out}, {&c->solution, out},
                         {&c->basis, out * WIDTH}));
  c->one.owned[1] = c->weights;
  c->eps = v->eps;
  c->lambda = v->lambda > 0.0 ? v->lambda : 1.0 / (double)n;
  for (size_t i = 0; i < out; i++) c->weights[i] = i < n ? 1.0 / (double)n : 4.0 * c->lambda;
  c->one.base.theta0 = c->theta0;
  c->one.base.weights = c->weights;
  c->one.base.solution = c->solution;
  c->one.base.sample_bytes = sizeof(hvi_credit_sample);
  c->one.base.eta = 4.0;
  if (o->instance > 0) {
    hvi_rng rng = hvi_rng_new(o->seed, "credit", o->instance);
    hvi_rng_fill_normal(&rng, 0.0, 0.1, WIDTH, c->theta0);
  }
  HVI_TRY(hvi_credit_fit(c->stable, &c->least, c->curvature, &c->data, c->lambda, err));
  hvi_dense_mul(c->solution, c->data.x, c->stable, n, WIDTH);
  hvi_vec_copy(c->solution + n, c->stable, FEATURES);
  c->stable[BIAS] += c->eps * strategic2(c->stable);
  return make_subspace(c, err);
}

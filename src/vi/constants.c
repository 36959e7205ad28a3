/*
 * mu and L of F on the directions that Z allows.
 *
 * Affine F(z) = A z + b, B an orthonormal basis of those directions, C = B'AB:
 *   mu = smallest eigenvalue of (C + C')/2,   L = largest singular value of C.
 * With weights Xi the norms are Xi's and B is orthonormal in its inner product.
 *
 * Otherwise pairs of outputs are sampled around the start, and
 *   mu <= min <F(x) - F(y), x - y> / |x - y|^2,   L >= max |B'(F(x) - F(y))| / |x - y|
 * bound the true constants from the optimistic side.
 */
#include "base/base.h"
#include "num/dense.h"
#include "vi/sets.h"

enum { PAIRS = 4000, LEAST_PAIRS = 50, SAMPLED_OUTPUTS = 20000000, DENSE_LIMIT = 2000 };

void hvi_lower_solve(const double *L, double *x, size_t k) {
  for (size_t i = 0; i < k; i++) x[i] = (x[i] - hvi_vec_dot(L + i * k, x, i)) / L[i * k + i];
}

void hvi_matrix_whiten(double *A, const double *L, size_t k) {
  for (int side = 0; side < 2; side++) {
    /* rows of A are columns of A': L^-1 on each gives (L^-1 A')' = A L^-T, then the other side */
    for (size_t i = 0; i < k; i++) hvi_lower_solve(L, A + i * k, k);
    hvi_dense_transpose(A, k);
  }
}

hvi_status hvi_matrix_constants(hvi_constants *c, const double *C, size_t k, hvi_error *err) {
  HVI_NEW(double, S, (k * k + k), "the operator's matrix", err);
  double *w = S + k * k;
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < k; j++) S[i * k + j] = 0.5 * (C[i * k + j] + C[j * k + i]);
  HVI_TRY(hvi_dense_eigenvalues(w, S, k, err));
  *c = (hvi_constants){.exact = true, .mu = w[0]};
  HVI_TRY(hvi_dense_singular_values(w, C, k, k, err));
  c->lipschitz = w[0];
  return HVI_OK;
}

size_t hvi_problem_linearise(const hvi_problem *p, double *A, double *b, const double *theta,
                             const double *z, const double *f, double *work) {
  const size_t n = p->model->out;
  double *at = work, *there = work + n;
  if (p->ops->affine) {
    p->ops->affine(p, A, b);
    return 0;
  }
  hvi_vec_copy(at, z, n);
  for (size_t j = 0; j < n; j++) {
    at[j] = z[j] + 1e-7 * (1.0 + fabs(z[j]));
    p->ops->operate(p, NULL, theta, at, there);
    for (size_t i = 0; i < n; i++) A[i * n + j] = (there[i] - f[i]) / (at[j] - z[j]);
    at[j] = z[j];
  }
  for (size_t i = 0; i < n; i++) b[i] = f[i] - hvi_vec_dot(A + i * n, z, n);
  return n;
}

void hvi_matrix_restrict(double *C, const double *A, const double *B, size_t n, size_t k,
                         double *work) {
  double *AB = work, *Bt = work + n * n;
  hvi_dense_matmul(AB, A, B, n, n, k);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) Bt[j * n + i] = B[i * k + j];
  hvi_dense_matmul(C, Bt, AB, k, n, k);
}

static hvi_status exact_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err) {
  const size_t n = p->model->out;
  HVI_NEW(double, A, 5 * n * n + n, "the operator's matrix", err);
  double *B = A + n * n, *work = B + n * n, *C = work + 2 * n * n, *b = C + n * n;
  size_t k;
  p->ops->affine(p, A, b);
  hvi_problem_tangent(p, B, &k);
  if (k == 0) return hvi_error_input(err, "the outputs cannot move: Z is a single point");
  hvi_matrix_restrict(C, A, B, n, k, work);
  return hvi_matrix_constants(c, C, k, err);
}

/* z = g(theta0 + scale * normal), f = F(z) */
static void sample_point(const hvi_problem *p, hvi_rng *rng, double scale, double *theta, double *z,
                         double *f, double *cache) {
  const hvi_model *m = p->model;
  for (size_t i = 0; i < m->dim; i++) theta[i] = p->theta0[i] + scale * hvi_rng_normal(rng);
  m->ops->eval(m, cache, theta, z);
  p->ops->operate(p, NULL, theta, z, f);
}

/* |B' df|, or |df| in the norm dual to the weights' when there is no basis to restrict it to. */
static double operator_norm(const double *df, const double *w, const double *B, size_t n,
                            size_t k) {
  double sum = 0.0;
  for (size_t i = 0; !B && i < n; i++) sum += df[i] * df[i] / (w ? w[i] : 1.0);
  for (size_t j = 0; B && j < k; j++) {
    double c = 0.0;
    for (size_t i = 0; i < n; i++) c += B[i * k + j] * df[i];
    sum += c * c;
  }
  return sqrt(sum);
}

bool hvi_constants_add(hvi_constants *c, const hvi_problem *p, const double *B, size_t k,
                       double *const x[2], const double *const y[2]) {
  const double *w = p->weights;
  const size_t n = p->model->out;
  double step2 = 0.0;
  for (size_t j = 0; j < n; j++) {
    x[0][j] -= y[0][j];
    x[1][j] -= y[1][j];
    step2 += (w ? w[j] : 1.0) * x[0][j] * x[0][j];
  }
  if (!(step2 > 0.0)) return false;
  const double before = c->mu;
  c->mu = fmin(c->mu, hvi_vec_dot(x[1], x[0], n) / step2);
  c->lipschitz = fmax(c->lipschitz, operator_norm(x[1], w, B, n, k) / sqrt(step2));
  c->pairs++;
  return c->mu < before;
}

static hvi_status sampled_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err) {
  const size_t n = p->model->out, d = p->model->dim;
  /* fewer pairs where each is expensive */
  const size_t most = SAMPLED_OUTPUTS / n, least = most > LEAST_PAIRS ? most : LEAST_PAIRS;
  const bool basis = n <= DENSE_LIMIT;
  if (!p->theta0)
    return hvi_error_unsupported(err, "%s has no start to sample F around", p->ops->name);
  HVI_NEW(double, dz, (basis ? n * n : 0) + 4 * n + d + p->model->cache, "sampling the operator",
          err);
  double *df = dz + n, *y = df + n, *fy = y + n, *theta = fy + n, *cache = theta + d;
  double *B = basis ? cache + p->model->cache : NULL;
  size_t k = 0;
  if (B) hvi_problem_tangent(p, B, &k);
  hvi_rng rng = hvi_rng_new(0, "constants", 0);
  *c = (hvi_constants){.mu = INFINITY};
  for (size_t i = 0; i < PAIRS && i < least; i++) {
    /* near and far pairs alike: scales 1/64 .. 4 */
    const double scale = ldexp(1.0, (int)(i % 9) - 6);
    sample_point(p, &rng, scale, theta, dz, df, cache);
    sample_point(p, &rng, scale, theta, y, fy, cache);
    hvi_constants_add(c, p, B, k, (double *[]){dz, df}, (const double *[]){y, fy});
  }
  if (c->pairs == 0) return hvi_error_input(err, "the outputs do not move around the start");
  return HVI_OK;
}

hvi_status hvi_problem_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err) {
  if (!c) return hvi_error_argument(err, "there is no room for constants");
  *c = (hvi_constants){0};
  HVI_TRY(hvi_problem_structure(p, err));
  if (p->ops->constants) return p->ops->constants(p, c, err);
  if (p->ops->affine && p->model->out <= DENSE_LIMIT) return exact_constants(c, p, err);
  return sampled_constants(c, p, err);
}

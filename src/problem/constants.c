/*
 * mu and L of F on the directions that Z allows.
 *
 * Affine F(z) = A z + b, B an orthonormal basis of those directions, C = B'AB:
 *   mu = smallest eigenvalue of (C + C')/2,   L = largest singular value of C.
 * With weights Xi the norm is Xi's and A becomes Xi^-1/2 A Xi^-1/2.
 *
 * Otherwise pairs of outputs are sampled around the start, and
 *   mu <= min <F(x) - F(y), x - y> / |x - y|^2,   L >= max |B'(F(x) - F(y))| / |x - y|
 * bound the true constants from the optimistic side.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/dense.h"
#include "num/vec.h"
#include "problem/sets.h"

#include <math.h>

enum { PAIRS = 4000, DENSE_LIMIT = 2000 };

/* C[k][k] = B' A B, A being scaled in place by the weights first. */
static void restrict_operator(double *C, double *AB, double *A, const double *B,
                              const hvi_problem *p, size_t k) {
  const size_t n = p->model->out;
  for (size_t i = 0; p->weights && i < n; i++) {
    for (size_t j = 0; j < n; j++) A[i * n + j] /= sqrt(p->weights[i] * p->weights[j]);
  }
  hvi_dense_matmul(AB, A, B, n, n, k);
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < k; j++) {
      double sum = 0.0;
      for (size_t r = 0; r < n; r++) sum += B[r * k + i] * AB[r * k + j];
      C[i * k + j] = sum;
    }
  }
}

static hvi_status spectrum(hvi_constants *c, double *C, double *S, double *w, size_t k,
                           hvi_error *err) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < k; j++) S[i * k + j] = 0.5 * (C[i * k + j] + C[j * k + i]);
  }
  hvi_status status = hvi_dense_eigenvalues(w, S, k, err);
  if (status) return status;
  c->mu = w[0];
  status = hvi_dense_singular_values(w, C, k, k, err);
  c->lipschitz = w[0];
  return status;
}

static hvi_status exact_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err) {
  const size_t n = p->model->out;
  double *work = hvi_alloc_doubles(5 * n * n + 2 * n);
  if (!work) return hvi_error_memory(err, "the operator's matrix");
  double *A = work, *B = A + n * n, *AB = B + n * n, *C = AB + n * n, *S = C + n * n;
  double *b = S + n * n, *w = b + n;
  size_t k;
  p->ops->affine(p, A, b);
  hvi_problem_tangent(p, B, &k);
  hvi_status status = HVI_OK;
  if (k > 0) {
    restrict_operator(C, AB, A, B, p, k);
    status = spectrum(c, C, S, w, k, err);
  } else {
    status = hvi_error_set(err, HVI_ERROR_INPUT, "the outputs cannot move: Z is a single point");
  }
  c->exact = true;
  hvi_free(work);
  return status;
}

/* z = g(theta0 + scale * normal), f = F(z) */
static void sample_point(const hvi_problem *p, hvi_rng *rng, double scale, double *theta, double *z,
                         double *f, double *cache) {
  const hvi_model *m = p->model;
  for (size_t i = 0; i < m->dim; i++) theta[i] = p->theta0[i] + scale * hvi_rng_normal(rng);
  m->ops->eval(m, cache, theta, z);
  p->ops->operate(p, NULL, theta, z, f);
}

static double tangent_norm(const double *B, const double *x, size_t n, size_t k) {
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) {
    double c = 0.0;
    for (size_t i = 0; i < n; i++) c += B[i * k + j] * x[i];
    sum += c * c;
  }
  return sqrt(sum);
}

static void sample_pair(hvi_constants *c, double *dz, double *df, const double *B, size_t n,
                        size_t k) {
  const double step2 = hvi_vec_norm2(dz, n);
  if (!(step2 > 0.0)) return;
  c->mu = fmin(c->mu, hvi_vec_dot(df, dz, n) / step2);
  /* without a basis (too many outputs) the norm is not restricted, and never smaller */
  const double norm = B ? tangent_norm(B, df, n, k) : hvi_vec_norm(df, n);
  c->lipschitz = fmax(c->lipschitz, norm / sqrt(step2));
  c->pairs++;
}

static hvi_status sampled_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err) {
  const size_t n = p->model->out, d = p->model->dim;
  const bool basis = n <= DENSE_LIMIT;
  double *work = hvi_alloc_doubles((basis ? n * n : 0) + 4 * n + d + p->model->cache);
  if (!work) return hvi_error_memory(err, "sampling the operator");
  double *x = work, *fx = x + n, *y = fx + n, *fy = y + n, *theta = fy + n, *cache = theta + d;
  double *B = basis ? cache + p->model->cache : NULL;
  size_t k = 0;
  if (B) hvi_problem_tangent(p, B, &k);
  hvi_rng rng = hvi_rng_new(0, "constants", 0);
  *c = (hvi_constants){.mu = INFINITY};
  for (size_t i = 0; i < PAIRS; i++) {
    /* near and far pairs alike: scales 1/64 .. 4 */
    const double scale = ldexp(1.0, (int)(i % 9) - 6);
    sample_point(p, &rng, scale, theta, x, fx, cache);
    sample_point(p, &rng, scale, theta, y, fy, cache);
    for (size_t j = 0; j < n; j++) {
      const double root = p->weights ? sqrt(p->weights[j]) : 1.0;
      x[j] = (x[j] - y[j]) * root;
      fx[j] = (fx[j] - fy[j]) / root;
    }
    sample_pair(c, x, fx, B, n, k);
  }
  hvi_free(work);
  if (c->pairs == 0) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "the outputs do not move around the start");
  }
  return HVI_OK;
}

hvi_status hvi_problem_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err) {
  *c = (hvi_constants){0};
  if (p->ops->affine && p->model->out <= DENSE_LIMIT) return exact_constants(c, p, err);
  return sampled_constants(c, p, err);
}

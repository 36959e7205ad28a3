/* Random processes for the tests, and plain loops to check against. */
#ifndef HVI_TESTS_MDP_PROCESSES_H
#define HVI_TESTS_MDP_PROCESSES_H

#include "support/check.h"

#include <hvi/mdp.h>
#include <hvi/solver.h>

#include <stdlib.h>

/* A process as plain arrays. */
typedef struct plain {
  size_t n, d; /* d features; 0: tabular */
  double gamma;
  double *P, *r, *phi;
} plain;

/* Dense rows, or `branch` random successors a state beside the next one. */
static inline plain plain_new(size_t n, size_t d, size_t branch, double gamma, uint64_t index) {
  hvi_rng rng = hvi_rng_new(11, "processes", index);
  plain p = {n, d, gamma, calloc(n * n, 8), calloc(n, 8), calloc(n * (d ? d : 1), 8)};
  assert_true(p.P);
  assert_true(p.r);
  assert_true(p.phi);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t k = 0; k < (branch ? branch : n); k++) {
      const size_t j = !branch ? k : k == 0 ? (i + 1) % n : hvi_rng_u32(&rng) % n;
      p.P[i * n + j] += 0.01 + hvi_rng_uniform(&rng);
    }
    for (size_t j = 0; j < n; j++) sum += p.P[i * n + j];
    for (size_t j = 0; j < n; j++) p.P[i * n + j] /= sum;
  }
  hvi_rng_fill_normal(&rng, 1.0, 1.0, n, p.r);
  hvi_rng_fill_normal(&rng, 0.3, 1.0, n * d, p.phi);
  return p;
}

static inline void plain_free(plain *p) {
  free(p->P);
  free(p->r);
  free(p->phi);
}

static inline hvi_mdp_spec plain_spec(const plain *p) {
  return (hvi_mdp_spec){.states = p->n,
                        .transitions = p->P,
                        .reward = p->r,
                        .gamma = p->gamma,
                        .features = p->d,
                        .phi = p->d ? p->phi : NULL};
}

/* The same P by rows, backwards and with every entry in two halves, to be sorted and added up. */
static inline hvi_sparse plain_sparse(const plain *p) {
  const size_t n = p->n;
  hvi_sparse S = {n, n, calloc(n + 1, sizeof(size_t)), calloc(2 * n * n, 4), calloc(2 * n * n, 8)};
  assert_true(S.start);
  assert_true(S.column);
  assert_true(S.value);
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    for (int half = 0; half < 2; half++) {
      for (size_t j = n; j-- > 0;) {
        if (p->P[i * n + j] == 0.0) continue;
        S.column[at] = (uint32_t)j;
        S.value[at++] = 0.5 * p->P[i * n + j];
      }
    }
    S.start[i + 1] = at;
  }
  return S;
}

static inline void sparse_release(hvi_sparse *S) {
  free(S->start);
  free(S->column);
  free(S->value);
}

static inline hvi_mdp *mdp_of(const hvi_mdp_spec *spec) {
  hvi_mdp *m;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_mdp_new(&m, spec, &err), &err);
  return m;
}

/* x[n] <- A^-1 x by Gauss with pivoting, written out; A is overwritten. */
static inline void gauss(double *A, double *x, size_t n) {
  for (size_t k = 0; k < n; k++) {
    size_t best = k;
    for (size_t i = k + 1; i < n; i++)
      if (fabs(A[i * n + k]) > fabs(A[best * n + k])) best = i;
    for (size_t j = 0; j < n; j++) {
      const double a = A[k * n + j];
      A[k * n + j] = A[best * n + j];
      A[best * n + j] = a;
    }
    const double b = x[k];
    x[k] = x[best];
    x[best] = b;
    for (size_t i = k + 1; i < n; i++) {
      const double l = A[i * n + k] / A[k * n + k];
      for (size_t j = k; j < n; j++) A[i * n + j] -= l * A[k * n + j];
      x[i] -= l * x[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; j++) x[k] -= A[k * n + j] * x[j];
    x[k] /= A[k * n + k];
  }
}

/* phi_ij, also of a tabular process. */
static inline double phi_at(const plain *p, size_t i, size_t j) {
  return p->d ? p->phi[i * p->d + j] : i == j;
}

static inline size_t plain_dim(const plain *p) { return p->d ? p->d : p->n; }

/* The stationary law by a linear system: (P' - I) xi = 0 with the last row replaced by sum = 1. */
static inline void plain_law(double *xi, const plain *p) {
  const size_t n = p->n;
  double *A = calloc(n * n, 8);
  assert_non_null(A);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) A[i * n + j] = p->P[j * n + i] - (i == j);
    xi[i] = 0.0;
  }
  for (size_t j = 0; j < n; j++) A[(n - 1) * n + j] = 1.0;
  xi[n - 1] = 1.0;
  gauss(A, xi, n);
  free(A);
}

/* out = r + gamma P z */
static inline void plain_bellman(double *out, const plain *p, const double *z) {
  for (size_t i = 0; i < p->n; i++) out[i] = p->r[i] + p->gamma * dot(p->P + i * p->n, z, p->n);
}

static inline void plain_values(double *z, const plain *p, const double *theta) {
  for (size_t i = 0; i < p->n; i++) {
    z[i] = 0.0;
    for (size_t j = 0; j < plain_dim(p); j++) z[i] += phi_at(p, i, j) * theta[j];
  }
}

/* theta = argmin |Phi theta - z|_Xi from the normal equations, written out */
static inline void plain_project(double *theta, const plain *p, const double *xi, const double *z) {
  const size_t d = plain_dim(p);
  double *D = calloc(d * d, 8);
  assert_non_null(D);
  for (size_t j = 0; j < d; j++) {
    theta[j] = 0.0;
    for (size_t i = 0; i < p->n; i++) theta[j] += phi_at(p, i, j) * xi[i] * z[i];
    for (size_t k = 0; k < d; k++)
      for (size_t i = 0; i < p->n; i++) D[j * d + k] += phi_at(p, i, j) * xi[i] * phi_at(p, i, k);
  }
  gauss(D, theta, d);
  free(D);
}

/* C theta = b, written out: LSTD's closed form */
static inline void plain_fixed_point(double *theta, const plain *p, const double *xi) {
  const size_t n = p->n, d = plain_dim(p);
  double *C = calloc(d * d, 8);
  assert_non_null(C);
  for (size_t j = 0; j < d; j++) {
    theta[j] = 0.0;
    for (size_t i = 0; i < n; i++) theta[j] += phi_at(p, i, j) * xi[i] * p->r[i];
    for (size_t k = 0; k < d; k++) {
      for (size_t i = 0; i < n; i++) {
        double next = 0.0;
        for (size_t s = 0; s < n; s++) next += p->P[i * n + s] * phi_at(p, s, k);
        C[j * d + k] += phi_at(p, i, j) * xi[i] * (phi_at(p, i, k) - p->gamma * next);
      }
    }
  }
  gauss(C, theta, d);
  free(C);
}

#endif

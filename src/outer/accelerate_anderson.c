/*
 * Anderson acceleration in output space: before an outer step, z_t moves within the span of the
 * differences D_k = z_t - z_{t-k} to other iterates, F being taken as affine there with changes
 * G_k = F_t - F_{t-k}. Galerkin's condition <D_j, F(z')> = 0 gives
 *
 *   sum_k <D_j, G_k> c_k = -<D_j, F>,     z' = z + sum_k c_k D_k,
 *
 * which is Anderson's method of type I, and for policy evaluation LSTD in that span. Type II, which
 * minimises |F(z')|, would be biased by sampled successors as residual gradients are.
 *
 * Where a slow mode u, with change G and test v, has been corrected before, what is known of it
 * (accelerate.c) must stay true: so differences are taken without it, D_k - a_k u and G_k -
 * a_k G with <v, G_k - a_k G> = 0.
 *
 * On a sample the right side b is noisy. With S its covariance, from parts of the sample, noise
 * alone would make W = b'S^-1 b about K, with a standard deviation of sqrt(2 K). Of the correction
 * a share max(0, 1 - (K + 3 sqrt(2 K)) / W) is taken: James and Stein's rule, three deviations
 * stricter, because here it is applied again at every step.
 */
#include "num/vec.h"
#include "outer/solver.h"

#include <math.h>
#include <string.h>

enum { PARTS = 40, MOST = HVI_MEMORY_MOST };

typedef struct galerkin {
  double A[MOST][MOST], S[MOST][MOST]; /* <D_j, G_k>; covariance of b */
  double b[MOST];
  const double *z[MOST], *f[MOST]; /* of the earlier iterates */
  double scale[MOST];              /* 1 / |D_k| */
  double mode[MOST];               /* a_k: how much of the slow mode is in a difference */
} galerkin;

/* Below this share of |z| a difference is mostly rounding, and so is a pivot of the system. */
static const double least_difference = 1e-10, least_pivot = 1e-10;

/* The iterates to look back at, until the first that z_t can hardly be told from. */
static size_t look_back(const hvi_solver *s, galerkin *g) {
  const size_t n = s->problem->model->out;
  const double size2 = hvi_vec_norm2(s->z, n);
  size_t k = 0;
  for (; k < hvi_past_count(s); k++) {
    g->z[k] = hvi_past_z(s, k + 1);
    g->f[k] = hvi_past_f(s, k + 1);
    const double d2 = hvi_vec_dist2(s->z, g->z[k], n);
    if (!(d2 > least_difference * least_difference * size2)) break;
    g->scale[k] = 1.0 / sqrt(d2);
  }
  return k;
}

/* D_k and G_k at output i */
static double difference(const hvi_solver *s, const galerkin *g, size_t k, size_t i) {
  return s->z[i] - g->z[k][i] - (g->mode[k] != 0.0 ? g->mode[k] * s->accelerator.mode[i] : 0.0);
}

static double change(const hvi_solver *s, const galerkin *g, size_t k, size_t i) {
  return s->f[i] - g->f[k][i] - (g->mode[k] != 0.0 ? g->mode[k] * s->accelerator.mode_f[i] : 0.0);
}

/* a_k, and the length of what is left. */
static void take_mode_out(const hvi_solver *s, galerkin *g, size_t count) {
  const size_t n = s->problem->model->out;
  const double size = hvi_vec_norm2(s->z, n);
  const double slope = s->accelerator.correction
                           ? hvi_vec_dot(s->accelerator.mode_test, s->accelerator.mode_f, n)
                           : 0.0;
  for (size_t k = 0; k < count && slope > 0.0; k++) {
    double seen = 0.0, size2 = 0.0;
    for (size_t i = 0; i < n; i++) seen += s->accelerator.mode_test[i] * (s->f[i] - g->f[k][i]);
    g->mode[k] = seen / slope;
    for (size_t i = 0; i < n; i++) {
      const double d = difference(s, g, k, i);
      size2 += d * d;
    }
    const bool rounding = !(size2 > least_difference * least_difference * size);
    g->scale[k] = rounding ? 0.0 : 1.0 / sqrt(size2);
  }
}

/* Adds outputs first .. last to A and b, and what they gave b to S. */
static void add_part(const hvi_solver *s, galerkin *g, size_t count, size_t first, size_t last) {
  double part[MOST] = {0};
  for (size_t i = first; i < last; i++) {
    for (size_t j = 0; j < count; j++) {
      const double d = g->scale[j] * difference(s, g, j, i);
      part[j] -= d * s->accelerator.f[i];
      for (size_t k = 0; k < count; k++) g->A[j][k] += d * g->scale[k] * change(s, g, k, i);
    }
  }
  for (size_t j = 0; j < count; j++) {
    g->b[j] += part[j];
    for (size_t k = 0; k < count; k++) g->S[j][k] += part[j] * part[k];
  }
}

/* S as the covariance of a sum of PARTS draws. */
static void finish_covariance(galerkin *g, size_t count) {
  const double bessel = (double)PARTS / (PARTS - 1);
  for (size_t j = 0; j < count; j++) {
    for (size_t k = 0; k < count; k++) {
      g->S[j][k] = bessel * (g->S[j][k] - g->b[j] * g->b[k] / PARTS);
    }
  }
}

static void swap(double *x, double *y) {
  const double kept = *x;
  *x = *y;
  *y = kept;
}

/* y <- M^-1 y by elimination with row pivoting; false when M is singular to rounding. */
static bool eliminate(double M[MOST][MOST], double *y, size_t n) {
  double size = 0.0;
  for (size_t i = 0; i < n; i++) size = fmax(size, fabs(M[i][i]));
  for (size_t c = 0; c < n; c++) {
    size_t top = c;
    for (size_t i = c + 1; i < n; i++) top = fabs(M[i][c]) > fabs(M[top][c]) ? i : top;
    if (!(fabs(M[top][c]) > least_pivot * size)) return false;
    for (size_t j = 0; j < n && top != c; j++) swap(&M[c][j], &M[top][j]);
    if (top != c) swap(&y[c], &y[top]);
    for (size_t i = c + 1; i < n; i++) {
      const double share = M[i][c] / M[c][c];
      for (size_t j = c; j < n; j++) M[i][j] -= share * M[c][j];
      y[i] -= share * y[c];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; j++) y[i] -= M[i][j] * y[j];
    y[i] /= M[i][i];
  }
  return true;
}

/* The share of the correction to take; 1 without noise. */
static double share_of(const hvi_solver *s, const galerkin *g, size_t count) {
  if (!s->sample || s->problem->one_sample) return 1.0;
  double S[MOST][MOST], x[MOST];
  memcpy(S, g->S, sizeof S);
  memcpy(x, g->b, sizeof x);
  if (!eliminate(S, x, count)) return 0.0;
  const double wald = hvi_vec_dot(x, g->b, count);
  const double noise = (double)count + 3.0 * sqrt(2.0 * (double)count);
  return wald > noise ? 1.0 - noise / wald : 0.0;
}

/* F after the correction, as far as it is affine */
static double promised(const hvi_solver *s, const galerkin *g, const double *c, size_t count,
                       size_t i) {
  double f = s->accelerator.f[i];
  for (size_t k = 0; k < count; k++) f += c[k] * change(s, g, k, i);
  return f;
}

/* Whether |F| in the norm of the step comes down: differences that are rounding promise anything.
 */
static bool promises_less(const hvi_solver *s, const galerkin *g, const double *c, size_t count) {
  const double *w = s->problem->weights;
  double before = 0.0, after = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) {
    const double f = s->accelerator.f[i], next = promised(s, g, c, count, i), xi = w ? w[i] : 1.0;
    before += f * f / xi;
    after += next * next / xi;
  }
  return after < before;
}

static void move(hvi_solver *s, const galerkin *g, const double *c, size_t count) {
  for (size_t i = 0; i < s->problem->model->out; i++) {
    s->accelerator.f[i] = promised(s, g, c, count, i);
    for (size_t k = 0; k < count; k++) s->accelerator.z[i] += c[k] * difference(s, g, k, i);
  }
}

void hvi_solver_correct_anderson(hvi_solver *s) {
  const size_t n = s->problem->model->out;
  galerkin g = {0};
  size_t count = look_back(s, &g);
  take_mode_out(s, &g, count);
  for (size_t part = 0; part < PARTS; part++) {
    add_part(s, &g, count, part * n / PARTS, (part + 1) * n / PARTS);
  }
  finish_covariance(&g, count);
  double c[MOST], A[MOST][MOST];
  for (; count > 0; count--) { /* the oldest go first when the differences are dependent */
    memcpy(A, g.A, sizeof A);
    memcpy(c, g.b, sizeof c);
    if (eliminate(A, c, count)) break;
  }
  const double share = count > 0 ? share_of(s, &g, count) : 0.0;
  for (size_t k = 0; k < count; k++) c[k] *= share * g.scale[k];
  if (share > 0.0 && promises_less(s, &g, c, count)) move(s, &g, c, count);
}

/*
 * Values of a process: v_pi, the projection, the projected fixed point, and how far a theta is from
 * them.
 *
 *   v_pi = r + gamma P v_pi        (I - gamma P is an M-matrix: elimination needs no exchanges)
 *   |v - v_pi|_max <= |r + gamma P v - v|_max / (1 - gamma)
 *
 * For z = Phi theta in the range of Phi, with Pi the projection in the norm of Xi,
 *
 *   MSPBE = |Pi (T z - z)|^2 = g' G^-1 g,  g = Phi' Xi (T z - z),
 *   BE(theta, theta) - inf BE(., theta) = 1/2 |z - T z|^2 - 1/2 |Pi T z - T z|^2 = MSPBE / 2.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/bicgstab.h"
#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/direct.h"

#include <math.h>

enum { MOST_PRODUCTS = 20000 };

/* y = x - gamma P x */
static void apply(void *context, const double *x, double *y) {
  const hvi_mdp *m = context;
  hvi_mdp_transit(y, m, x);
  for (size_t i = 0; i < m->n; i++) y[i] = x[i] - m->gamma * y[i];
}

/* |T v - v|_max / |v|_max; tv is room, and left holding T v. */
static double error_of(const hvi_mdp *m, const double *v, double *tv) {
  double error = 0.0, size = 0.0;
  hvi_mdp_bellman(m, v, tv);
  for (size_t i = 0; i < m->n; i++) {
    error = fmax(error, fabs(tv[i] - v[i]));
    size = fmax(size, fabs(v[i]));
  }
  return size > 0.0 ? error / size : error;
}

static hvi_status by_elimination(const hvi_mdp *m, size_t width, double *v, hvi_error *err) {
  hvi_band A;
  hvi_status status = hvi_mdp_band_new(&A, m, width, 1.0, -m->gamma, err);
  double *e = status ? NULL : hvi_alloc_doubles(m->n);
  if (!status && !e) status = hvi_error_memory(err, "the values");
  if (!status) {
    hvi_band_factor(&A);
    hvi_vec_copy(v, m->reward, m->n);
    hvi_band_solve(v, &A);
    /* once more on what rounding has left */
    error_of(m, v, e);
    hvi_vec_add(e, -1.0, v, m->n);
    hvi_band_solve(e, &A);
    hvi_vec_add(v, 1.0, e, m->n);
  }
  hvi_free(e);
  hvi_free(A.entries);
  return status;
}

static hvi_status by_iteration(hvi_mdp *m, double *v, hvi_error *err) {
  const hvi_linear_map map = {m->n, m->n, apply, NULL, m};
  double *work = hvi_alloc_doubles(hvi_bicgstab_work(m->n));
  if (!work) return hvi_error_memory(err, "the values");
  hvi_vec_copy(v, m->reward, m->n);
  hvi_bicgstab_solve(v, &map, m->reward, 1e-15, MOST_PRODUCTS, work);
  const double error = error_of(m, v, work);
  hvi_free(work);
  /* a few units of rounding, or an error of 1e-12 in the values, whichever is easier */
  if (error <= fmax(1e-14, 1e-12 * (1.0 - m->gamma))) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                       "the values of the process were not found: |T v - v| stays at %.2g |v| with "
                       "gamma = %.10g",
                       error, m->gamma);
}

static hvi_status find_true_values(hvi_mdp *m, hvi_error *err) {
  const size_t width = hvi_mdp_band_width(m);
  m->true_values = hvi_alloc_doubles(m->n);
  if (!m->true_values) return hvi_error_memory(err, "the values");
  if (hvi_mdp_band_fits(m, width, false)) return by_elimination(m, width, m->true_values, err);
  return by_iteration(m, m->true_values, err);
}

/* K y = L^-1 b,  theta = L^-T y = mix y */
static hvi_status find_fixed_point(hvi_mdp *m, hvi_error *err) {
  double *y = hvi_copy_doubles(m->b, m->d);
  if (!y) return hvi_error_memory(err, "the projected fixed point");
  hvi_mdp_whiten(m, y);
  hvi_status status = hvi_dense_solve(y, m->reduced, y, m->d, err);
  if (!status) hvi_dense_mul(m->fixed_point, m->mix, y, m->d, m->d);
  hvi_free(y);
  return status;
}

hvi_status hvi_mdp_find_values(hvi_mdp *m, hvi_error *err) {
  hvi_status status = find_true_values(m, err);
  if (status) return status;
  m->fixed_point = hvi_alloc_doubles(m->d);
  if (!m->fixed_point) return hvi_error_memory(err, "the projected fixed point");
  if (m->phi) return find_fixed_point(m, err);
  hvi_vec_copy(m->fixed_point, m->true_values, m->n);
  return HVI_OK;
}

hvi_status hvi_mdp_true_values(const hvi_mdp *m, double *v, hvi_error *err) {
  (void)err;
  hvi_vec_copy(v, m->true_values, m->n);
  return HVI_OK;
}

hvi_status hvi_mdp_fixed_point(const hvi_mdp *m, double *theta, hvi_error *err) {
  (void)err;
  hvi_vec_copy(theta, m->fixed_point, m->d);
  return HVI_OK;
}

hvi_status hvi_mdp_project(const hvi_mdp *m, const double *z, double *theta, hvi_error *err) {
  if (!m->phi) {
    hvi_vec_copy(theta, z, m->n);
    return HVI_OK;
  }
  double *work = hvi_alloc_doubles(2 * m->n + m->d);
  if (!work) return hvi_error_memory(err, "a projection");
  double *rest = work + m->n, *g = rest + m->n;
  hvi_mdp_correlate(theta, m, z, work);
  hvi_mdp_solve_gram(m, theta);
  /* once more on the rest: the Gram matrix has squared the features' condition */
  hvi_mdp_values(m, theta, rest);
  for (size_t i = 0; i < m->n; i++) rest[i] = z[i] - rest[i];
  hvi_mdp_correlate(g, m, rest, work);
  hvi_mdp_solve_gram(m, g);
  hvi_vec_add(theta, 1.0, g, m->d);
  hvi_free(work);
  return HVI_OK;
}

/* |Pi x|^2_Xi for any x[n]; g[d] and scaled[n] are room. */
static double projected_norm2(const hvi_mdp *m, const double *x, double *g, double *scaled) {
  if (!m->phi) {
    double sum = 0.0;
    for (size_t i = 0; i < m->n; i++) sum += m->law[i] * x[i] * x[i];
    return sum;
  }
  hvi_mdp_correlate(g, m, x, scaled);
  hvi_mdp_whiten(m, g);
  return hvi_vec_norm2(g, m->d);
}

hvi_status hvi_mdp_measure(hvi_mdp_measures *out, const hvi_mdp *m, const double *theta,
                           hvi_error *err) {
  const size_t n = m->n;
  double *work = hvi_alloc_doubles(3 * n + m->d);
  if (!work) return hvi_error_memory(err, "the measures");
  double *z = work, *tz = z + n, *scaled = tz + n, *g = scaled + n;
  *out = (hvi_mdp_measures){.to_fixed_point = hvi_mdp_distance2(m, theta, m->fixed_point)};
  hvi_mdp_values(m, theta, z);
  hvi_mdp_bellman(m, z, tz);
  for (size_t i = 0; i < n; i++) {
    const double off = z[i] - m->true_values[i];
    out->to_true_values += m->law[i] * off * off;
    tz[i] -= z[i];
  }
  out->mspbe = projected_norm2(m, tz, g, scaled);
  out->bellman_gap = 0.5 * out->mspbe;
  hvi_free(work);
  return HVI_OK;
}

/*
 * The stationary law xi' P = xi', of a chain whose states all reach each other.
 *
 * Direct, when P fits into a band (a walk of any size, any P of about 1,500 states): elimination in
 * which nothing cancels. Otherwise the damped power iteration
 *
 *   x <- (1 - w) x + w P'x,   w = 0.9,
 *
 * which a periodic chain does not trouble, and where that is slow BiCGSTAB on (I - P') e = P'x - x,
 * a singular but consistent system. The law is accepted when |P'x - x|_1 <= 1e-14 or so: rounding.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/bicgstab.h"
#include "num/vec.h"
#include "problems/mdp/direct.h"

#include <math.h>

enum { POWER_STEPS = 200, POLISH_STEPS = 30, MOST_PRODUCTS = 20000, ROUNDS = 5 };
static const double damping = 0.9;
static const double goal = 2e-15, acceptable = 1e-13;

static hvi_status complain_small(hvi_error *err) {
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "the stationary law gives a state less weight than a double can hold");
}

static hvi_status by_elimination(hvi_mdp *m, size_t width, hvi_error *err) {
  hvi_band A;
  hvi_status status = hvi_mdp_band_new(&A, m, width, 0.0, 1.0, err);
  if (status) return status;
  const bool good = hvi_band_stationary(m->law, &A);
  hvi_free(A.entries);
  return good ? HVI_OK : complain_small(err);
}

/* One damped step in place with y as room; returns |P'x - x|_1 before it. */
static double power_step(const hvi_mdp *m, double *x, double *y) {
  double change = 0.0, sum = 0.0;
  hvi_mdp_transit_t(y, m, x);
  for (size_t i = 0; i < m->n; i++) {
    change += fabs(y[i] - x[i]);
    x[i] += damping * (y[i] - x[i]);
    sum += x[i];
  }
  hvi_vec_scale(x, 1.0 / sum, m->n);
  return change;
}

/* Steps until the change is rounding or no longer falls; returns the change. */
static double power(const hvi_mdp *m, double *x, double *y, size_t most) {
  double change = INFINITY;
  for (size_t k = 0; k < most; k++) {
    const double now = power_step(m, x, y);
    if (now <= goal || (k > 10 && now <= acceptable && now > 0.99 * change)) return now;
    change = now;
  }
  return change;
}

/* y = x - P'x */
static void apply_difference(void *context, const double *x, double *y) {
  const hvi_mdp *m = context;
  hvi_mdp_transit_t(y, m, x);
  for (size_t i = 0; i < m->n; i++) y[i] = x[i] - y[i];
}

/* Corrects x by a Krylov solve, then makes it a law again. */
static void correct(hvi_mdp *m, double *x, double *work) {
  const hvi_linear_map map = {m->n, m->n, apply_difference, NULL, m};
  double *right = work, *e = right + m->n, sum = 0.0;
  apply_difference(m, x, right);
  hvi_vec_scale(right, -1.0, m->n);
  hvi_vec_zero(e, m->n);
  hvi_bicgstab_solve(e, &map, right, 1e-8, MOST_PRODUCTS / ROUNDS, e + m->n);
  for (size_t i = 0; i < m->n; i++) {
    const double corrected = x[i] + e[i];
    if (corrected > 0.0) x[i] = corrected;
    sum += x[i];
  }
  hvi_vec_scale(x, 1.0 / sum, m->n);
}

static hvi_status by_iteration(hvi_mdp *m, hvi_error *err) {
  double *work = hvi_alloc_doubles(2 * m->n + hvi_bicgstab_work(m->n));
  if (!work) return hvi_error_memory(err, "the stationary law");
  for (size_t i = 0; i < m->n; i++) m->law[i] = 1.0 / (double)m->n;
  double change = power(m, m->law, work, POWER_STEPS);
  for (int k = 0; k < ROUNDS && !(change <= acceptable); k++) {
    correct(m, m->law, work);
    change = power(m, m->law, work, POLISH_STEPS);
  }
  hvi_free(work);
  for (size_t i = 0; i < m->n; i++) {
    if (!(m->law[i] > 0.0)) return complain_small(err);
  }
  if (change <= acceptable) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                       "the chain mixes too slowly for its stationary law to be found: |xi P - xi| "
                       "stays at %.2g; with states numbered so that P is banded it would be",
                       change);
}

hvi_status hvi_mdp_find_law(hvi_mdp *m, hvi_error *err) {
  m->law = hvi_alloc_doubles(m->n);
  if (!m->law) return hvi_error_memory(err, "the stationary law");
  const size_t width = hvi_mdp_band_width(m);
  if (hvi_mdp_band_fits(m, width, false)) return by_elimination(m, width, err);
  hvi_status status = by_iteration(m, err);
  if (status == HVI_ERROR_UNSUPPORTED && hvi_mdp_band_fits(m, width, true)) {
    status = by_elimination(m, width, err);
  }
  return status;
}

/*
 * What is found out about a process: its stationary law, coordinates for its features, its values
 * v_pi, the projection and the projected fixed point; and how far a theta is from them.
 *
 * The law xi' P = xi', of a chain whose states all reach each other, is found directly when P fits
 * into a band (a walk of any size, any P of about 1,500 states): elimination in which nothing
 * cancels. Otherwise the damped power iteration
 *
 *   x <- (1 - w) x + w P'x,   w = 0.9,
 *
 * which a periodic chain does not trouble, and where that is slow BiCGSTAB on (I - P') e = P'x - x,
 * a singular but consistent system. The law is accepted when |P'x - x|_1 <= 1e-14 or so: rounding.
 *
 *   v_pi = r + gamma P v_pi        (I - gamma P is an M-matrix: elimination needs no exchanges)
 *   |v - v_pi|_max <= |r + gamma P v - v|_max / (1 - gamma)
 *
 * Coordinates in which the range of Phi is orthonormal in the inner product of Xi.
 *
 *   G = Phi' Xi Phi = L L',   C = Phi' Xi (Phi - gamma P Phi),   b = Phi' Xi r
 *   B = Phi L^-T,  B' Xi B = I,   K = B' Xi (I - gamma P) B = L^-1 C L^-T
 *
 * The projected fixed point C theta = b is K y = L^-1 b, theta = L^-T y; K's symmetric part is at
 * least 1 - gamma however badly the features are scaled. Sums over states go block by block, so
 * that P Phi is never stored.
 *
 * Rank: in the Cholesky factor of G with unit diagonal, the squared pivot of a column is sin^2 of
 * its angle to the columns before it. Below 1e-12 it is rounding, and the column depends on those.
 *
 * For z = Phi theta in the range of Phi, with Pi the projection in the norm of Xi,
 *
 *   MSPBE = |Pi (T z - z)|^2 = g' G^-1 g,  g = Phi' Xi (T z - z),
 *   BE(theta, theta) - inf BE(., theta) = 1/2 |z - T z|^2 - 1/2 |Pi T z - T z|^2 = MSPBE / 2.
 */
#include "base/base.h"
#include "problems/mdp/mdp.h"

#include "num/band.h"
#include "num/bicgstab.h"
#include "num/dense.h"
#include "vi/sets.h"

enum { BLOCK = 512, POWER_STEPS = 200, POLISH_STEPS = 30, MOST_PRODUCTS = 20000, ROUNDS = 5 };
static const double damping = 0.9;
static const double goal = 2e-15, acceptable = 1e-13, least_sine2 = 1e-12;

/* Half the width of the band that holds all of P. */
static size_t band_width(const hvi_mdp *m) {
  size_t width = 0;
  for (size_t i = 0; i < m->n; i++) {
    const hvi_mdp_row row = hvi_mdp_row_of(m, i);
    for (size_t k = 0; k < row.count; k++) {
      const size_t j = hvi_mdp_column(&row, k), far = i > j ? i - j : j - i;
      if (row.value[k] != 0.0 && far > width) width = far;
    }
  }
  return width;
}

/* Whether elimination within a band of this width is a matter of about a second (`patient`: of a
 * minute) and of little memory. */
static bool band_fits(const hvi_mdp *m, size_t width, bool patient) {
  const double n = (double)m->n, w = (double)width;
  const double products = patient ? 1e11 : 4e9, doubles = patient ? 1.3e8 : 3.2e7;
  return n * w * w <= products && n * (2.0 * w + 1.0) <= doubles;
}

/* The band matrix diagonal I + scale P; entries are the caller's to free. */
static hvi_status band_new(hvi_band *A, const hvi_mdp *m, size_t width, double diagonal,
                           double scale, hvi_error *err) {
  *A = (hvi_band){m->n, width, hvi_alloc_doubles(m->n * (2 * width + 1))};
  if (!A->entries) return hvi_error_memory(err, "the transitions in a band");
  for (size_t i = 0; i < m->n; i++) {
    const hvi_mdp_row row = hvi_mdp_row_of(m, i);
    double *band = hvi_band_row(A, i);
    for (size_t k = 0; k < row.count; k++) {
      if (row.value[k] == 0.0) continue;
      band[(ptrdiff_t)hvi_mdp_column(&row, k) - (ptrdiff_t)i] = scale * row.value[k];
    }
    band[0] += diagonal;
  }
  return HVI_OK;
}

static hvi_status complain_small(hvi_error *err) {
  return hvi_error_input(err,
                         "the stationary law gives a state less weight than a double can hold");
}

static hvi_status law_by_elimination(hvi_mdp *m, size_t width, hvi_error *err) {
  hvi_band A;
  HVI_TRY(band_new(&A, m, width, 0.0, 1.0, err));
  HVI_OWN double *entries = A.entries;
  return hvi_band_stationary(m->law, &A) ? HVI_OK : complain_small(err);
}

/* Damped steps in place, with y as workspace, until the change |P'x - x|_1 is rounding or no longer
 * falls; returns the change. */
static double power(const hvi_mdp *m, double *x, double *y, size_t most) {
  double change = INFINITY;
  for (size_t k = 0; k < most; k++) {
    double now = 0.0, sum = 0.0;
    hvi_mdp_transit_t(y, m, x);
    for (size_t i = 0; i < m->n; i++) {
      now += fabs(y[i] - x[i]);
      x[i] += damping * (y[i] - x[i]);
      sum += x[i];
    }
    hvi_vec_scale(x, 1.0 / sum, m->n);
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

static hvi_status law_by_iteration(hvi_mdp *m, hvi_error *err) {
  HVI_NEW(double, work, 2 * m->n + hvi_bicgstab_work(m->n), "the stationary law", err);
  for (size_t i = 0; i < m->n; i++) m->law[i] = 1.0 / (double)m->n;
  double change = power(m, m->law, work, POWER_STEPS);
  for (int k = 0; k < ROUNDS && !(change <= acceptable); k++) {
    correct(m, m->law, work);
    change = power(m, m->law, work, POLISH_STEPS);
  }
  for (size_t i = 0; i < m->n; i++)
    if (!(m->law[i] > 0.0)) return complain_small(err);
  if (change <= acceptable) return HVI_OK;
  return hvi_error_unsupported(
      err,
      "the chain mixes too slowly for its stationary law to be found: |xi P - xi| "
      "stays at %.2g; with states numbered so that P is banded it would be",
      change);
}

static hvi_status find_law(hvi_mdp *m, hvi_error *err) {
  const size_t width = band_width(m);
  if (band_fits(m, width, false)) return law_by_elimination(m, width, err);
  hvi_status status = law_by_iteration(m, err);
  if (status == HVI_ERROR_UNSUPPORTED && band_fits(m, width, true))
    status = law_by_elimination(m, width, err);
  return status;
}

/* out[d] = Phi' Xi x; scaled[n] is workspace. */
static void correlate(double *out, const hvi_mdp *m, const double *x, double *scaled) {
  for (size_t i = 0; i < m->n; i++) scaled[i] = m->law[i] * x[i];
  hvi_dense_mul_t(out, m->phi, scaled, m->n, m->d);
}

/* out[count][d] = rows begin .. of xi (phi - gamma P phi), or of xi phi when gamma is 0. */
static void weighted_rows(double *out, const hvi_mdp *m, double gamma, size_t begin, size_t count) {
  const size_t d = m->d;
  hvi_vec_copy(out, m->phi + begin * d, count * d);
  if (gamma != 0.0 && m->P) {
    double *moved = out + BLOCK * d;
    hvi_dense_matmul(moved, m->P + begin * m->n, m->phi, count, m->n, d);
    hvi_vec_add(out, -gamma, moved, count * d);
  } else if (gamma != 0.0) {
    const hvi_sparse *S = &m->sparse;
    for (size_t i = 0; i < count; i++)
      for (size_t k = S->start[begin + i]; k < S->start[begin + i + 1]; k++)
        hvi_vec_add(out + i * d, -gamma * S->value[k], m->phi + S->column[k] * d, d);
  }
  for (size_t i = 0; i < count; i++) hvi_vec_scale(out + i * d, m->law[begin + i], d);
}

/* A[d][d] = Phi' Xi (Phi - gamma P Phi); rows has 2 BLOCK d doubles. */
static void accumulate(double *A, const hvi_mdp *m, double gamma, double *rows) {
  hvi_vec_zero(A, m->d * m->d);
  for (size_t begin = 0; begin < m->n; begin += BLOCK) {
    const size_t left = m->n - begin, count = left < BLOCK ? left : BLOCK;
    weighted_rows(rows, m, gamma, begin, count);
    hvi_dense_matmul_t_add(A, m->phi + begin * m->d, rows, count, m->d, m->d);
  }
}

/* One step of Cholesky: row j of the factor L of G with unit diagonal. Returns its pivot squared. */
static double factor_row(double *L, const double *G, const double *scale, size_t d, size_t j) {
  double pivot2 = 1.0;
  for (size_t k = 0; k < j; k++) {
    const double g = G[j * d + k] / (scale[j] * scale[k]);
    L[j * d + k] = (g - hvi_vec_dot(L + j * d, L + k * d, k)) / L[k * d + k];
    pivot2 -= L[j * d + k] * L[j * d + k];
  }
  L[j * d + j] = sqrt(fmax(pivot2, 0.0));
  return pivot2;
}

/* Names the columns before j that column j is made of: c' L = row j of L. */
static hvi_status complain_rank(const double *L, size_t d, size_t j, double *c, hvi_error *err) {
  char list[120] = "";
  for (size_t k = j; k-- > 0;) {
    c[k] = L[j * d + k];
    for (size_t i = k + 1; i < j; i++) c[k] -= c[i] * L[i * d + k];
    c[k] /= L[k * d + k];
  }
  for (size_t k = 0; k < j; k++) {
    if (fabs(c[k]) < 1e-5) continue;
    if (strlen(list) + 32 > sizeof list) {
      strcat(list, ", ...");
      break;
    }
    hvi_append(list, sizeof list, "%s%zu", *list ? ", " : "", k + 1);
  }
  return hvi_error_input(
      err, "the features lack full column rank: column %zu is a combination of columns %s", j + 1,
      list);
}

/* G = L L'; c[d] and scale[d] are workspace. */
static hvi_status factor_gram(double *L, const double *G, double *scale, double *c, size_t d,
                              hvi_error *err) {
  for (size_t j = 0; j < d; j++) {
    scale[j] = sqrt(G[j * d + j]);
    if (!(scale[j] > 0.0))
      return hvi_error_input(err, "the features lack full column rank: column %zu is zero", j + 1);
  }
  for (size_t j = 0; j < d; j++)
    if (factor_row(L, G, scale, d, j) < least_sine2) return complain_rank(L, d, j, c, err);
  for (size_t j = 0; j < d; j++) hvi_vec_scale(L + j * d, scale[j], j + 1);
  return HVI_OK;
}

/* g <- L^-T L^-1 g = (Phi' Xi Phi)^-1 g */
static void solve_gram(const hvi_mdp *m, double *g) {
  const size_t d = m->d;
  const double *L = m->factor;
  hvi_lower_solve(L, g, d);
  for (size_t i = d; i-- > 0;) {
    g[i] /= L[i * d + i];
    hvi_vec_add(g, -g[i], L + i * d, i);
  }
}

static hvi_status find_coordinates(hvi_mdp *m, hvi_error *err) {
  const size_t d = m->d;
  if (d > m->n)
    return hvi_error_input(err, "the features lack full column rank: %zu columns on %zu states", d,
                           m->n);
  HVI_NEW(double, work, m->n + 2 * BLOCK * d + 2 * d, "the features' Gram matrix", err);
  double *rows = work + m->n;
  accumulate(m->gram, m, 0.0, rows);
  HVI_TRY(factor_gram(m->factor, m->gram, rows, rows + d, d, err));
  accumulate(m->C, m, m->gamma, rows);
  correlate(m->b, m, m->reward, work);
  hvi_vec_copy(m->reduced, m->C, d * d);
  hvi_matrix_whiten(m->reduced, m->factor, d);
  for (size_t j = 0; j < d; j++) {
    /* row j of L^-T is column j of L^-1 */
    m->mix[j * d + j] = 1.0;
    hvi_lower_solve(m->factor, m->mix + j * d, d);
  }
  return HVI_OK;
}

/* y = x - gamma P x */
static void apply(void *context, const double *x, double *y) {
  const hvi_mdp *m = context;
  hvi_mdp_transit(y, m, x);
  for (size_t i = 0; i < m->n; i++) y[i] = x[i] - m->gamma * y[i];
}

/* |T v - v|_max / |v|_max; tv is workspace, and left holding T v. */
static double error_of(const hvi_mdp *m, const double *v, double *tv) {
  double error = 0.0, size = 0.0;
  hvi_mdp_bellman(m, v, tv);
  for (size_t i = 0; i < m->n; i++) {
    error = fmax(error, fabs(tv[i] - v[i]));
    size = fmax(size, fabs(v[i]));
  }
  return size > 0.0 ? error / size : error;
}

static hvi_status values_by_elimination(const hvi_mdp *m, size_t width, double *v, hvi_error *err) {
  hvi_band A;
  HVI_TRY(band_new(&A, m, width, 1.0, -m->gamma, err));
  HVI_OWN double *entries = A.entries, *e = hvi_alloc_doubles(m->n);
  if (!e) return hvi_error_memory(err, "the values");
  hvi_band_factor(&A);
  hvi_vec_copy(v, m->reward, m->n);
  hvi_band_solve(v, &A);
  /* once more on what rounding has left */
  error_of(m, v, e);
  hvi_vec_add(e, -1.0, v, m->n);
  hvi_band_solve(e, &A);
  hvi_vec_add(v, 1.0, e, m->n);
  return HVI_OK;
}

static hvi_status values_by_iteration(hvi_mdp *m, double *v, hvi_error *err) {
  const hvi_linear_map map = {m->n, m->n, apply, NULL, m};
  HVI_NEW(double, work, hvi_bicgstab_work(m->n), "the values", err);
  hvi_vec_copy(v, m->reward, m->n);
  hvi_bicgstab_solve(v, &map, m->reward, 1e-15, MOST_PRODUCTS, work);
  const double error = error_of(m, v, work);
  /* a few units of rounding, or an error of 1e-12 in the values, whichever is easier */
  if (error <= fmax(1e-14, 1e-12 * (1.0 - m->gamma))) return HVI_OK;
  return hvi_error_unsupported(
      err,
      "the values of the process were not found: |T v - v| stays at %.2g |v| with "
      "gamma = %.10g",
      error, m->gamma);
}

/* v_pi, and K y = L^-1 b,  theta = L^-T y = mix y */
static hvi_status find_values(hvi_mdp *m, hvi_error *err) {
  const size_t width = band_width(m);
  HVI_TRY(band_fits(m, width, false) ? values_by_elimination(m, width, m->true_values, err)
                                     : values_by_iteration(m, m->true_values, err));
  if (!m->phi) {
    hvi_vec_copy(m->fixed_point, m->true_values, m->n);
    return HVI_OK;
  }
  HVI_OWN double *y = hvi_copy_doubles(m->b, m->d);
  if (!y) return hvi_error_memory(err, "the projected fixed point");
  hvi_lower_solve(m->factor, y, m->d);
  HVI_TRY(hvi_dense_solve(y, m->reduced, y, m->d, err));
  hvi_dense_mul(m->fixed_point, m->mix, y, m->d, m->d);
  return HVI_OK;
}

hvi_status hvi_mdp_solve(hvi_mdp *m, hvi_error *err) {
  const size_t n = m->n, d = m->phi ? m->d : 0;
  HVI_TRY(hvi_new_arrays("the values of a process", err, {&m->law, n}, {&m->true_values, n},
                         {&m->fixed_point, m->d}, {&m->b, d}, {&m->gram, d * d}, {&m->C, d * d},
                         {&m->factor, d * d}, {&m->mix, d * d}, {&m->reduced, d * d}));
  HVI_TRY(find_law(m, err));
  HVI_TRY(m->phi ? find_coordinates(m, err) : HVI_OK);
  return find_values(m, err);
}

double hvi_mdp_distance2(const hvi_mdp *m, const double *x, const double *y) {
  double sum = 0.0;
  for (size_t i = 0; !m->phi && i < m->n; i++) sum += m->law[i] * (x[i] - y[i]) * (x[i] - y[i]);
  /* |L' (x - y)|^2 */
  for (size_t j = 0; m->phi && j < m->d; j++) {
    double c = 0.0;
    for (size_t i = j; i < m->d; i++) c += m->factor[i * m->d + j] * (x[i] - y[i]);
    sum += c * c;
  }
  return sum;
}

hvi_status hvi_mdp_project(const hvi_mdp *m, const double *z, double *theta, hvi_error *err) {
  if (!m->phi) {
    hvi_vec_copy(theta, z, m->n);
    return HVI_OK;
  }
  HVI_NEW(double, work, 2 * m->n + m->d, "a projection", err);
  double *rest = work + m->n, *g = rest + m->n;
  correlate(theta, m, z, work);
  solve_gram(m, theta);
  /* once more on the rest: the Gram matrix has squared the features' condition */
  hvi_mdp_values(m, theta, rest);
  for (size_t i = 0; i < m->n; i++) rest[i] = z[i] - rest[i];
  correlate(g, m, rest, work);
  solve_gram(m, g);
  hvi_vec_add(theta, 1.0, g, m->d);
  return HVI_OK;
}

hvi_status hvi_mdp_measure(hvi_mdp_measures *out, const hvi_mdp *m, const double *theta,
                           hvi_error *err) {
  const size_t n = m->n;
  HVI_NEW(double, work, 3 * n + m->d, "the measures", err);
  double *z = work, *tz = z + n, *scaled = tz + n, *g = scaled + n;
  *out = (hvi_mdp_measures){.to_fixed_point = hvi_mdp_distance2(m, theta, m->fixed_point)};
  hvi_mdp_values(m, theta, z);
  hvi_mdp_bellman(m, z, tz);
  for (size_t i = 0; i < n; i++) {
    const double off = z[i] - m->true_values[i];
    out->to_true_values += m->law[i] * off * off;
    tz[i] -= z[i];
    if (!m->phi) out->mspbe += m->law[i] * tz[i] * tz[i];
  }
  if (m->phi) {
    correlate(g, m, tz, scaled);
    hvi_lower_solve(m->factor, g, m->d);
    out->mspbe = hvi_vec_norm2(g, m->d);
  }
  out->bellman_gap = 0.5 * out->mspbe;
  return HVI_OK;
}

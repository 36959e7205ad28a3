/*
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
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/mdp.h"
#include "vi/sets.h"

enum { BLOCK = 512 };
static const double least_sine2 = 1e-12;

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

/* One step of Cholesky: row j of the factor L of G with unit diagonal. Returns the squared pivot.
 */
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
    const size_t used = strlen(list);
    if (fabs(c[k]) < 1e-5) continue;
    if (used + 32 > sizeof list) {
      strcat(list, ", ...");
      break;
    }
    snprintf(list + used, sizeof list - used, "%s%zu", used ? ", " : "", k + 1);
  }
  return hvi_error_input(
      err,
      "the features lack full column rank: column %zu is a combination of columns "
      "%s",
      j + 1, list);
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

void hvi_mdp_solve_gram(const hvi_mdp *m, double *g) {
  const size_t d = m->d;
  const double *L = m->factor;
  hvi_lower_solve(L, g, d);
  for (size_t i = d; i-- > 0;) {
    g[i] /= L[i * d + i];
    hvi_vec_add(g, -g[i], L + i * d, i);
  }
}

hvi_status hvi_mdp_find_coordinates(hvi_mdp *m, hvi_error *err) {
  const size_t d = m->d;
  if (d > m->n)
    return hvi_error_input(err, "the features lack full column rank: %zu columns on %zu states", d,
                           m->n);
  HVI_OWN double *work = hvi_alloc_doubles(m->n + 2 * BLOCK * d + 2 * d);
  if (!work) return hvi_error_memory(err, "the features' Gram matrix");
  double *rows = work + m->n;
  accumulate(m->gram, m, 0.0, rows);
  HVI_TRY(factor_gram(m->factor, m->gram, rows, rows + d, d, err));
  accumulate(m->C, m, m->gamma, rows);
  hvi_mdp_correlate(m->b, m, m->reward, work);
  hvi_vec_copy(m->reduced, m->C, d * d);
  hvi_matrix_whiten(m->reduced, m->factor, d);
  for (size_t j = 0; j < d; j++) {
    /* row j of L^-T is column j of L^-1 */
    m->mix[j * d + j] = 1.0;
    hvi_lower_solve(m->factor, m->mix + j * d, d);
  }
  return HVI_OK;
}

void hvi_mdp_correlate(double *out, const hvi_mdp *m, const double *x, double *scaled) {
  for (size_t i = 0; i < m->n; i++) scaled[i] = m->law[i] * x[i];
  hvi_dense_mul_t(out, m->phi, scaled, m->n, m->d);
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

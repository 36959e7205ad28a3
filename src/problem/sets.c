/*
 * The set Z = product of boxes, simplices, subspaces and free factors.
 *
 * Projection onto the simplex: max(z_i - tau, 0) with tau such that the result sums to one.
 * Michelot's iteration finds tau without sorting: tau = (sum of the active z_i - 1) / (number
 * active), then those at or below tau become inactive, until none does; at most n rounds. In a
 * weighted norm the multiplier is divided by each weight: max(z_i - tau / w_i, 0).
 */
#include "problem/sets.h"

#include "num/vec.h"

#include <math.h>

/* tau for the point z - f (f may be NULL). */
static double simplex_threshold(const double *z, const double *f, const double *w, size_t n) {
  double tau = -INFINITY;
  size_t active = n + 1;
  for (;;) {
    double sum = -1.0, scale = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
      const double wi = w ? w[i] : 1.0, x = f ? z[i] - f[i] / wi : z[i];
      if (x * wi <= tau) continue;
      sum += x;
      scale += 1.0 / wi;
      count++;
    }
    if (count == 0 || count == active) return tau;
    tau = sum / scale;
    active = count;
  }
}

static double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

static void project_subspace(const hvi_set *set, const double *w, const double *z, double *out) {
  hvi_vec_zero(out, set->len);
  for (size_t r = 0; r < set->rank; r++) {
    double c = 0.0;
    for (size_t i = 0; i < set->len; i++) {
      c += set->basis[i * set->rank + r] * (w ? w[i] * z[i] : z[i]);
    }
    for (size_t i = 0; i < set->len; i++) out[i] += c * set->basis[i * set->rank + r];
  }
}

void hvi_set_project(const hvi_set *set, const double *w, const double *z, double *out) {
  double tau;
  switch (set->kind) {
  case HVI_SET_FREE:
    hvi_vec_copy(out, z, set->len);
    break;
  case HVI_SET_BOX:
    for (size_t i = 0; i < set->len; i++) out[i] = clamp(z[i], set->lower[i], set->upper[i]);
    break;
  case HVI_SET_SIMPLEX:
    tau = simplex_threshold(z, NULL, w, set->len);
    for (size_t i = 0; i < set->len; i++) out[i] = fmax(z[i] - tau / (w ? w[i] : 1.0), 0.0);
    break;
  case HVI_SET_SUBSPACE:
    project_subspace(set, w, z, out);
    break;
  }
}

void hvi_problem_project(const hvi_problem *p, const double *z, double *out) {
  for (size_t k = 0; k < p->set_count; k++) {
    const size_t at = p->sets[k].begin;
    hvi_set_project(&p->sets[k], p->weights ? p->weights + at : NULL, z + at, out + at);
  }
}

/* One factor's share of the squared residual, without room for the projected point. */
static double set_residual2(const hvi_set *set, const double *w, const double *z, const double *f) {
  double sum = 0.0, tau = 0.0;
  if (set->kind == HVI_SET_SUBSPACE) {
    /* z lies in the subspace, so the residual is the projection of f itself */
    for (size_t r = 0; r < set->rank; r++) {
      double c = 0.0;
      for (size_t i = 0; i < set->len; i++) c += set->basis[i * set->rank + r] * f[i];
      sum += c * c;
    }
    return sum;
  }
  if (set->kind == HVI_SET_SIMPLEX) tau = simplex_threshold(z, f, w, set->len);
  for (size_t i = 0; i < set->len; i++) {
    const double wi = w ? w[i] : 1.0, x = z[i] - f[i] / wi;
    double y = x;
    if (set->kind == HVI_SET_BOX) y = clamp(x, set->lower[i], set->upper[i]);
    if (set->kind == HVI_SET_SIMPLEX) y = x - tau / wi > 0.0 ? x - tau / wi : 0.0;
    sum += wi * (z[i] - y) * (z[i] - y);
  }
  return sum;
}

double hvi_problem_residual(const hvi_problem *p, const double *z, const double *f) {
  double sum = 0.0;
  for (size_t k = 0; k < p->set_count; k++) {
    const size_t at = p->sets[k].begin;
    sum += set_residual2(&p->sets[k], p->weights ? p->weights + at : NULL, z + at, f + at);
  }
  return sqrt(sum);
}

static size_t set_rank(const hvi_set *set) {
  size_t rank = 0;
  switch (set->kind) {
  case HVI_SET_FREE:
    return set->len;
  case HVI_SET_BOX:
    for (size_t i = 0; i < set->len; i++) rank += set->lower[i] < set->upper[i];
    return rank;
  case HVI_SET_SIMPLEX:
    return set->len - 1;
  case HVI_SET_SUBSPACE:
    return set->rank;
  }
  return 0;
}

/* Writes one factor's directions into columns column .. of B. The simplex gets Helmert's:
 * (1, ..., 1, -j, 0, ...) / sqrt(j (j + 1)). */
static void set_directions(const hvi_set *set, double *B, size_t width, size_t column) {
  double *rows = B + set->begin * width + column;
  if (set->kind == HVI_SET_SIMPLEX) {
    for (size_t j = 1; j < set->len; j++) {
      const double scale = 1.0 / sqrt((double)j * (double)(j + 1));
      for (size_t i = 0; i < j; i++) rows[i * width + j - 1] = scale;
      rows[j * width + j - 1] = -(double)j * scale;
    }
    return;
  }
  size_t next = 0;
  for (size_t i = 0; i < set->len; i++) {
    if (set->kind == HVI_SET_SUBSPACE) {
      for (size_t r = 0; r < set->rank; r++) rows[i * width + r] = set->basis[i * set->rank + r];
    } else if (set->kind == HVI_SET_FREE || set->lower[i] < set->upper[i]) {
      rows[i * width + next++] = 1.0;
    }
  }
}

void hvi_problem_tangent(const hvi_problem *p, double *B, size_t *rank) {
  size_t width = 0, column = 0;
  for (size_t k = 0; k < p->set_count; k++) width += set_rank(&p->sets[k]);
  hvi_vec_zero(B, p->model->out * width);
  for (size_t k = 0; k < p->set_count; k++) {
    set_directions(&p->sets[k], B, width, column);
    column += set_rank(&p->sets[k]);
  }
  *rank = width;
}

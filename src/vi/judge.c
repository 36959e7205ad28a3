/*
 * The judge: what a point is worth, recomputed from the description alone.
 *
 *   residual = |z - Pi(z - F(z))|
 *   gap      = max over y in Z of <F(z), z - y>: each player's regret against the frozen losses
 *
 * It evaluates the model with a cache of its own and has its own projections (the simplex by
 * sorting), so an error in the solver's running residual does not hide here.
 */
#include "base/base.h"
#include "num/vec.h"
#include "vi/sets.h"

/* One factor's share of the gap; infinite when F points out of an unbounded set. */
static double set_gap(const hvi_set *set, const double *z, const double *f) {
  double gap = 0.0, least = INFINITY;
  switch (set->kind) {
  case HVI_SET_SIMPLEX:
    for (size_t i = 0; i < set->len; i++) {
      gap += f[i] * z[i];
      least = fmin(least, f[i]);
    }
    return gap - least;
  case HVI_SET_BOX:
    for (size_t i = 0; i < set->len; i++)
      if (f[i] != 0.0) gap += f[i] * (z[i] - (f[i] > 0.0 ? set->lower[i] : set->upper[i]));
    return gap;
  case HVI_SET_FREE:
    return hvi_vec_norm2(f, set->len) == 0.0 ? 0.0 : INFINITY;
  case HVI_SET_SUBSPACE:
    for (size_t r = 0; r < set->rank; r++) {
      double c = 0.0;
      for (size_t i = 0; i < set->len; i++) c += set->basis[i * set->rank + r] * f[i];
      if (c != 0.0) return INFINITY; /* in practice with the first column */
    }
    return 0.0;
  }
  return NAN;
}

static int descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* x[n] <- its projection onto the simplex, unweighted; sorted[n] is scratch. */
static void sort_onto_simplex(double *x, double *sorted, size_t n) {
  hvi_vec_copy(sorted, x, n);
  qsort(sorted, n, sizeof *sorted, descending);
  double sum = 0.0, tau = 0.0;
  for (size_t i = 0; i < n; i++) {
    sum += sorted[i] - sorted[0];
    const double candidate = (sum - 1.0) / (double)(i + 1);
    if (sorted[i] - sorted[0] > candidate) tau = candidate;
  }
  const double top = sorted[0];
  for (size_t i = 0; i < n; i++) x[i] = fmax(x[i] - top - tau, 0.0);
}

/* x[len] <- the projection of x onto one factor; scratch[len]. */
static void onto_set(const hvi_set *set, const double *w, double *x, double *scratch) {
  if (set->kind == HVI_SET_BOX) {
    for (size_t i = 0; i < set->len; i++) x[i] = fmin(fmax(x[i], set->lower[i]), set->upper[i]);
  } else if (set->kind == HVI_SET_SIMPLEX && !w) {
    sort_onto_simplex(x, scratch, set->len);
  } else if (set->kind != HVI_SET_FREE) {
    hvi_set_project(set, w, x, scratch);
    hvi_vec_copy(x, scratch, set->len);
  }
}

hvi_status hvi_problem_judge(hvi_certificate *c, const hvi_problem *p, const double *theta,
                             hvi_error *err) {
  if (!c || !theta) return hvi_error_argument(err, "a judge needs theta and a certificate");
  HVI_TRY(hvi_problem_structure(p, err));
  const size_t n = p->model->out;
  HVI_NEW(double, z, 4 * n + p->model->cache, "the judge", err);
  double *f = z + n, *step = f + n, *scratch = step + n, sum = 0.0;
  const double *w = p->weights;
  p->model->ops->eval(p->model, scratch + n, theta, z);
  p->ops->operate(p, NULL, theta, z, f);
  c->finite = hvi_vec_finite(theta, p->model->dim) && hvi_vec_finite(z, n) && hvi_vec_finite(f, n);
  c->gap = 0.0;
  for (size_t k = 0; k < p->set_count; k++) {
    const size_t at = p->sets[k].begin, end = at + p->sets[k].len;
    for (size_t i = at; i < end; i++) step[i] = z[i] - f[i] / (w ? w[i] : 1.0);
    onto_set(&p->sets[k], w ? w + at : NULL, step + at, scratch);
    for (size_t i = at; i < end; i++) sum += (w ? w[i] : 1.0) * (z[i] - step[i]) * (z[i] - step[i]);
    c->gap += set_gap(&p->sets[k], z + at, f + at);
  }
  c->residual = c->finite ? sqrt(sum) : NAN;
  c->dist2 = p->solution ? hvi_vec_dist2(z, p->solution, n) : NAN;
  if (p->ops->dist2) c->dist2 = p->ops->dist2(p, theta);
  return HVI_OK;
}

/*
 * The judge: what a point is worth, recomputed from the description alone.
 *
 *   residual = |z - Pi(z - F(z))|
 *   gap      = max over y in Z of <F(z), z - y>: each player's regret against the frozen losses
 *
 * It evaluates the model with a cache of its own and projects by another route than the solver's
 * running residual, so an error there does not hide here.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"
#include "problem/sets.h"

#include <math.h>

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
    for (size_t i = 0; i < set->len; i++) {
      if (f[i] != 0.0) gap += f[i] * (z[i] - (f[i] > 0.0 ? set->lower[i] : set->upper[i]));
    }
    return gap;
  case HVI_SET_FREE:
    return hvi_vec_norm2(f, set->len) == 0.0 ? 0.0 : INFINITY;
  case HVI_SET_SUBSPACE:
    for (size_t r = 0; r < set->rank; r++) {
      double c = 0.0;
      for (size_t i = 0; i < set->len; i++) c += set->basis[i * set->rank + r] * f[i];
      if (c != 0.0) return INFINITY;
    }
    return 0.0;
  }
  return NAN;
}

static double weighted_distance(const double *x, const double *y, const double *w, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (w ? w[i] : 1.0) * (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}

static void judge(hvi_certificate *c, const hvi_problem *p, const double *theta, double *z,
                  double *f, double *step, double *cache) {
  const size_t n = p->model->out;
  double *projected = step + n;
  p->model->ops->eval(p->model, cache, theta, z);
  p->ops->operate(p, NULL, theta, z, f);
  c->finite = hvi_vec_finite(theta, p->model->dim) && hvi_vec_finite(z, n) && hvi_vec_finite(f, n);
  for (size_t i = 0; i < n; i++) step[i] = z[i] - f[i] / (p->weights ? p->weights[i] : 1.0);
  hvi_problem_project(p, step, projected);
  c->residual = c->finite ? weighted_distance(z, projected, p->weights, n) : NAN;
  c->dist2 = p->solution ? hvi_vec_dist2(z, p->solution, n) : NAN;
  c->gap = 0.0;
  for (size_t k = 0; k < p->set_count; k++) {
    c->gap += set_gap(&p->sets[k], z + p->sets[k].begin, f + p->sets[k].begin);
  }
}

hvi_status hvi_problem_judge(hvi_certificate *c, const hvi_problem *p, const double *theta,
                             hvi_error *err) {
  const size_t n = p->model->out;
  double *work = hvi_alloc_doubles(4 * n + p->model->cache);
  if (!work) return hvi_error_memory(err, "the judge");
  judge(c, p, theta, work, work + n, work + 2 * n, work + 4 * n);
  hvi_free(work);
  return HVI_OK;
}

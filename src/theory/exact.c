/*
 * Far from z* a bounded Z hides an expanding step: the iterates end in a cycle along the boundary.
 * So the iteration starts near z*, on the way from z* to the start, and is watched for as long as
 * it stays near.
 */
#include "theory/exact.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"
#include "theory/rate_fit.h"
#include "theory/steps.h"

#include <math.h>

/* Squared distances, as shares of 1 + |z*|^2: where it starts, and what is no longer near. */
static const double start_near = 1e-12, still_near = 1e-4;

typedef struct walk {
  hvi_steps steps;
  double *z;      /* [n] */
  double *x;      /* [steps + 1] squared distances or residuals */
  double *logs;   /* [steps + 1] */
  double *memory; /* all of them */
  const double *theta;
} walk;

static hvi_status walk_new(walk *w, const hvi_problem *p, const hvi_settings *settings, double eta,
                           size_t steps, hvi_error *err) {
  const size_t n = p->model->out, cache = p->model->cache;
  hvi_status status = hvi_steps_new(&w->steps, p, settings, eta, err);
  if (status) return status;
  w->memory = hvi_alloc_doubles(n + cache + 2 * (steps + 1));
  if (!w->memory) {
    hvi_steps_free(&w->steps);
    return hvi_error_memory(err, "the exact projected step");
  }
  w->z = w->memory + cache;
  w->x = w->z + n;
  w->logs = w->x + steps + 1;
  w->theta = settings->theta0 ? settings->theta0 : p->theta0;
  p->model->ops->eval(p->model, w->memory, w->theta, w->z);
  return HVI_OK;
}

/* Pulls z towards z*; false when it is there already. */
static bool come_near(const walk *w, double scale) {
  const hvi_problem *p = w->steps.problem;
  const size_t n = p->model->out;
  const double dist2 = hvi_vec_dist2(w->z, p->solution, n);
  if (!(dist2 > 0.0)) return false;
  const double share = fmin(1.0, sqrt(start_near * scale / dist2));
  for (size_t i = 0; i < n; i++) {
    w->z[i] = p->solution[i] + share * (w->z[i] - p->solution[i]);
  }
  return true;
}

static double measure(const walk *w) {
  const hvi_problem *p = w->steps.problem;
  if (p->solution) return hvi_vec_dist2(w->z, p->solution, p->model->out);
  const double residual = hvi_problem_residual(p, w->z, w->steps.f);
  return residual * residual;
}

static double walk_rate(walk *w, size_t steps) {
  const hvi_problem *p = w->steps.problem;
  const double *centre = p->solution ? p->solution : w->z;
  const double scale = 1.0 + hvi_vec_norm2(centre, p->model->out);
  if (p->solution && !come_near(w, scale)) return NAN;
  size_t count = 0;
  while (count <= steps) {
    hvi_steps_stand(&w->steps, w->theta, w->z);
    const double x = w->x[count++] = measure(w);
    if (!(x > hvi_rate_rounding * scale) || (p->solution && x > still_near * scale)) break;
    hvi_vec_copy(w->z, w->steps.exact, p->model->out);
  }
  return hvi_rate_fit(w->x, count, hvi_rate_rounding * scale, w->logs);
}

hvi_status hvi_exact_rate(double *rate, const hvi_problem *p, const hvi_settings *settings,
                          double eta, size_t steps, hvi_error *err) {
  walk w;
  hvi_status status = walk_new(&w, p, settings, eta, steps, err);
  if (status) return status;
  *rate = walk_rate(&w, steps);
  hvi_steps_free(&w.steps);
  hvi_free(w.memory);
  return HVI_OK;
}

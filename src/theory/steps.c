/*
 * With r = z_t^* - v the residual at the exact point, the surrogate's value above its floor is
 *
 *   l(z) - l* = 1/2 |z - v|^2 - 1/2 |r|^2 = 1/2 |z - z_t^*|^2 + <z - z_t^*, r>
 *
 * in the norm of Xi. The right-hand side does not cancel when l* is large, and both of its terms
 * are non-negative for z in Z.
 */
#include "theory/steps.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"

#include <math.h>

hvi_status hvi_steps_new(hvi_steps *s, const hvi_problem *p, const hvi_settings *settings,
                         double eta, hvi_error *err) {
  const size_t n = p->model->out;
  *s = (hvi_steps){.problem = p, .memory = hvi_alloc_doubles(6 * n)};
  if (!s->memory) return hvi_error_memory(err, "measuring the steps");
  double **pieces[] = {&s->eta, &s->z, &s->f, &s->target, &s->exact, &s->f_star};
  for (size_t i = 0; i < 6; i++) *pieces[i] = s->memory + i * n;
  for (size_t k = 0; k < p->model->block_count; k++) {
    const hvi_block *b = &p->model->blocks[k];
    const double own = settings->player_eta ? settings->player_eta[k] : eta;
    for (size_t i = b->z; i < b->z + b->out; i++) s->eta[i] = own;
  }
  return HVI_OK;
}

void hvi_steps_free(hvi_steps *s) { hvi_free(s->memory); }

static double weight(const hvi_problem *p, size_t i) { return p->weights ? p->weights[i] : 1.0; }

void hvi_steps_stand(hvi_steps *s, const double *theta, const double *z) {
  const hvi_problem *p = s->problem;
  hvi_vec_copy(s->z, z, p->model->out);
  p->ops->operate(p, NULL, theta, z, s->f);
  if (p->solution) p->ops->operate(p, NULL, theta, p->solution, s->f_star);
  for (size_t i = 0; i < p->model->out; i++) {
    s->target[i] = z[i] - s->eta[i] * s->f[i] / weight(p, i);
  }
  hvi_problem_project(p, s->target, s->exact);
}

static double distance2(const hvi_problem *p, const double *x, const double *y) {
  double sum = 0.0;
  for (size_t i = 0; i < p->model->out; i++) sum += weight(p, i) * (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

static double above_floor(const hvi_steps *s, const double *z) {
  double slope = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) {
    slope += weight(s->problem, i) * (z[i] - s->exact[i]) * (s->exact[i] - s->target[i]);
  }
  return fmax(0.5 * distance2(s->problem, z, s->exact) + slope, 0.0);
}

/* eta |F(z_t) - F(z*)| in the norm dual to Xi's, which is how far apart the targets are. */
static double change(const hvi_steps *s) {
  double sum = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) {
    const double d = s->eta[i] * (s->f[i] - s->f_star[i]);
    sum += d * d / weight(s->problem, i);
  }
  return sqrt(sum);
}

hvi_step hvi_steps_measure(const hvi_steps *s, const double *z) {
  const hvi_problem *p = s->problem;
  hvi_step m = {.gap0 = above_floor(s, s->z),
                .gap = above_floor(s, z),
                .error = sqrt(distance2(p, z, s->exact)),
                .exact = sqrt(distance2(p, s->exact, s->z)),
                .outside = sqrt(distance2(p, s->exact, s->target)),
                .taken = sqrt(distance2(p, z, s->z)),
                .change = NAN,
                .dist2 = NAN,
                .contraction = NAN};
  m.alpha = sqrt(m.gap / m.gap0);
  if (p->solution) {
    m.change = change(s);
    m.dist2 = distance2(p, z, p->solution);
    m.contraction = m.dist2 / distance2(p, s->z, p->solution);
  }
  return m;
}

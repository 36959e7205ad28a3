/*
 * With r = z_t^* - v the residual at the exact point, the surrogate's value above its floor is
 *
 *   l(z) - l* = 1/2 |z - v|^2 - 1/2 |r|^2 = 1/2 |z - z_t^*|^2 + <z - z_t^*, r>
 *
 * in the norm of Xi. The right-hand side does not cancel when l* is large, and both of its terms
 * are non-negative for z in Z.
 *
 * Where F has a large component normal to a simplex or a subspace, <z - z_t^*, r> is a sum of large
 * terms that cancel, and eps |r| of it is noise. On a simplex r_i is tau / w_i at every positive
 * coordinate, and <z - z_t^*, 1> = 0, so tau may be taken off: what is left is zero there, and at the
 * other coordinates how far they are held at zero. A subspace is orthogonal to all of r.
 *
 * Exact steps are iterated near z*, from a point on the way to the start, for as long as they stay
 * near: far from z* a bounded Z hides an expanding step, and the iterates end in a cycle along the
 * boundary.
 */
#include "theory/steps.h"

#include "base/base.h"
#include "num/stats.h"
#include "num/vec.h"
#include "outer/solver.h"

hvi_status hvi_steps_new(hvi_steps *s, const hvi_problem *p, double eta, hvi_error *err) {
  const size_t n = p->model->out;
  *s = (hvi_steps){.problem = p, .eta = eta};
  HVI_TRY(hvi_new_arrays("measuring the steps", err, {&s->z, n}, {&s->f, n}, {&s->target, n},
                         {&s->exact, n}, {&s->f_star, n}, {&s->push, n}));
  return HVI_OK;
}

void hvi_steps_free(hvi_steps *s) { hvi_free(s->z); }

static double weight(const hvi_problem *p, size_t i) { return p->weights ? p->weights[i] : 1.0; }

/* push of one factor of Z */
static void find_push(const hvi_steps *s, const hvi_set *set) {
  double tau = 0.0, most = 0.0;
  for (size_t i = set->begin; i < set->begin + set->len; i++) {
    s->push[i] = set->kind == HVI_SET_SUBSPACE ? 0.0 : s->exact[i] - s->target[i];
    if (s->exact[i] > most) most = s->exact[i], tau = weight(s->problem, i) * s->push[i];
  }
  for (size_t i = set->begin; set->kind == HVI_SET_SIMPLEX && i < set->begin + set->len; i++)
    s->push[i] = s->exact[i] > 0.0 ? 0.0 : fmax(s->push[i] - tau / weight(s->problem, i), 0.0);
}

void hvi_steps_stand(hvi_steps *s, const double *theta, const double *z) {
  const hvi_problem *p = s->problem;
  hvi_vec_copy(s->z, z, p->model->out);
  p->ops->operate(p, NULL, theta, z, s->f);
  if (p->solution) p->ops->operate(p, NULL, theta, p->solution, s->f_star);
  for (size_t i = 0; i < p->model->out; i++) s->target[i] = z[i] - s->eta * s->f[i] / weight(p, i);
  hvi_problem_project(p, s->target, s->exact);
  for (size_t k = 0; k < p->set_count; k++) find_push(s, &p->sets[k]);
}

static double distance2(const hvi_problem *p, const double *x, const double *y) {
  double sum = 0.0;
  for (size_t i = 0; i < p->model->out; i++) sum += weight(p, i) * (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

/* <z - z_t^*, r>, by r as it is, or without what is normal to all of Z */
static double slope(const hvi_steps *s, const double *z, bool push) {
  double sum = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++)
    sum += weight(s->problem, i) * (z[i] - s->exact[i]) *
           (push ? s->push[i] : s->exact[i] - s->target[i]);
  return sum;
}

static double above_floor(const hvi_steps *s, const double *z) {
  return fmax(0.5 * distance2(s->problem, z, s->exact) + slope(s, z, false), 0.0);
}

/* sqrt of twice the surrogate's value above its floor */
static double above_push(const hvi_steps *s, const double *z) {
  return sqrt(distance2(s->problem, z, s->exact) + 2.0 * fmax(slope(s, z, true), 0.0));
}

/* Steps below this share of 1 + |z| and of how far the target lies outside Z are rounding. */
static const double step_rounding = 1e-10;

/* eta |F(z_t) - F(z*)| in the norm dual to Xi's, which is how far apart the targets are. */
static double change(const hvi_steps *s) {
  double sum = 0.0;
  for (size_t i = 0; i < s->problem->model->out; i++) {
    const double d = s->eta * (s->f[i] - s->f_star[i]);
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
  const double size = 1.0 + hvi_vec_norm(s->z, p->model->out) + m.outside;
  const double before = above_push(s, s->z);
  m.reached = before > step_rounding * size ? above_push(s, z) / before : NAN;
  if (p->solution) {
    m.change = change(s);
    m.dist2 = distance2(p, z, p->solution);
    m.contraction = m.dist2 / distance2(p, s->z, p->solution);
  }
  return m;
}

typedef struct watch {
  hvi_steps steps;
  bool measured;
  hvi_steps_see see;
  void *context;
  const hvi_settings *asked;
} watch;

static bool observe(void *context, const hvi_record *row) {
  watch *w = context;
  hvi_step step;
  const bool taken = w->measured && row->outer > 0;
  if (taken) step = hvi_steps_measure(&w->steps, row->z);
  const bool more = w->see(w->context, taken ? &step : NULL, row);
  if (w->measured) hvi_steps_stand(&w->steps, row->theta, row->z);
  return more && (!w->asked->observe || w->asked->observe(w->asked->observer_context, row));
}

hvi_status hvi_steps_run(hvi_info *info, const hvi_problem *p, const hvi_settings *s, bool measured,
                         hvi_steps_see see, void *context, hvi_error *err) {
  watch w = {.measured = measured, .see = see, .context = context, .asked = s};
  hvi_settings own = *s;
  HVI_OWN_BY(hvi_solver_release) hvi_solver *solver = NULL;
  own.observe = observe;
  own.observer_context = &w;
  HVI_TRY(hvi_solver_new(&solver, p, &own, err));
  HVI_TRY(hvi_steps_new(&w.steps, p, hvi_solver_info(solver).eta, err));
  hvi_solver_run(solver);
  *info = hvi_solver_info(solver);
  hvi_steps_free(&w.steps);
  return HVI_OK;
}

size_t hvi_rate_usable(const double *x, size_t n, double floor) {
  size_t usable = 0;
  while (usable < n && isfinite(x[usable]) && x[usable] > floor) usable++;
  return usable;
}

double hvi_rate_fit(const double *x, size_t n, double floor, double *log_scratch) {
  const size_t usable = hvi_rate_usable(x, n, floor);
  if (usable < 2) return usable == 1 && n > 1 && x[1] <= floor ? 0.0 : NAN;
  size_t first = usable / 2;
  if (usable - first < 2) first = usable - 2;
  for (size_t i = first; i < usable; i++) log_scratch[i - first] = log(x[i]);
  return exp(hvi_stats_slope(log_scratch, usable - first));
}

/* Squared distances, as shares of 1 + |z*|^2: where it starts, and what is no longer near. */
static const double start_near = 1e-12, still_near = 1e-4;

/* Pulls z towards z*; false when it is there already. */
static bool come_near(double *z, const double *solution, double scale, size_t n) {
  const double dist2 = hvi_vec_dist2(z, solution, n);
  if (!(dist2 > 0.0)) return false;
  const double share = fmin(1.0, sqrt(start_near * scale / dist2));
  for (size_t i = 0; i < n; i++) z[i] = solution[i] + share * (z[i] - solution[i]);
  return true;
}

/* The rate from z on; x, logs: [most + 1] each, x of |z - z*|^2 or squared residuals */
static double rate_from(hvi_steps *s, const double *theta, double *z, double *x, double *logs,
                        size_t most) {
  const hvi_problem *p = s->problem;
  const size_t n = p->model->out;
  const double scale = 1.0 + hvi_vec_norm2(p->solution ? p->solution : z, n);
  if (p->solution && !come_near(z, p->solution, scale, n)) return NAN;
  size_t count = 0;
  while (count <= most) {
    hvi_steps_stand(s, theta, z);
    const double residual = p->solution ? NAN : hvi_problem_residual(p, z, s->f);
    const double now = p->solution ? hvi_vec_dist2(z, p->solution, n) : residual * residual;
    x[count++] = now;
    if (!(now > hvi_rate_rounding * scale) || (p->solution && now > still_near * scale)) break;
    hvi_vec_copy(z, s->exact, n);
  }
  return hvi_rate_fit(x, count, hvi_rate_rounding * scale, logs);
}

hvi_status hvi_exact_rate(double *rate, const hvi_problem *p, const hvi_settings *settings,
                          double eta, size_t steps, hvi_error *err) {
  const size_t n = p->model->out;
  const double *theta = settings->theta0 ? settings->theta0 : p->theta0;
  HVI_OWN_BY(hvi_steps_free) hvi_steps s = {0};
  HVI_NEW(double, z, n + 2 * (steps + 1) + p->model->cache, "the exact projected step", err);
  HVI_TRY(hvi_steps_new(&s, p, eta, err));
  double *x = z + n, *logs = x + steps + 1;
  p->model->ops->eval(p->model, logs + steps + 1, theta, z);
  *rate = rate_from(&s, theta, z, x, logs, steps);
  return HVI_OK;
}

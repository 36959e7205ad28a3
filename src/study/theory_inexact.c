/*
 * An inner solver that errs on purpose. From the exact point p = Pi(v) it goes along a direction d
 * that stays in Z until the loss above its floor is exactly alpha^2 of what it was:
 *
 *   l(p + s d) - l* = 1/2 s^2 |d|^2 + s <d, p - v> = alpha^2 (l(z_t) - l*)
 *
 * with <d, p - v> >= 0 for every d that stays in Z. d comes from projecting a longer step, so it
 * is right for every Z; where Z ends before the loss is used up, the error ends there too.
 */
#include "base/base.h"
#include "inner/least_squares.h"
#include "num/vec.h"
#include "study/theory_lab.h"

/* {outer step, delta[d], exact[n], direction[n], aim[n], gap[n] | linear} */
static size_t placed_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return 1 + m->dim + 4 * m->out + hvi_least_squares_state(s, m);
}

static void placed_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m;
  state[0] = 0.0;
}

/* Takes the part along a away from d. */
static void take_across(double *d, const double *a, size_t n) {
  const double a2 = hvi_vec_norm2(a, n);
  if (a2 > 0.0) hvi_vec_add(d, -hvi_vec_dot(d, a, n) / a2, a, n);
}

/* The direction before it is fitted into Z. */
static void choose(double *d, double *scratch, const hvi_placement *place, const hvi_surrogate *l,
                   const double *exact, size_t outer) {
  const size_t n = l->model->out;
  hvi_rng rng = hvi_rng_new(place->seed, "placement", outer);
  switch (place->bias) {
  case HVI_BIAS_AWAY:
    for (size_t i = 0; i < n; i++) d[i] = exact[i] - place->problem->solution[i];
    break;
  case HVI_BIAS_SHORT:
    for (size_t i = 0; i < n; i++) d[i] = l->now->z[i] - exact[i];
    break;
  case HVI_BIAS_OVER:
    for (size_t i = 0; i < n; i++) d[i] = exact[i] - l->now->z[i];
    break;
  case HVI_BIAS_ASIDE:
    hvi_rng_fill_normal(&rng, 0.0, 1.0, n, d);
    for (size_t i = 0; i < n; i++) scratch[i] = l->now->z[i] - exact[i];
    take_across(d, scratch, n);
    break;
  default:
    hvi_rng_fill_normal(&rng, 0.0, 1.0, n, d);
    break;
  }
}

/* Gives d the length, then the shape that stays in Z from exact on. aim is scratch. */
static void fit(double *d, double *aim, const hvi_problem *p, const double *exact, double length) {
  const size_t n = p->model->out;
  const double norm = hvi_vec_norm(d, n);
  for (size_t i = 0; i < n; i++) aim[i] = exact[i] + (norm > 0.0 ? d[i] * (length / norm) : 0.0);
  hvi_problem_project(p, aim, d);
  for (size_t i = 0; i < n; i++) d[i] -= exact[i];
}

/* s with 1/2 s^2 |d|^2 + s slope = gap, at most 1. */
static double share_for_gap(const double *d, double slope, double gap, size_t n) {
  const double square = hvi_vec_norm2(d, n);
  const double root = slope + sqrt(slope * slope + 2.0 * square * gap);
  return root > 0.0 ? fmin(1.0, 2.0 * gap / root) : 0.0;
}

/* The place to go to, into aim. */
static void find_place(double *aim, double *exact, double *d, const hvi_placement *place,
                       const hvi_surrogate *l, size_t outer) {
  const size_t n = l->model->out;
  double gap = 0.0, slope = 0.0, share = 1.0;
  hvi_problem_project(place->problem, l->target, exact);
  for (size_t i = 0; i < n; i++) {
    const double back = l->now->z[i] - exact[i];
    gap += 0.5 * back * back + back * (exact[i] - l->target[i]);
  }
  gap *= place->alpha * place->alpha;
  const double length = place->length ? place->length(outer) : 2.0 * sqrt(2.0 * fmax(gap, 0.0));
  choose(d, aim, place, l, exact, outer);
  fit(d, aim, place->problem, exact, length);
  for (size_t i = 0; i < n; i++) slope += d[i] * (exact[i] - l->target[i]);
  if (!place->length) share = share_for_gap(d, fmax(slope, 0.0), fmax(gap, 0.0), n);
  for (size_t i = 0; i < n; i++) aim[i] = exact[i] + share * d[i];
}

static bool placed_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  const hvi_placement *place = s->context;
  const size_t d = l->model->dim, n = l->model->out;
  double *delta = state + 1, *exact = delta + d, *direction = exact + n, *aim = direction + n;
  double *gap = aim + n;
  find_place(aim, exact, direction, place, l, (size_t)state[0]);
  state[0] += 1.0;
  if (place->direct) {
    hvi_vec_copy(l->next->theta, aim, n);
  } else {
    for (size_t i = 0; i < n; i++) gap[i] = l->now->z[i] - aim[i];
    if (!hvi_least_squares_solve(delta, s, 0.0, gap + n, l, gap)) return false;
    for (size_t i = 0; i < d; i++) l->next->theta[i] = l->now->theta[i] - delta[i];
  }
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

static const hvi_optimizer placed = {.name = "placed",
                                     .summary = "errs by exactly alpha where it hurts",
                                     .state = placed_state,
                                     .reset = placed_reset,
                                     .step = placed_step};

hvi_settings hvi_lab_settings(const hvi_placement *placement, double eta, size_t steps) {
  hvi_settings s = hvi_settings_defaults();
  s.optimizer = &placed;
  s.inner.context = placement;
  s.keep_state = true; /* counts the outer steps */
  s.eta = eta;
  s.max_outer = steps;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  return s;
}

/*
 * The target v of a surrogate, frozen for the inner loop, and its floor l*.
 *
 *   plain        v = z_t - eta Xi^-1 F_t
 *   optimistic   v = z_t - eta Xi^-1 (2 F_t - F_{t-1})
 *   averaged     v = the mean of the last tau plain targets
 *   proximal     v = the resolvent of F on Z at z_t (vi/resolvent.h)
 *
 * F_{t-1} and the earlier targets are those of the earlier iterates on the current sample. An
 * output of weight zero keeps <eta F, z - z_t> as it is, with v = z_t.
 */
#include "base/base.h"
#include "inner/optimizers.h"
#include "num/vec.h"
#include "outer/solver.h"
#include "vi/sets.h"

size_t hvi_past_count(const hvi_solver *s) {
  return s->row.outer < s->past.depth ? s->row.outer : s->past.depth;
}

static size_t slot(const hvi_solver *s, size_t k) { return (s->row.outer - k) % s->past.depth; }

double *hvi_past_at(const hvi_solver *s, double *z_or_f, size_t k) {
  return z_or_f + slot(s, k) * s->problem->model->out;
}

void hvi_past_renew(hvi_solver *s) {
  const hvi_past *past = &s->past;
  const hvi_problem *p = s->problem;
  const hvi_model *m = p->model;
  if (p->one_sample) return; /* z and F of the past are still theirs */
  if (m->ops->bind) m->ops->bind(m, past->cache, s->sample);
  for (size_t k = 1; k <= hvi_past_count(s); k++) {
    const double *theta = past->theta + slot(s, k) * m->dim;
    double *z = hvi_past_at(s, s->past.z, k), *f = hvi_past_at(s, s->past.f, k);
    m->ops->eval(m, past->cache, theta, z);
    p->ops->operate(p, s->sample, theta, z, f);
    s->row.counts.model_passes++;
    s->row.counts.f_evals++;
  }
}

/* Keeps a part's theta_t, z_t and F(z_t). */
static void keep(hvi_solver *s, const hvi_subproblem *part) {
  const hvi_block *b = &part->block;
  if (s->past.depth == 0) return;
  double *theta = s->past.theta ? s->past.theta + slot(s, 0) * s->problem->model->dim : NULL;
  hvi_vec_copy(hvi_past_at(s, s->past.z, 0) + b->z, s->z + b->z, b->out);
  hvi_vec_copy(hvi_past_at(s, s->past.f, 0) + b->z, s->f + b->z, b->out);
  if (theta) hvi_vec_copy(theta + b->theta, part->l.now->theta, b->dim);
}

/* v[out] of a block from outputs z and operator f */
static void plain(const hvi_solver *s, const hvi_block *b, const double *z, const double *f,
                  double *v) {
  const double *w = s->problem->weights ? s->problem->weights + b->z : NULL;
  const double step = s->shrink * s->info.eta;
  for (size_t i = 0; i < b->out; i++)
    v[i] = !w ? z[i] - step * f[i] : w[i] > 0.0 ? z[i] - step * f[i] / w[i] : z[i];
}

static void optimistic(hvi_solver *s, const hvi_block *b, double *v) {
  const double *f = s->f + b->z, *before = hvi_past_at(s, s->past.f, 1) + b->z;
  double *used = s->projected + b->z; /* free until the floor is looked for */
  for (size_t i = 0; i < b->out; i++) used[i] = 2.0 * f[i] - before[i];
  plain(s, b, s->z + b->z, used, v);
}

static void averaged(hvi_solver *s, const hvi_block *b, double *v) {
  const size_t known = hvi_past_count(s), most = s->settings.average - 1;
  const size_t others = known < most ? known : most;
  double *one = s->projected + b->z;
  plain(s, b, s->z + b->z, s->f + b->z, v);
  for (size_t k = 1; k <= others; k++) {
    plain(s, b, hvi_past_at(s, s->past.z, k) + b->z, hvi_past_at(s, s->past.f, k) + b->z, one);
    hvi_vec_add(v, 1.0, one, b->out);
  }
  hvi_vec_scale(v, 1.0 / (double)(others + 1), b->out);
}

/* Without a resolvent the target is a plain one. */
static void proximal(hvi_solver *s, double *v) {
  hvi_resolvent *r = &s->resolvent;
  if (!r->exact) {
    r->evals = hvi_resolvent_approach(r, v, s->theta, s->z, s->f, s->shrink * s->info.eta);
    s->row.counts.f_evals += r->evals;
    return;
  }
  if (!s->problem->ops->affine)
    s->row.counts.f_evals += hvi_resolvent_linearise(r, s->theta, s->z, s->f);
  if (!(hvi_resolvent_solve(r, v, s->z, s->shrink * s->info.eta) > 0.0))
    plain(s, &s->parts[0].block, s->z, s->f, v);
}

void hvi_solver_set_target(hvi_solver *s, hvi_subproblem *part) {
  hvi_surrogate *l = &part->l;
  const hvi_block *b = &part->block;
  const double *z = s->origin.z + b->z, *f = s->origin.f + b->z;
  if (s->settings.target == HVI_TARGET_OPTIMISTIC && hvi_past_count(s) > 0)
    optimistic(s, b, l->target);
  else if (s->settings.target == HVI_TARGET_AVERAGED)
    averaged(s, b, l->target);
  else if (s->settings.target == HVI_TARGET_PROXIMAL)
    proximal(s, l->target);
  else
    plain(s, b, z, f, l->target);
  for (size_t i = 0; l->linear && i < b->out; i++) /* eta F where the weight is zero */
    l->linear[i] = l->weights[i] > 0.0 ? 0.0 : s->shrink * s->info.eta * f[i];
  keep(s, part);
  hvi_surrogate_freeze(l);
}

/* Steps of the side solve behind an estimated floor. A running one is looked for at every so many
 * outer steps, by so many times the inner loop's cap. */
enum { FLOOR_STEPS = 50, FLOOR_EVERY = 20, FLOOR_REACH = 4 };

/* l* from the projection of the target onto Z, factor by factor. */
static double known_floor(const hvi_solver *s, const hvi_subproblem *part) {
  const hvi_problem *p = s->problem;
  const hvi_block *b = &part->block;
  double sum = 0.0;
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    if (set->begin < b->z || set->begin + set->len > b->z + b->out) continue;
    const double *v = part->l.target + (set->begin - b->z);
    const double *w = p->weights ? p->weights + set->begin : NULL;
    hvi_set_project(set, w, v, s->projected);
    for (size_t i = 0; i < set->len; i++)
      sum += (w ? w[i] : 1.0) * (v[i] - s->projected[i]) * (v[i] - s->projected[i]);
  }
  return 0.5 * sum;
}

const hvi_optimizer *hvi_floor_optimizer(const hvi_settings *s) {
  return s->floor == HVI_FLOOR_RUNNING ? s->optimizer : &hvi_optimizer_lm;
}

/* The least loss that the side solve finds from theta_t: never below the true one. */
static double side_solve(hvi_solver *s, hvi_subproblem *part, size_t steps) {
  const hvi_optimizer *o = hvi_floor_optimizer(&s->settings);
  hvi_surrogate *l = &part->floor;
  hvi_optimizer_settings set = s->inner;
  set.adapt_damping = set.adapt_damping || o == &hvi_optimizer_lm;
  hvi_vec_copy(l->target, part->l.target, l->model->out);
  hvi_surrogate_start(l, part->l.now->theta, s->sample);
  hvi_surrogate_freeze(l);
  hvi_solver_move_state(s, part, false); /* a device has one state of a network only */
  const double least = hvi_optimizer_search(l, o, set, part->floor_state, steps, 1.0);
  hvi_solver_move_state(s, part, true);
  return least;
}

/* A network with more parameters than a batch has rows can fit it: l* is then 0, and says nothing.
 * What the loop's own steps can reach is not. That moves slowly from batch to batch, and is looked
 * for now and then; between, a batch that starts below it has itself for a floor. */
static double running_floor(hvi_solver *s, hvi_subproblem *part) {
  if (s->row.outer % FLOOR_EVERY == 0)
    *part->least = side_solve(s, part, FLOOR_REACH * s->settings.inner_steps);
  return fmin(*part->least, part->l.loss0);
}

double hvi_solver_floor(hvi_solver *s, hvi_subproblem *part) {
  switch (s->settings.floor) {
  case HVI_FLOOR_KNOWN:
    return known_floor(s, part);
  case HVI_FLOOR_ESTIMATED:
    return side_solve(s, part, FLOOR_STEPS);
  case HVI_FLOOR_RUNNING:
    return running_floor(s, part);
  default:
    return 0.0;
  }
}

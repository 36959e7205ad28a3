/*
 * Method auto: settings chosen for a problem, and steps that adapt.
 *
 * Where F can be linearised, targets are proximal: the resolvent contracts for every eta, so that eta
 * is bounded by one thing only, whether the model can follow. With
 *
 *   ratio = l(theta_{t+1}) / l(theta_t)
 *
 * a ratio of at most alpha^2 lets eta grow. One above a half makes it shrink, unless the residual fell:
 * where solutions are many, the nearest need not be one that the model reaches, and targets and
 * outputs come nearer to each other step by step, as alternating projections do. As eta grows the
 * target becomes a solution, and the inner loop, Levenberg-Marquardt on |g(theta) - v|^2, ends there
 * with its own quadratic rate. Its lambda is kept from target to target: a player whose sigmoid is
 * nearly flat needs one far below the first.
 *
 * A solution at a corner of a simplex is only approached: the residual falls ever more slowly, and any
 * fall keeps eta.
 *
 * Where optimistic or averaged targets are asked for,
 *
 *   eta_{t+1} = min(1.2 eta_t, 0.4 |z_{t+1} - z_t| / |F(z_{t+1}) - F(z_t)|)
 *
 * keeps eta below 1 / 2 L as far as the last step can tell.
 *
 * A player in a flat tail (a sigmoid near 1, a softmax near a vertex) does not follow any target. When
 * the residual has not fallen for a while the run starts anew from a point drawn around theta0. Every
 * second start aims at a solution at once, with more inner steps: far from the tails that is faster.
 */
#include "base/base.h"
#include "inner/least_squares.h"
#include "inner/optimizers.h"
#include "num/vec.h"
#include "outer/solver.h"

/* Least-squares steps of at most so many operations are worth it. */
static const double affordable = 4e10;
/* Outer steps without progress, and targets missed since, after which a run is stuck; targets come
 * half-way to after which eta grows all the same. */
enum { MOST_IDLE = 60, MOST_FAILURES = 12, MOST_WAITS = 3 };

static uint64_t bit_of(const hvi_setting *row) {
  return (uint64_t)1 << (row - hvi_settings_table()->rows);
}

void hvi_settings_give(hvi_settings *s, const char *name) {
  const hvi_setting *row = hvi_setting_find(hvi_settings_table(), name);
  if (row) s->given |= bit_of(row);
}

/* What differs from its default counts as given. */
static void give_changed(hvi_settings *s) {
  const hvi_settings defaults = hvi_settings_defaults();
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++)
    if (row->kind != HVI_SETTING_SECTION && !hvi_setting_equal(row, s, &defaults))
      s->given |= bit_of(row);
}

static bool given(const hvi_settings *s, const char *name) {
  return s->given & bit_of(hvi_setting_find(hvi_settings_table(), name));
}

static void choose_limits(hvi_settings *s) {
  if (!given(s, "tol")) {
    s->tol = 1e-6;
    s->tol_relative = true;
  }
  if (!given(s, "iters")) s->max_outer = 0;
  if (given(s, "iters") || given(s, "max_evals") || given(s, "max_seconds")) return;
  s->max_f_evals = 200000;
}

void hvi_settings_choose(hvi_settings *s, const hvi_problem *p) {
  if (!s->automatic) return;
  give_changed(s);
  if (p->ops->draw) { /* one step of a mean operator's sample: what suits the problem */
    if (!s->optimizer) s->optimizer = &hvi_optimizer_gd;
    if (!given(s, "eta") && p->eta > 0.0) s->eta = p->eta;
    return;
  }
  const bool simple = !s->alternating && !s->accelerate;
  const char *form;
  if (!s->optimizer)
    s->optimizer = hvi_least_squares_cost(&s->inner, p->model, &form) <= affordable
                       ? &hvi_optimizer_lm
                       : &hvi_optimizer_adam;
  const hvi_optimizer *o = s->optimizer;
  const bool newton = o == &hvi_optimizer_lm || o == &hvi_optimizer_gn || o == &hvi_optimizer_dgn;
  const bool adam = o == &hvi_optimizer_adam || o == &hvi_optimizer_adamw;
  if (simple && !given(s, "target") && hvi_resolvent_fits(p)) s->target = HVI_TARGET_PROXIMAL;
  if (simple && !given(s, "eta")) s->step_rule = HVI_STEP_ADAPTIVE;
  if (!given(s, "inner")) s->inner_steps = newton ? 15 : 50;
  if (!given(s, "alpha")) s->alpha = 0.3;
  if (!given(s, "adaptive_damping")) s->inner.adapt_damping = o == &hvi_optimizer_lm;
  /* lambda where the last target left it */
  if (!given(s, "keep_state")) s->keep_state = newton;
  if (adam && !given(s, "inner_lr")) s->inner.lr = 1e-3;
  if (!given(s, "restarts")) s->restarts = 1000;
  choose_limits(s);
}

void hvi_settings_reasons(const hvi_settings *s, const hvi_problem *p, double eta, char *text,
                          size_t size) {
  const char *form;
  const double cost = hvi_least_squares_cost(&s->inner, p->model, &form);
  const bool proximal = s->target == HVI_TARGET_PROXIMAL, exact = hvi_resolvent_is_exact(p);
  *text = '\0';
  if (p->ops->draw) {
    hvi_append(text, size, "F is drawn, and has no residual: one step for each sample\n");
    return;
  }
  hvi_append(text, size, "%s: lm's step would take %.2g operations, and up to %.0e are worth it\n",
             s->optimizer->name, cost, affordable);
  hvi_append(text, size, "linear solve: %s, the cheapest for these sizes\n", form);
  hvi_append(text, size, "target: %s\n",
             given(s, "target") ? "as given"
             : !proximal        ? "plain, which goes with the other settings"
             : !exact           ? "proximal, approached by evaluations of F, since outputs are many"
             : p->ops->affine   ? "proximal, solved exactly, since F is affine"
                                : "proximal, solved with F linearised by differences at each step");
  if (s->step_rule == HVI_STEP_ADAPTIVE)
    hvi_append(text, size, "eta: from %.4g (%s) on as far as the model follows\n", eta,
               exact && proximal && p->ops->affine ? "1 / L" : "the problem's, or 0.1");
  else
    hvi_append(text, size, "eta: %.4g, as given or with the other settings\n", eta);
  hvi_append(text, size, "alpha: %g%s, with at most %zu inner steps%s\n", s->alpha,
             given(s, "alpha") ? ", as given" : ", reached before eta grows", s->inner_steps,
             s->keep_state ? ", which begin with the last lambda" : "");
  hvi_append(text, size, "tolerance: %g%s\n", s->tol,
             given(s, "tol") ? ", as given" : " of the first residual, or of 1 where that is more");
  const bool own = s->max_f_evals > 0 && !given(s, "max_evals");
  hvi_append(text, size, "limit: %s\n",
             own ? "evaluations of F, which every machine counts alike" : "as given");
  hvi_append(text, size,
             "new starts: up to %zu, after %d steps without progress or %d targets missed\n",
             s->step_rule == HVI_STEP_ADAPTIVE ? s->restarts : 0, MOST_IDLE, MOST_FAILURES);
}

/* 1 / L as far as F is known; otherwise what suits the problem. */
double hvi_solver_first_eta(const hvi_solver *s) {
  if (s->resolvent.lipschitz > 0.0) return 1.0 / s->resolvent.lipschitz;
  return s->problem->eta > 0.0 ? s->problem->eta : 0.1;
}

void hvi_solver_set_eta(hvi_solver *s, double eta) { s->adaptation.eta = s->info.eta = eta; }

/* Proximal targets: as far as the model follows. */
static void follow(hvi_solver *s) {
  hvi_adaptation *a = &s->adaptation;
  const double unit = hvi_solver_first_eta(s), alpha = s->settings.alpha, ratio = s->row.ratio;
  const size_t evals = s->resolvent.evals;
  if (evals == HVI_RESOLVENT_EVALS) {
    hvi_solver_set_eta(s, 0.5 * a->eta); /* as far as evaluations of F carry */
  } else if (ratio <= alpha * alpha) {
    a->failures = a->more = 0.0;
    if (evals > HVI_RESOLVENT_EVALS / 4) return;
    hvi_solver_set_eta(s, fmin(a->eta * (s->row.inner <= 4 ? 4.0 : 2.0), 1e8 * unit));
  } else if (a->more > 0.0) {
    if (ratio > 0.98) a->failures = MOST_FAILURES + 1;
  } else if (ratio <= 0.5 && evals <= HVI_RESOLVENT_EVALS / 4 &&
             s->row.residual < 0.999 * a->last) {
    if (++a->waits < MOST_WAITS) return;
    a->waits = 0.0;
    hvi_solver_set_eta(s, fmin(2.0 * a->eta, 1e8 * unit));
  } else if (ratio > 0.5 && !(s->row.residual < 0.999 * a->last)) {
    a->failures++;
    hvi_solver_set_eta(s, fmax(a->eta * 0.25, 1e-4 * unit));
  }
}

/* Optimistic and averaged targets: by the last step's view of L. */
static void measure(hvi_solver *s) {
  const size_t n = s->problem->model->out;
  if (hvi_past_count(s) == 0) return;
  const double moved = hvi_vec_dist2(s->z, hvi_past_at(s, s->past.z, 1), n);
  const double change = hvi_vec_dist2(s->f, hvi_past_at(s, s->past.f, 1), n);
  const double bound = change > 0.0 ? 0.4 * sqrt(moved / change) : INFINITY;
  hvi_solver_set_eta(s, fmin(1.2 * s->adaptation.eta, bound));
}

/* A point drawn around theta0, nearer to the origin or not; the row becomes its own. */
static void start_anew(hvi_solver *s) {
  hvi_subproblem *part = &s->parts[0];
  const double *theta0 = s->settings.theta0 ? s->settings.theta0 : s->problem->theta0;
  const size_t k = ++s->info.restarts;
  hvi_rng rng = hvi_rng_new(s->settings.seed, "restart", k);
  for (size_t i = 0; i < part->block.dim; i++)
    part->l.now->theta[i] = theta0[i] / (double)(1 + k % 3) + 0.5 * hvi_rng_normal(&rng);
  const bool far = k % 2 == 1 && s->settings.target == HVI_TARGET_PROXIMAL && s->resolvent.exact;
  s->adaptation = (hvi_adaptation){
      .best = INFINITY, .more = far ? HVI_FAR_STEPS * (double)s->settings.inner_steps : 0.0};
  hvi_solver_set_eta(s, (far ? 1e6 : 1.0) * hvi_solver_first_eta(s));
  if (s->settings.optimizer->reset)
    s->settings.optimizer->reset(&s->inner, part->l.model, part->state);
  hvi_solver_move_state(s, part, true);
  hvi_solver_stand(s);
  hvi_solver_operate(s);
  hvi_solver_record(s);
  s->still = 0;
  /* the iterates of the start before are no past of this one: the next target is a plain one */
  for (size_t j = 1; j <= hvi_past_count(s); j++) {
    hvi_vec_copy(hvi_past_at(s, s->past.z, j), s->z, s->problem->model->out);
    hvi_vec_copy(hvi_past_at(s, s->past.f, j), s->f, s->problem->model->out);
  }
}

void hvi_solver_settle(hvi_solver *s) {
  const hvi_settings *set = &s->settings;
  const bool short_of_it = s->info.outcome != HVI_RUNNING && s->info.outcome != HVI_CONVERGED;
  if (!short_of_it || s->sample || !(set->automatic || set->step_rule == HVI_STEP_ADAPTIVE)) return;
  if (isnan(s->info.best_residual)) return; /* not even the start was any good */
  if (!(s->info.best_residual < s->row.residual) && s->sound) return;
  for (size_t k = 0; k < s->part_count; k++) {
    const hvi_subproblem *part = &s->parts[k];
    hvi_vec_copy(part->l.now->theta, s->best_theta + part->block.theta, part->block.dim);
  }
  hvi_solver_stand(s);
  hvi_solver_operate(s);
  hvi_solver_record(s);
}

void hvi_solver_adapt(hvi_solver *s) {
  hvi_adaptation *a = &s->adaptation;
  const double residual = s->row.residual;
  if (s->info.outcome != HVI_RUNNING || s->row.outer == 0) return;
  if (residual < 0.9 * a->best) {
    a->best = residual;
    a->idle = a->failures = 0.0;
  } else {
    a->idle++;
  }
  if (s->settings.target == HVI_TARGET_PROXIMAL)
    follow(s);
  else
    measure(s);
  a->last = residual;
  const bool stuck = a->idle > MOST_IDLE || a->failures > MOST_FAILURES;
  if (stuck && s->info.restarts < s->settings.restarts) start_anew(s);
}

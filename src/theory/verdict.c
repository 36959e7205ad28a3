/* Which condition of the theorem fails, whether the run converged, and what follows. */
#include "theory/verdict.h"

#include <math.h>

/* Without a promise, a run has to come closer by this factor over its later half. */
static const double clear_drop = 0.97;

static bool inside(const hvi_set *set, const double *z) {
  for (size_t i = 0; i < set->len; i++) {
    if (set->kind == HVI_SET_SIMPLEX && set->len > 1 && !(z[i] > 0.0)) return false;
    if (set->kind == HVI_SET_BOX && set->lower[i] < set->upper[i] &&
        !(set->lower[i] < z[i] && z[i] < set->upper[i])) {
      return false;
    }
  }
  return true;
}

/* Whether z* is known to lie outside the relative interior. */
static bool on_boundary(const hvi_problem *p) {
  for (size_t k = 0; p->solution && k < p->set_count; k++) {
    if (!inside(&p->sets[k], p->solution + p->sets[k].begin)) return true;
  }
  return false;
}

static bool unequal_steps(const hvi_problem *p, const hvi_settings *s) {
  for (size_t k = 1; s->player_eta && k < p->model->block_count; k++) {
    if (s->player_eta[k] != s->player_eta[0]) return true;
  }
  return false;
}

static hvi_obstacle find_obstacle(const hvi_inspection *i, const hvi_problem *p,
                                  const hvi_settings *s) {
  if (s->baseline) return HVI_OBSTACLE_BASELINE;
  if (p->ops->draw) return HVI_OBSTACLE_STOCHASTIC;
  if (!hvi_watch_is_plain(p, s) || unequal_steps(p, s)) return HVI_OBSTACLE_VARIANT;
  if (!(i->constants.mu > 0.0)) return HVI_OBSTACLE_NOT_MONOTONE;
  if (on_boundary(p)) return HVI_OBSTACLE_BOUNDARY;
  if (!(i->eta < i->rates.eta_max)) return HVI_OBSTACLE_ETA;
  if (!(i->rates.eta_alpha > 0.0)) return HVI_OBSTACLE_ALPHA_MAX;
  if (!(i->rates.rho < 1.0)) return HVI_OBSTACLE_ALPHA;
  return i->constants.exact ? HVI_OBSTACLE_NONE : HVI_OBSTACLE_SAMPLED;
}

static bool converges(const hvi_inspection *i, const hvi_watch *w) {
  if (w->outcome == HVI_DIVERGED || w->outcome == HVI_STALLED) return false;
  if (w->arrived || w->outcome == HVI_CONVERGED) return true;
  return w->drop < (i->obstacle == HVI_OBSTACLE_NONE ? 1.0 : clear_drop);
}

void hvi_verdict_reach(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s,
                       const hvi_watch *w) {
  i->obstacle = find_obstacle(i, p, s);
  i->converging = converges(i, w);
  /* a stochastic problem without a known solution shows nothing but its divergence */
  const bool silent = isnan(w->drop) && w->outcome != HVI_DIVERGED;
  if (i->converging) {
    i->verdict = i->obstacle == HVI_OBSTACLE_NONE ? HVI_SAFE : HVI_NOT_COVERED;
  } else {
    i->verdict = silent ? HVI_NOT_COVERED : HVI_UNSAFE;
  }
  hvi_verdict_explain(i, p, s, w);
}

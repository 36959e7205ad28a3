/*
 * An inspection: constants, a run under the settings as they are, the exact step beside it, and,
 * where eta is too large for the exact step, the same run with fewer and with more inner steps.
 * Then which condition of the theorem fails, whether the run converged, and what follows.
 */
#include "theory/inspect.h"

#include "base/base.h"
#include "num/stats.h"
#include "num/vec.h"
#include "theory/steps.h"

enum { FACTOR = 10, MOST_STEPS = 100000000 };

/* Residual at which the run ends: no iterate comes closer than this and means it. */
static const double tiny_residual = 1e-14;
/* Without a promise, a run has to come closer by this factor over its later half. */
static const double clear_drop = 0.97;
/* Inner solves that leave this much of the loss have made no progress. */
static const double no_progress = 0.9999;

/* What a run shows besides what an inspection reports of it. */
typedef struct trend {
  double alpha_late; /* median over the last quarter of the steps */
  double drop;       /* largest value in the last quarter of the run over that in the second */
  bool arrived;      /* as close as rounding allows */
} trend;

/* The rows of a run. */
typedef struct history {
  size_t outputs;
  bool known;      /* z* is */
  size_t rows;     /* row 0 included */
  double floor;    /* what counts as rounding in x */
  double *x;       /* [steps + 1] dist2, or the squared residual */
  double *alpha;   /* [steps] of the steps before rounding, in order */
  double *share;   /* [steps] */
  size_t measured; /* how many of these */
  double *scratch; /* [steps + 1] */
} history;

/* Whether the loop is the one of the theorem: plain targets, a constant eta, all players at once,
 * no sampling. */
static bool is_plain(const hvi_problem *p, const hvi_settings *s) {
  return !p->ops->draw && !s->baseline && !s->alternating && s->target == HVI_TARGET_PLAIN &&
         s->eta_decay == 0.0;
}

/* The alpha test of the solver may use another floor than the true one, so plain steps are measured
 * afresh. */
static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  history *h = context;
  if (row->outer == 0) {
    h->floor = hvi_rate_rounding * (1.0 + hvi_vec_norm2(row->z, h->outputs));
  } else if (h->x[h->rows - 1] > h->floor) {
    h->alpha[h->measured] = step ? step->alpha : row->alpha;
    h->share[h->measured++] = step ? step->taken / step->exact : NAN;
  }
  h->x[h->rows++] = h->known ? row->dist2 : row->residual * row->residual;
  return true;
}

/* Of what is finite in x[n]; NaN: nothing is. */
static double quantile(const double *x, size_t n, double q, double *scratch) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (isfinite(x[i])) scratch[kept++] = x[i];
  return hvi_stats_quantile(scratch, kept, q);
}

static double largest(const double *x, size_t from, size_t to) {
  double most = x[from];
  for (size_t i = from; i < to; i++) most = x[i] > most ? x[i] : most;
  return most;
}

static void sum_up(hvi_inspection *out, trend *t, const history *h) {
  const size_t late = h->measured - h->measured / 4, n = h->rows;
  out->alpha_median = quantile(h->alpha, h->measured, 0.5, h->scratch);
  out->alpha_worst = quantile(h->alpha, h->measured, 1.0, h->scratch);
  out->step_share = quantile(h->share, h->measured, 0.5, h->scratch);
  t->alpha_late = quantile(h->alpha + late, h->measured - late, 0.5, h->scratch);
  out->rate_observed = hvi_rate_fit(h->x, n, h->floor, h->scratch);
  t->drop = n < 4 ? NAN : largest(h->x, n - n / 4, n) / largest(h->x, n / 4, n / 2);
  t->arrived = n > 0 && h->x[n - 1] <= h->floor;
}

/* A short run under given settings, and what it did. */
static hvi_status run(hvi_inspection *out, trend *t, const hvi_problem *p, const hvi_settings *s,
                      size_t steps, hvi_error *err) {
  const size_t rows = steps + 1;
  HVI_OWN double *memory = hvi_alloc_doubles(4 * rows);
  if (!memory) return hvi_error_memory(err, "watching a run");
  history h = {.outputs = p->model->out,
               .known = p->solution || p->ops->dist2,
               .x = memory,
               .alpha = memory + rows,
               .share = memory + 2 * rows,
               .scratch = memory + 3 * rows};
  hvi_settings own = *s;
  hvi_info info;
  own.max_outer = steps;
  own.max_f_evals = 0;
  own.tol = p->ops->draw ? 0.0 : tiny_residual;
  HVI_TRY(hvi_steps_run(&info, p, &own, is_plain(p, s), see, &h, err));
  out->eta = s->player_eta ? s->player_eta[0] : info.eta;
  out->outcome = info.outcome;
  out->outer = info.last.outer;
  out->dist2 = info.last.dist2;
  out->residual = info.last.residual;
  sum_up(out, t, &h);
  return HVI_OK;
}

/* Fewer and more inner steps, where eta is too large for the exact step. */
static hvi_status add_variants(hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                               size_t steps, hvi_error *err) {
  const size_t own = s->inner_steps;
  const size_t others[] = {own < FACTOR ? 1 : own / FACTOR, own * FACTOR};
  if (!(out->constants.mu > 0.0 && out->eta >= out->rates.eta_max) || s->alpha != 0.0 ||
      !is_plain(p, s) || s->player_eta)
    return HVI_OK;
  for (size_t k = own > 1 ? 0 : 1; k < (own < MOST_STEPS / FACTOR ? 2 : 1); k++) {
    hvi_settings settings = *s;
    hvi_inspection other;
    trend unused;
    settings.inner_steps = others[k];
    HVI_TRY(run(&other, &unused, p, &settings, steps, err));
    out->variants[out->variant_count++] =
        (hvi_variant){others[k], other.alpha_median, other.step_share, other.rate_observed};
  }
  return HVI_OK;
}

static hvi_status measure(hvi_inspection *out, trend *t, const hvi_problem *p,
                          const hvi_settings *s, size_t steps, hvi_error *err) {
  HVI_TRY(hvi_problem_constants(&out->constants, p, err));
  HVI_TRY(run(out, t, p, s, steps, err));
  out->alpha = s->alpha > 0.0 && !s->baseline ? s->alpha : NAN;
  out->rates = hvi_theory_rates(out->constants.mu, out->constants.lipschitz, out->eta,
                                fmax(out->alpha, out->alpha_worst));
  out->by_residual = !p->solution && !p->ops->dist2;
  HVI_TRY(hvi_exact_rate(&out->rate_exact, p, s, out->eta, steps, err));
  return add_variants(out, p, s, steps, err);
}

static bool inside(const hvi_set *set, const double *z) {
  for (size_t i = 0; i < set->len; i++) {
    if (set->kind == HVI_SET_SIMPLEX && set->len > 1 && !(z[i] > 0.0)) return false;
    if (set->kind == HVI_SET_BOX && set->lower[i] < set->upper[i] &&
        !(set->lower[i] < z[i] && z[i] < set->upper[i]))
      return false;
  }
  return true;
}

/* Whether z* is known to lie outside the relative interior. */
static bool on_boundary(const hvi_problem *p) {
  for (size_t k = 0; p->solution && k < p->set_count; k++)
    if (!inside(&p->sets[k], p->solution + p->sets[k].begin)) return true;
  return false;
}

static bool unequal_steps(const hvi_problem *p, const hvi_settings *s) {
  for (size_t k = 1; s->player_eta && k < p->model->block_count; k++)
    if (s->player_eta[k] != s->player_eta[0]) return true;
  return false;
}

static hvi_obstacle find_obstacle(const hvi_inspection *i, const hvi_problem *p,
                                  const hvi_settings *s) {
  if (s->baseline) return HVI_OBSTACLE_BASELINE;
  if (p->ops->draw) return HVI_OBSTACLE_STOCHASTIC;
  if (!is_plain(p, s) || unequal_steps(p, s)) return HVI_OBSTACLE_VARIANT;
  if (!(i->constants.mu > 0.0)) return HVI_OBSTACLE_NOT_MONOTONE;
  if (on_boundary(p)) return HVI_OBSTACLE_BOUNDARY;
  if (!(i->eta < i->rates.eta_max)) return HVI_OBSTACLE_ETA;
  if (!(i->rates.eta_alpha > 0.0)) return HVI_OBSTACLE_ALPHA_MAX;
  if (!(i->rates.rho < 1.0)) return HVI_OBSTACLE_ALPHA;
  return i->constants.exact ? HVI_OBSTACLE_NONE : HVI_OBSTACLE_SAMPLED;
}

static bool converges(const hvi_inspection *i, const trend *t) {
  if (i->outcome == HVI_DIVERGED || i->outcome == HVI_STALLED) return false;
  if (t->arrived || i->outcome == HVI_CONVERGED) return true;
  return t->drop < (i->obstacle == HVI_OBSTACLE_NONE ? 1.0 : clear_drop);
}

hvi_status hvi_theory_inspect(hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                              size_t steps, hvi_error *err) {
  if (!out || !p || !s)
    return hvi_error_argument(err, "an inspection needs a problem and settings");
  if (steps == 0 || steps > MOST_STEPS)
    return hvi_error_argument(err, "steps = %zu: it must lie in [1, %d]", steps, MOST_STEPS);
  trend t;
  *out = (hvi_inspection){.rate_exact = NAN};
  HVI_TRY(measure(out, &t, p, s, steps, err));
  out->obstacle = find_obstacle(out, p, s);
  out->converging = converges(out, &t);
  /* a stochastic problem without a known solution shows nothing but its divergence */
  const bool silent = isnan(t.drop) && out->outcome != HVI_DIVERGED;
  if (out->converging)
    out->verdict = out->obstacle == HVI_OBSTACLE_NONE ? HVI_SAFE : HVI_NOT_COVERED;
  else
    out->verdict = silent ? HVI_NOT_COVERED : HVI_UNSAFE;
  const bool stuck = !out->converging && out->outcome != HVI_DIVERGED &&
                     (out->outcome == HVI_STALLED || t.alpha_late > no_progress);
  hvi_inspection_explain(out, p, s, stuck);
  return HVI_OK;
}

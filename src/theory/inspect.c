/*
 * An inspection: constants, a run under the settings as they are, the exact step beside it, and,
 * where eta is too large for the exact step, the same run with fewer and with more inner steps.
 * Then which condition of the theorem fails, whether the run converged, and what follows, in
 * sentences: the theorem's view, the run's, and what to change. They stand in
 * help/theory/inspect.txt and name numbers of the inspection: {eta:4} is eta with four digits.
 */
#include "base/base.h"
#include "base/embedded.h"
#include "num/stats.h"
#include "num/vec.h"
#include "theory/steps.h"
#include "vi/sets.h"

#include <hvi/theory.h>

enum { FACTOR = 10, MOST_STEPS = 100000000 };

/* Residual at which the run ends: no iterate comes closer than this and means it. */
static const double tiny_residual = 1e-14;
/* Without a promise, a run has to come closer by the first factor over its later half not to be said
 * to fail, and by the second from its first quarter to its last to be said to converge. */
static const double clear_drop = 0.97, clear_fall = 0.01;
/* Inner solves that leave this much of the loss have made no progress. */
static const double no_progress = 0.9999;

/* What a run shows besides what an inspection reports of it. */
typedef struct trend {
  double alpha_late; /* median over the last quarter of the steps */
  double drop;       /* largest value in the last quarter of the run over that in the second */
  double late_drop;  /* over that in the third */
  double fall;       /* and over that in the first */
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
         s->eta_decay == 0.0 && s->step_rule != HVI_STEP_ADAPTIVE;
}

static bool adapts(const hvi_settings *s) {
  return s->step_rule == HVI_STEP_ADAPTIVE || (!s->baseline && s->target == HVI_TARGET_PROXIMAL);
}

/* The alpha test of the solver may use another floor than the true one, so plain steps are measured
 * afresh. */
static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  history *h = context;
  if (row->outer == 0) {
    h->floor = hvi_rate_rounding * (1.0 + hvi_vec_norm2(row->z, h->outputs));
  } else if (h->x[h->rows - 1] > h->floor && !(step && isnan(step->reached))) {
    h->alpha[h->measured] = step ? step->reached : row->alpha;
    h->share[h->measured++] = step ? step->taken / step->exact : NAN;
  }
  h->x[h->rows++] = h->known ? row->dist2 : row->residual * row->residual;
  return true;
}

/* Of what is finite in x[n]; NaN: nothing is. */
static double quantile(const double *x, size_t n, double q, double *scratch) {
  hvi_vec_copy(scratch, x, n);
  return hvi_stats_finite_quantile(scratch, n, q);
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
  const double late_most = n < 4 ? NAN : largest(h->x, n - n / 4, n);
  t->drop = n < 4 ? NAN : late_most / largest(h->x, n / 4, n / 2);
  t->late_drop = n < 4 ? NAN : late_most / largest(h->x, n / 2, n - n / 4);
  t->fall = n < 4 ? NAN : late_most / largest(h->x, 0, n / 4);
  out->arrived = out->outcome == HVI_CONVERGED || (n > 0 && h->x[n - 1] <= h->floor);
}

/* A short run under given settings, and what it did. */
static hvi_status run(hvi_inspection *out, trend *t, const hvi_problem *p, const hvi_settings *s,
                      size_t steps, hvi_error *err) {
  const size_t rows = steps + 1;
  history h = {.outputs = p->model->out, .known = p->solution || p->ops->dist2};
  HVI_TRY(hvi_new_arrays("watching a run", err, {&h.x, rows}, {&h.alpha, rows}, {&h.share, rows},
                         {&h.scratch, rows}));
  HVI_OWN double *owned = h.x;
  hvi_settings own = *s;
  hvi_info info;
  own.max_outer = steps;
  if (!adapts(s)) {
    own.max_f_evals = 0;
    own.tol = p->ops->draw ? 0.0 : tiny_residual;
  }
  HVI_TRY(hvi_steps_run(&info, p, &own, is_plain(p, s), see, &h, err));
  out->eta = info.eta;
  out->outcome = info.outcome;
  out->outer = info.last.outer;
  out->restarts = info.restarts;
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
      !is_plain(p, s))
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
  if (adapts(s)) { /* of the theorem nothing holds, of the resolvent its contraction */
    const double mu = out->constants.mu, shrink = 1.0 / (1.0 + out->eta * mu);
    const bool proximal = s->target == HVI_TARGET_PROXIMAL;
    out->rates.rho = out->rates.rho_sharp = NAN;
    out->rates.kappa2 = proximal && mu >= 0.0 ? shrink * shrink : NAN;
    if (proximal) out->rates.eta_max = INFINITY;
    return HVI_OK;
  }
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

static hvi_obstacle find_obstacle(const hvi_inspection *i, const hvi_problem *p,
                                  const hvi_settings *s) {
  if (s->baseline) return HVI_OBSTACLE_BASELINE;
  if (p->ops->draw) return HVI_OBSTACLE_STOCHASTIC;
  if (adapts(s)) return HVI_OBSTACLE_ADAPTIVE;
  if (!is_plain(p, s)) return HVI_OBSTACLE_VARIANT;
  if (!(i->constants.mu > 0.0)) return HVI_OBSTACLE_NOT_MONOTONE;
  if (on_boundary(p)) return HVI_OBSTACLE_BOUNDARY;
  if (!(i->eta < i->rates.eta_max)) return HVI_OBSTACLE_ETA;
  if (!(i->rates.eta_alpha > 0.0)) return HVI_OBSTACLE_ALPHA_MAX;
  if (!(i->rates.rho < 1.0)) return HVI_OBSTACLE_ALPHA;
  return i->constants.exact ? HVI_OBSTACLE_NONE : HVI_OBSTACLE_SAMPLED;
}

static bool ended_badly(const hvi_inspection *i) {
  return i->outcome == HVI_DIVERGED || i->outcome == HVI_STALLED;
}

/* By what was observed alone: arrived, or far closer than before, and from quarter to quarter. */
static bool converges(const hvi_inspection *i, const trend *t) {
  if (ended_badly(i) || i->arrived) return i->arrived && !ended_badly(i);
  if (!(i->rate_observed < 1.0)) return false;
  return i->obstacle == HVI_OBSTACLE_NONE
             ? t->drop < 1.0
             : t->drop < clear_drop && t->late_drop < 1.0 && t->fall < clear_fall;
}

/* Whether a run that is not said to converge does not show the contrary either: it comes closer too
 * slowly, or nothing says how close it is. */
static bool is_open(const hvi_inspection *i, const trend *t) {
  if (i->converging || ended_badly(i)) return false;
  return isnan(t->drop) || (t->drop < clear_drop && i->rate_observed < 1.0);
}

#define TELL(i, ...) hvi_append((i)->explanation, sizeof(i)->explanation, __VA_ARGS__)

static double value_of(const hvi_inspection *i, const char *name) {
  const hvi_rates *r = &i->rates;
  const struct {
    const char *name;
    double value;
  } values[] = {{"eta", i->eta},
                {"mu", i->constants.mu},
                {"alpha", fmax(i->alpha, i->alpha_worst)}, /* the one that the rates are for */
                {"alpha_median", i->alpha_median},
                {"kappa2", r->kappa2},
                {"rho", r->rho},
                {"eta_max", r->eta_max},
                {"eta_best", r->eta_best},
                {"eta_theorem", r->eta_theorem},
                {"eta_alpha", r->eta_alpha},
                {"alpha_max", r->alpha_max},
                {"alpha_eta", r->alpha_eta},
                {"alpha_theorem", r->alpha_theorem},
                {"rate", i->rate_observed},
                {"rate_exact", i->rate_exact},
                {"outer", (double)i->outer},
                {"residual", i->residual},
                {"last", i->by_residual ? i->residual * i->residual : i->dist2},
                {"percent", 100.0 * i->step_share}};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++)
    if (strcmp(values[k].name, name) == 0) return values[k].value;
  return NAN;
}

/* The sentence of that name; "": there is none. */
static const char *find_sentence(const char *name, const char *more) {
  const size_t length = strlen(name), rest = strlen(more);
  const char *line = hvi_embedded_find(hvi_embedded_theory, "inspect");
  while (*line && (strncmp(line, name, length) != 0 || strncmp(line + length, more, rest) != 0 ||
                   line[length + rest] != ':'))
    line += strcspn(line, "\n") + 1;
  return *line ? line + length + rest + 2 : "";
}

static void recite(char *text, size_t size, const hvi_inspection *i, const char *sentence) {
  if (*text && *sentence) hvi_append(text, size, " ");
  while (*sentence && *sentence != '\n') {
    const size_t plain = strcspn(sentence, "{\n");
    char name[16];
    int digits = 0, length = 0;
    hvi_append(text, size, "%.*s", (int)plain, sentence);
    sentence += plain;
    if (sscanf(sentence, "{%15[a-z0-9_]:%d}%n", name, &digits, &length) == 2)
      hvi_append(text, size, "%.*g", digits, value_of(i, name));
    else if (*sentence == '{') /* {what} */
      hvi_append(text, size, "%s", i->by_residual ? "the squared residual" : "|z-z*|^2");
    sentence += length ? (size_t)length : strcspn(sentence, "}\n") + (*sentence == '{');
  }
}

static void tell(hvi_inspection *i, const char *name) {
  recite(i->explanation, sizeof i->explanation, i, find_sentence(name, ""));
}

static void tell_obstacle(hvi_inspection *i, const hvi_problem *p) {
  const double mu = i->constants.mu;
  tell(i, hvi_obstacle_name(i->obstacle));
  if (i->obstacle == HVI_OBSTACLE_ETA && i->rate_exact > 1.0)
    tell(i, i->by_residual ? "exact step" : "exact step, near");
  if (i->obstacle == HVI_OBSTACLE_ADAPTIVE && isinf(i->rates.eta_max)) {
    tell(i, mu > 0.0                               ? "proximal, strongly monotone"
            : mu < -1e-12 * i->constants.lipschitz ? "proximal, not monotone"
                                                   : "proximal, monotone");
    tell(i, "proximal");
  }
  if (i->obstacle != HVI_OBSTACLE_NONE) return;
  if (!(i->alpha >= i->alpha_worst)) tell(i, "alpha measured");
  if (!p->solution) tell(i, "interior");
}

static void tell_run(hvi_inspection *i, bool stuck, bool open) {
  tell(i, i->outcome == HVI_DIVERGED   ? "diverged"
          : i->arrived                 ? "arrived"
          : i->converging              ? "converging"
          : isnan(value_of(i, "last")) ? "not told"
          : open                       ? "open"
          : stuck                      ? "stuck"
                                       : "failing");
  if (i->restarts > 0)
    TELL(i, " It started anew %zu time%s, where it was stuck.", i->restarts,
         i->restarts == 1 ? "" : "s");
  if (i->obstacle == HVI_OBSTACLE_NONE && !i->converging) tell(i, "contradiction");
}

/* With eta too large for the exact step: what fewer and more inner steps do to it. */
static void tell_variants(hvi_inspection *i, const hvi_settings *s) {
  const hvi_variant own = {s->inner_steps, i->alpha_median, i->step_share, i->rate_observed};
  /* in order of inner steps, the run's own among them */
  const size_t count = i->variant_count + 1, at = i->variants[0].inner < own.inner;
  hvi_variant all[3], best = all[at] = own;
  for (size_t k = 0; k + 1 < count; k++) all[k < at ? k : k + 1] = i->variants[k];
  tell(i, "damped");
  for (size_t k = 0; k < count; k++) {
    TELL(i, " %zu inner step%s %.3g %% of it (rate %.4f)%s", all[k].inner,
         all[k].inner == 1 ? " takes" : "s take", 100.0 * all[k].step_share, all[k].rate,
         k + 1 < count ? "," : ".");
    if (all[k].rate < best.rate) best = all[k];
  }
  for (size_t k = 0; k < count; k++) {
    if (all[k].inner <= best.inner || all[k].rate <= best.rate) continue;
    TELL(i,
         " So %zu inner steps beat %zu: the better the inner solve, the nearer the loop is to the "
         "exact step, and that one expands.",
         best.inner, all[k].inner);
    break;
  }
}

/* Without advice of its own an obstacle asks for a smaller eta, should the run not converge. */
static void advise(hvi_inspection *i, const hvi_settings *s, bool stuck) {
  char *text = i->advice;
  const size_t size = sizeof i->advice;
  const char *advice = find_sentence(hvi_obstacle_name(i->obstacle), ", change");
  if (stuck && i->obstacle != HVI_OBSTACLE_NOT_MONOTONE) {
    recite(text, size, i, find_sentence("stuck", ", change"));
    if (i->obstacle != HVI_OBSTACLE_ETA) return;
    hvi_append(text, size, ";");
  }
  if (!*advice && !i->converging)
    advice = i->obstacle == HVI_OBSTACLE_ADAPTIVE
                 ? "another start (--theta0, --seed), or more steps"
                 : "a smaller eta";
  recite(text, size, i, advice);
  if (i->obstacle != HVI_OBSTACLE_ALPHA_MAX) return;
  hvi_append(text, size, " %s%s",
             s->alpha > 0.0 ? "ask for that alpha, allow more inner steps, or take "
                            : "more inner steps, or ",
             strcmp(s->optimizer->name, "lm") == 0 ? "less damping" : "lm as the inner optimizer");
}

/* `stuck`: the inner solves have ceased to make progress, and not because the loop has arrived. */
static void explain(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s, bool stuck,
                    bool open) {
  const bool errs = i->obstacle == HVI_OBSTACLE_ALPHA || i->obstacle == HVI_OBSTACLE_ALPHA_MAX;
  tell_obstacle(i, p);
  tell_run(i, stuck, open);
  if (i->variant_count > 0 && !stuck) tell_variants(i, s);
  /* why settings that the theorem does not cover do well all the same */
  if (i->converging && errs) tell(i, i->step_share < 0.95 ? "shorter" : "milder");
  if (s->floor == HVI_FLOOR_ESTIMATED && !s->baseline) tell(i, "floors");
  advise(i, s, stuck);
}

hvi_status hvi_theory_inspect(hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                              size_t steps, hvi_error *err) {
  if (!out || !p || !s)
    return hvi_error_argument(err, "an inspection needs a problem and settings");
  HVI_TRY(hvi_problem_structure(p, err));
  if (steps == 0 || steps > MOST_STEPS)
    return hvi_error_argument(err, "steps = %zu: it must lie in [1, %d]", steps, MOST_STEPS);
  trend t;
  hvi_settings chosen = *s;
  hvi_settings_choose(&chosen, p);
  s = &chosen;
  *out = (hvi_inspection){.rate_exact = NAN};
  HVI_TRY(measure(out, &t, p, s, steps, err));
  out->obstacle = find_obstacle(out, p, s);
  out->converging = converges(out, &t);
  const bool open = is_open(out, &t);
  if (out->converging)
    out->verdict = out->obstacle == HVI_OBSTACLE_NONE                       ? HVI_SAFE
                   : out->obstacle == HVI_OBSTACLE_ADAPTIVE && out->arrived ? HVI_SOLVED
                                                                            : HVI_NOT_COVERED;
  else
    out->verdict = open ? HVI_NOT_COVERED : HVI_UNSAFE;
  const bool stuck = !out->converging && !open && out->outcome != HVI_DIVERGED &&
                     (out->outcome == HVI_STALLED || t.alpha_late > no_progress);
  explain(out, p, s, stuck, open);
  return HVI_OK;
}

/* The sentences of an inspection: the theorem's view, the run's, and what to change. */
#include "theory/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Inner solves that leave this much of the loss have made no progress. */
static const double no_progress = 0.9999;

/* Adds to a text of fixed size; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void say(char *text, size_t size, const char *format,
                                                      ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, size - used, format, args);
  va_end(args);
}

#define TELL(i, ...)   say((i)->explanation, sizeof(i)->explanation, __VA_ARGS__)
#define ADVISE(i, ...) say((i)->advice, sizeof(i)->advice, __VA_ARGS__)

/* The alpha that the rates are for. */
static double alpha_of(const hvi_inspection *i) { return fmax(i->alpha, i->alpha_worst); }

static void tell_safe(hvi_inspection *i, const hvi_problem *p) {
  TELL(i,
       "The theorem covers eta = %.4g with alpha = %.3g: |z-z*|^2 shrinks at least by a factor rho "
       "= %.6g "
       "each step.",
       i->eta, alpha_of(i), i->rates.rho);
  if (!(i->alpha >= i->alpha_worst)) {
    TELL(i, " This alpha was measured in the run, not asked for: it holds while every inner solve "
            "does as well.");
  }
  if (!p->solution) TELL(i, " It takes a solution in the relative interior of Z for granted.");
}

static void tell_eta(hvi_inspection *i) {
  TELL(i,
       "eta = %.4g is beyond 2 mu / L^2 = %.4g: there the exact step may expand (kappa^2 = %.5g), "
       "and no alpha is small enough.",
       i->eta, i->rates.eta_max, i->rates.kappa2);
  if (i->rate_exact > 1.0) {
    TELL(i, " It does: measured%s, %s grows by a factor %.5g each exact step.",
         i->by_residual ? "" : " near z*", i->by_residual ? "the squared residual" : "|z-z*|^2",
         i->rate_exact);
  }
}

static void tell_obstacle(hvi_inspection *i, const hvi_problem *p) {
  switch (i->obstacle) {
  case HVI_OBSTACLE_NONE:
    tell_safe(i, p);
    break;
  case HVI_OBSTACLE_BASELINE:
    TELL(i, "This method steps in the parameters without a surrogate: the theorem does not speak "
            "of it.");
    break;
  case HVI_OBSTACLE_STOCHASTIC:
    TELL(i,
         "F is sampled: with a fixed eta the iterates at best reach a neighbourhood of z*, whose "
         "size grows with eta and with the noise.");
    break;
  case HVI_OBSTACLE_VARIANT:
    TELL(i, "The theorem is about plain targets, one constant eta and all players at once; this is "
            "another "
            "loop.");
    break;
  case HVI_OBSTACLE_NOT_MONOTONE:
    TELL(i,
         "F is not strongly monotone on Z (mu = %.4g): no eta and no alpha is covered, and even "
         "the exact step need not converge.",
         i->constants.mu);
    break;
  case HVI_OBSTACLE_BOUNDARY:
    TELL(i, "The known solution lies on the boundary of Z; the theorem's bound on the inner error "
            "needs it in the relative interior.");
    break;
  case HVI_OBSTACLE_ETA:
    tell_eta(i);
    break;
  case HVI_OBSTACLE_ALPHA_MAX:
    TELL(i,
         "The inner solves leave alpha = %.3g (%.3g in the median), and from mu / L = %.3g on no "
         "eta is covered.",
         alpha_of(i), i->alpha_median, i->rates.alpha_max);
    break;
  case HVI_OBSTACLE_ALPHA:
    TELL(i,
         "alpha = %.3g is too large for eta = %.4g (rho = %.5g): at this eta alpha has to stay "
         "below %.3g, at this alpha eta below %.4g.",
         alpha_of(i), i->eta, i->rates.rho, i->rates.alpha_eta, i->rates.eta_alpha);
    break;
  case HVI_OBSTACLE_SAMPLED:
    TELL(i,
         "By mu and L as sampled the theorem would cover this (rho = %.6g), but samples do not "
         "bound the constants.",
         i->rates.rho);
    break;
  case HVI_OBSTACLE_COUNT:
    break;
  }
}

/* The inner solves have ceased to make progress, and not because the loop has arrived. */
static bool is_stuck(const hvi_inspection *i, const hvi_watch *w) {
  return !i->converging && w->outcome != HVI_DIVERGED &&
         (w->outcome == HVI_STALLED || w->alpha_late > no_progress);
}

static void tell_run(hvi_inspection *i, const hvi_watch *w) {
  const char *what = i->by_residual ? "the squared residual" : "|z-z*|^2";
  const double last = i->by_residual ? i->residual * i->residual : i->dist2;
  if (w->outcome == HVI_DIVERGED) {
    TELL(i, " The run diverged after %zu steps.", i->outer);
  } else if (i->converging && w->rate < 1.0) {
    TELL(i, " The run converges: %s shrinks by a factor %.5g each step, to %.2g after %zu steps.",
         what, w->rate, last, i->outer);
  } else if (i->converging) {
    TELL(i, " The run converges: %s is %.2g after %zu steps.", what, last, i->outer);
  } else if (isnan(last)) {
    TELL(i, " Without a known solution or a residual the run does not tell how close it came.");
  } else if (is_stuck(i, w)) {
    TELL(i,
         " The run is stuck at a residual of %.3g: the inner solves no longer reduce their loss, "
         "because theta stands on a flat part of g.",
         i->residual);
  } else {
    TELL(i, " The run does not converge: after %zu steps %s is %.3g.", i->outer, what, last);
  }
  if (i->obstacle == HVI_OBSTACLE_NONE && !i->converging) {
    TELL(i, " That contradicts the theorem: Z is not what the model can reach, or not convex.");
  }
}

static void tell_one_variant(hvi_inspection *i, size_t inner, double share, double rate) {
  TELL(i, " %zu inner step%s %.3g %% of it (rate %.4f)", inner, inner == 1 ? " takes" : "s take",
       100.0 * share, rate);
}

/* With eta too large for the exact step: what fewer and more inner steps do to it. */
static void tell_variants(hvi_inspection *i, const hvi_settings *s) {
  const hvi_variant own = {s->inner_steps, i->alpha_median, i->step_share, i->rate_observed};
  const hvi_variant *all[3], *best = &own, *most = &own;
  size_t count = 0;
  for (size_t k = 0; k < i->variant_count && i->variants[k].inner < own.inner; k++) {
    all[count++] = &i->variants[k];
  }
  all[count++] = &own;
  for (size_t k = count - 1; k < i->variant_count; k++) all[count++] = &i->variants[k];
  TELL(i, " An imperfect inner solve takes only part of the exact step, which damps it:");
  for (size_t k = 0; k < count; k++) {
    tell_one_variant(i, all[k]->inner, all[k]->step_share, all[k]->rate);
    TELL(i, "%s", k + 1 < count ? "," : ".");
    if (all[k]->rate < best->rate) best = all[k];
    if (all[k]->inner > most->inner) most = all[k];
  }
  for (size_t k = 0; k < count; k++) {
    if (all[k] == best || all[k]->inner < best->inner || all[k]->rate <= best->rate) continue;
    TELL(i,
         " So %zu inner steps beat %zu: the better the inner solve, the nearer the loop is to the "
         "exact step, and that one expands.",
         best->inner, all[k]->inner);
    break;
  }
}

/* Why settings that the theorem does not cover do well all the same. */
static void tell_luck(hvi_inspection *i) {
  const bool alpha = i->obstacle == HVI_OBSTACLE_ALPHA || i->obstacle == HVI_OBSTACLE_ALPHA_MAX;
  if (!i->converging || !alpha) return;
  if (i->step_share < 0.95) {
    TELL(i,
         " The theorem guards against the worst errors of that size; these mostly shorten the step "
         "(to %.3g %% of the exact one) and act like a smaller eta.",
         100.0 * i->step_share);
  } else {
    TELL(i, " The theorem guards against the worst errors of that size; these are milder.");
  }
}

static void advise_eta(hvi_inspection *i) {
  ADVISE(i,
         "eta below %.4g; %.4g (mu / L^2) has the smallest kappa, and %.4g (the theorem's) allows "
         "alpha up to %.3g",
         i->rates.eta_max, i->rates.eta_best, i->rates.eta_theorem, i->rates.alpha_theorem);
}

static void advise_alpha(hvi_inspection *i, const hvi_settings *s) {
  if (i->obstacle == HVI_OBSTACLE_ALPHA) {
    ADVISE(i, "eta below %.4g, or alpha below %.3g", i->rates.eta_alpha, i->rates.alpha_eta);
    return;
  }
  ADVISE(i, "alpha at most %.3g (mu / 2L) with eta %.4g (the theorem's): ", i->rates.alpha_theorem,
         i->rates.eta_theorem);
  ADVISE(i, s->alpha > 0.0 ? "ask for that alpha, allow more inner steps, or take "
                           : "more inner steps, or ");
  ADVISE(i, strcmp(s->optimizer->name, "lm") == 0 ? "less damping" : "lm as the inner optimizer");
}

static void advise_obstacle(hvi_inspection *i, const hvi_settings *s) {
  switch (i->obstacle) {
  case HVI_OBSTACLE_BASELINE:
    ADVISE(i, "for a guarantee a surrogate method, such as lm or gd with alpha %.3g, and eta %.4g",
           i->rates.alpha_theorem, i->rates.eta_theorem);
    break;
  case HVI_OBSTACLE_STOCHASTIC:
    ADVISE(i, "a smaller eta for a smaller neighbourhood");
    break;
  case HVI_OBSTACLE_VARIANT:
    ADVISE(i, "for a guarantee a plain target, one constant eta and all players at once");
    break;
  case HVI_OBSTACLE_NOT_MONOTONE:
    ADVISE(i, "the problem, not the settings: F needs a regulariser that makes mu positive");
    break;
  case HVI_OBSTACLE_ETA:
    advise_eta(i);
    break;
  case HVI_OBSTACLE_ALPHA_MAX:
  case HVI_OBSTACLE_ALPHA:
    advise_alpha(i, s);
    break;
  default:
    if (!i->converging) ADVISE(i, "a smaller eta");
    break;
  }
}

static void advise(hvi_inspection *i, const hvi_settings *s, const hvi_watch *w) {
  if (!is_stuck(i, w) || i->obstacle == HVI_OBSTACLE_NOT_MONOTONE) {
    advise_obstacle(i, s);
    return;
  }
  ADVISE(i, "keep theta off the flat parts of g: lm with more damping, a smaller eta, or another "
            "start");
  if (i->obstacle != HVI_OBSTACLE_ETA) return;
  ADVISE(i, "; ");
  advise_eta(i);
}

void hvi_verdict_explain(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s,
                         const hvi_watch *w) {
  i->explanation[0] = i->advice[0] = '\0';
  tell_obstacle(i, p);
  tell_run(i, w);
  if (i->variant_count > 0 && !is_stuck(i, w)) tell_variants(i, s);
  tell_luck(i);
  advise(i, s, w);
}

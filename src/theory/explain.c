/*
 * The sentences of an inspection: the theorem's view, the run's, and what to change.
 *
 * Sentences of the tables name numbers of the inspection: {eta:4} is eta with four digits.
 */
#include "base/base.h"
#include "theory/inspect.h"

#include <stdarg.h>

/* Adds to a text of fixed size; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void say(char *text, size_t size, const char *format,
                                                      ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, size - used, format, args);
  va_end(args);
}

#define TELL(i, ...) say((i)->explanation, sizeof(i)->explanation, __VA_ARGS__)

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
                {"alpha_theorem", r->alpha_theorem}};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++)
    if (strcmp(values[k].name, name) == 0) return values[k].value;
  return NAN;
}

/* Adds a sentence of the tables. */
static void recite(char *text, size_t size, const hvi_inspection *i, const char *sentence) {
  while (*sentence) {
    const size_t plain = strcspn(sentence, "{");
    char name[16];
    int digits, length = 0;
    say(text, size, "%.*s", (int)plain, sentence);
    sentence += plain;
    if (sscanf(sentence, "{%15[a-z0-9_]:%d}%n", name, &digits, &length) != 2) return;
    say(text, size, "%.*g", digits, value_of(i, name));
    sentence += length;
  }
}

static const struct {
  const char *explanation, *advice; /* without advice a smaller eta, should the run not converge */
} obstacles[HVI_OBSTACLE_COUNT] = {
    [HVI_OBSTACLE_NONE] = {.explanation =
                               "The theorem covers eta = {eta:4} with alpha = {alpha:3}: |z-z*|^2 "
                               "shrinks at least by a factor rho = {rho:6} each step."},
    [HVI_OBSTACLE_BASELINE] = {"This method steps in the parameters without a surrogate: the "
                               "theorem does not speak of it.",
                               "for a guarantee a surrogate method, such as lm or gd with alpha "
                               "{alpha_theorem:3}, and eta {eta_theorem:4}"},
    [HVI_OBSTACLE_STOCHASTIC] = {"F is sampled: with a fixed eta the iterates at best reach a "
                                 "neighbourhood of z*, whose size grows with eta and with the "
                                 "noise.",
                                 "a smaller eta for a smaller neighbourhood"},
    [HVI_OBSTACLE_VARIANT] = {"The theorem is about plain targets, one constant eta and all "
                              "players at once; this is another loop.",
                              "for a guarantee a plain target, one constant eta and all players "
                              "at once"},
    [HVI_OBSTACLE_NOT_MONOTONE] = {"F is not strongly monotone on Z (mu = {mu:4}): no eta and no "
                                   "alpha is covered, and even the exact step need not converge.",
                                   "the problem, not the settings: F needs a regulariser that "
                                   "makes mu positive"},
    [HVI_OBSTACLE_BOUNDARY] =
        {.explanation = "The known solution lies on the boundary of Z; the theorem's bound "
                        "on the inner error needs it in the relative interior."},
    [HVI_OBSTACLE_ETA] =
        {"eta = {eta:4} is beyond 2 mu / L^2 = {eta_max:4}: there the exact step "
         "may expand (kappa^2 = {kappa2:5}), and no alpha is small enough.",
         "eta below {eta_max:4}; {eta_best:4} (mu / L^2) has the smallest kappa, and "
         "{eta_theorem:4} (the theorem's) allows alpha up to {alpha_theorem:3}"},
    [HVI_OBSTACLE_ALPHA_MAX] = {"The inner solves leave alpha = {alpha:3} ({alpha_median:3} in "
                                "the median), and from mu / L = {alpha_max:3} on no eta is "
                                "covered.",
                                "alpha at most {alpha_theorem:3} (mu / 2L) with eta "
                                "{eta_theorem:4} (the theorem's): "},
    [HVI_OBSTACLE_ALPHA] = {"alpha = {alpha:3} is too large for eta = {eta:4} (rho = {rho:5}): at "
                            "this eta alpha has to stay below {alpha_eta:3}, at this alpha eta "
                            "below {eta_alpha:4}.",
                            "eta below {eta_alpha:4}, or alpha below {alpha_eta:3}"},
    [HVI_OBSTACLE_SAMPLED] = {.explanation =
                                  "By mu and L as sampled the theorem would cover this (rho = "
                                  "{rho:6}), but samples do not bound the constants."},
};

static const char *quantity(const hvi_inspection *i) {
  return i->by_residual ? "the squared residual" : "|z-z*|^2";
}

static void tell_obstacle(hvi_inspection *i, const hvi_problem *p) {
  recite(i->explanation, sizeof i->explanation, i, obstacles[i->obstacle].explanation);
  if (i->obstacle == HVI_OBSTACLE_ETA && i->rate_exact > 1.0) {
    TELL(i, " It does: measured%s, %s grows by a factor %.5g each exact step.",
         i->by_residual ? "" : " near z*", quantity(i), i->rate_exact);
  }
  if (i->obstacle != HVI_OBSTACLE_NONE) return;
  if (!(i->alpha >= i->alpha_worst)) {
    TELL(i, " This alpha was measured in the run, not asked for: it holds while every inner solve "
            "does as well.");
  }
  if (!p->solution) TELL(i, " It takes a solution in the relative interior of Z for granted.");
}

static void tell_run(hvi_inspection *i, bool stuck) {
  const char *what = quantity(i);
  const double last = i->by_residual ? i->residual * i->residual : i->dist2;
  if (i->outcome == HVI_DIVERGED) {
    TELL(i, " The run diverged after %zu steps.", i->outer);
  } else if (i->converging && i->rate_observed < 1.0) {
    TELL(i, " The run converges: %s shrinks by a factor %.5g each step, to %.2g after %zu steps.",
         what, i->rate_observed, last, i->outer);
  } else if (i->converging) {
    TELL(i, " The run converges: %s is %.2g after %zu steps.", what, last, i->outer);
  } else if (isnan(last)) {
    TELL(i, " Without a known solution or a residual the run does not tell how close it came.");
  } else if (stuck) {
    TELL(i,
         " The run is stuck at a residual of %.3g: the inner solves no longer reduce their loss, "
         "because theta stands on a flat part of g.",
         i->residual);
  } else {
    TELL(i, " The run does not converge: after %zu steps %s is %.3g.", i->outer, what, last);
  }
  if (i->obstacle == HVI_OBSTACLE_NONE && !i->converging)
    TELL(i, " That contradicts the theorem: Z is not what the model can reach, or not convex.");
}

/* With eta too large for the exact step: what fewer and more inner steps do to it. */
static void tell_variants(hvi_inspection *i, const hvi_settings *s) {
  const hvi_variant own = {s->inner_steps, i->alpha_median, i->step_share, i->rate_observed};
  /* in order of inner steps, the run's own among them */
  const size_t count = i->variant_count + 1, at = i->variants[0].inner < own.inner;
  hvi_variant all[3], best = all[at] = own;
  for (size_t k = 0; k + 1 < count; k++) all[k < at ? k : k + 1] = i->variants[k];
  TELL(i, " An imperfect inner solve takes only part of the exact step, which damps it:");
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

/* Why settings that the theorem does not cover do well all the same. */
static void tell_luck(hvi_inspection *i) {
  const bool alpha = i->obstacle == HVI_OBSTACLE_ALPHA || i->obstacle == HVI_OBSTACLE_ALPHA_MAX;
  if (!i->converging || !alpha) return;
  TELL(i, " The theorem guards against the worst errors of that size; these ");
  if (i->step_share < 0.95) {
    TELL(i, "mostly shorten the step (to %.3g %% of the exact one) and act like a smaller eta.",
         100.0 * i->step_share);
  } else {
    TELL(i, "are milder.");
  }
}

static void advise(hvi_inspection *i, const hvi_settings *s, bool stuck) {
  char *text = i->advice;
  const size_t size = sizeof i->advice;
  const char *advice = obstacles[i->obstacle].advice;
  if (stuck && i->obstacle != HVI_OBSTACLE_NOT_MONOTONE) {
    say(text, size,
        "keep theta off the flat parts of g: lm with more damping, a smaller eta, or "
        "another start");
    if (i->obstacle != HVI_OBSTACLE_ETA) return;
    say(text, size, "; ");
  }
  if (!advice) advice = i->converging ? "" : "a smaller eta";
  recite(text, size, i, advice);
  if (i->obstacle != HVI_OBSTACLE_ALPHA_MAX) return;
  say(text, size, "%s%s",
      s->alpha > 0.0 ? "ask for that alpha, allow more inner steps, or take "
                     : "more inner steps, or ",
      strcmp(s->optimizer->name, "lm") == 0 ? "less damping" : "lm as the inner optimizer");
}

void hvi_inspection_explain(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s,
                            bool stuck) {
  i->explanation[0] = i->advice[0] = '\0';
  tell_obstacle(i, p);
  tell_run(i, stuck);
  if (i->variant_count > 0 && !stuck) tell_variants(i, s);
  tell_luck(i);
  advise(i, s, stuck);
}

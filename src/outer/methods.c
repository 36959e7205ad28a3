/*
 * Methods by name: the inner optimizers, presets of the one loop, and the baselines.
 *
 * A preset is nothing but settings; tests prove each equal to its closed form step by step.
 */
#include "inner/optimizers.h"
#include "outer/solver.h"

#include <string.h>

static void use(hvi_settings *s, const hvi_optimizer *optimizer) {
  s->optimizer = optimizer;
  s->baseline = HVI_BASELINE_NONE;
}

static void preset(hvi_settings *s, const hvi_optimizer *optimizer) {
  use(s, optimizer);
  s->inner_steps = 1;
  s->inner_growth = 0.0;
  s->alpha = 0.0;
}

static void use_gd(hvi_settings *s) { use(s, &hvi_optimizer_gd); }
static void use_momentum(hvi_settings *s) { use(s, &hvi_optimizer_momentum); }
static void use_adam(hvi_settings *s) { use(s, &hvi_optimizer_adam); }
static void use_adamw(hvi_settings *s) { use(s, &hvi_optimizer_adamw); }
static void use_gn(hvi_settings *s) { use(s, &hvi_optimizer_gn); }
static void use_dgn(hvi_settings *s) { use(s, &hvi_optimizer_dgn); }
static void use_lm(hvi_settings *s) { use(s, &hvi_optimizer_lm); }

static void use_phgd(hvi_settings *s) { preset(s, &hvi_optimizer_gn); }
static void use_gda(hvi_settings *s) { preset(s, &hvi_optimizer_gd); }
static void use_adversary(hvi_settings *s) { preset(s, &hvi_optimizer_adversary); }

static void use_extragradient(hvi_settings *s) { s->baseline = HVI_BASELINE_EXTRAGRADIENT; }
static void use_ogda(hvi_settings *s) { s->baseline = HVI_BASELINE_OPTIMISTIC_GDA; }
static void use_agda(hvi_settings *s) { s->baseline = HVI_BASELINE_ALTERNATING_GDA; }
static void use_adam_gda(hvi_settings *s) { s->baseline = HVI_BASELINE_ADAM_GDA; }

static const hvi_method methods[] = {
    {"gd", "surrogate, gradient descent inside (Surr-GD)", use_gd},
    {"momentum", "surrogate, heavy-ball momentum inside", use_momentum},
    {"adam", "surrogate, Adam inside", use_adam},
    {"adamw", "surrogate, AdamW inside", use_adamw},
    {"gn", "surrogate, Gauss-Newton inside (pseudo-inverse)", use_gn},
    {"dgn", "surrogate, damped Gauss-Newton inside (factor or line search)", use_dgn},
    {"lm", "surrogate, Levenberg-Marquardt inside (fixed or adaptive damping)", use_lm},
    {"phgd", "preset: preconditioned hidden gradient descent = gn, one inner step", use_phgd},
    {"gda", "preset: gradient descent-ascent in the parameters = gd, one inner step", use_gda},
    {"projected", "preset: exact projected step when g is affine = gn, one inner step", use_phgd},
    {"adversary", "errs by exactly alpha in a rotated direction (for the counterexample)",
     use_adversary},
    {"extragradient", "baseline: extragradient on V = J'F in the parameters", use_extragradient},
    {"ogda", "baseline: optimistic gradient descent-ascent in the parameters", use_ogda},
    {"agda", "baseline: alternating gradient descent-ascent in the parameters", use_agda},
    {"adam-gda", "baseline: Adam on V = J'F in the parameters", use_adam_gda},
    {NULL, NULL, NULL},
};

const hvi_method *hvi_method_list(void) { return methods; }

const hvi_method *hvi_method_find(const char *name) {
  for (const hvi_method *m = methods; name && m->name; m++) {
    if (strcmp(m->name, name) == 0) return m;
  }
  return NULL;
}

bool hvi_method_apply(hvi_settings *s, const char *name, const hvi_rule *const *rules) {
  const hvi_method *m = hvi_method_find(name);
  if (m) m->apply(s);
  for (; !m && rules && *rules; rules++) {
    if (strcmp((*rules)->name, name) != 0) continue;
    s->baseline = HVI_BASELINE_RULE;
    s->rule = *rules;
    return true;
  }
  return m != NULL;
}

const char *hvi_method_family(const hvi_settings *s) {
  if (s->baseline == HVI_BASELINE_ADAM_GDA) return "adam-gda";
  if (s->baseline == HVI_BASELINE_RULE) return s->rule->family ? s->rule->family : s->rule->name;
  if (s->baseline != HVI_BASELINE_NONE) return "baseline";
  return s->optimizer->name;
}

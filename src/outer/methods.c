/*
 * Methods by name: the inner optimizers, presets of the one loop, and the baselines.
 *
 * A preset is nothing but settings; tests prove each equal to its closed form step by step.
 */
#include "base/base.h"
#include "inner/optimizers.h"
#include "outer/solver.h"

static const hvi_method methods[] = {
    {"auto", "chooses optimizer, targets and steps for the problem, and goes on until it is solved",
     .baseline = HVI_BASELINE_NONE},
    {"gd", "surrogate, gradient descent inside (Surr-GD)", .optimizer = &hvi_optimizer_gd},
    {"momentum", "surrogate, heavy-ball momentum inside", .optimizer = &hvi_optimizer_momentum},
    {"adam", "surrogate, Adam inside", .optimizer = &hvi_optimizer_adam},
    {"adamw", "surrogate, AdamW inside", .optimizer = &hvi_optimizer_adamw},
    {"gn", "surrogate, Gauss-Newton inside (pseudo-inverse)", .optimizer = &hvi_optimizer_gn},
    {"dgn", "surrogate, damped Gauss-Newton inside (factor or line search)",
     .optimizer = &hvi_optimizer_dgn},
    {"lm", "surrogate, Levenberg-Marquardt inside (fixed or adaptive damping)",
     .optimizer = &hvi_optimizer_lm},
    {"phgd", "preset: preconditioned hidden gradient descent = gn, one inner step",
     .optimizer = &hvi_optimizer_gn, .one_step = true},
    {"gda", "preset: gradient descent-ascent in the parameters = gd, one inner step",
     .optimizer = &hvi_optimizer_gd, .one_step = true},
    {"projected", "preset: exact projected step when g is affine = gn, one inner step",
     .optimizer = &hvi_optimizer_gn, .one_step = true},
    {"adversary", "errs by exactly alpha in a rotated direction (for the counterexample)",
     .optimizer = &hvi_optimizer_adversary, .one_step = true},
    {"extragradient", "baseline: extragradient on V = J'F in the parameters",
     .baseline = HVI_BASELINE_EXTRAGRADIENT},
    {"ogda", "baseline: optimistic gradient descent-ascent in the parameters",
     .baseline = HVI_BASELINE_OPTIMISTIC_GDA},
    {"agda", "baseline: alternating gradient descent-ascent in the parameters",
     .baseline = HVI_BASELINE_ALTERNATING_GDA},
    {"adam-gda", "baseline: Adam on V = J'F in the parameters", .baseline = HVI_BASELINE_ADAM_GDA},
    {0},
};

const hvi_method *hvi_method_list(void) { return methods; }

const hvi_method *hvi_method_find(const char *name) {
  for (const hvi_method *m = methods; name && m->name; m++)
    if (strcmp(m->name, name) == 0) return m;
  return NULL;
}

bool hvi_method_apply(hvi_settings *s, const char *name, const hvi_rule *const *rules) {
  const hvi_method *m = hvi_method_find(name);
  for (; !m && rules && *rules; rules++) {
    if (strcmp((*rules)->name, name) != 0) continue;
    s->automatic = false;
    s->optimizer = &hvi_optimizer_gd;
    s->baseline = HVI_BASELINE_RULE;
    s->rule = *rules;
    return true;
  }
  if (!m) return false;
  s->automatic = !m->optimizer && !m->baseline;
  s->baseline = m->baseline;
  s->optimizer = m->optimizer ? m->optimizer : s->automatic ? NULL : &hvi_optimizer_gd;
  if (m->one_step) {
    s->inner_steps = 1;
    s->inner_growth = 0.0;
    s->alpha = 0.0;
  }
  return true;
}

const char *hvi_method_family(const hvi_settings *s) {
  if (s->baseline == HVI_BASELINE_ADAM_GDA) return "adam-gda";
  if (s->baseline == HVI_BASELINE_RULE) return s->rule->family ? s->rule->family : s->rule->name;
  if (s->baseline != HVI_BASELINE_NONE) return "baseline";
  return s->optimizer ? s->optimizer->name : "lm adam"; /* method auto chooses one of these */
}

/* Whether the method sets this row whatever it was before: to the same from two starts. */
static bool fixes(const char *method, const hvi_setting *row, const hvi_settings *asked) {
  hvi_settings a = hvi_settings_defaults(), b = a;
  hvi_setting_copy(row, &b, asked);
  hvi_method_apply(&a, method, NULL);
  hvi_method_apply(&b, method, NULL);
  return hvi_setting_equal(row, &a, &b);
}

hvi_status hvi_settings_take(hvi_settings *s, const hvi_settings *asked, const hvi_setting *row,
                             const char *method, const char *where, hvi_error *err) {
  const char *optimizer = s->optimizer ? s->optimizer->name : "", *name = where ? where : row->name;
  const bool chosen = s->automatic && s->optimizer;
  char text[64];
  if (!hvi_setting_used(row, hvi_method_family(s)))
    return hvi_error_argument(err, "method %s%s%s%s does not use %s; it is for %s", method,
                              chosen ? ", which chose " : "", chosen ? optimizer : "",
                              chosen ? "," : "", name, row->used_by);
  const bool preset = !s->baseline && !s->automatic && strcmp(method, optimizer) != 0;
  if (preset && !hvi_setting_equal(row, asked, s) && fixes(method, row, asked))
    return hvi_error_argument(err, "method %s fixes %s at %s; %smethod %s leaves it open", method,
                              name, hvi_setting_format(row, s, text, sizeof text),
                              *name == '-' ? "--" : "", optimizer);
  hvi_setting_copy(row, s, asked);
  hvi_settings_give(s, row->name);
  return HVI_OK;
}

/* The method of an evaluation: the options of `hvi solve` over defaults of its own. */
#include "evaluate_parts.h"
#include "exit_codes.h"
#include "problems/value/value.h"
#include "tunables.h"

#include <string.h>

/* Options of a solve that have no meaning here, or another name. */
static const char *const left_out[] = {"iters",        "tol",         "max-evals",   "stall-window",
                                       "growth-bound", "alternating", "trace-decay", "error-alpha",
                                       "error-angle",  NULL};
/* What every optimizer takes over from the defaults; the default one takes all. */
static const char *const shared[] = {"inner", "accelerate", "target", "keep-state", NULL};

static bool among(const char *const *names, const char *name) {
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

static bool offered(const hvi_tunable *f) { return !among(left_out, f->name); }

void hvi_evaluate_method_options(hvi_evaluate *e, hvi_args *args) {
  hvi_setup *s = &e->setup;
  hvi_args_add(args, (hvi_arg[]){{.name = "method"},
                                 {.name = "method",
                                  .kind = HVI_ARG_TEXT,
                                  .to = &s->method,
                                  .value = "NAME",
                                  .help = "an optimizer, a preset or a baseline ('hvi list'), or\n"
                                          "td-target, residual-gradient, tdc, tdrc"},
                                 {.name = "eta",
                                  .kind = HVI_ARG_TEXT,
                                  .to = &s->eta_text,
                                  .value = "X",
                                  .help = "step size of the outer loop (1)"},
                                 {.name = "lr-decay",
                                  .kind = HVI_ARG_REAL,
                                  .to = &e->spec.lr_decay,
                                  .range = "[0,inf)",
                                  .value = "X",
                                  .help = "outer step t has the inner rate --inner-lr / (1 + X t)"},
                                 {0}});
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (!offered(f)) continue;
    hvi_arg row = {.name = f->name,
                   .kind = f->kind,
                   .to = hvi_tunable_in(f, &s->asked),
                   .range = f->range,
                   .value = f->value,
                   .help = f->help};
    hvi_args_add(args, (hvi_arg[]){row, {0}});
  }
}

static const hvi_rule *find_rule(const char *name) {
  const hvi_rule *const *r = hvi_value_rule_list;
  while (*r && strcmp((*r)->name, name) != 0) r++;
  return *r;
}

/* A rule of the value problem, with the options that it uses. */
static int apply_rule(hvi_setup *s, const hvi_rule *rule, const hvi_args *args) {
  s->settings = hvi_settings_defaults();
  s->settings.baseline = HVI_BASELINE_RULE;
  s->settings.rule = rule;
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || !hvi_args_given(args, f->name)) continue;
    if (!hvi_tunable_used(f, &s->settings)) {
      return hvi_complain(HVI_EXIT_USAGE, "method %s does not use --%s; it is for %s", s->method,
                          f->name, f->used_by);
    }
    hvi_tunable_copy(f, &s->settings, &s->asked);
  }
  return HVI_EXIT_DONE;
}

/* The defaults of an evaluation where no option says otherwise. A preset stays what it is. */
static void apply_defaults(hvi_setup *s, const hvi_args *args) {
  const hvi_settings ours = hvi_evaluation_defaults().settings;
  const bool preset = strcmp(s->method, s->settings.optimizer->name) != 0;
  const bool same = s->settings.optimizer == ours.optimizer;
  if (s->settings.baseline || preset) return;
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || hvi_args_given(args, f->name)) continue;
    if (same || among(shared, f->name)) hvi_tunable_copy(f, &s->settings, &ours);
  }
}

int hvi_evaluate_method(hvi_evaluate *e, const hvi_args *args) {
  hvi_setup *s = &e->setup;
  const hvi_rule *rule = find_rule(s->method);
  const int code = rule ? apply_rule(s, rule, args) : hvi_setup_method(s, args);
  if (code != HVI_EXIT_DONE) return code;
  if (s->settings.step_rule != HVI_STEP_FIXED) {
    return hvi_complain(HVI_EXIT_USAGE, "--eta takes a number here, not '%s'", s->eta_text);
  }
  if (!rule) apply_defaults(s, args);
  if (!s->eta_text && s->settings.baseline != HVI_BASELINE_RULE) s->settings.eta = 1.0;
  s->settings.max_outer = e->steps;
  return HVI_EXIT_DONE;
}

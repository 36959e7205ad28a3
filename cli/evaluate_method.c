/* The method of an evaluation: the options of `hvi solve` over defaults of its own. */
#include "evaluate_parts.h"

#include "base/suggest.h"

#include <string.h>

/* Options of a solve that have no meaning here, or another name. */
static const char left_out[] = "iters tol max_evals stall_window growth_bound alternating "
                               "trace_decay error_alpha error_angle seed";
/* What every optimizer takes over from the defaults; the default one takes all, and Adam, which is
 * that one without the decay of weights, its rate too. */
static const char shared[] = "inner accelerate target keep_state";
static const char shared_by_adam[] = "inner_lr inner_lr_decay";

void hvi_evaluate_method_options(hvi_evaluate *e, hvi_args *args) {
  hvi_setup *s = &e->setup;
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "method"},
      {"method", 0, HVI_ARG_TEXT, &s->method, .value = "NAME",
       .help = "an optimizer (adamw), a preset or a baseline ('hvi list'), or td-target, residual-gradient, tdc, tdrc"},
      {0}});
  /* clang-format on */
  hvi_args_settings(args, hvi_evaluation_table(), &e->spec, NULL);
  hvi_args_settings(args, hvi_settings_table(), &s->asked, left_out);
}

/* A rule of the value problem, with the options that it uses. */
static int apply_rule(hvi_setup *s, const hvi_args *args) {
  const bool follows = strcmp(s->settings.rule->name, "td-target") == 0;
  s->settings.eta = 1e-3;
  s->settings.rule_settings = s->asked.rule_settings;
  s->settings.rule_settings.second_rate = follows ? 0.1 : 1.0;
  return hvi_setup_apply(s, args);
}

/* A preset or a baseline, which stays what it is. */
static bool is_own(const hvi_setup *s) {
  return s->settings.baseline || strcmp(s->method, s->settings.optimizer->name) != 0;
}

/* The defaults of an evaluation where no option says otherwise. */
static void apply_defaults(hvi_evaluate *e, const hvi_args *args) {
  hvi_setup *s = &e->setup;
  const hvi_settings ours = hvi_evaluation_defaults().settings;
  const bool own = is_own(s);
  const bool same = s->settings.optimizer == ours.optimizer;
  const bool adam = s->settings.optimizer && strcmp(s->settings.optimizer->name, "adam") == 0;
  if (own && !hvi_args_given(args, "polyak")) e->spec.polyak = 0.0;
  if (own) return;
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++) {
    if (row->kind == HVI_SETTING_SECTION || hvi_args_given(args, row->name)) continue;
    if (same || hvi_words_have(shared, row->name) ||
        (adam && hvi_words_have(shared_by_adam, row->name)))
      hvi_setting_copy(row, &s->settings, &ours);
  }
  /* it goes with plain Bellman targets and new samples, and nobody asked for it */
  if (!hvi_args_given(args, "accelerate") &&
      (e->spec.value.returns || s->settings.target != HVI_TARGET_PLAIN ||
       s->settings.redraw_every > 1)) {
    s->settings.accelerate = HVI_ACCELERATE_NONE;
  }
}

/* Targets look further where rows follow each other and nobody asked for something else. Anderson's
 * method judges its noise by parts of a batch as if they had no rows in common. */
static void choose_lambda(hvi_evaluate *e, const hvi_args *args) {
  const hvi_settings *s = &e->setup.settings;
  hvi_value_spec *v = &e->spec.value;
  const bool own = is_own(&e->setup);
  const bool fits =
      !own && !e->spec.value.returns && !e->data_path && s->accelerate != HVI_ACCELERATE_ANDERSON;
  if (!fits && !hvi_args_given(args, "lambda")) v->lambda = 0.0;
  const bool fades = v->lambda > 0.0 && v->lambda < 1.0 && !own && !e->data_path;
  if (!fades && !hvi_args_given(args, "lambda-decay")) v->lambda_decay = 0.0;
}

static int check_lambda(const hvi_evaluate *e) {
  const hvi_value_spec *v = &e->spec.value;
  if (v->lambda > 0.0 && (e->setup.settings.baseline || e->spec.value.returns)) {
    return hvi_complain(HVI_EXIT_USAGE, "--lambda goes with an optimizer and Bellman targets");
  }
  if (v->lambda > 0.0 && e->data_path && e->batch > 0) {
    return hvi_complain(HVI_EXIT_USAGE, "--lambda with --data needs --batch 0: rows at random do "
                                        "not follow each other");
  }
  if (v->lambda_decay > 0.0 && (v->lambda == 0.0 || v->lambda == 1.0 || e->data_path)) {
    return hvi_complain(HVI_EXIT_USAGE, "--lambda-decay goes with an environment and a --lambda "
                                        "between 0 and 1");
  }
  return HVI_EXIT_DONE;
}

int hvi_evaluate_method(hvi_evaluate *e, const hvi_args *args) {
  hvi_setup *s = &e->setup;
  s->settings = hvi_settings_defaults();
  s->settings.seed = s->seed = e->spec.seed;
  const bool rule = hvi_method_apply(&s->settings, s->method, hvi_value_rules()) &&
                    s->settings.baseline == HVI_BASELINE_RULE;
  int code = rule ? apply_rule(s, args) : hvi_setup_method(s, args);
  if (code != HVI_EXIT_DONE) return code;
  if (s->settings.step_rule != HVI_STEP_FIXED) {
    return hvi_complain(HVI_EXIT_USAGE, "--eta: must be a number here: mu and L are not known");
  }
  apply_defaults(e, args);
  if (e->spec.value.returns &&
      (s->settings.baseline || s->settings.accelerate != HVI_ACCELERATE_NONE)) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "--returns goes with an optimizer and without --accelerate: "
                        "returns do not move with the values");
  }
  choose_lambda(e, args);
  code = check_lambda(e);
  if (code != HVI_EXIT_DONE) return code;
  if (!hvi_args_given(args, "eta") && s->settings.baseline != HVI_BASELINE_RULE)
    s->settings.eta = 1.0;
  s->settings.max_outer = e->steps;
  return HVI_EXIT_DONE;
}

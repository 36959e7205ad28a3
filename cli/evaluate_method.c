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
/* What every optimizer takes over from the defaults; the default one takes all, and Adam, which is
 * that one without the decay of weights, its rate too. */
static const char *const shared[] = {"inner", "accelerate", "target", "keep-state", NULL};
static const char *const shared_by_adam[] = {"inner-lr", NULL};

static bool among(const char *const *names, const char *name) {
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

static bool offered(const hvi_tunable *f) { return !among(left_out, f->name); }

void hvi_evaluate_method_options(hvi_evaluate *e, hvi_args *args) {
  hvi_setup *s = &e->setup;
  hvi_args_add(
      args, (hvi_arg[]){
                {.name = "method"},
                {.name = "method",
                 .kind = HVI_ARG_TEXT,
                 .to = &s->method,
                 .value = "NAME",
                 .help = "an optimizer (adamw), a preset or a baseline ('hvi list'),\nor "
                         "td-target, residual-gradient, tdc, tdrc"},
                {.name = "eta",
                 .kind = HVI_ARG_TEXT,
                 .to = &s->eta_text,
                 .value = "X",
                 .help = "step size of the outer loop (1); of a rule (0.001)"},
                {.name = "lambda",
                 .kind = HVI_ARG_REAL,
                 .to = &e->spec.value.lambda,
                 .range = "[0,1]",
                 .value = "X",
                 .help = "targets look further ahead: a mean over 1, 2, ... steps, n steps\n"
                         "weighing X^(n-1); with --data only for --batch 0 (0: one step)"},
                {.name = "lambda-decay",
                 .kind = HVI_ARG_REAL,
                 .to = &e->spec.value.lambda_decay,
                 .range = "[0,inf)",
                 .value = "X",
                 .help = "outer step t = 0, 1, ... looks 1 / (1 + X t) times as far\nas the first"},
                {.name = "lr-decay",
                 .kind = HVI_ARG_REAL,
                 .to = &e->spec.settings.inner_lr_decay,
                 .range = "[0,inf)",
                 .value = "X",
                 .help = "outer step t = 0, 1, ... has the inner rate\n--inner-lr / (1 + X t)"},
                {.name = "polyak",
                 .kind = HVI_ARG_REAL,
                 .to = &e->spec.polyak,
                 .range = "[0,1e6]",
                 .value = "X",
                 .help = "the network is a mean over the outer steps, step t weighing\n"
                         "t^X (0: the last one)"},
                {.name = "adam",
                 .kind = HVI_ARG_FLAG,
                 .to = &s->asked.rule_settings.adam,
                 .help = "td-target, residual-gradient, tdc, tdrc: by Adam's rule"},
                {.name = "copy-every",
                 .kind = HVI_ARG_SIZE,
                 .to = &s->asked.rule_settings.copy_every,
                 .range = "[0,1e9]",
                 .value = "N",
                 .help = "td-target: its network is a copy, made every N steps\n"
                         "(0: it follows, see --second-rate)"},
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
  const bool follows = strcmp(rule->name, "td-target") == 0;
  s->settings = hvi_settings_defaults();
  s->settings.baseline = HVI_BASELINE_RULE;
  s->settings.rule = rule;
  s->settings.eta = 1e-3;
  s->settings.rule_settings = s->asked.rule_settings;
  s->settings.rule_settings.second_rate = follows ? 0.1 : 1.0;
  if (hvi_args_given(args, "copy-every") && !follows) {
    return hvi_complain(HVI_EXIT_USAGE, "method %s does not use --copy-every; it is for td-target",
                        s->method);
  }
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || !hvi_args_given(args, f->name)) continue;
    if (!hvi_tunable_used(f, &s->settings)) {
      return hvi_complain(HVI_EXIT_USAGE, "method %s does not use --%s; it is for %s", s->method,
                          f->name, f->used_by);
    }
    hvi_tunable_copy(f, &s->settings, &s->asked);
  }
  return hvi_setup_eta(s);
}

/* What only rules, or only optimizers with a rate, understand. */
static int check_rates(const hvi_setup *s, const hvi_args *args) {
  static const char *const first_order[] = {"gd", "momentum", "adam", "adamw", NULL};
  static const char *const of_rules[] = {"adam", "copy-every"};
  const bool rule = s->settings.baseline == HVI_BASELINE_RULE;
  for (size_t k = 0; k < 2 && !rule; k++) {
    if (!hvi_args_given(args, of_rules[k])) continue;
    return hvi_complain(HVI_EXIT_USAGE,
                        "method %s does not use --%s; it is for td-target and its "
                        "like",
                        s->method, of_rules[k]);
  }
  const bool rated = !s->settings.baseline && among(first_order, s->settings.optimizer->name);
  if (!hvi_args_given(args, "lr-decay") || rated) return HVI_EXIT_DONE;
  return hvi_complain(HVI_EXIT_USAGE,
                      "method %s does not use --lr-decay; it is for gd, momentum, "
                      "adam and adamw",
                      s->method);
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
  if ((own || !(same || adam)) && !hvi_args_given(args, "lr-decay"))
    e->spec.settings.inner_lr_decay = 0.0;
  if (own) return;
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || hvi_args_given(args, f->name)) continue;
    if (same || among(shared, f->name) || (adam && among(shared_by_adam, f->name)))
      hvi_tunable_copy(f, &s->settings, &ours);
  }
  /* it goes with plain Bellman targets and new samples, and nobody asked for it */
  if (!hvi_args_given(args, "accelerate") &&
      (e->returns || s->settings.target != HVI_TARGET_PLAIN || s->settings.redraw_every > 1)) {
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
      !own && !e->returns && !e->data_path && s->accelerate != HVI_ACCELERATE_ANDERSON;
  if (!fits && !hvi_args_given(args, "lambda")) v->lambda = 0.0;
  const bool fades = v->lambda > 0.0 && v->lambda < 1.0 && !own && !e->data_path;
  if (!fades && !hvi_args_given(args, "lambda-decay")) v->lambda_decay = 0.0;
}

static int check_lambda(const hvi_evaluate *e) {
  const hvi_value_spec *v = &e->spec.value;
  if (v->lambda > 0.0 && (e->setup.settings.baseline || e->returns)) {
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
  const hvi_rule *rule = find_rule(s->method);
  int code = rule ? apply_rule(s, rule, args) : hvi_setup_method(s, args);
  if (code == HVI_EXIT_DONE) code = check_rates(s, args);
  if (code != HVI_EXIT_DONE) return code;
  if (s->settings.step_rule != HVI_STEP_FIXED) {
    return hvi_complain(HVI_EXIT_USAGE, "--eta takes a number here, not '%s'", s->eta_text);
  }
  apply_defaults(e, args);
  if (e->returns && (s->settings.baseline || s->settings.accelerate != HVI_ACCELERATE_NONE)) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "--returns goes with an optimizer and without --accelerate: "
                        "returns do not move with the values");
  }
  choose_lambda(e, args);
  code = check_lambda(e);
  if (code != HVI_EXIT_DONE) return code;
  if (!s->eta_text && s->settings.baseline != HVI_BASELINE_RULE) s->settings.eta = 1.0;
  s->settings.max_outer = e->steps;
  return HVI_EXIT_DONE;
}

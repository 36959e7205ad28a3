#include "setup.h"

#include "base/memory.h"
#include "exit_codes.h"
#include "parse.h"
#include "report/methods.h"
#include "talk.h"
#include "tunables.h"

#include <string.h>

hvi_setup hvi_setup_new(void) {
  return (hvi_setup){.method = "gd", .seed = 1, .asked = hvi_settings_defaults()};
}

static void add_problem_options(hvi_setup *s, hvi_args *args) {
  hvi_args_add(args, (hvi_arg[]){
                         {.name = "problem"},
                         {.name = "set",
                          .kind = HVI_ARG_TEXTS,
                          .to = &s->set,
                          .value = "KEY=VALUE",
                          .help = "an option of a built-in problem; repeatable"},
                         {.name = "seed",
                          .kind = HVI_ARG_SEED,
                          .to = &s->seed,
                          .value = "S",
                          .help = "of all random draws"},
                         {.name = "instance",
                          .kind = HVI_ARG_SEED,
                          .to = &s->instance,
                          .value = "I",
                          .help = "0: the fixed instance; 1, 2, ...: random ones"},
                         {.name = "theta0",
                          .kind = HVI_ARG_TEXT,
                          .to = &s->theta0_text,
                          .value = "LIST|FILE",
                          .help = "where to start: numbers, or a .npy file"},
                         {0},
                     });
}

static void add_method_options(hvi_setup *s, hvi_args *args) {
  hvi_args_add(args, (hvi_arg[]){
                         {.name = "method"},
                         {.name = "method",
                          .kind = HVI_ARG_TEXT,
                          .to = &s->method,
                          .value = "NAME",
                          .help = "an optimizer, a preset or a baseline ('hvi list') [gd]"},
                         {.name = "eta",
                          .kind = HVI_ARG_TEXT,
                          .to = &s->eta_text,
                          .value = "X|theorem|best",
                          .help = "step size of the outer loop [0.1], or the rule that sets\n"
                                  "it from mu and L: 2 mu / 5 L^2, or mu / L^2"},
                         {.name = "player-eta",
                          .kind = HVI_ARG_TEXT,
                          .to = &s->player_eta_text,
                          .value = "LIST",
                          .help = "one step size for each player"},
                         {0},
                     });
}

void hvi_setup_options(hvi_setup *s, hvi_args *args) {
  add_problem_options(s, args);
  add_method_options(s, args);
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    hvi_arg row = {.name = f->name,
                   .kind = f->kind,
                   .to = hvi_tunable_in(f, &s->asked),
                   .range = f->range,
                   .value = f->value,
                   .help = f->help};
    hvi_args_add(args, (hvi_arg[]){row, {0}});
  }
}

static int unknown_method(const char *name) {
  const char *names[HVI_MOST_NAMES];
  char hint[HVI_HINT_SIZE];
  hvi_methods_names(names);
  return hvi_complain(HVI_EXIT_USAGE, "unknown method '%s'%s", name,
                      hvi_did_you_mean(hint, name, names, "'hvi list' shows them"));
}

/* A preset is a name for an optimizer with some settings; it is neither the optimizer nor a
 * baseline. */
static bool is_preset(const char *method, const hvi_settings *s) {
  return s->baseline == HVI_BASELINE_NONE && strcmp(method, s->optimizer->name) != 0;
}

/* Whether the method sets this field whatever it was before. */
static bool fixes(const char *method, const hvi_tunable *f) {
  hvi_settings a = hvi_settings_defaults(), b = a;
  hvi_tunable_change(f, &b);
  hvi_methods_apply(method, &a);
  hvi_methods_apply(method, &b);
  return hvi_tunable_equal(f, &a, &b);
}

static int check_field(const hvi_setup *s, const hvi_tunable *f) {
  char text[64];
  if (!hvi_tunable_used(f, &s->settings)) {
    return hvi_complain(HVI_EXIT_USAGE, "method %s does not use --%s; it is for %s", s->method,
                        f->name, f->used_by);
  }
  bool same = hvi_tunable_equal(f, &s->asked, &s->settings);
  if (same || !is_preset(s->method, &s->settings) || !fixes(s->method, f)) return HVI_EXIT_DONE;
  hvi_tunable_text(f, &s->settings, text, sizeof text);
  return hvi_complain(HVI_EXIT_USAGE, "method %s fixes --%s at %s; --method %s leaves it open",
                      s->method, f->name, text, s->settings.optimizer->name);
}

/* First every given option is checked against the method alone, then all are applied. */
static int apply_fields(hvi_setup *s, const hvi_args *args) {
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || !hvi_args_given(args, f->name)) continue;
    int code = check_field(s, f);
    if (code != HVI_EXIT_DONE) return code;
  }
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || !hvi_args_given(args, f->name)) continue;
    hvi_tunable_copy(f, &s->settings, &s->asked);
  }
  return HVI_EXIT_DONE;
}

int hvi_setup_eta(hvi_setup *s) {
  const char *text = s->eta_text;
  double eta;
  if (!text) return HVI_EXIT_DONE;
  if (strcmp(text, "theorem") == 0)
    s->settings.step_rule = HVI_STEP_THEOREM;
  else if (strcmp(text, "best") == 0)
    s->settings.step_rule = HVI_STEP_BEST;
  else if (hvi_parse_real(&eta, text) && eta > 0) {
    s->settings.step_rule = HVI_STEP_FIXED;
    s->settings.eta = eta;
  } else {
    return hvi_complain(HVI_EXIT_USAGE,
                        "--eta takes a number in (0,inf), theorem or best, not '%s'", text);
  }
  return HVI_EXIT_DONE;
}

static int apply_player_eta(hvi_setup *s) {
  const char *text = s->player_eta_text;
  size_t count, players = s->problem->model->block_count;
  if (!text) return HVI_EXIT_DONE;
  s->player_eta = hvi_parse_reals(&count, text);
  if (!s->player_eta) {
    return hvi_complain(HVI_EXIT_USAGE, "--player-eta takes numbers such as 0.1,0.2, not '%s'",
                        text);
  }
  if (count != players) {
    return hvi_complain(HVI_EXIT_INPUT, "--player-eta has %zu numbers, and %s has %zu players",
                        count, s->name, players);
  }
  for (size_t i = 0; i < count; i++) {
    if (!(s->player_eta[i] > 0)) {
      return hvi_complain(HVI_EXIT_USAGE, "--player-eta takes numbers in (0,inf), not '%s'", text);
    }
  }
  s->settings.player_eta = s->player_eta;
  return HVI_EXIT_DONE;
}

typedef struct rule {
  const char *option, *other;
} rule;

/* Options that cannot stand together. */
static const rule conflicts[] = {
    {"eta", "player-eta"},
    {"factor", "line-search"},
};

static int check_conflicts(const hvi_setup *s, const hvi_args *args) {
  for (size_t i = 0; i < sizeof conflicts / sizeof conflicts[0]; i++) {
    if (hvi_args_given(args, conflicts[i].option) && hvi_args_given(args, conflicts[i].other)) {
      return hvi_complain(HVI_EXIT_USAGE, "--%s and --%s exclude each other", conflicts[i].option,
                          conflicts[i].other);
    }
  }
  if (hvi_args_given(args, "average") && s->settings.target != HVI_TARGET_AVERAGED) {
    return hvi_complain(HVI_EXIT_USAGE, "--average goes with --target averaged");
  }
  if (s->settings.max_outer == 0 && s->settings.tol == 0 && s->settings.max_f_evals == 0 &&
      s->settings.max_seconds == 0) {
    return hvi_complain(
        HVI_EXIT_USAGE,
        "nothing would stop this; set --iters, --tol, --max-evals or --max-seconds");
  }
  return HVI_EXIT_DONE;
}

int hvi_setup_method(hvi_setup *s, const hvi_args *args) {
  s->settings = hvi_settings_defaults();
  s->settings.seed = s->seed;
  if (!hvi_methods_apply(s->method, &s->settings)) return unknown_method(s->method);
  int code = apply_fields(s, args);
  if (code == HVI_EXIT_DONE) code = hvi_setup_eta(s);
  if (code == HVI_EXIT_DONE) code = check_conflicts(s, args);
  return code;
}

/* What only problems with samples, or with rules, understand. */
static int check_problem(const hvi_setup *s, const hvi_args *args) {
  const hvi_rule *const *known = s->problem->ops->rules;
  if (hvi_args_given(args, "redraw-every") && !s->problem->ops->draw) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "--redraw-every is for problems with draws, and %s has none", s->name);
  }
  if (s->settings.baseline != HVI_BASELINE_RULE) return HVI_EXIT_DONE;
  while (known && *known && *known != s->settings.rule) known++;
  if (known && *known) return HVI_EXIT_DONE;
  const char *fits;
  hvi_methods_rules(&fits);
  return hvi_complain(HVI_EXIT_USAGE, "method %s is for %s, not for %s", s->method, fits, s->name);
}

int hvi_setup_make(hvi_setup *s, const hvi_args *args) {
  s->name = args->operands[0];
  int code = hvi_setup_method(s, args);
  if (code == HVI_EXIT_DONE) code = hvi_setup_problem(s, args);
  if (code == HVI_EXIT_DONE) code = check_problem(s, args);
  if (code == HVI_EXIT_DONE) code = apply_player_eta(s);
  /* what suits a problem suits its surrogates; a rule steps along single samples */
  const bool rule_steps = s->settings.baseline == HVI_BASELINE_RULE;
  if (code == HVI_EXIT_DONE && !s->eta_text && s->problem->eta > 0 && !rule_steps)
    s->settings.eta = s->problem->eta;
  return code;
}

void hvi_setup_free(hvi_setup *s) {
  hvi_problem_free(s->problem);
  hvi_free(s->options);
  hvi_free(s->theta0);
  hvi_free(s->player_eta);
}

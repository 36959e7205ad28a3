#include "setup.h"

#include "base/memory.h"
#include "base/number.h"
#include "exit_codes.h"
#include "talk.h"

#include <hvi/mdp.h>

#include <stdio.h>
#include <string.h>

hvi_setup hvi_setup_new(void) {
  return (hvi_setup){.method = "gd", .seed = 1, .asked = hvi_settings_defaults()};
}

static void add_problem_options(hvi_setup *s, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "problem"},
      {"set", 0, HVI_ARG_TEXTS, &s->set, .value = "KEY=VALUE", .help = "an option of a built-in problem; repeatable"},
      {"seed", 0, HVI_ARG_SEED, &s->seed, .help = "of all random draws"},
      {"instance", 0, HVI_ARG_SEED, &s->instance, .value = "I", .help = "0: the fixed instance; 1, 2, ...: random ones"},
      {"theta0", 0, HVI_ARG_TEXT, &s->theta0_text, .value = "LIST|FILE", .help = "where to start: numbers, or a .npy file"},
      {0}});
  /* clang-format on */
}

static void add_method_options(hvi_setup *s, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "method"},
      {"method", 0, HVI_ARG_TEXT, &s->method, .value = "NAME", .help = "an optimizer, a preset or a baseline ('hvi list') [gd]"},
      {"player-eta", 0, HVI_ARG_TEXT, &s->player_eta_text, .value = "LIST", .help = "one step size for each player"},
      {0}});
  /* clang-format on */
}

void hvi_setup_options(hvi_setup *s, hvi_args *args) {
  add_problem_options(s, args);
  add_method_options(s, args);
  /* the seed is the problem's too, and rules of networks are for `hvi evaluate` */
  hvi_args_settings(args, hvi_settings_table(), &s->asked, "seed adam copy_every");
}

static int unknown_method(const char *name) {
  const char *names[64];
  char hint[HVI_HINT_SIZE];
  size_t n = 0;
  for (const hvi_method *m = hvi_method_list(); m->name; m++) names[n++] = m->name;
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++) names[n++] = (*r)->name;
  names[n] = NULL;
  return hvi_complain(HVI_EXIT_USAGE, "unknown method '%s'%s", name,
                      hvi_did_you_mean(hint, name, names, "'hvi list' shows them"));
}

/* A preset is a name for an optimizer with some settings; it is neither the optimizer nor a
 * baseline. */
static bool is_preset(const char *method, const hvi_settings *s) {
  return s->baseline == HVI_BASELINE_NONE && strcmp(method, s->optimizer->name) != 0;
}

/* Whether the method sets this field whatever it was before: to the same from two starts. */
static bool fixes(const char *method, const hvi_setting *row, const hvi_settings *asked) {
  hvi_settings a = hvi_settings_defaults(), b = a;
  hvi_setting_copy(row, &b, asked);
  hvi_method_apply(&a, method, NULL);
  hvi_method_apply(&b, method, NULL);
  return hvi_setting_equal(row, &a, &b);
}

static int check_setting(const hvi_setup *s, const hvi_setting *row, const char *option) {
  char text[64];
  if (!hvi_setting_used(row, hvi_method_family(&s->settings))) {
    return hvi_complain(HVI_EXIT_USAGE, "method %s does not use --%s; it is for %s", s->method,
                        option, row->used_by);
  }
  const bool same = hvi_setting_equal(row, &s->asked, &s->settings);
  if (same || !is_preset(s->method, &s->settings) || !fixes(s->method, row, &s->asked))
    return HVI_EXIT_DONE;
  return hvi_complain(HVI_EXIT_USAGE, "method %s fixes --%s at %s; --method %s leaves it open",
                      s->method, option, hvi_setting_format(row, &s->settings, text, sizeof text),
                      s->settings.optimizer->name);
}

int hvi_setup_apply(hvi_setup *s, const hvi_args *args) {
  for (size_t i = 0; i < args->count; i++) {
    const hvi_arg *arg = &args->rows[i];
    char option[64];
    if (!arg->given || !arg->setting || arg->to != &s->asked) continue;
    snprintf(option, sizeof option, "%s", arg->name);
    for (char *c = option; *c; c++) *c = *c == '_' ? '-' : *c;
    const int code = check_setting(s, arg->setting, option);
    if (code != HVI_EXIT_DONE) return code;
    hvi_setting_copy(arg->setting, &s->settings, &s->asked);
  }
  return HVI_EXIT_DONE;
}

static int apply_player_eta(hvi_setup *s) {
  const char *text = s->player_eta_text;
  size_t count, players = s->problem->model->block_count;
  if (!text) return HVI_EXIT_DONE;
  s->player_eta = hvi_parse_reals(&count, text); /* the solver checks them */
  if (!s->player_eta) {
    return hvi_complain(HVI_EXIT_USAGE, "--player-eta: must be numbers such as 0.1,0.2, not '%s'",
                        text);
  }
  if (count != players) {
    return hvi_complain(HVI_EXIT_INPUT, "--player-eta has %zu numbers, and %s has %zu players",
                        count, s->name, players);
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
  if (!hvi_method_apply(&s->settings, s->method, hvi_trajectory_rules()))
    return unknown_method(s->method);
  int code = hvi_setup_apply(s, args);
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
  return hvi_complain(HVI_EXIT_USAGE, "method %s is for chain --set data=trajectory, not for %s",
                      s->method, s->name);
}

int hvi_setup_make(hvi_setup *s, const hvi_args *args) {
  s->name = args->operands[0];
  int code = hvi_setup_method(s, args);
  if (code == HVI_EXIT_DONE) code = hvi_setup_problem(s, args);
  if (code == HVI_EXIT_DONE) code = check_problem(s, args);
  if (code == HVI_EXIT_DONE) code = apply_player_eta(s);
  /* what suits a problem suits its surrogates; a rule steps along single samples */
  const bool rule_steps = s->settings.baseline == HVI_BASELINE_RULE;
  if (code == HVI_EXIT_DONE && !hvi_args_given(args, "eta") && s->problem->eta > 0 && !rule_steps)
    s->settings.eta = s->problem->eta;
  return code;
}

void hvi_setup_free(hvi_setup *s) {
  hvi_problem_free(s->problem);
  hvi_free(s->options);
  hvi_free(s->theta0);
  hvi_free(s->player_eta);
}

bool hvi_setup_shows(const hvi_setup *s, const hvi_setting *row) {
  return row->kind != HVI_SETTING_SECTION && strcmp(row->name, "eta") != 0 &&
         row->kind != HVI_SETTING_SEED && hvi_setting_used(row, hvi_method_family(&s->settings));
}

void hvi_setting_json(hvi_json *j, const hvi_setting *row, const void *settings) {
  const char *at = (const char *)settings + row->offset;
  char text[1024];
  hvi_setting_format(row, settings, text, sizeof text);
  if (strcmp(text, "none") == 0 && row->kind != HVI_SETTING_CHOICE)
    hvi_json_text(j, row->name, NULL);
  else if (row->kind == HVI_SETTING_FLAG)
    hvi_json_bool(j, row->name, *(const bool *)at);
  else if (row->kind == HVI_SETTING_REAL)
    hvi_json_number(j, row->name, *(const double *)(const void *)at);
  else if (row->kind == HVI_SETTING_COUNT)
    hvi_json_count(j, row->name, *(const size_t *)(const void *)at);
  else
    hvi_json_text(j, row->name, text);
}

/* What was asked for; else the default, unless the instance draws its own: then NULL. */
static const char *value_of(const hvi_setup *s, const hvi_setting *key) {
  const char *value = s->many || s->instance > 0 ? NULL : key->fallback;
  for (size_t i = 0; i < s->set.count; i++) {
    if (strcmp(s->options[i].key, key->name) == 0) value = s->options[i].value;
  }
  return value;
}

static void problem_json(hvi_json *j, const hvi_setup *s) {
  const hvi_builtin *b = hvi_builtin_list();
  while (b->name && strcmp(b->name, s->name) != 0) b++;
  if (!s->builtin || !b->name) return;
  if (!s->many) hvi_json_count(j, "instance", s->instance);
  hvi_json_open(j, "options", '{');
  for (const hvi_setting *key = b->options->rows; key->name; key++) {
    const char *value = value_of(s, key);
    double number;
    if (!value) continue;
    if (hvi_parse_real(&number, value))
      hvi_json_number(j, key->name, number);
    else
      hvi_json_text(j, key->name, value);
  }
  hvi_json_close(j, '}');
}

void hvi_setup_json(hvi_json *j, const hvi_setup *s, double eta_in_force) {
  static const char *const rules[] = {"fixed", "theorem", "best"};
  const hvi_model *m = s->problem->model;
  hvi_json_text(j, "method", s->method);
  hvi_json_text(j, "optimizer",
                s->settings.baseline == HVI_BASELINE_NONE ? s->settings.optimizer->name : NULL);
  hvi_json_number(j, "eta", eta_in_force);
  hvi_json_text(j, "step_rule", rules[s->settings.step_rule]);
  hvi_json_numbers(j, "player_eta", s->player_eta, m->block_count);
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++)
    if (hvi_setup_shows(s, row)) hvi_setting_json(j, row, &s->settings);
  hvi_json_count(j, "seed", s->seed);
  problem_json(j, s);
  if (s->many) return;
  hvi_json_numbers(j, "theta0", s->theta0 ? s->theta0 : s->problem->theta0, m->dim);
}

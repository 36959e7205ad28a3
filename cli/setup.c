/* Method and problem of a command: from options to settings, and back to JSON. */
#include "setup.h"

#include "base/base.h"
#include "commands.h"
#include "io/npy.h"
#include "model/stack.h"
#include "problems/options.h"

#include <hvi/mdp.h>

hvi_setup hvi_setup_new(void) {
  return (hvi_setup){.method = "auto", .seed = 1, .asked = hvi_settings_defaults()};
}

void hvi_setup_problem_options(hvi_setup *s, hvi_args *args) {
  hvi_args_add(args,
      {.name = "problem"},
      {"set", 0, HVI_SETTING_TEXT, &s->set, .repeats = true, .value = "KEY=VALUE", .help = "an option of the problem ('hvi list PROBLEM'); repeatable"},
      {"seed", 0, HVI_SETTING_SEED, &s->seed, .help = "of all random draws"},
      {"instance", 0, HVI_SETTING_SEED, &s->instance, .value = "I", .help = "0: the fixed instance; 1, 2, ...: random ones"},
      {"theta0", 0, HVI_SETTING_TEXT, &s->theta0_text, .value = "LIST|FILE", .help = "where to start: numbers, or a .npy file"});
  hvi_args_settings(args, &hvi_precision_table, &s->precision, NULL);
}

void hvi_setup_options(hvi_setup *s, hvi_args *args) {
  hvi_setup_problem_options(s, args);
  hvi_args_add(args,
      {.name = "method"},
      {"method", 0, HVI_SETTING_TEXT, &s->method, .value = "METHOD", .help = "an optimizer, a preset or a baseline ('hvi list') [auto]"});
  /* the seed is the problem's too, and rules of networks are for `hvi evaluate` */
  hvi_args_settings(args, hvi_settings_table(), &s->asked, "seed adam copy_every");
}

int hvi_setup_apply(hvi_setup *s, const hvi_args *args) {
  for (size_t i = 0; i < args->count; i++) {
    const hvi_arg *arg = &args->rows[i];
    if (!arg->given || arg->to != &s->asked) continue;
    if (hvi_settings_take(&s->settings, &s->asked, &arg->setting, s->method, arg->option,
                          &hvi_fault))
      return hvi_misuse("%s", hvi_fault.text);
  }
  return HVI_EXIT_DONE;
}

/* Options that cannot stand together, and those that go with others. */
static int check_conflicts(const hvi_setup *s, const hvi_args *args) {
  const hvi_settings *o = &s->settings;
  const bool adapts = o->step_rule == HVI_STEP_ADAPTIVE || o->automatic;
  const bool lstd = o->accelerate == HVI_ACCELERATE_LSTD;
  const struct {
    const char *option;
    bool used;
    const char *with;
  } list[] = {{"average", o->target == HVI_TARGET_AVERAGED, "--target averaged"},
              {"restarts", adapts, "--eta adaptive"},
              {"tol-relative", o->tol > 0.0 || o->automatic, "--tol"},
              {"lstd-lambda", lstd, "--accelerate lstd"},
              {"lstd-rows", lstd, "--accelerate lstd"},
              {"lstd-rare", lstd, "--accelerate lstd"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (!list[i].used && hvi_args_given(args, list[i].option))
      return hvi_misuse("--%s goes with %s", list[i].option, list[i].with);
  if (hvi_args_given(args, "factor") && hvi_args_given(args, "line-search"))
    return hvi_misuse("--factor and --line-search exclude each other");
  if (s->settings.max_outer == 0 && s->settings.tol == 0 && s->settings.max_f_evals == 0 &&
      s->settings.max_seconds == 0)
    return hvi_misuse("nothing would stop this; set --iters, --tol, --max-evals or --max-seconds");
  return HVI_EXIT_DONE;
}

int hvi_setup_method(hvi_setup *s, const hvi_args *args) {
  s->settings = hvi_settings_defaults();
  s->settings.seed = s->seed;
  if (!hvi_method_apply(&s->settings, s->method, hvi_trajectory_rules()))
    return hvi_misuse("unknown method '%s'%s", s->method,
                      hvi_name_unknown("METHOD", s->method, "'hvi list' shows them"));
  HVI_STEP(hvi_setup_apply(s, args));
  return check_conflicts(s, args);
}

enum { KEY_SIZE = 64 }; /* the longest key of --set, and its end */

/* Cuts "key=value" in two. The keys are copies; the values stay where they are. */
static int cut_options(hvi_setup *s) {
  s->options = hvi_alloc(s->set.count + 1, sizeof *s->options + KEY_SIZE);
  if (!s->options) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory");
  char *keys = (char *)(s->options + s->set.count + 1);
  for (size_t i = 0; i < s->set.count; i++, keys += KEY_SIZE) {
    const char *text = s->set.items[i], *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text >= KEY_SIZE)
      return hvi_misuse("--set takes KEY=VALUE, not '%s'", text);
    memcpy(keys, text, (size_t)(equals - text));
    s->options[i] = (hvi_option){keys, equals + 1};
  }
  return HVI_EXIT_DONE;
}

static int make_problem(hvi_setup *s, const hvi_args *args) {
  s->kind = hvi_builtin_find(s->name);
  if (!s->kind && hvi_names_code(s->name)) HVI_STEP(hvi_code_find(&s->kind, s->name));
  const bool file = !s->kind && (strchr(s->name, '/') || hvi_ends_in(s->name, ".yaml") ||
                                 hvi_ends_in(s->name, ".yml") || access(s->name, F_OK) == 0);
  if (file && (s->set.count > 0 || hvi_args_given(args, "instance")))
    return hvi_misuse("--set and --instance are for built-in problems and code, and '%s' is a file",
                      s->name);
  HVI_CALL(file      ? hvi_problem_load(&s->problem, s->name, s->seed, 0, &hvi_fault)
           : s->kind ? hvi_builtin_make(&s->problem, s->kind, s->options, s->set.count, s->seed,
                                        s->instance, &hvi_fault)
                     : hvi_builtin_new(&s->problem, s->name, NULL, 0, 0, 0, &hvi_fault));
  return HVI_EXIT_DONE;
}

static int read_theta0(hvi_setup *s) {
  const char *text = s->theta0_text;
  const size_t dim = s->problem->model->dim;
  hvi_array array = {0};
  if (!text) return HVI_EXIT_DONE;
  s->theta0 = hvi_parse_reals(&array.size, text);
  if (!s->theta0) {
    if (!hvi_ends_in(text, ".npy") && access(text, F_OK) != 0)
      return hvi_misuse("--theta0 '%s' is neither numbers such as 1.25,2.25 nor a .npy file", text);
    HVI_CALL(hvi_npy_read(&array, text, 0, &hvi_fault));
    s->theta0 = array.data;
  }
  s->settings.theta0 = s->theta0;
  if (array.size != dim)
    return hvi_bad_input("--theta0 '%s' has %zu numbers, and %s has %zu parameters", text,
                         array.size, s->name, dim);
  for (size_t i = 0; i < dim; i++)
    if (!isfinite(s->theta0[i]))
      return hvi_bad_input("--theta0 '%s': number %zu of %zu is not finite", text, i + 1, dim);
  return HVI_EXIT_DONE;
}

static int apply_precision(const hvi_setup *s, const hvi_args *args) {
  size_t networks = 0;
  if (!hvi_args_given(args, "precision")) return HVI_EXIT_DONE;
  HVI_CALL(hvi_model_set_precision(s->problem->model, s->precision, &networks, &hvi_fault));
  if (networks > 0 || s->precision == HVI_PRECISION_DOUBLE) return HVI_EXIT_DONE;
  return hvi_misuse("--precision single is for players with fixed inputs, and %s has none",
                    s->name);
}

/* What only problems with samples, or with rules, understand. */
static int check_problem(const hvi_setup *s, const hvi_args *args) {
  const hvi_rule *const *known = s->problem->ops->rules;
  if (hvi_args_given(args, "redraw-every") && !s->problem->ops->draw)
    return hvi_misuse("--redraw-every is for problems with draws, and %s has none", s->name);
  if (s->settings.baseline != HVI_BASELINE_RULE) return HVI_EXIT_DONE;
  while (known && *known && *known != s->settings.rule) known++;
  if (known && *known) return HVI_EXIT_DONE;
  return hvi_bad_input("method %s is for chain --set data=trajectory, not for %s", s->method,
                       s->name);
}

int hvi_setup_make(hvi_setup *s, const hvi_args *args) {
  s->name = args->operands[0];
  HVI_STEP(hvi_setup_method(s, args));
  HVI_STEP(cut_options(s));
  HVI_STEP(make_problem(s, args));
  HVI_STEP(apply_precision(s, args));
  HVI_STEP(read_theta0(s));
  HVI_STEP(check_problem(s, args));
  /* what suits a problem suits its surrogates; a rule steps along single samples */
  const bool rule_steps = s->settings.baseline == HVI_BASELINE_RULE;
  if (!s->settings.automatic && !hvi_args_given(args, "eta") && s->problem->eta > 0 && !rule_steps)
    s->settings.eta = s->problem->eta;
  if (s->many) hvi_settings_give(&s->settings, "iters"); /* an ensemble's rows are as many */
  hvi_settings_choose(&s->settings, s->problem);
  /* once more, since an optimizer is chosen now */
  return s->settings.automatic ? hvi_setup_apply(s, args) : HVI_EXIT_DONE;
}

void hvi_setup_free(hvi_setup *s) {
  hvi_problem_free(s->problem);
  hvi_free(s->options);
  hvi_free(s->theta0);
}

bool hvi_setup_shows(const hvi_setup *s, const hvi_setting *row) {
  return row->kind != HVI_SETTING_SECTION && strcmp(row->name, "eta") != 0 &&
         row->kind != HVI_SETTING_SEED && hvi_setting_used(row, hvi_method_family(&s->settings));
}

void hvi_setting_json(const hvi_setting *row, const void *settings) {
  const void *at = (const char *)settings + row->offset;
  char text[1024];
  hvi_setting_format(row, settings, text, sizeof text);
  if (strcmp(text, "none") == 0 && row->kind != HVI_SETTING_CHOICE)
    hvi_json_put(V(row->name, (char *)NULL));
  else if (row->kind == HVI_SETTING_FLAG)
    hvi_json_put(V(row->name, *(const bool *)at));
  else if (row->kind == HVI_SETTING_REAL)
    hvi_json_put(V(row->name, *(const double *)at));
  else if (row->kind == HVI_SETTING_COUNT)
    hvi_json_put(V(row->name, *(const size_t *)at));
  else
    hvi_json_put(V(row->name, text));
}

/* What was asked for; else the default, unless the instance draws its own. */
static void problem_json(const hvi_setup *s) {
  if (!s->kind) return;
  if (!s->many) hvi_json_put(V("instance", s->instance));
  hvi_json_open("options", '{');
  for (const hvi_setting *key = hvi_builtin_table(s->kind).rows; key->name; key++) {
    const char *value = s->many || s->instance > 0 ? NULL : key->fallback;
    double number;
    for (size_t i = 0; i < s->set.count; i++)
      if (strcmp(s->options[i].key, key->name) == 0) value = s->options[i].value;
    if (value && hvi_parse_real(&number, value))
      hvi_json_put(V(key->name, number));
    else if (value)
      hvi_json_put(V(key->name, value));
  }
  hvi_json_close();
}

void hvi_setup_json(const hvi_setup *s, double eta_in_force) {
  static const char *const rules[] = {"fixed", "theorem", "best", "adaptive"};
  const hvi_settings *o = &s->settings;
  const hvi_model *m = s->problem->model;
  hvi_json_put(V("method", s->method), V("optimizer", o->baseline ? NULL : o->optimizer->name),
               V("eta", eta_in_force), V("step_rule", rules[o->step_rule]));
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++)
    if (hvi_setup_shows(s, row)) hvi_setting_json(row, o);
  hvi_json_put(V("seed", s->seed), V("precision", m->noise > 0.0 ? "single" : "double"));
  problem_json(s);
  if (!s->many)
    hvi_json_put(hvi_value_numbers("theta0", s->theta0 ? s->theta0 : s->problem->theta0, m->dim));
}

/* Method and problem of a command: from options to settings, and back to JSON. */
#include "setup.h"

#include "base/base.h"
#include "base/number.h"
#include "io/npy.h"
#include "talk.h"

#include <hvi/mdp.h>

#include <unistd.h>

hvi_setup hvi_setup_new(void) {
  return (hvi_setup){.method = "gd", .seed = 1, .asked = hvi_settings_defaults()};
}

void hvi_setup_options(hvi_setup *s, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "problem"},
      {"set", 0, HVI_ARG_TEXTS, &s->set, .value = "KEY=VALUE", .help = "an option of a built-in problem; repeatable"},
      {"seed", 0, HVI_ARG_SEED, &s->seed, .help = "of all random draws"},
      {"instance", 0, HVI_ARG_SEED, &s->instance, .value = "I", .help = "0: the fixed instance; 1, 2, ...: random ones"},
      {"theta0", 0, HVI_ARG_TEXT, &s->theta0_text, .value = "LIST|FILE", .help = "where to start: numbers, or a .npy file"},
      {.name = "method"},
      {"method", 0, HVI_ARG_TEXT, &s->method, .value = "NAME", .help = "an optimizer, a preset or a baseline ('hvi list') [gd]"},
      {"player-eta", 0, HVI_ARG_TEXT, &s->player_eta_text, .value = "LIST", .help = "one step size for each player"},
      {0}});
  /* clang-format on */
  /* the seed is the problem's too, and rules of networks are for `hvi evaluate` */
  hvi_args_settings(args, hvi_settings_table(), &s->asked, "seed adam copy_every");
}

void hvi_method_names(const char *names[HVI_MOST_NAMES], size_t n) {
  for (const hvi_method *m = hvi_method_list(); m->name; m++) names[n++] = m->name;
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++) names[n++] = (*r)->name;
  names[n] = NULL;
}

static int unknown_method(const char *name) {
  const char *names[HVI_MOST_NAMES];
  char hint[HVI_HINT_SIZE];
  hvi_method_names(names, 0);
  return hvi_misuse("unknown method '%s'%s", name,
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
  if (!hvi_setting_used(row, hvi_method_family(&s->settings)))
    return hvi_misuse("method %s does not use %s; it is for %s", s->method, option, row->used_by);
  const bool same = hvi_setting_equal(row, &s->asked, &s->settings);
  if (same || !is_preset(s->method, &s->settings) || !fixes(s->method, row, &s->asked))
    return HVI_EXIT_DONE;
  return hvi_misuse("method %s fixes %s at %s; --method %s leaves it open", s->method, option,
                    hvi_setting_format(row, &s->settings, text, sizeof text),
                    s->settings.optimizer->name);
}

int hvi_setup_apply(hvi_setup *s, const hvi_args *args) {
  for (size_t i = 0; i < args->count; i++) {
    const hvi_arg *arg = &args->rows[i];
    char option[HVI_OPTION_SIZE];
    if (!arg->given || !arg->setting || arg->to != &s->asked) continue;
    const int code = check_setting(s, arg->setting, hvi_args_name(arg, option));
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
  if (!s->player_eta)
    return hvi_misuse("--player-eta: must be numbers such as 0.1,0.2, not '%s'", text);
  if (count != players) {
    return hvi_complain(HVI_EXIT_INPUT, "--player-eta has %zu numbers, and %s has %zu players",
                        count, s->name, players);
  }
  s->settings.player_eta = s->player_eta;
  return HVI_EXIT_DONE;
}

/* Options that cannot stand together. */
static int check_conflicts(const hvi_setup *s, const hvi_args *args) {
  static const char *const pairs[][2] = {{"eta", "player-eta"}, {"factor", "line-search"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (hvi_args_given(args, pairs[i][0]) && hvi_args_given(args, pairs[i][1]))
      return hvi_misuse("--%s and --%s exclude each other", pairs[i][0], pairs[i][1]);
  if (hvi_args_given(args, "average") && s->settings.target != HVI_TARGET_AVERAGED)
    return hvi_misuse("--average goes with --target averaged");
  if (s->settings.max_outer == 0 && s->settings.tol == 0 && s->settings.max_f_evals == 0 &&
      s->settings.max_seconds == 0)
    return hvi_misuse("nothing would stop this; set --iters, --tol, --max-evals or --max-seconds");
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

static const hvi_builtin *find_builtin(const char *name) {
  const hvi_builtin *b = hvi_builtin_list();
  while (b->name && strcmp(b->name, name) != 0) b++;
  return b->name ? b : NULL;
}

static bool ends_in(const char *text, const char *ending) {
  size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
}

static bool names_file(const char *name) {
  return strchr(name, '/') || ends_in(name, ".yaml") || ends_in(name, ".yml") ||
         access(name, F_OK) == 0;
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

hvi_status hvi_setup_instance(const hvi_setup *s, uint64_t instance, hvi_problem **problem,
                              hvi_error *err) {
  return hvi_builtin_new(problem, s->name, s->options, s->set.count, s->seed, instance, err);
}

static int make_problem(hvi_setup *s, const hvi_args *args) {
  hvi_error err = {.status = HVI_OK};
  hvi_status status;
  s->builtin = find_builtin(s->name) || !names_file(s->name);
  if (!s->builtin && (s->set.count > 0 || hvi_args_given(args, "instance"))) {
    return hvi_misuse("--set and --instance are for built-in problems, and '%s' "
                      "is a file",
                      s->name);
  }
  if (s->builtin)
    status = hvi_setup_instance(s, s->instance, &s->problem, &err);
  else
    status = hvi_problem_load(&s->problem, s->name, s->seed, 0, &err);
  return status == HVI_OK ? HVI_EXIT_DONE : hvi_complain_error(&err);
}

static int check_theta0(const hvi_setup *s, const double *theta0, size_t count) {
  size_t dim = s->problem->model->dim;
  if (count != dim) {
    return hvi_complain(HVI_EXIT_INPUT, "--theta0 '%s' has %zu numbers, and %s has %zu parameters",
                        s->theta0_text, count, s->name, dim);
  }
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(theta0[i])) {
      return hvi_complain(HVI_EXIT_INPUT, "--theta0 '%s': number %zu of %zu is not finite",
                          s->theta0_text, i + 1, count);
    }
  }
  return HVI_EXIT_DONE;
}

static int read_theta0(hvi_setup *s) {
  hvi_array array;
  hvi_error err;
  size_t count;
  if (!s->theta0_text) return HVI_EXIT_DONE;
  s->theta0 = hvi_parse_reals(&count, s->theta0_text);
  if (!s->theta0) {
    if (!ends_in(s->theta0_text, ".npy") && access(s->theta0_text, F_OK) != 0) {
      return hvi_misuse("--theta0 '%s' is neither numbers such as 1.25,2.25 nor a .npy file",
                        s->theta0_text);
    }
    if (hvi_npy_read(&array, s->theta0_text, 0, &err) != HVI_OK) return hvi_complain_error(&err);
    s->theta0 = array.data;
    count = array.size;
  }
  s->settings.theta0 = s->theta0;
  return check_theta0(s, s->theta0, count);
}

static int set_problem(hvi_setup *s, const hvi_args *args) {
  int code = cut_options(s);
  if (code == HVI_EXIT_DONE) code = make_problem(s, args);
  if (code == HVI_EXIT_DONE) code = read_theta0(s);
  return code;
}

/* What only problems with samples, or with rules, understand. */
static int check_problem(const hvi_setup *s, const hvi_args *args) {
  const hvi_rule *const *known = s->problem->ops->rules;
  if (hvi_args_given(args, "redraw-every") && !s->problem->ops->draw)
    return hvi_misuse("--redraw-every is for problems with draws, and %s has none", s->name);
  if (s->settings.baseline != HVI_BASELINE_RULE) return HVI_EXIT_DONE;
  while (known && *known && *known != s->settings.rule) known++;
  if (known && *known) return HVI_EXIT_DONE;
  return hvi_misuse("method %s is for chain --set data=trajectory, not for %s", s->method, s->name);
}

int hvi_setup_make(hvi_setup *s, const hvi_args *args) {
  s->name = args->operands[0];
  int code = hvi_setup_method(s, args);
  if (code == HVI_EXIT_DONE) code = set_problem(s, args);
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
  for (size_t i = 0; i < s->set.count; i++)
    if (strcmp(s->options[i].key, key->name) == 0) value = s->options[i].value;
  return value;
}

static void problem_json(hvi_json *j, const hvi_setup *s) {
  const hvi_builtin *b = s->builtin ? find_builtin(s->name) : NULL;
  if (!b) return;
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

/* hvi list: what is built in. */
#include "base/base.h"
#include "commands.h"
#include "setup.h"
#include "study/study.h"
#include "talk.h"

#include <hvi/builtin.h>
#include <hvi/mdp.h>
#include <hvi/optimizer.h>
#include <hvi/solver.h>

/* The problem that has rules of its own. */
static const char rules_problem[] = "chain --set data=trajectory";

/* Begins a list: a title, or an array after the one before. j is NULL for text here and below. */
static void section(hvi_json *j, const char *name, const char *title) {
  if (!j) {
    puts(title);
    return;
  }
  if (j->depth > 1) hvi_json_close(j, ']');
  hvi_json_open(j, name, '[');
}

static void entry(hvi_json *j, const char *name, const char *text) {
  if (j)
    hvi_json_object(j, NULL, V("name", name), V("summary", text));
  else
    printf("  %-19s %s\n", name, text);
}

static void list_experiments(hvi_json *j) {
  for (const char *const *id = hvi_study_ids(); *id; id++) {
    hvi_study *e = NULL;
    hvi_study_new(&e, *id, NULL);
    entry(j, *id, e ? e->title : "");
    hvi_study_free(e);
  }
}

static void list_all(hvi_json *j) {
  section(j, "problems", "problems (hvi list NAME shows the keys of one):");
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) entry(j, b->name, b->summary);
  section(j, "methods", "\nmethods (hvi list NAME shows the options of one):");
  for (const hvi_method *m = hvi_method_list(); m->name; m++) entry(j, m->name, m->summary);
  if (!j) printf("\nmethods of %s:\n", rules_problem);
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++)
    entry(j, (*r)->name, (*r)->summary);
  section(j, "optimizers", "\ninner optimizers:");
  for (const hvi_optimizer *const *o = hvi_optimizer_list(); *o; o++)
    entry(j, (*o)->name, (*o)->summary);
  section(j, "experiments", "\nexperiments (hvi reproduce ID):");
  list_experiments(j);
  section(j, "kinds", "\nkinds of experiment (kind: in a file of one's own):");
  for (const hvi_kind *const *k = hvi_kinds; *k; k++) entry(j, (*k)->name, (*k)->summary);
}

/* "whole in [1,50]", or the choices. */
static void key_range(const hvi_setting *key, char *text, size_t size) {
  const char *what = key->kind == HVI_SETTING_TEXT    ? "text"
                     : key->kind == HVI_SETTING_COUNT ? "whole"
                     : key->kind == HVI_SETTING_REAL  ? "real"
                                                      : "";
  const char *in = key->range ? " in " : "", * or = *what && key->choices ? " or " : "";
  snprintf(text, size, "%s%s%s%s%s", what, in, key->range ? key->range : "", or,
           key->choices ? key->choices : "");
}

static void keys_text(const hvi_builtin *b) {
  const hvi_setting *keys = b->options->rows;
  char range[128];
  size_t widest = strlen("values");
  if (!keys->name) {
    puts("It has no keys.");
    return;
  }
  for (const hvi_setting *key = keys; key->name; key++) {
    key_range(key, range, sizeof range);
    if (strlen(range) > widest) widest = strlen(range);
  }
  printf("  %-14s %-12s %-*s  %s\n", "key", "default", (int)widest, "values", "meaning");
  for (const hvi_setting *key = keys; key->name; key++) {
    key_range(key, range, sizeof range);
    printf("  %-14s %-12s %-*s  %s\n", key->name, key->fallback, (int)widest, range, key->help);
  }
  printf("\nhvi solve %s --set %s=%s\n", b->name, keys->name, keys->fallback);
}

static void keys_json(hvi_json *j, const hvi_builtin *b) {
  hvi_json_open(j, "keys", '[');
  for (const hvi_setting *key = b->options->rows; key->name; key++)
    hvi_json_object(j, NULL, V("name", key->name), V("default", key->fallback),
                    V("choices", key->choices), V("range", key->range),
                    V("integer", (bool)(key->kind == HVI_SETTING_COUNT)), V("help", key->help));
  hvi_json_close(j, ']');
}

static void method_options(hvi_json *j, const char *method) {
  hvi_settings s = hvi_settings_defaults();
  char text[64];
  if (j)
    hvi_json_open(j, "options", '{');
  else
    printf("  %-20s %-12s %s\n", "option", "default", "meaning");
  hvi_method_apply(&s, method, hvi_trajectory_rules());
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++) {
    if (!row->used_by || !hvi_setting_used(row, hvi_method_family(&s))) continue;
    hvi_setting_format(row, &s, text, sizeof text);
    if (j)
      hvi_json_text(j, row->name, text);
    else
      hvi_args_line(row, text);
  }
  if (j)
    hvi_json_close(j, '}');
  else
    printf("\nhvi solve %s --method %s\n", hvi_method_find(method) ? "pennies" : rules_problem,
           method);
}

/* One line about a method or a rule, or NULL. */
static const char *summary_of(const char *name) {
  const hvi_method *m = hvi_method_find(name);
  if (m) return m->summary;
  const hvi_rule *const *r = hvi_trajectory_rules();
  while (*r && strcmp((*r)->name, name) != 0) r++;
  return *r ? (*r)->summary : NULL;
}

static int unknown_name(const char *name) {
  const char *names[HVI_MOST_NAMES];
  char hint[HVI_HINT_SIZE];
  size_t n = 0;
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) names[n++] = b->name;
  hvi_method_names(names, n);
  return hvi_complain(HVI_EXIT_INPUT, "there is no problem or method '%s'%s", name,
                      hvi_did_you_mean(hint, name, names, "'hvi list' shows all"));
}

static int list_one(hvi_json *j, const char *name) {
  const hvi_builtin *b = hvi_builtin_list();
  while (b->name && strcmp(b->name, name) != 0) b++;
  const char *about = b->name ? b->summary : summary_of(name);
  if (!about) return unknown_name(name);
  if (j) {
    *j = hvi_json_begin();
    hvi_json_put(j, V("kind", b->name ? "problem" : "method"), V("name", name),
                 V("summary", about));
  } else {
    printf("%s: %s\n\n", name, about);
  }
  if (!b->name)
    method_options(j, name);
  else if (j)
    keys_json(j, b);
  else
    keys_text(b);
  if (j) hvi_json_close(j, '}');
  return HVI_EXIT_DONE;
}

int hvi_cli_list(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {argv[0], "[NAME] [OPTION]...",
                   "Lists the problems, methods, optimizers, experiments and kinds of experiment "
                   "that are built in;\nwith NAME, the keys of a problem (for --set) or the "
                   "options of a method.",
                   "  hvi list\n  hvi list pennies\n  hvi list lm --json", .max = 1};
  hvi_args_json(&args, &json);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  hvi_json j;
  if (args.operand_count == 1) return list_one(json ? &j : NULL, args.operands[0]);
  if (json) j = hvi_json_begin();
  list_all(json ? &j : NULL);
  if (json) {
    hvi_json_close(&j, ']');
    hvi_json_close(&j, '}');
  }
  return HVI_EXIT_DONE;
}

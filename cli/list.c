/* hvi list: what is built in. */
#include "commands.h"
#include "exit_codes.h"
#include "json.h"
#include "study/study.h"
#include "talk.h"

#include <hvi/builtin.h>
#include <hvi/mdp.h>
#include <hvi/optimizer.h>
#include <hvi/solver.h>

#include <stdio.h>
#include <string.h>

static const char summary[] = "Lists the problems, methods, optimizers and experiments that are "
                              "built in; with NAME, the keys of\na problem (for --set) or the "
                              "options of a method.";

static const char examples[] = "  hvi list\n"
                               "  hvi list pennies\n"
                               "  hvi list lm --json";

static void line(const char *name, const char *text) { printf("  %-20s%s\n", name, text); }

static const char *experiment_title(const hvi_study *e) { return e ? e->title : ""; }

static void list_experiments(hvi_json *j) {
  for (const char *const *id = hvi_study_ids(); *id; id++) {
    hvi_study *e = NULL;
    hvi_study_new(&e, *id, NULL);
    if (j) {
      hvi_json_open(j, NULL, '{');
      hvi_json_text(j, "name", *id);
      hvi_json_text(j, "summary", experiment_title(e));
      hvi_json_close(j, '}');
    } else {
      line(*id, experiment_title(e));
    }
    hvi_study_free(e);
  }
}

/* The problem that has rules of its own. */
static const char rules_problem[] = "chain --set data=trajectory";

static void print_all(void) {
  puts("problems (hvi list NAME shows the keys of one):");
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) line(b->name, b->summary);
  puts("\nmethods (hvi list NAME shows the options of one):");
  for (const hvi_method *m = hvi_method_list(); m->name; m++) line(m->name, m->summary);
  printf("\nmethods of %s:\n", rules_problem);
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++) line((*r)->name, (*r)->summary);
  puts("\ninner optimizers:");
  for (const hvi_optimizer *const *o = hvi_optimizer_list(); *o; o++)
    line((*o)->name, (*o)->summary);
  puts("\nexperiments (hvi reproduce ID):");
  list_experiments(NULL);
}

static void entry_json(hvi_json *j, const char *name, const char *text) {
  hvi_json_open(j, NULL, '{');
  hvi_json_text(j, "name", name);
  hvi_json_text(j, "summary", text);
  hvi_json_close(j, '}');
}

static void print_all_json(void) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_open(&j, "problems", '[');
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) entry_json(&j, b->name, b->summary);
  hvi_json_close(&j, ']');
  hvi_json_open(&j, "methods", '[');
  for (const hvi_method *m = hvi_method_list(); m->name; m++) entry_json(&j, m->name, m->summary);
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++)
    entry_json(&j, (*r)->name, (*r)->summary);
  hvi_json_close(&j, ']');
  hvi_json_open(&j, "optimizers", '[');
  for (const hvi_optimizer *const *o = hvi_optimizer_list(); *o; o++) {
    entry_json(&j, (*o)->name, (*o)->summary);
  }
  hvi_json_close(&j, ']');
  hvi_json_open(&j, "experiments", '[');
  list_experiments(&j);
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
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

static int widest_range(const hvi_builtin *b) {
  char range[128];
  size_t widest = strlen("values");
  for (const hvi_setting *key = b->options->rows; key->name; key++) {
    key_range(key, range, sizeof range);
    if (strlen(range) > widest) widest = strlen(range);
  }
  return (int)widest;
}

static void print_problem(const hvi_builtin *b) {
  char range[128];
  printf("%s: %s\n\n", b->name, b->summary);
  if (!b->options->rows->name) {
    puts("It has no keys.");
    return;
  }
  const int width = widest_range(b);
  printf("  %-14s %-12s %-*s  %s\n", "key", "default", width, "values", "meaning");
  for (const hvi_setting *key = b->options->rows; key->name; key++) {
    key_range(key, range, sizeof range);
    printf("  %-14s %-12s %-*s  %s\n", key->name, key->fallback, width, range, key->help);
  }
  printf("\nhvi solve %s --set %s=%s\n", b->name, b->options->rows->name,
         b->options->rows->fallback);
}

static void print_problem_json(const hvi_builtin *b) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "kind", "problem");
  hvi_json_text(&j, "name", b->name);
  hvi_json_text(&j, "summary", b->summary);
  hvi_json_open(&j, "keys", '[');
  for (const hvi_setting *key = b->options->rows; key->name; key++) {
    hvi_json_open(&j, NULL, '{');
    hvi_json_text(&j, "name", key->name);
    hvi_json_text(&j, "default", key->fallback);
    hvi_json_text(&j, "choices", key->choices);
    hvi_json_text(&j, "range", key->range);
    hvi_json_bool(&j, "integer", key->kind == HVI_SETTING_COUNT);
    hvi_json_text(&j, "help", key->help);
    hvi_json_close(&j, '}');
  }
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
}

static void method_options(const char *method, hvi_json *j) {
  hvi_settings s = hvi_settings_defaults();
  char text[64];
  hvi_method_apply(&s, method, hvi_trajectory_rules());
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++) {
    if (!row->used_by || !hvi_setting_used(row, hvi_method_family(&s))) continue;
    hvi_setting_format(row, &s, text, sizeof text);
    if (j)
      hvi_json_text(j, row->name, text);
    else
      hvi_args_line(row, text);
  }
}

/* One line about a method or a rule, or NULL. */
static const char *summary_of(const char *name) {
  const hvi_method *m = hvi_method_find(name);
  if (m) return m->summary;
  const hvi_rule *const *r = hvi_trajectory_rules();
  while (*r && strcmp((*r)->name, name) != 0) r++;
  return *r ? (*r)->summary : NULL;
}

static void print_method(const char *name) {
  const char *problem = hvi_method_find(name) ? "pennies" : rules_problem;
  printf("%s: %s\n\n  %-20s %-12s %s\n", name, summary_of(name), "option", "default", "meaning");
  method_options(name, NULL);
  printf("\nhvi solve %s --method %s\n", problem, name);
}

static void print_method_json(const char *name) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "kind", "method");
  hvi_json_text(&j, "name", name);
  hvi_json_text(&j, "summary", summary_of(name));
  hvi_json_open(&j, "options", '{');
  method_options(name, &j);
  hvi_json_close(&j, '}');
  hvi_json_close(&j, '}');
}

static int unknown_name(const char *name) {
  const char *names[96];
  char hint[HVI_HINT_SIZE];
  size_t n = 0;
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) names[n++] = b->name;
  for (const hvi_method *m = hvi_method_list(); m->name; m++) names[n++] = m->name;
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++) names[n++] = (*r)->name;
  names[n] = NULL;
  return hvi_complain(HVI_EXIT_INPUT, "there is no problem or method '%s'%s", name,
                      hvi_did_you_mean(hint, name, names, "'hvi list' shows all"));
}

static int print_one(const char *name, bool json) {
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) {
    if (strcmp(b->name, name) != 0) continue;
    if (json)
      print_problem_json(b);
    else
      print_problem(b);
    return HVI_EXIT_DONE;
  }
  if (!summary_of(name)) return unknown_name(name);
  if (json)
    print_method_json(name);
  else
    print_method(name);
  return HVI_EXIT_DONE;
}

int hvi_cli_list(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = argv[0],
                   .usage = "[NAME] [OPTION]...",
                   .summary = summary,
                   .examples = examples,
                   .max = 1};
  hvi_args_add(
      &args,
      (hvi_arg[]){{.name = "json", .kind = HVI_ARG_FLAG, .to = &json, .help = "as one JSON object"},
                  {0}});
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  if (args.operand_count == 1) return print_one(args.operands[0], json);
  if (json)
    print_all_json();
  else
    print_all();
  return HVI_EXIT_DONE;
}

/* hvi list: what is built in. */
#include "base/base.h"
#include "commands.h"
#include "problems/options.h"
#include "study/study.h"

#include <hvi/mdp.h>

static const char rules_problem[] = "chain --set data=trajectory";

static void problems(hvi_each *each) {
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) each(b->name, b->summary);
}

static void plain_methods(hvi_each *each) {
  for (const hvi_method *m = hvi_method_list(); m->name; m++) each(m->name, m->summary);
}

static void rules(hvi_each *each) {
  for (const hvi_rule *const *r = hvi_trajectory_rules(); *r; r++) each((*r)->name, (*r)->summary);
}

static void methods(hvi_each *each) {
  plain_methods(each);
  rules(each);
}

static void environments(hvi_each *each) {
  size_t count;
  const hvi_env_kind *kinds = hvi_env_list(&count);
  for (size_t i = 0; i < count; i++) each(kinds[i].name, kinds[i].summary);
}

static void experiments(hvi_each *each) {
  for (const char *const *id = hvi_study_ids(); *id; id++) {
    HVI_OWN_BY(hvi_study_release) hvi_study *e = NULL;
    hvi_study_open(&e, *id, NULL, &hvi_fault);
    each(*id, e ? e->title : "");
  }
}

static void commands(hvi_each *each) {
  for (const hvi_verb *c = hvi_commands; c->name; c++) each(c->name, c->summary);
}

const hvi_vocabulary hvi_vocabularies[] = {{"PROBLEM", problems}, {"METHOD", methods},
                                           {"ENV", environments}, {"ID", experiments},
                                           {"COMMAND", commands}, {0}};

static struct {
  const char *names[96], *word, *about;
  size_t count;
} known;

static void look_at(const char *name, const char *about) {
  if (known.count + 1 < sizeof known.names / sizeof *known.names) known.names[known.count++] = name;
  if (strcmp(name, known.word) == 0) known.about = about;
}

const char *hvi_name_unknown(const char *vocabularies, const char *word, const char *advice) {
  memset(&known, 0, sizeof known);
  known.word = word;
  for (const hvi_vocabulary *v = hvi_vocabularies; v->word; v++)
    if (hvi_words_have(vocabularies, v->word)) v->list(look_at);
  return known.about ? NULL : hvi_did_you_mean(word, known.names, advice);
}

/* Begins a list: a title, or an array after the one before. */
static void section(const char *name, const char *title) {
  static bool open;
  if (open) hvi_json_close();
  hvi_json_open(name, '[');
  open = true;
  if (!hvi_talk.json) puts(title);
}

static void entry(const char *name, const char *text) {
  hvi_json_object(NULL, V("name", name), V("summary", text));
  if (!hvi_talk.json) printf("  %-19s %s\n", name, text);
}

static int list_all(void) {
  hvi_json_begin();
  section("problems", "problems (hvi list NAME shows the keys of one):");
  problems(entry);
  section("methods", "\nmethods (hvi list NAME shows the options of one):");
  plain_methods(entry);
  if (!hvi_talk.json) printf("\nmethods of %s:\n", rules_problem);
  rules(entry);
  section("optimizers", "\ninner optimizers:");
  for (const hvi_optimizer *const *o = hvi_optimizer_list(); *o; o++)
    entry((*o)->name, (*o)->summary);
  section("experiments", "\nexperiments (hvi reproduce ID):");
  experiments(entry);
  section("kinds", "\nkinds of experiment (kind: in a file of one's own):");
  for (const hvi_kind *const *k = hvi_kinds; *k; k++) entry((*k)->name, (*k)->summary);
  hvi_json_end();
  return hvi_fault.status ? hvi_complain_fault() : HVI_EXIT_DONE;
}

/* "whole in [1,50]", or the choices. */
static const char *key_range(const hvi_setting *key) {
  const char *what = key->kind == HVI_SETTING_TEXT    ? "text"
                     : key->kind == HVI_SETTING_COUNT ? "whole"
                     : key->kind == HVI_SETTING_REAL  ? "real"
                                                      : "";
  const char *in = key->range ? " in " : "", * or = *what && key->choices ? " or " : "";
  return hvi_format("%s%s%s%s%s", what, in, key->range ? key->range : "", or,
                    key->choices ? key->choices : "");
}

static void show_keys(const char *problem, const hvi_setting *keys) {
  int widest = (int)strlen("values");
  for (const hvi_setting *key = keys; key->name; key++)
    if ((int)strlen(key_range(key)) > widest) widest = (int)strlen(key_range(key));
  hvi_json_open("keys", '[');
  for (const hvi_setting *key = keys; key->name; key++)
    hvi_table_row(CELL("key", -14, 0, 1, "name", key->name),
                  CELL("default", -12, 0, 1, "default", key->fallback),
                  CELL("values", -widest - 1, 0, 1, NULL, key_range(key)),
                  J("choices", key->choices), J("range", key->range),
                  J("integer", (bool)(key->kind == HVI_SETTING_COUNT)),
                  CELL("meaning", 0, 0, 1, "help", key->help));
  if (hvi_talk.json) return;
  if (keys->name)
    printf("\nhvi solve %s --set %s=%s\n", problem, keys->name,
           keys->fallback ? keys->fallback : "VALUE");
  else
    puts("It has no keys.");
}

static void method_options(const char *method) {
  hvi_settings s = hvi_settings_defaults();
  char text[64];
  hvi_json_open("options", '{');
  if (!hvi_talk.json) printf("  %-20s %-12s %s\n", "option", "default", "meaning");
  hvi_method_apply(&s, method, hvi_trajectory_rules());
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++) {
    if (!row->used_by || !hvi_setting_used(row, hvi_method_family(&s))) continue;
    hvi_setting_format(row, &s, text, sizeof text);
    hvi_json_put(V(row->name, text));
    if (!hvi_talk.json) hvi_args_line(row, text);
  }
  if (!hvi_talk.json)
    printf("\nhvi solve %s --method %s\n", hvi_method_find(method) ? "pennies" : rules_problem,
           method);
}

static int list_one(const char *name) {
  const hvi_builtin *b = hvi_builtin_find(name);
  if (!b && hvi_names_code(name)) HVI_STEP(hvi_code_find(&b, name));
  const char *nearest = b ? NULL : hvi_name_unknown("PROBLEM METHOD", name, "'hvi list' shows all");
  if (nearest) return hvi_bad_input("there is no problem or method '%s'%s", name, nearest);
  const char *about = b ? b->summary : known.about;
  hvi_json_begin();
  hvi_json_put(V("kind", b ? "problem" : "method"), V("name", name), V("summary", about));
  if (!hvi_talk.json) printf("%s: %s\n\n", name, about);
  if (b)
    show_keys(name, hvi_builtin_table(b).rows);
  else
    method_options(name);
  hvi_json_end();
  return HVI_EXIT_DONE;
}

int hvi_cli_list(int argc, char **argv) {
  hvi_args args = {argv[0], "[PROBLEM|METHOD] [OPTION]...", .max = 1, .also = "json"};
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  return args.operand_count == 1 ? list_one(args.operands[0]) : list_all();
}

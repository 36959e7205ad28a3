#include "parse.h"
#include "setup.h"
#include "tunables.h"

#include <stdio.h>
#include <string.h>

/* --inner-growth becomes inner_growth. */
static void member_name(const hvi_tunable *f, char *name, size_t size) {
  snprintf(name, size, "%s", f->name);
  for (char *c = name; *c; c++) {
    if (*c == '-') *c = '_';
  }
}

static void field_json(hvi_json *j, const hvi_tunable *f, const hvi_settings *s) {
  hvi_settings copy = *s;
  const void *at = hvi_tunable_in(f, &copy);
  char name[64], text[64];
  member_name(f, name, sizeof name);
  hvi_tunable_text(f, s, text, sizeof text);
  if (f->zero_is_none && strcmp(text, "none") == 0)
    hvi_json_text(j, name, NULL);
  else if (f->kind == HVI_ARG_FLAG)
    hvi_json_bool(j, name, *(const bool *)at);
  else if (f->kind == HVI_ARG_REAL)
    hvi_json_number(j, name, *(const double *)at);
  else if (f->kind == HVI_ARG_SIZE)
    hvi_json_count(j, name, *(const size_t *)at);
  else
    hvi_json_text(j, name, text);
}

/* What was asked for; else the default, unless the instance draws its own: then NULL. */
static const char *value_of(const hvi_setup *s, const hvi_key *key) {
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
  for (const hvi_key *key = b->keys; key && key->name; key++) {
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
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || !hvi_tunable_used(f, &s->settings)) continue;
    field_json(j, f, &s->settings);
  }
  hvi_json_count(j, "seed", s->seed);
  problem_json(j, s);
  if (s->many) return;
  hvi_json_numbers(j, "theta0", s->theta0 ? s->theta0 : s->problem->theta0, m->dim);
}

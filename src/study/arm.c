/* One arm of a study: a method, and the settings that differ from its defaults. */
#include "base/base.h"
#include "base/suggest.h"
#include "study/fields.h"
#include "study/study.h"

#include <ctype.h>

#define AT(member) .offset = offsetof(hvi_arm, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"label", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(label), .most = 160, .help = "in legends and names of files"},
    {"method", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(method), .most = 160, .help = "an optimizer, a preset, a baseline or a rule"},
    {"highlight", HVI_SETTING_FLAG, AT(highlight), .help = "its path, or its band, is drawn"},
    {"style", HVI_SETTING_COUNT, AT(style), .range = "[0,1000]", .help = "of its lines; its place in the list unless told otherwise"},
    {"rates", HVI_SETTING_REALS, HVI_SETTING_NOT_EMPTY | HVI_SETTING_DISTINCT, AT(rates), .second = offsetof(hvi_arm, rate_count),
     .most = HVI_MOST_RATES, .range = "(0,inf)", .help = "what its rate is tuned over"},
    {"normalise", HVI_SETTING_CHOICE, AT(normalise), .choices = "none|states|all", .help = "value: what is scaled as the first data suggest; the study's"},
    {"passes", HVI_SETTING_COUNT, AT(passes), .range = "[1,1e6]", .fallback = "1", .help = "value: outer steps that each batch serves"},
    {"times", HVI_SETTING_COUNT, AT(times), .range = "[1,1e6]", .fallback = "1", .help = "value: times the study's iterations, on fresh data"},
    {0},
};
/* clang-format on */
#undef AT

static const hvi_setting_table table = {"method", sizeof(hvi_arm), rows};

const hvi_setting_table *hvi_arm_table(void) { return &table; }

void hvi_slug(char *slug, size_t size, const char *text) {
  size_t n = 0;
  for (; *text && n + 1 < size; text++) {
    const unsigned char ch = (unsigned char)*text;
    if (ch < 128 && isalnum(ch))
      slug[n++] = (char)tolower(ch);
    else if (ch == '.' && n)
      slug[n++] = 'p';
    else if (n && slug[n - 1] != '-')
      slug[n++] = '-';
  }
  while (n && slug[n - 1] == '-') n--;
  slug[n] = '\0';
}

static hvi_status apply_method(hvi_arm *c, const hvi_node *node, const hvi_rule *const *rules,
                               const char *origin, hvi_error *err) {
  const char *names[64];
  size_t n = 0;
  if (hvi_method_apply(&c->settings, node->text, rules)) return HVI_OK;
  for (const hvi_method *m = hvi_method_list(); m->name; m++) names[n++] = m->name;
  for (; *rules; rules++) names[n++] = (*rules)->name;
  names[n] = NULL;
  return hvi_error_place(err, hvi_suggest_refuse(err, NULL, "method", node->text, names), origin,
                         node->line);
}

hvi_status hvi_arm_parse(hvi_arm *c, const hvi_node *map, const hvi_rule *const *rules,
                         const char *origin, hvi_error *err) {
  const hvi_field_part parts[] = {{.table = &table, .settings = c},
                                  /* the experiment says how long to run, and has the seed */
                                  {.table = hvi_settings_table(),
                                   .settings = &c->settings,
                                   .not = "iters max_evals max_seconds stall_window seed"},
                                  {.table = hvi_value_table(),
                                   .settings = &c->value,
                                   .only = "double_sampling lambda returns replay replay_rare"},
                                  {0}};
  const hvi_node *name = map->kind == HVI_NODE_MAP ? hvi_node_get(map, "method") : NULL;
  c->settings = hvi_method_settings("gd");
  c->settings.stall_window = 0; /* curves run to the end, standing still or not, */
  c->settings.rounding = false; /* and at rounding too */
  c->value = hvi_value_defaults();
  c->passes = c->times = 1;
  /* first what the method says, then what the file says */
  if (name && name->kind == HVI_NODE_SCALAR) HVI_TRY(apply_method(c, name, rules, origin, err));
  HVI_TRY(hvi_field_map(parts, "at", map, origin, err));
  hvi_slug(c->slug, sizeof c->slug, c->label);
  c->eta_given = hvi_node_get(map, "eta") != NULL;
  c->normalise_given = hvi_node_get(map, "normalise") != NULL;
  c->at = hvi_node_get(map, "at");
  if (c->at && c->at->kind != HVI_NODE_LIST)
    return hvi_error_line(err, origin, c->at->line, "at must be a list of maps");
  return HVI_OK;
}

double *hvi_arm_rate(hvi_settings *s, const char **key) {
  const char *name = s->baseline ? "" : s->optimizer->name;
  const bool step = hvi_words_have("gd momentum adam adamw", name);
  const bool damped = strcmp(name, "lm") == 0;
  *key = step ? "inner_lr" : damped ? "damping" : "eta";
  return step ? &s->inner.lr : damped ? &s->inner.damping : &s->eta;
}

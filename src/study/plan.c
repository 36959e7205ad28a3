/* What a study compares, and on what: its methods, and the key `value`. */
#include "base/base.h"
#include "study/fields.h"
#include "study/study.h"

#include <ctype.h>

#define ARM(member) .offset = offsetof(hvi_arm, member)
HVI_TABLE(static const hvi_setting_table arm_table, "method", hvi_arm,
    {"label", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, ARM(label), .most = 160, .help = "in legends and names of files"},
    {"method", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, ARM(method), .most = 160, .help = "an optimizer, a preset, a baseline or a rule"},
    {"highlight", HVI_SETTING_FLAG, ARM(highlight), .help = "its path, or its band, is drawn"},
    {"style", HVI_SETTING_COUNT, ARM(style), .range = "[0,1000]", .help = "of its lines; its place in the list unless told otherwise"},
    {"rates", HVI_SETTING_REALS, HVI_SETTING_NOT_EMPTY | HVI_SETTING_DISTINCT, ARM(rates), .second = offsetof(hvi_arm, rate_count),
     .most = HVI_MOST_RATES, .range = "(0,inf)", .help = "what its rate is tuned over"},
    {"normalise", HVI_SETTING_CHOICE, ARM(normalise), .choices = "none|states|all", .help = "value: what is scaled as the first data suggest; the study's"},
    {"passes", HVI_SETTING_COUNT, ARM(passes), .range = "[1,1e6]", .fallback = "1", .help = "value: outer steps that each batch serves"},
    {"times", HVI_SETTING_COUNT, ARM(times), .range = "[1,1e6]", .fallback = "1", .help = "value: times the study's iterations, on fresh data"},
    {0});

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
  const hvi_field_part parts[] = {{.table = &arm_table, .settings = c},
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

#define WHERE(member) .offset = offsetof(hvi_value_environment, member)
HVI_TABLE(static const hvi_setting_table environment_table, "environment", hvi_value_environment,
    {"environment", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, WHERE(environment), .most = 160, .help = "name of the environment"},
    {"policy", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, WHERE(policy), .most = 160, .help = "file, or default: the environment's own"},
    {"testset", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, WHERE(testset), .most = 160, .help = "file with states and their values"},
    {"clocks", HVI_SETTING_REALS, WHERE(clocks), .second = offsetof(hvi_value_environment, clock_count), .most = HVI_MOST_CLOCKS, .range = "(0,inf)",
     .help = "steps a second of the simulators named by the study's clocks"},
    {0});

#define AT(member) .offset = offsetof(hvi_value_plan, member)
HVI_TABLE(static const hvi_setting_table tune_table, "tune", hvi_value_plan,
    {"seeds", HVI_SETTING_COUNT, AT(tune_seeds), .range = "[1,1000]", .fallback = "5", .help = "how many, none of them reported"},
    {"first", HVI_SETTING_COUNT, AT(tune_first), .range = "[0,1e15]", .fallback = "1001", .help = "the first of them"},
    {"tuned", HVI_SETTING_TEXT, HVI_SETTING_NO_RESULT, AT(tuned), .most = 400, .help = "how the rates of the file were found: seeds, size, date"},
    {"rates", HVI_SETTING_REALS, HVI_SETTING_NOT_EMPTY | HVI_SETTING_DISTINCT, AT(rates), .second = offsetof(hvi_value_plan, rate_count),
     .most = HVI_MOST_RATES, .range = "(0,inf)", .help = "the grid of methods that have none of their own"},
    {0});

HVI_TABLE(static const hvi_setting_table plan_table, "value", hvi_value_plan,
    {"gap", HVI_SETTING_FLAG, AT(gap), .help = "offline: the Bellman gap is measured"},
    {"checkpoint", HVI_SETTING_REAL, HVI_SETTING_NO_RESULT, AT(checkpoint), .range = "[0,1e6]", .fallback = "60",
     .help = "seconds between checkpoints"},
    {0});

const hvi_setting_table *const hvi_plan_tables[] = {&arm_table, &environment_table, &tune_table,
                                                    &plan_table, NULL};

static hvi_status read_environment(hvi_value_environment *p, const hvi_node *map,
                                   const char *origin, hvi_error *err) {
  const hvi_field_part parts[] = {{.table = &environment_table, .settings = p}, {0}};
  const hvi_field_part sizes[] = {{.table = hvi_testset_table(),
                                   .settings = &p->stand_in,
                                   .only = "states rollouts horizon episodes"},
                                  {0}};
  HVI_TRY(hvi_field_map(parts, "stand_in", map, origin, err));
  const hvi_node *stand_in = hvi_node_get(map, "stand_in");
  if (!stand_in) return HVI_OK;
  p->stand_in = hvi_testset_defaults();
  p->stand_in.states = 300;
  p->stand_in.rollouts = 5;
  p->stand_in.horizon = 300;
  return hvi_field_map(sizes, NULL, stand_in, origin, err);
}

static hvi_status read_environments(hvi_value_plan *p, const hvi_node *list, const char *origin,
                                    hvi_error *err) {
  HVI_TRY(hvi_field_list(list, "environments", HVI_MOST_ENVIRONMENTS, origin, err));
  for (const hvi_node *n = list->first; n; n = n->next) {
    hvi_value_environment *last = &p->environments[p->environment_count++];
    HVI_TRY(read_environment(last, n, origin, err));
    for (const hvi_value_environment *other = p->environments; other < last; other++)
      if (strcmp(other->environment, last->environment) == 0)
        return hvi_error_line(err, origin, n->line, "environment '%.60s' is there twice",
                              last->environment);
  }
  return HVI_OK;
}

/* Names of other simulators, whose speeds the environments give. */
static hvi_status read_clocks(hvi_value_plan *p, const hvi_node *list, const char *origin,
                              hvi_error *err) {
  size_t count = 0;
  p->clock_names[count++] = "this simulator";
  if (!list) return HVI_OK;
  HVI_TRY(hvi_field_list(list, "names", HVI_MOST_CLOCKS, origin, err));
  for (const hvi_node *n = list->first; n; n = n->next) {
    if (n->kind != HVI_NODE_SCALAR)
      return hvi_error_line(err, origin, n->line, "clocks: must be a list of names");
    p->clock_names[count++] = n->text;
  }
  return HVI_OK;
}

/* The study owns the plan, also when this fails. */
hvi_status hvi_value_plan_parse(hvi_value_plan **plan, const hvi_node *map, const char *origin,
                                hvi_error *err) {
  hvi_value_plan *p = *plan = hvi_alloc(1, sizeof *p);
  if (!p) return hvi_error_memory(err, "a study");
  const hvi_field_part parts[] = {
      {.table = &plan_table, .settings = p},
      {.table = hvi_value_table(), .settings = &p->spec.value, .only = "hidden gamma draw"},
      {.table = hvi_evaluation_table(), .settings = &p->spec, .only = "normalise per_decade"},
      {0}};
  const hvi_field_part tune[] = {{.table = &tune_table, .settings = p}, {0}};
  const hvi_node *environments = hvi_node_get(map, "environments"),
                 *own = hvi_node_get(map, "tune");
  hvi_setting_defaults(&plan_table, p);
  hvi_setting_defaults(&tune_table, p);
  p->spec = hvi_evaluation_defaults();
  p->spec.value = hvi_value_defaults();
  p->spec.value.lambda_decay = 0.0;
  p->spec.value.threads = 1;
  /* a method is what its file says */
  p->spec.normalise = HVI_NORMALISE_NONE;
  p->spec.schedule.per_decade = 0;
  p->spec.polyak = 0.0;
  HVI_TRY(hvi_field_map(parts, "environments tune clocks", map, origin, err));
  HVI_TRY(read_clocks(p, hvi_node_get(map, "clocks"), origin, err));
  if (!environments)
    return hvi_error_line(err, origin, map->line, "value needs the key 'environments'");
  HVI_TRY(read_environments(p, environments, origin, err));
  return own ? hvi_field_map(tune, NULL, own, origin, err) : HVI_OK;
}

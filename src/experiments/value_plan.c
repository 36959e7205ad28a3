/* The key `value` of an experiment: places, network, data, panels and tuning. */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/fields.h"
#include "experiments/value_study.h"
#include "rl/rollout_settings.h"

#include <string.h>

const char *const hvi_study_axis_names[] = {"outer", "seconds", "gradients", "threshold", NULL};
const char *const hvi_study_measure_names[] = {"error", "gap", "ratio", "inner", NULL};

#define AT(member) .offset = offsetof(hvi_study_place, member)
/* clang-format off */
static const hvi_setting place_rows[] = {
    {"environment", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(environment), .most = 160, .help = "name of the environment"},
    {"policy", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(policy), .most = 160, .help = "file, or default: the environment's own"},
    {"testset", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(testset), .most = 160, .help = "file with states and their values"},
    {0},
};
#undef AT

#define AT(member) .offset = offsetof(hvi_study_panel, member)
static const hvi_setting panel_rows[] = {
    {"x", HVI_SETTING_CHOICE, AT(x), .choices = "outer|seconds|gradients|threshold", .help = "what a figure goes over"},
    {"y", HVI_SETTING_CHOICE, AT(y), .choices = "error|gap|ratio|inner", .help = "what it shows"},
    {0},
};
#undef AT

#define AT(member) .offset = offsetof(hvi_study_plan, member)
static const hvi_setting tune_rows[] = {
    {"seeds", HVI_SETTING_COUNT, AT(tune_seeds), .range = "[1,1000]", .fallback = "3", .help = "how many, none of them reported"},
    {"first", HVI_SETTING_COUNT, AT(tune_first), .range = "[0,1e15]", .fallback = "1001", .help = "the first of them"},
    {"rates", HVI_SETTING_REALS, HVI_SETTING_NOT_EMPTY | HVI_SETTING_DISTINCT, AT(rates), .second = offsetof(hvi_study_plan, rate_count),
     .most = HVI_MOST_RATES, .range = "(0,inf)", .help = "the grid of methods that have none of their own"},
    {0},
};

static const hvi_setting plan_rows[] = {
    {"runs", HVI_SETTING_TEXT, AT(runs), .most = 160, .help = "another experiment that makes the same runs"},
    {"normalise", HVI_SETTING_CHOICE, AT(scaling), .choices = "none|states|all", .help = "what is scaled as the first batch suggests"},
    {"gap", HVI_SETTING_FLAG, AT(gap), .help = "offline: the Bellman gap is measured"},
    {"per_decade", HVI_SETTING_COUNT, AT(per_decade), .range = "[0,100]",
     .help = "measurements between powers of 10, beside the evenly spaced ones"},
    {"checkpoint", HVI_SETTING_REAL, HVI_SETTING_NO_RESULT, AT(checkpoint), .range = "[0,1e6]", .fallback = "60",
     .help = "seconds between checkpoints"},
    {"chain", HVI_SETTING_COUNT, HVI_SETTING_ZERO_IS_NONE, AT(chain), .range = "[1,100000]", .help = "outer steps of the exact panel"},
    {0},
};
#undef AT
/* clang-format on */

static const hvi_setting_table place_table = {"place", sizeof(hvi_study_place), place_rows};
static const hvi_setting_table panel_table = {"panel", sizeof(hvi_study_panel), panel_rows};
static const hvi_setting_table tune_table = {"tune", sizeof(hvi_study_plan), tune_rows};
static const hvi_setting_table plan_table = {"value", sizeof(hvi_study_plan), plan_rows};

const hvi_setting_table *hvi_study_table_at(size_t index) {
  static const hvi_setting_table *const all[] = {&place_table, &panel_table, &tune_table,
                                                 &plan_table};
  return index < sizeof all / sizeof *all ? all[index] : NULL;
}

static hvi_status read_place(hvi_study_place *p, const hvi_node *map, const char *origin,
                             hvi_error *err) {
  const hvi_field_part parts[] = {{.table = &place_table, .settings = p}, {0}};
  const hvi_field_part sizes[] = {
      {.table = hvi_testset_table(), .settings = &p->stand_in, .only = "states rollouts horizon"},
      {0}};
  const hvi_status status = hvi_field_map(parts, "stand_in", map, origin, err);
  const hvi_node *stand_in = status ? NULL : hvi_node_get(map, "stand_in");
  if (!stand_in) return status;
  p->stand_in = hvi_testset_defaults();
  p->stand_in.states = 300;
  p->stand_in.rollouts = 5;
  p->stand_in.horizon = 300;
  return hvi_field_map(sizes, NULL, stand_in, origin, err);
}

static hvi_status read_places(hvi_study_plan *p, const hvi_node *list, const char *origin,
                              hvi_error *err) {
  hvi_status status = hvi_field_list(list, "places", HVI_MOST_PLACES, origin, err);
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    const hvi_study_place *last = &p->places[p->place_count];
    status = read_place(&p->places[p->place_count++], n, origin, err);
    for (const hvi_study_place *other = p->places; !status && other < last; other++)
      if (strcmp(other->environment, last->environment) == 0)
        status = hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: environment '%.60s' is there twice",
                               origin, n->line, last->environment);
  }
  return status;
}

static hvi_status read_panels(hvi_study_plan *p, const hvi_node *list, const char *origin,
                              hvi_error *err) {
  hvi_status status = hvi_field_list(list, "panels", HVI_MOST_PANELS, origin, err);
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    const hvi_field_part parts[] = {
        {.table = &panel_table, .settings = &p->panels[p->panel_count++]}, {0}};
    status = hvi_field_map(parts, NULL, n, origin, err);
  }
  return status;
}

static hvi_status read_plan(hvi_study_plan *p, const hvi_node *map, const char *origin,
                            hvi_error *err) {
  const hvi_field_part parts[] = {
      {.table = &plan_table, .settings = p},
      {.table = hvi_value_table(), .settings = &p->value, .only = "hidden gamma draw"},
      {0}};
  const hvi_field_part tune[] = {{.table = &tune_table, .settings = p}, {0}};
  const hvi_node *node;
  hvi_status status = hvi_field_map(parts, "places panels tune", map, origin, err);
  if (!status && !(node = hvi_node_get(map, "places")))
    status = hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: value needs the key 'places'", origin,
                           map->line);
  if (!status) status = read_places(p, node, origin, err);
  if (!status && (node = hvi_node_get(map, "panels"))) status = read_panels(p, node, origin, err);
  if (!status && (node = hvi_node_get(map, "tune")))
    status = hvi_field_map(tune, NULL, node, origin, err);
  return status;
}

hvi_status hvi_study_plan_parse(hvi_study_plan **plan, const hvi_node *map, const char *origin,
                                hvi_error *err) {
  hvi_study_plan *p = *plan = hvi_alloc(1, sizeof *p);
  if (!p) return hvi_error_memory(err, "an experiment");
  hvi_setting_defaults(&plan_table, p);
  hvi_setting_defaults(&tune_table, p);
  p->value = hvi_value_defaults();
  hvi_status status = read_plan(p, map, origin, err);
  if (!status && !p->panel_count) {
    p->panels[p->panel_count++] = (hvi_study_panel){HVI_BY_OUTER, HVI_OF_ERROR};
    p->panels[p->panel_count++] = (hvi_study_panel){HVI_BY_SECONDS, HVI_OF_ERROR};
  }
  return status; /* the experiment owns it, also when this fails */
}

/* The key `value` of a study: environments, network, data and tuning. */
#include "base/base.h"
#include "study/fields.h"
#include "study/study.h"

#include <hvi/testset.h>

#define AT(member) .offset = offsetof(hvi_value_environment, member)
/* clang-format off */
static const hvi_setting environment_rows[] = {
    {"environment", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(environment), .most = 160, .help = "name of the environment"},
    {"policy", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(policy), .most = 160, .help = "file, or default: the environment's own"},
    {"testset", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(testset), .most = 160, .help = "file with states and their values"},
    {"clocks", HVI_SETTING_REALS, AT(clocks), .second = offsetof(hvi_value_environment, clock_count), .most = HVI_MOST_CLOCKS, .range = "(0,inf)",
     .help = "steps a second of the simulators named by the study's clocks"},
    {0},
};
#undef AT

#define AT(member) .offset = offsetof(hvi_value_plan, member)
static const hvi_setting tune_rows[] = {
    {"seeds", HVI_SETTING_COUNT, AT(tune_seeds), .range = "[1,1000]", .fallback = "5", .help = "how many, none of them reported"},
    {"first", HVI_SETTING_COUNT, AT(tune_first), .range = "[0,1e15]", .fallback = "1001", .help = "the first of them"},
    {"tuned", HVI_SETTING_TEXT, HVI_SETTING_NO_RESULT, AT(tuned), .most = 400, .help = "how the rates of the file were found: seeds, size, date"},
    {"rates", HVI_SETTING_REALS, HVI_SETTING_NOT_EMPTY | HVI_SETTING_DISTINCT, AT(rates), .second = offsetof(hvi_value_plan, rate_count),
     .most = HVI_MOST_RATES, .range = "(0,inf)", .help = "the grid of methods that have none of their own"},
    {0},
};

static const hvi_setting plan_rows[] = {
    {"gap", HVI_SETTING_FLAG, AT(gap), .help = "offline: the Bellman gap is measured"},
    {"checkpoint", HVI_SETTING_REAL, HVI_SETTING_NO_RESULT, AT(checkpoint), .range = "[0,1e6]", .fallback = "60",
     .help = "seconds between checkpoints"},
    {0},
};
#undef AT
/* clang-format on */

static const hvi_setting_table environment_table = {"environment", sizeof(hvi_value_environment),
                                                    environment_rows};
static const hvi_setting_table tune_table = {"tune", sizeof(hvi_value_plan), tune_rows};
static const hvi_setting_table plan_table = {"value", sizeof(hvi_value_plan), plan_rows};

const hvi_setting_table *hvi_value_table_at(size_t index) {
  static const hvi_setting_table *const all[] = {&environment_table, &tune_table, &plan_table};
  return index < sizeof all / sizeof *all ? all[index] : NULL;
}

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

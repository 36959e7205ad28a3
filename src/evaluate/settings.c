/*
 * The settings of an evaluation, what `hvi evaluate` starts from, and the list of all tables.
 *
 * On lqr at gamma 0.99 most seeds end within half a per cent of the values, root mean squared, and
 * on HalfCheetah within one per cent of their variance; docs/evaluate.md has the figures.
 */
#include "base/base.h"

#include <hvi/check.h>
#include <hvi/evaluate.h>
#include <hvi/sac.h>

#define AT(member) .offset = offsetof(hvi_evaluation_spec, member)
HVI_ROWS(static const hvi_setting rows[],
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of everything random"},
    {"normalise", HVI_SETTING_CHOICE, AT(normalise), .choices = "none|states|all", .help = "what is scaled as the first data suggest"},
    {"polyak", HVI_SETTING_REAL, AT(polyak), .range = "[0,1e6]",
     .help = "the network is a mean over the outer steps, step t weighing t^X (0: the last one)"},
    {"gap_steps", HVI_SETTING_COUNT, AT(gap_settings.steps), .range = "[1,1e9]", .fallback = "500",
     .help = "steps of AdamW that look for the infimum of the Bellman gap"},
    {"gap_lr", HVI_SETTING_REAL, AT(gap_settings.lr), .range = "(0,inf)", .fallback = "1e-4", .help = "rate of the first of them"},
    {"gap_lr_decay", HVI_SETTING_REAL, AT(gap_settings.lr_decay), .range = "(0,1]", .fallback = "0.995", .help = "step k has the rate --gap-lr X^k"},
    {"gap_per_decade", HVI_SETTING_COUNT, AT(gap_per_decade), .range = "[0,100]",
     .help = "Bellman gaps between powers of 10 of the outer steps, and one at the end (0: at each measurement)"},
    {"measure_every", HVI_SETTING_COUNT, AT(schedule.every), .help = "outer steps from one measurement to the next (0: see --per-decade)"},
    {"per_decade", HVI_SETTING_COUNT, AT(schedule.per_decade), .range = "[0,100]", .help = "measurements between powers of 10 of the outer steps"},
    {0});

static const hvi_setting_table table = {"evaluation", sizeof(hvi_evaluation_spec), rows};

const hvi_setting_table *hvi_evaluation_table(void) { return &table; }

const hvi_setting_table *hvi_setting_table_at(size_t index) {
  const hvi_setting_table *const all[] = {
      hvi_settings_table(), hvi_value_table(),   hvi_evaluation_table(), hvi_sac_table(),
      hvi_rollout_table(),  hvi_collect_table(), hvi_returns_table(),    hvi_testset_table(),
      hvi_policy_table(),   hvi_check_table()};
  return index < sizeof all / sizeof *all ? all[index] : NULL;
}

hvi_evaluation_spec hvi_evaluation_defaults(void) {
  hvi_evaluation_spec s = {.value = hvi_value_defaults()};
  hvi_setting_defaults(&table, &s);
  s.schedule.per_decade = 10;
  s.polyak = 3.0;
  s.normalise = HVI_NORMALISE_ALL;
  s.value.batch = 4000;
  s.value.lambda = 0.98;
  s.value.lambda_decay = 0.05;
  s.value.hidden[0] = s.value.hidden[1] = 64;
  return s;
}

hvi_gap_settings hvi_gap_defaults(void) { return hvi_evaluation_defaults().gap_settings; }

hvi_settings hvi_evaluation_settings(void) {
  hvi_settings s = hvi_method_settings("adamw");
  s.inner.lr = 2e-3;
  s.inner.weight_decay = 0.0; /* a leak that the outer loop makes 1 / (1 - gamma) of */
  s.inner_lr_decay = 0.02;
  s.inner_steps = 50;
  s.keep_state = true;
  s.accelerate = HVI_ACCELERATE_MODE;
  s.rule_settings.adam = true;
  s.eta = 1.0;
  s.max_outer = 200;
  return s;
}

/* What a method takes over from an evaluation's settings: the default one all (NULL), and Adam, which
 * is that one without the decay of weights, its rate. A preset or a baseline stays what it is. */
static const char *taken_over(const hvi_settings *s, const hvi_settings *ours, bool plain) {
  if (s->baseline == HVI_BASELINE_RULE) return "second_rate adam";
  if (!plain) return "";
  if (s->optimizer == ours->optimizer) return NULL;
  return strcmp(s->optimizer->name, "adam") == 0
             ? "inner accelerate target keep_state inner_lr inner_lr_decay"
             : "inner accelerate target keep_state";
}

static bool asks(const char *const *given, const char *name) {
  while (*given && strcmp(*given, name) != 0) given++;
  return *given;
}

/* What does not go together. */
static const char *conflict(const hvi_evaluation_spec *e, const hvi_settings *s, bool from_data) {
  const hvi_value_spec *v = &e->value;
  if (s->step_rule != HVI_STEP_FIXED) return "eta: must be a number here: mu and L are not known";
  if (v->batch == 0 && !from_data) return "batch 0, all of the data, goes with data";
  if (v->replay > 0 && from_data)
    return "replay goes with an environment; batches of data are drawn at random from all of them";
  if (v->returns && (s->baseline || s->accelerate != HVI_ACCELERATE_NONE))
    return "returns goes with an optimizer and without accelerate: returns do not move with the "
           "values";
  if (v->lambda > 0.0 && (s->baseline || v->returns))
    return "lambda goes with an optimizer and Bellman targets";
  if (v->lambda > 0.0 && from_data && v->batch > 0)
    return "lambda with data needs batch 0: rows at random do not follow each other";
  if (v->lambda_decay > 0.0 && (v->lambda <= 0.0 || v->lambda >= 1.0 || from_data))
    return "lambda_decay goes with an environment and a lambda between 0 and 1";
  return NULL;
}

hvi_status hvi_evaluation_choose(hvi_evaluation_spec *e, hvi_settings *s, const char *method,
                                 const char *const *given, bool from_data, hvi_error *err) {
  hvi_settings ours = hvi_evaluation_settings();
  hvi_value_spec *v = &e->value;
  if (s->automatic)
    return hvi_error_argument(err, "method auto is for problems; an evaluation starts from %s",
                              ours.optimizer->name);
  const bool rule = s->baseline == HVI_BASELINE_RULE;
  const bool plain = !s->baseline && strcmp(method, s->optimizer->name) == 0;
  const char *words = taken_over(s, &ours, plain);
  ours.rule_settings.second_rate = strcmp(method, "td-target") == 0 ? 0.1 : 1.0;
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++)
    if (row->kind != HVI_SETTING_SECTION && (!words || hvi_words_have(words, row->name)) &&
        !asks(given, row->name))
      hvi_setting_copy(row, s, &ours);
  if (!asks(given, "eta")) s->eta = rule ? 1e-3 : ours.eta;
  /* it goes with plain Bellman targets and new samples, and nobody asked for it */
  const bool usual = !v->returns && s->target == HVI_TARGET_PLAIN && s->redraw_every <= 1;
  if (plain && !usual && !asks(given, "accelerate")) s->accelerate = HVI_ACCELERATE_NONE;
  if (!plain && !asks(given, "polyak")) e->polyak = 0.0;
  /* targets look further where rows follow each other and nobody asked for something else */
  if (!(plain && !v->returns && !from_data) && !asks(given, "lambda")) v->lambda = 0.0;
  const bool fades = plain && !from_data && v->lambda > 0.0 && v->lambda < 1.0;
  if (!fades && !asks(given, "lambda_decay")) v->lambda_decay = 0.0;
  e->normalise_rows = from_data ? HVI_EVALUATION_ROWS : 0;
  const char *wrong = conflict(e, s, from_data);
  return wrong ? hvi_error_argument(err, "%s", wrong) : HVI_OK;
}

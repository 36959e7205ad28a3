/* The keys of policy evaluation: what they give, what is said about bad ones, and the paper's. */
#include "support/check.h"

#include "study/grid.h"

#include <stdio.h>

static const char head[] = "id: mine\ntitle: My own\nkind: value\n"
                           "methods: [{label: a, method: gd}]\n";
static const char lqr[] =
    "value:\n  environments: [{environment: lqr, policy: default, testset: t.safetensors}]\n";

static void keys_reach_the_plan(void **state) {
  (void)state;
  char text[2000];
  hvi_study *s = NULL;
  hvi_error err;
  snprintf(text, sizeof text, "%s%s%s%s", head,
           "quick: {iterations: 7, instances: 3, batch: 50, offline: 90, gradients: 40, states: 10,"
           " width: 8, measures: 5}\nruns: other\n",
           lqr,
           "  hidden: [32, 16, 8]\n  gamma: 0.5\n  draw: random\n  gap: yes\n"
           "  normalise: states\n  per_decade: 4\n  checkpoint: 0\n"
           "  tune: {seeds: 2, first: 77, rates: [0.1, 0.2]}\n");
  check_ok(hvi_study_parse(&s, text, "mine.yaml", &err), &err);
  const hvi_part *part = &s->parts[0];
  const hvi_value_plan *p = part->value;
  assert_int_equal(part->quick.batch, 50);
  assert_int_equal(part->quick.offline, 90);
  assert_int_equal(part->quick.gradients, 40);
  assert_int_equal(part->full.states, 10);
  assert_int_equal(part->full.width, 8);
  assert_int_equal(part->full.measures, 5);
  assert_string_equal(s->runs, "other");
  assert_int_equal(p->environment_count, 1);
  assert_string_equal(p->environments[0].environment, "lqr");
  assert_int_equal(p->environments[0].stand_in.states, 0);
  assert_int_equal(p->spec.value.hidden_count, 3);
  assert_int_equal(p->spec.value.hidden[0], 32);
  assert_int_equal(p->spec.value.hidden[2], 8);
  assert_true(p->spec.value.gamma == 0.5);
  assert_int_equal(p->spec.value.draw, HVI_VALUE_RANDOM);
  assert_true(p->gap);
  assert_int_equal(p->spec.normalise, HVI_NORMALISE_STATES);
  assert_int_equal(p->spec.schedule.per_decade, 4);
  assert_true(p->checkpoint == 0.0);
  assert_int_equal(p->tune_seeds, 2);
  assert_int_equal(p->tune_first, 77);
  assert_int_equal(p->rate_count, 2);
  hvi_study_free(s);
}

static void bad_keys_get_a_line_each(void **state) {
  (void)state;
  static const struct {
    const char *rest, *said;
  } cases[] = {
      {"value: {}\n", "mine.yaml:5: value needs the key 'environments'"},
      {"value: {environments: []}\n",
       "mine.yaml:5: environments: must be a list of 1 to 4 environments"},
      {"value:\n  environments: [{environment: lqr}]\n",
       "mine.yaml:6: the key 'policy' is missing"},
      {"value:\n  environments: [{enviroment: lqr}]\n", "did you mean 'environment'?"},
      {"value:\n  environments:\n    - {environment: lqr, policy: default, testset: a}\n"
       "    - {environment: lqr, policy: default, testset: b}\n",
       "mine.yaml:8: environment 'lqr' is there twice"},
      {"gama: 1\n", "mine.yaml:5: unknown key 'gama'"},
      {"@  gama: 0.9\n", "mine.yaml:7: unknown key 'gama'; did you mean 'gamma'?"},
      {"@  gamma: 1\n", "gamma: must be a number at least 0 and below 1, not '1'"},
      {"@  draw: some\n", "draw: must be fresh, random or all, not 'some'"},
      {"@  hidden: 256\n", "mine.yaml:7: hidden: must be a list of 0 to 64 whole numbers"},
      {"@  hidden: [0]\n", "from 1 to 65536"},
      {"@  normalise: much\n", "mine.yaml:7: normalise: must be none, states or all, not 'much'"},
      {"@  tune: {rates: [0]}\n", "rates: must be a list of 1 to 16 numbers above 0, each once"},
      {"@  tune: {rates: 0.1}\n", "mine.yaml:7: rates: must be a list of 1 to 16 numbers"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    hvi_study *s = NULL;
    hvi_error err = {0};
    const bool inside = cases[i].rest[0] == '@';
    snprintf(text, sizeof text, "%s%s%s", head, inside ? lqr : "", cases[i].rest + inside);
    check_error(hvi_study_parse(&s, text, "mine.yaml", &err), HVI_ERROR_INPUT, &err, cases[i].said);
    assert_null(s);
  }
}

/* The settings of a method of a part in an environment, as its first cell there has them. */
static hvi_settings settings_at(hvi_study *s, size_t method, size_t environment) {
  hvi_settings got;
  hvi_error err;
  for (size_t i = 0; i < s->parts[0].cells; i++) {
    const hvi_cell c = hvi_cell_at(s, &s->parts[0], i);
    if (hvi_cell_level(&c, "method") != method || hvi_cell_level(&c, "environment") != environment)
      continue;
    check_ok(hvi_cell_settings(&got, &c, &err), &err);
    return got;
  }
  fail_msg("no cell of method %zu", method);
  return hvi_method_settings("gd");
}

static void lay_out(hvi_study *s, const hvi_study_settings *settings) {
  hvi_error err;
  s->settings = settings;
  check_ok(hvi_part_lay_out(&s->parts[0], settings->full, s->origin, &err), &err);
}

/* A method's rate is what is tuned; the grid stands beside it. */
static void what_is_tuned_depends_on_the_method(void **state) {
  (void)state;
  static const char text[] =
      "id: a\ntitle: t\nkind: value\nquick: {instances: 2}\nvalue:\n  environments:\n"
      "    - {environment: ant, policy: p, testset: a}\n"
      "    - {environment: lqr, policy: p, testset: a}\n"
      "    - {environment: pendulum, policy: p, testset: a}\nmethods:\n"
      "  - {label: one, method: adamw, inner_lr: 0.5, rates: [0.1, 1]}\n"
      "  - {label: two, method: lm, damping: 0.25, linear: gram}\n"
      "  - {label: three, method: td-target, eta: 0.125, adam: true, copy_every: 3}\n"
      "  - {label: four, method: adamw, double_sampling: 9, inner_lr: 0.5,"
      " at: [{environment: ant, inner_lr: 2}, {environment: lqr, size: full, inner_lr: 3}]}\n"
      "  - {label: five, method: adamw, lambda: 0.75}\n";
  static const struct {
    const char *key;
    double value;
  } expected[] = {{"inner_lr", 0.5}, {"damping", 0.25}, {"eta", 0.125}};
  hvi_study *s = NULL;
  hvi_error err;
  check_ok(hvi_study_parse(&s, text, "x", &err), &err);
  hvi_arm *arms = s->parts[0].methods;
  for (size_t i = 0; i < 3; i++) {
    const char *key;
    const double rate = *hvi_arm_rate(&arms[i].settings, &key);
    assert_string_equal(key, expected[i].key);
    assert_true(rate == expected[i].value);
  }
  assert_int_equal(arms[0].rate_count, 2);
  assert_true(arms[0].rates[1] == 1.0);
  assert_int_equal(arms[1].settings.inner.linear, HVI_SOLVE_GRAM);
  assert_true(arms[2].settings.rule_settings.adam);
  assert_true(arms[2].eta_given);
  assert_int_equal(arms[2].settings.rule_settings.copy_every, 3);
  assert_int_equal(arms[3].value.buffer, 9);
  assert_true(arms[3].value.lambda == 0.0);
  assert_true(arms[4].value.lambda == 0.75);
  for (int full = 0; full < 2; full++) {
    const hvi_study_settings settings = {.full = full};
    lay_out(s, &settings);
    assert_true(settings_at(s, 3, 0).inner.lr == 2.0);
    assert_true(settings_at(s, 3, 1).inner.lr == (full ? 3.0 : 0.5));
    assert_true(settings_at(s, 3, 2).inner.lr == 0.5);
    assert_true(settings_at(s, 0, 0).eta == 1.0); /* unless it is given */
    assert_true(settings_at(s, 2, 0).eta == 0.125);
    arms[3].rate = 7.0; /* while it is tuned, this one counts everywhere */
    assert_true(settings_at(s, 3, 0).inner.lr == 7.0);
    arms[3].rate = 0.0;
    hvi_part_clear(&s->parts[0]);
  }
  hvi_study_free(s);
}

/* offline-error shows the runs of offline-gap: all that decides their cells must be the same. */
static void two_views_of_the_same_runs(void **state) {
  (void)state;
  hvi_study *two[2];
  assert_int_equal(hvi_study_open(&two[0], "offline-gap", NULL, NULL), HVI_OK);
  assert_int_equal(hvi_study_open(&two[1], "offline-error", NULL, NULL), HVI_OK);
  const hvi_part *gap = &two[0]->parts[0], *error = &two[1]->parts[0];
  assert_string_equal(two[1]->runs, two[0]->id);
  assert_memory_equal(&gap->quick, &error->quick, sizeof gap->quick);
  assert_memory_equal(&gap->full, &error->full, sizeof gap->full);
  assert_int_equal(gap->seed, error->seed);
  assert_int_equal(gap->method_count, error->method_count);
  assert_int_equal(gap->value->environment_count, error->value->environment_count);
  for (size_t i = 0; i < gap->value->environment_count; i++)
    assert_string_equal(gap->value->environments[i].testset, error->value->environments[i].testset);
  assert_int_equal(gap->value->gap, error->value->gap);
  assert_int_equal(gap->value->spec.normalise, error->value->spec.normalise);
  assert_int_equal(gap->value->spec.schedule.per_decade, error->value->spec.schedule.per_decade);
  const hvi_study_settings settings = {.full = true};
  char about[2][4096];
  for (size_t k = 0; k < 2; k++) lay_out(two[k], &settings);
  for (size_t m = 0; m < gap->method_count; m++) {
    for (size_t k = 0; k < 2; k++) {
      const hvi_settings s = settings_at(two[k], m, 0);
      hvi_setting_describe(hvi_settings_table(), &s, NULL, about[k], sizeof about[k]);
    }
    assert_string_equal(about[0], about[1]);
    for (size_t k = 0; k < 2; k++)
      hvi_setting_describe(hvi_value_table(), &two[k]->parts[0].methods[m].value, NULL, about[k],
                           sizeof about[k]);
    assert_string_equal(about[0], about[1]);
  }
  for (size_t k = 0; k < 2; k++) {
    hvi_setting_describe(hvi_value_table(), &two[k]->parts[0].value->spec.value, NULL, about[k],
                         sizeof about[k]);
    hvi_part_clear(&two[k]->parts[0]);
    hvi_study_free(two[k]);
  }
  assert_string_equal(about[0], about[1]);
}

static bool is_beyond(const double *rates, size_t end, size_t before, size_t first, double rate) {
  double one = rates[before], two = rates[end], three = rates[first];
  for (int times = 0; times < 4; times++) {
    const double next = two * one / three;
    if (fabs(rate / next - 1.0) < 0.05) return true;
    three = one, one = two, two = next;
  }
  return false;
}

/* Tuning goes on beyond the ends of a grid of 1, 3, 10, .. four times. */
static bool is_among(const hvi_part *p, const hvi_arm *c, double rate) {
  const size_t n = c->rate_count ? c->rate_count : p->value->rate_count;
  const double *rates = c->rate_count ? c->rates : p->value->rates;
  for (size_t k = 0; k < n; k++)
    if (rates[k] == rate) return true;
  if (n > 2) return is_beyond(rates, 0, 1, 2, rate) || is_beyond(rates, n - 1, n - 2, n - 3, rate);
  return n == 0; /* a method that takes over the rate of another experiment */
}

/* A method whose grid is one rate is not tuned: it has that of another one. */
static bool is_among_others(const hvi_study *s, double rate) {
  for (const hvi_part *p = s->parts; p < s->parts + s->part_count; p++)
    for (size_t m = 0; p->value && m < p->method_count; m++)
      if (p->methods[m].rate_count > 1 && is_among(p, &p->methods[m], rate)) return true;
  return false;
}

static void check_rates(hvi_study *s, hvi_part *p) {
  const uint64_t first = p->value->tune_first, last = first + p->value->tune_seeds - 1;
  assert_true(last < p->seed ||
              (first >= p->seed + p->full.instances && first >= p->seed + p->quick.instances));
  for (size_t m = 0; m < p->method_count; m++)
    for (size_t e = 0; e < p->value->environment_count; e++) {
      const hvi_arm *c = &p->methods[m];
      hvi_settings settings = settings_at(s, m, e);
      const char *key;
      const double rate = *hvi_arm_rate(&settings, &key);
      const bool among = is_among(p, c, rate) || (c->rate_count == 1 && is_among_others(s, rate));
      if (!among) fail_msg("%s, %s: %s is not of its grid", s->id, c->label, key);
    }
}

/* No seed is both tuned on and reported, in any of the paper's, and a rate is one of its grid. */
static void tuning_seeds_are_not_reported(void **state) {
  (void)state;
  const char *const *ids = hvi_study_ids();
  size_t seen = 0;
  for (size_t i = 0; ids[i]; i++) {
    hvi_study *s = NULL;
    assert_int_equal(hvi_study_open(&s, ids[i], NULL, NULL), HVI_OK);
    if (s->parts[0].value) {
      const hvi_study_settings settings = {.full = true};
      seen++;
      lay_out(s, &settings);
      check_rates(s, &s->parts[0]);
      hvi_part_clear(&s->parts[0]);
    }
    hvi_study_free(s);
  }
  assert_int_equal(seen, 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_reach_the_plan),
      cmocka_unit_test(bad_keys_get_a_line_each),
      cmocka_unit_test(what_is_tuned_depends_on_the_method),
      cmocka_unit_test(two_views_of_the_same_runs),
      cmocka_unit_test(tuning_seeds_are_not_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

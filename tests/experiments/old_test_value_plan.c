/* The keys of policy evaluation: what they give, what is said about bad ones, and the paper's. */
#include "report/folder.h"

#include "experiments/value_study.h"

static const char head[] = "id: mine\ntitle: My own\nkind: value\n"
                           "methods: [{label: a, method: gd}]\n";
static const char place[] =
    "value:\n  places: [{environment: lqr, policy: default, testset: t.safetensors}]\n";

static void keys_reach_the_plan(void **state) {
  (void)state;
  char text[2000];
  hvi_experiment *e = NULL;
  hvi_error err;
  snprintf(text, sizeof text, "%s%s%s%s", head,
           "quick: {iterations: 7, instances: 3, batch: 50, offline: 90, gradients: 40, states: 10,"
           " width: 8, measures: 5}\n",
           place,
           "  runs: other\n  hidden: [32, 16, 8]\n  gamma: 0.5\n  draw: random\n  gap: yes\n"
           "  normalise: states\n  per_decade: 4\n  checkpoint: 0\n  chain: 12\n"
           "  panels: [{x: gradients, y: gap}, {x: threshold, y: error}]\n"
           "  tune: {seeds: 2, first: 77, rates: [0.1, 0.2]}\n");
  if (hvi_experiment_parse(&e, text, "mine.yaml", &err) != HVI_OK) fail_msg("%s", err.text);
  const hvi_study_plan *p = e->study;
  assert_true(e->quick.batch == 50 && e->quick.offline == 90 && e->quick.gradients == 40);
  assert_true(e->full.states == 10 && e->full.width == 8 && e->full.measures == 5);
  assert_int_equal(p->place_count, 1);
  assert_string_equal(p->places[0].environment, "lqr");
  assert_int_equal(p->places[0].stand_in.states, 0);
  assert_string_equal(p->runs, "other");
  assert_true(p->value.hidden_count == 3 && p->value.hidden[0] == 32 && p->value.hidden[2] == 8);
  assert_true(p->value.gamma == 0.5 && p->value.draw == HVI_VALUE_RANDOM && p->gap &&
              p->scaling == HVI_SCALE_STATES);
  assert_true(p->per_decade == 4 && p->checkpoint == 0.0 && p->chain == 12);
  assert_int_equal(p->panel_count, 2);
  assert_true(p->panels[0].x == HVI_BY_GRADIENTS && p->panels[0].y == HVI_OF_GAP);
  assert_true(p->tune_seeds == 2 && p->tune_first == 77 && p->rate_count == 2);
  hvi_experiment_free(e);
}

static void bad_keys_get_a_line_each(void **state) {
  (void)state;
  static const struct {
    const char *rest, *said;
  } cases[] = {
      {"value: {}\n", "mine.yaml:5: value needs the key 'places'"},
      {"value: {places: []}\n", "mine.yaml:5: places: must be a list of 1 to 4 places"},
      {"value:\n  places: [{environment: lqr}]\n", "mine.yaml:6: the key 'policy' is missing"},
      {"value:\n  places: [{enviroment: lqr}]\n", "did you mean 'environment'?"},
      {"value:\n  places:\n    - {environment: lqr, policy: default, testset: a}\n"
       "    - {environment: lqr, policy: default, testset: b}\n",
       "mine.yaml:8: environment 'lqr' is there twice"},
      {"gama: 1\n", "mine.yaml:5: unknown key 'gama'"},
      {"@  gama: 0.9\n", "mine.yaml:7: unknown key 'gama'; did you mean 'gamma'?"},
      {"@  gamma: 1\n", "gamma: must be a number at least 0 and below 1, not '1'"},
      {"@  draw: some\n", "draw: must be fresh, random or all, not 'some'"},
      {"@  hidden: 256\n", "mine.yaml:7: hidden: must be a list of 0 to 64 whole numbers"},
      {"@  hidden: [0]\n", "from 1 to 65536, not '0'"},
      {"@  panels: [{x: hours}]\n",
       "mine.yaml:7: x: must be outer, seconds, gradients or threshold, not 'hours'"},
      {"@  tune: {rates: [0]}\n",
       "rates: must be a list of 1 to 16 numbers above 0, each once, not '0'"},
      {"@  tune: {rates: 0.1}\n", "mine.yaml:7: rates: must be a list of 1 to 16 numbers"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    hvi_experiment *e = NULL;
    hvi_error err = {0};
    const bool inside = cases[i].rest[0] == '@';
    snprintf(text, sizeof text, "%s%s%s", head, inside ? place : "", cases[i].rest + inside);
    assert_int_equal(hvi_experiment_parse(&e, text, "mine.yaml", &err), HVI_ERROR_INPUT);
    assert_null(e);
    if (!strstr(err.text, cases[i].said)) fail_msg("said: %s\nnot: %s", err.text, cases[i].said);
  }
}

/* A method's rate is what is tuned; the grid stands beside it. */
static void what_is_tuned_depends_on_the_method(void **state) {
  (void)state;
  static const char text[] =
      "id: a\ntitle: t\nkind: value\nmethods:\n"
      "  - {label: one, method: adamw, inner_lr: 0.5, rates: [0.1, 1]}\n"
      "  - {label: two, method: lm, damping: 0.25, linear: gram}\n"
      "  - {label: three, method: td-target, eta: 0.125, adam: true, copy_every: 3}\n"
      "  - {label: four, method: adamw, double_sampling: 9, inner_lr: 0.5, rate_at: {ant: 2, lqr: "
      "3}}\n"
      "  - {label: five, method: adamw, lambda: 0.75}\n";
  static const struct {
    const char *key;
    double value;
  } expected[] = {{"inner_lr", 0.5}, {"damping", 0.25}, {"eta", 0.125}};
  hvi_experiment *e = NULL;
  hvi_error err;
  if (hvi_experiment_parse(&e, text, "x", &err) != HVI_OK) fail_msg("%s", err.text);
  for (size_t i = 0; i < 3; i++) {
    const char *key;
    const double rate = *hvi_contender_rate(&e->contenders[i].settings, &key);
    assert_string_equal(key, expected[i].key);
    assert_true(rate == expected[i].value);
  }
  assert_true(e->contenders[0].rate_count == 2 && e->contenders[0].rates[1] == 1.0);
  assert_int_equal(e->contenders[1].settings.inner.linear, HVI_LINEAR_GRAM);
  assert_true(e->contenders[2].settings.rule_settings.adam && e->contenders[2].eta_given);
  assert_int_equal(e->contenders[2].settings.rule_settings.copy_every, 3);
  assert_int_equal(e->contenders[3].value.buffer, 9);
  assert_true(e->contenders[3].value.lambda == 0.0 && e->contenders[4].value.lambda == 0.75);
  assert_true(hvi_contender_at(&e->contenders[3], "ant").inner.lr == 2.0);
  assert_true(hvi_contender_at(&e->contenders[3], "lqr").inner.lr == 3.0);
  assert_true(hvi_contender_at(&e->contenders[3], "pendulum").inner.lr == 0.5);
  hvi_experiment_free(e);
}

/* offline-error shows the runs of offline-gap: they must be the same. */
static void two_views_of_the_same_runs(void **state) {
  (void)state;
  hvi_experiment *gap = NULL, *error = NULL;
  assert_int_equal(hvi_experiment_new(&gap, "offline-gap", NULL), HVI_OK);
  assert_int_equal(hvi_experiment_new(&error, "offline-error", NULL), HVI_OK);
  assert_string_equal(error->study->runs, gap->id);
  assert_memory_equal(&gap->quick, &error->quick, sizeof gap->quick);
  assert_memory_equal(&gap->full, &error->full, sizeof gap->full);
  assert_int_equal(gap->seed, error->seed);
  assert_int_equal(gap->contender_count, error->contender_count);
  hvi_run runs[2] = {{.experiment = gap, .scale = &gap->full},
                     {.experiment = error, .scale = &error->full}};
  for (size_t m = 0; m < gap->contender_count; m++) {
    char *about[2];
    for (size_t k = 0; k < 2; k++) {
      hvi_study study = {.run = &runs[k], .plan = runs[k].experiment->study};
      study.sites[0].place = &study.plan->places[0];
      hvi_study_piece piece = {.contender = m, .seed = 1};
      piece.settings = runs[k].experiment->contenders[m].settings;
      about[k] = hvi_study_piece_about(&study, &piece);
    }
    assert_string_equal(about[0], about[1]);
    hvi_free(about[0]);
    hvi_free(about[1]);
  }
  hvi_experiment_free(gap);
  hvi_experiment_free(error);
}

/* No seed is both tuned on and reported, in any of the paper's, and a rate is one of its grid. */
static void tuning_seeds_are_not_reported(void **state) {
  (void)state;
  const char *const *ids = hvi_experiment_ids();
  size_t seen = 0;
  for (size_t i = 0; ids[i]; i++) {
    hvi_experiment *e = NULL;
    assert_int_equal(hvi_experiment_new(&e, ids[i], NULL), HVI_OK);
    if (e->study) {
      seen++;
      assert_true(e->study->tune_first >= e->seed + e->full.instances);
      assert_true(e->study->tune_first >= e->seed + e->quick.instances);
      for (size_t m = 0; m < e->contender_count; m++) {
        const hvi_contender *c = &e->contenders[m];
        hvi_settings s = c->settings;
        const char *key;
        const double rate = *hvi_contender_rate(&s, &key);
        const size_t count = c->rate_count ? c->rate_count : e->study->rate_count;
        const double *rates = c->rate_count ? c->rates : e->study->rates;
        bool among = count == 0; /* a method that takes over the rate of another experiment */
        for (size_t k = 0; k < count; k++) among = among || rates[k] == rate;
        if (!among) fail_msg("%s, %s: %s is not of its grid", e->id, c->label, key);
        for (size_t x = 0; x < c->exception_count && count > 0; x++) {
          among = false;
          for (size_t k = 0; k < count; k++) among = among || rates[k] == c->exceptions[x].rate;
          if (!among) fail_msg("%s, %s: rate_at is not of its grid", e->id, c->label);
        }
      }
    }
    hvi_experiment_free(e);
  }
  assert_int_equal(seen, 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_reach_the_plan),
      cmocka_unit_test(bad_keys_get_a_line_each),
      cmocka_unit_test(what_is_tuned_depends_on_the_method),
      cmocka_unit_test(two_views_of_the_same_runs),
      cmocka_unit_test(tuning_seeds_are_not_reported),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

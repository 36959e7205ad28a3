/* Experiment files: what they give, and what is said about bad ones. */
#include "report/folder.h"

#include "experiments/experiment.h"

#include <hvi/game.h>

static void the_papers_experiments_are_built_in(void **state) {
  (void)state;
  const char *const *ids = hvi_experiment_ids();
  for (size_t i = 0; ids[i]; i++) {
    hvi_experiment *e = NULL;
    hvi_error err;
    if (hvi_experiment_new(&e, ids[i], &err) != HVI_OK) fail_msg("%s", err.text);
    assert_string_equal(e->id, ids[i]);
    assert_true(e->builtin);
    hvi_experiment_free(e);
  }
}

static const char head[] = "id: mine\ntitle: My own\nkind: trajectory\nproblem: pennies\n";

static hvi_experiment *parse(const char *rest) {
  char text[2000];
  hvi_experiment *e = NULL;
  hvi_error err;
  snprintf(text, sizeof text, "%s%s", head, rest);
  if (hvi_experiment_parse(&e, text, "mine.yaml", &err) != HVI_OK) fail_msg("%s", err.text);
  return e;
}

static void keys_reach_the_settings(void **state) {
  (void)state;
  hvi_experiment *e = parse(
      "options: {weight: 0.5}\nseed: 7\nquick: {iterations: 50, instances: 3}\nmethods:\n"
      "  - {label: LM(1.5), method: lm, eta: 0.25, inner: 2, damping: 0.125, alpha: 0.5,"
      " adaptive_damping: yes, floor: known, highlight: true}\n"
      "  - {label: best, method: gd, eta: best, inner_lr: 2, target: optimistic, style: 9}\n");
  assert_false(e->builtin);
  assert_int_equal(e->seed, 7);
  assert_int_equal(e->option_count, 1);
  assert_string_equal(e->options[0].key, "weight");
  assert_string_equal(e->options[0].value, "0.5");
  assert_int_equal(e->quick.iterations, 50);
  assert_int_equal(e->full.instances, 3); /* one scale given: both are that */
  const hvi_contender *lm = hvi_experiment_contender(e, "LM(1.5)");
  assert_string_equal(lm->slug, "lm-1p5");
  assert_string_equal(lm->settings.optimizer->name, "lm");
  assert_true(lm->settings.eta == 0.25 && lm->settings.inner_steps == 2);
  assert_true(lm->settings.inner.damping == 0.125 && lm->settings.alpha == 0.5);
  assert_true(lm->settings.inner.adapt_damping && lm->highlight);
  assert_int_equal(lm->settings.floor, HVI_FLOOR_KNOWN);
  const hvi_contender *gd = hvi_experiment_contender(e, "best");
  assert_int_equal(gd->settings.step_rule, HVI_STEP_BEST);
  assert_int_equal(gd->settings.target, HVI_TARGET_OPTIMISTIC);
  assert_int_equal(gd->style, 9);
  assert_null(hvi_experiment_contender(e, "other"));
  hvi_experiment_free(e);
}

static void bad_files_get_a_line_each(void **state) {
  (void)state;
  static const struct {
    const char *rest, *said;
  } cases[] = {
      {"metods: []\n", "mine.yaml:5: unknown key 'metods'; did you mean 'methods'?"},
      {"methods: []\n", "mine.yaml:5: methods: must be a list of 1 to 64 methods"},
      {"methods: [{label: a}]\n", "mine.yaml:5: the key 'method' is missing"},
      {"methods: [{label: a, method: gdd}]\n", "unknown method 'gdd'; did you mean 'gd'?"},
      {"methods:\n  - {label: a, method: gd, eta: 0}\n",
       "mine.yaml:6: eta: must be a number above 0, theorem or best, not '0'"},
      {"methods:\n  - {label: a, method: gd, eta: 0.1x}\n",
       "eta: must be a number above 0, theorem or best, not '0.1x'"},
      {"methods:\n  - {label: a, method: gd, eta: nan}\n",
       "eta: must be a number above 0, theorem or best, not 'nan'"},
      {"methods:\n  - {label: a, method: gd, alpha: 1.5}\n",
       "alpha: must be a number above 0 and below 1, or none, not '1.5'"},
      {"methods:\n  - {label: a, method: gd, alpha: 1}\n",
       "alpha: must be a number above 0 and below 1, or none, not '1'"},
      {"methods:\n  - {label: a, method: gd, inner: -3}\n",
       "inner: must be a whole number from 1 to 1e12, not '-3'"},
      {"methods:\n  - {label: a, method: gd, inner: 2.5}\n",
       "inner: must be a whole number from 1 to 1e12, not '2.5'"},
      {"methods:\n  - {label: a, method: gd, line_search: maybe}\n",
       "line_search: must be yes or no, not 'maybe'"},
      {"methods:\n  - {label: a, method: gd}\n  - {label: A, method: gd}\n",
       "labels 'a' and 'A' are too alike"},
      {"methods:\n  - {label: '()', method: gd}\n", "label '()' needs a letter or a digit"},
      {"quick: 5\n", "mine.yaml:5: quick must be a map"},
      {"quick: {iterations: 0}\n", "iterations: must be a whole number from 1 to 1e8, not '0'"},
      {"seed: [1]\n", "seed: must be a whole number from 0 to 2^64 - 1, not '[...]'"},
      {"options: 3\n", "options must be a map"},
      {"  broken\n: [\n", "mine.yaml"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    hvi_experiment *e = NULL;
    hvi_error err = {0};
    snprintf(text, sizeof text, "%s%s", head, cases[i].rest);
    assert_int_equal(hvi_experiment_parse(&e, text, "mine.yaml", &err), HVI_ERROR_INPUT);
    assert_null(e);
    if (!strstr(err.text, cases[i].said)) fail_msg("said: %s\nnot: %s", err.text, cases[i].said);
  }
}

static void an_id_is_a_folders_name(void **state) {
  (void)state;
  static const char *const bad[] = {"../up", "a/b", "A", "-a", "a b"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[200];
    hvi_experiment *e = NULL;
    snprintf(text, sizeof text, "id: '%s'\ntitle: t\nkind: trajectory\n", bad[i]);
    assert_int_equal(hvi_experiment_parse(&e, text, "x", NULL), HVI_ERROR_INPUT);
  }
}

static void what_is_missing_is_named(void **state) {
  (void)state;
  hvi_experiment *e = NULL;
  hvi_error err;
  assert_int_equal(hvi_experiment_parse(&e, "id: a\ntitle: b\n", "f.yaml", &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "f.yaml:1: the key 'kind' is missing");
}

static void unknown_ids_get_the_nearest(void **state) {
  (void)state;
  hvi_experiment *e = NULL;
  hvi_error err;
  assert_int_equal(hvi_experiment_new(&e, "penies", &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "unknown experiment 'penies'; did you mean 'pennies'?");
  assert_int_equal(hvi_experiment_new(&e, "/no/such/file.yaml", &err), HVI_ERROR_IO);
}

static void a_game_file_lies_beside_its_experiment(void **state) {
  hvi_experiment *e = NULL;
  hvi_problem *p = NULL;
  hvi_error err;
  char *game = slurp(HVI_SOURCE_DIR "/problems/rps.yaml");
  write_file(in(*state, "game.yaml"), game);
  hvi_free(game);
  write_file(in(*state, "mine.yaml"), "id: mine\ntitle: t\nkind: ensemble\nproblem: game.yaml\n");
  if (hvi_experiment_new(&e, in(*state, "mine.yaml"), &err) != HVI_OK) fail_msg("%s", err.text);
  if (hvi_experiment_problem(&p, e, 0, &err) != HVI_OK) fail_msg("%s", err.text);
  assert_int_equal(p->model->dim, 10);
  hvi_problem_free(p);
  assert_int_equal(hvi_experiment_problem(&p, e, 1, &err), HVI_ERROR_UNSUPPORTED);
  hvi_experiment_free(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_papers_experiments_are_built_in),
      cmocka_unit_test(keys_reach_the_settings),
      cmocka_unit_test(bad_files_get_a_line_each),
      cmocka_unit_test(an_id_is_a_folders_name),
      cmocka_unit_test(what_is_missing_is_named),
      cmocka_unit_test(unknown_ids_get_the_nearest),
      cmocka_unit_test(a_game_file_lies_beside_its_experiment),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* Files of studies: what they give, and what is said about bad ones. */
#include "report/folder.h"
#include "support/check.h"

#include "study/grid.h"

#include <hvi/game.h>

static void the_papers_experiments_are_built_in(void **state) {
  (void)state;
  const char *const *ids = hvi_study_ids();
  for (size_t i = 0; ids[i]; i++) {
    hvi_study *s = NULL;
    hvi_error err;
    check_ok(hvi_study_open(&s, ids[i], NULL, &err), &err);
    assert_string_equal(s->id, ids[i]);
    assert_true(s->builtin);
    hvi_study_free(s);
  }
}

static const char head[] = "id: mine\ntitle: My own\nkind: trajectory\nproblem: pennies\n";

static hvi_study *parse(const char *rest) {
  char text[2000];
  hvi_study *s = NULL;
  hvi_error err;
  snprintf(text, sizeof text, "%s%s", head, rest);
  check_ok(hvi_study_parse(&s, text, "mine.yaml", &err), &err);
  return s;
}

static void keys_reach_the_settings(void **state) {
  (void)state;
  hvi_study *s = parse(
      "options: {weight: 0.5}\nseed: 7\nquick: {iterations: 50, instances: 3}\nmethods:\n"
      "  - {label: LM(1.5), method: lm, eta: 0.25, inner: 2, damping: 0.125, alpha: 0.5,"
      " adaptive_damping: yes, floor: known, highlight: true}\n"
      "  - {label: best, method: gd, eta: best, inner_lr: 2, target: optimistic, style: 9}\n");
  const hvi_part *p = &s->parts[0];
  assert_false(s->builtin);
  assert_int_equal(s->part_count, 1);
  assert_int_equal(p->seed, 7);
  assert_int_equal(p->option_count, 1);
  assert_string_equal(p->options[0].key, "weight");
  assert_string_equal(p->options[0].value, "0.5");
  assert_int_equal(p->quick.iterations, 50);
  assert_int_equal(p->full.instances, 3); /* one scale given: both are that */
  const hvi_arm *lm = &p->methods[0], *gd = &p->methods[1];
  assert_string_equal(lm->slug, "lm-1p5");
  assert_string_equal(lm->settings.optimizer->name, "lm");
  assert_true(lm->settings.eta == 0.25);
  assert_int_equal(lm->settings.inner_steps, 2);
  assert_true(lm->settings.inner.damping == 0.125);
  assert_true(lm->settings.alpha == 0.5);
  assert_true(lm->settings.inner.adapt_damping);
  assert_true(lm->highlight);
  assert_int_equal(lm->settings.floor, HVI_FLOOR_KNOWN);
  assert_int_equal(gd->settings.step_rule, HVI_STEP_BEST);
  assert_int_equal(gd->settings.target, HVI_TARGET_OPTIMISTIC);
  assert_int_equal(gd->style, 9);
  hvi_study_free(s);
}

static void parts_have_what_they_do_not_give(void **state) {
  (void)state;
  hvi_study *s = parse("seed: 5\ngrid: {weight: [0.5, 0.75]}\nquick: {iterations: 9}\n"
                       "methods: [{label: a, method: gd}]\nparts:\n  - {name: one}\n"
                       "  - {name: two, kind: timing, seed: 6, full: {iterations: 8}}\n");
  assert_int_equal(s->part_count, 2);
  assert_string_equal(s->parts[0].kind->name, "trajectory");
  assert_string_equal(s->parts[1].kind->name, "timing");
  assert_int_equal(s->parts[0].seed, 5);
  assert_int_equal(s->parts[1].seed, 6);
  assert_int_equal(s->parts[1].quick.iterations, 9);
  assert_int_equal(s->parts[1].full.iterations, 8);
  assert_string_equal(s->parts[1].methods[0].label, "a");
  hvi_error err;
  check_ok(hvi_part_lay_out(&s->parts[0], false, "x", &err), &err);
  assert_int_equal(s->parts[0].cells, 2);
  hvi_part_clear(&s->parts[0]);
  hvi_study_free(s);
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
       "mine.yaml:6: eta: must be a number above 0, theorem, best or adaptive, not '0'"},
      {"methods:\n  - {label: a, method: gd, eta: 0.1x}\n",
       "eta: must be a number above 0, theorem, best or adaptive, not '0.1x'"},
      {"methods:\n  - {label: a, method: gd, eta: nan}\n",
       "eta: must be a number above 0, theorem, best or adaptive, not 'nan'"},
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
      {"quick: {grid: 3}\n", "mine.yaml:5: grid must be a map of factors"},
      {"grid: 3\n", "mine.yaml:5: grid must be a map of factors"},
      {"seed: [1]\n", "seed: must be a whole number from 0 to 2^64 - 1, not '[...]'"},
      {"options: 3\n", "options must be a map"},
      {"parts: []\n", "parts: must be a list of 1 to 24 parts"},
      {"methods: [{label: a, method: gd}]\nparts: [{name: a}, {name: a}]\n",
       "mine.yaml:6: a part has the name 'a' already"},
      {"runs: A/B\n", "mine.yaml:5: runs must be made of a-z, 0-9 and '-', not 'A/B'"},
      {"parts: [{name: ../up}]\n",
       "mine.yaml:5: name must be made of a-z, 0-9 and '-', not '../up'"},
      {"methods: [{label: a, method: gd}]\nfigures: [{name: a/b}]\n",
       "mine.yaml:6: name must be made of a-z, 0-9 and '-', not 'a/b'"},
      {"methods: [{label: a, method: gd}]\nfigures: [{name: .hidden}]\n",
       "mine.yaml:6: name must be made of a-z, 0-9 and '-', not '.hidden'"},
      {"methods: [{label: a, method: gd}]\nfigures: [{name: [a]}]\n", "not '[...]'"},
      {"  broken\n: [\n", "mine.yaml"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    hvi_study *s = NULL;
    hvi_error err = {0};
    snprintf(text, sizeof text, "%s%s", head, cases[i].rest);
    check_error(hvi_study_parse(&s, text, "mine.yaml", &err), HVI_ERROR_INPUT, &err, cases[i].said);
    assert_null(s);
  }
}

typedef struct bad_rest {
  const char *rest, *said;
} bad_rest;

/* Each after two methods, which end in line 5. */
static void refuse_all(const bad_rest *cases, size_t count, const char *before, const char *after) {
  for (size_t i = 0; i < count; i++) {
    char text[2000];
    hvi_study *s = NULL;
    hvi_error err = {0};
    snprintf(text, sizeof text,
             "%smethods: [{label: a, method: gd}, {label: b, method: lm}]\n%s%s%s", head, before,
             cases[i].rest, after);
    check_error(hvi_study_parse(&s, text, "mine.yaml", &err), HVI_ERROR_INPUT, &err, cases[i].said);
    assert_null(s);
  }
}

static void factors_must_mean_something(void **state) {
  (void)state;
  static const bad_rest cases[] = {
      {"grid: {wieght: [0.5, 0.7]}",
       "mine.yaml:6: unknown factor 'wieght'; did you mean 'weight'?"},
      {"grid: {zzz: 1}",
       "unknown factor 'zzz'; there are gradients, eta_low, eta_high, eta_levels, "
       "a1, a2, b1, b2, weight, signs, eta"},
      {"parts: [{name: p, kind: timing, grid: {eta: 1}}]",
       "mine.yaml:6: 'eta' is a setting of methods, and no factor of kind timing"},
      {"grid: {weight: 1, shape: [{weight: 2}]}", "mine.yaml:6: 'weight' is varied twice"},
      {"parts: [{name: p, kind: deployment, grid: {retrain_every: often}}]",
       "mine.yaml:6: retrain_every: levels must be numbers"},
      {"split: nonsense", "mine.yaml:6: unknown factor 'nonsense'; there are method"},
      {"split: method dist2", "mine.yaml:6: unknown factor 'dist2'"},
      {"split: method method method method method", "mine.yaml:6: split: must be 1 to 4 factors"},
  };
  refuse_all(cases, sizeof cases / sizeof *cases, "", "\n");
}

static void claims_must_say_something(void **state) {
  (void)state;
  static const bad_rest whole[] = {
      {"3", "mine.yaml:6: claims must be a list of maps"},
      {"[3]", "mine.yaml:6: this entry must be a map of keys and values"},
      {"[{id: x}]", "mine.yaml:6: the key 'text' is missing"},
      {"[{text: t, holds: 1 < 2}]", "mine.yaml:6: the key 'id' is missing"},
      {"[{id: x, text: t}]", "mine.yaml:6: claim 'x' needs holds, or measures"},
  };
  static const bad_rest rest[] = {
      {"}, {id: x, text: t, holds: 1 < 2", "mine.yaml:6: a claim has the id 'x' already"},
      {", hold: 1", "mine.yaml:6: unknown key 'hold'; did you mean 'holds'?"},
      {", theorem: maybe", "mine.yaml:6: theorem: must be yes or no, not 'maybe'"},
      {", where: [1]", "mine.yaml:6: where: must be text, not a list"},
      {", measures: 3", "mine.yaml:6: measures must be a map of names and expressions"},
      {", let: 3", "mine.yaml:6: let must be a map of names and expressions"},
      {", measures: {m: end(dist2)}", "mine.yaml:6: ',' is missing before ')'"},
      {", measures: {m: 'max(dist)'}", "mine.yaml:6: unknown name 'dist'"},
      {", needs: more", "mine.yaml:6: needs: must be quick or full, not 'more'"},
      {", number: far", "mine.yaml:6: unknown name 'far'"},
      {", number: [1, 2]", "mine.yaml:6: number is an expression, or [value, low, high]"},
      {", note: 'so {far}'", "mine.yaml:6: unknown name 'far'"},
      {", each: outer", "mine.yaml:6: unknown factor 'outer'; there are method"},
      {", table: trce", "mine.yaml:6: unknown table 'trce'; did you mean 'trace'?"},
  };
  refuse_all(whole, sizeof whole / sizeof *whole, "claims: ", "\n");
  refuse_all(rest, sizeof rest / sizeof *rest, "claims: [{id: x, text: t, holds: 1 < 2", "}]\n");
}

static void figures_must_be_of_what_is_there(void **state) {
  (void)state;
  static const char series[] = "[{y: dist2, each: method}]";
  static const bad_rest whole[] = {
      {"3", "mine.yaml:6: a list is needed for 'figures'"},
      {"[{name: f}]", "mine.yaml:6: a figure needs 'panels'"},
      {"[{panels: []}, {name: mine, panels: []}]", "mine.yaml:6: there is already a figure 'mine'"},
      {"[{colums: 2}]", "mine.yaml:6: unknown key 'colums'; did you mean 'columns'?"},
      {"[{columns: -1}]", "mine.yaml:6: columns: must be a whole number from 1 to 32, not '-1'"},
      {"[{columns: text}]", "columns: must be a whole number from 1 to 32, not 'text'"},
      {"[{title: [1]}]", "mine.yaml:6: title: must be text, not a list"},
      {"[{each: weight, panels: []}]", "mine.yaml:6: unknown factor 'weight'; there are method"},
      {"[{each: method, panels: [{each: method}]}]", "the figure has an each already"},
  };
  static const bad_rest panels[] = {
      {"seris: 1", "mine.yaml:6: unknown key 'seris'; did you mean 'series'?"},
      {"title: t", "mine.yaml:6: a panel needs 'series'"},
      {"title: {a: 1}", "mine.yaml:6: title: must be text, not a map"},
      {"y: {lable: d}", "mine.yaml:6: unknown key 'lable'; did you mean 'label'?"},
      {"y: {log: maybe}", "mine.yaml:6: log: must be yes or no, not 'maybe'"},
      {"x: {least: text}", "mine.yaml:6: least: must be a number, or none, not 'text'"},
      {"x: [1]", "mine.yaml:6: x must be a map of keys and values"},
      {"series: [{y: dist2, each: method}], unless: nope", "mine.yaml:6: unknown column 'nope'"},
      {"series: [{y: dist2, each: method}], point: {x: z1, y: z}", "unknown column 'z'"},
      {"series: [{y: dist2, each: method}], point: {mark: line}", "unknown key 'mark'"},
  };
  static const bad_rest curves[] = {
      {"each: method, y: nope", "mine.yaml:6: unknown column 'nope'; there are method, outer"},
      {"each: method, y: dist2, x: nope", "mine.yaml:6: unknown column 'nope'"},
      {"each: method, y: method", "mine.yaml:6: y: 'method' is a column of words"},
      {"each: method", "mine.yaml:6: a series needs 'y'"},
      {"each: method, low: dist2", "mine.yaml:6: a band needs 'high'"},
      {"y: dist2, each: outer", "mine.yaml:6: unknown factor 'outer'; there are method"},
      {"y: dist2", "mine.yaml:6: table 'trace' has a CSV for each method: each: method, or at"},
      {"y: dist2, table: summary, each: method",
       "mine.yaml:6: table 'summary' has all levels of 'method' in one CSV; name it in split"},
      {"y: dist2, table: sumary", "mine.yaml:6: unknown table 'sumary'; did you mean 'summary'?"},
      {"y: dist2, each: method, style: nan", "style: must be a whole number from 0 to 1000"},
      {"mark: vertical, label: a", "a vertical line needs 'x'"},
      {"y: dist2, each: method, mark: dots", "mark: must be line, solid, thin, dashed, points"},
      {"y: dist2, each: method, at: {weight: 3}", "mine.yaml:6: at: unknown column 'weight'"},
      {"y: dist2, at: {method: c}", "mine.yaml:6: at: 'c' is no level of method"},
      {"y: dist2, at: 3", "mine.yaml:6: at must be a map of 1 to 4 levels"},
  };
  refuse_all(whole, sizeof whole / sizeof *whole, "figures: ", "\n");
  refuse_all(panels, sizeof panels / sizeof *panels, "figures: [{panels: [{", "}]}]\n");
  refuse_all(curves, sizeof curves / sizeof *curves, "figures: [{panels: [{series: [{", "}]}]}]\n");
  const char *const good = "methods: [{label: a, method: gd}]\nfigures: [{panels: [{series: ";
  char text[400];
  snprintf(text, sizeof text, "%s%s}]}]\n", good, series);
  hvi_study_free(parse(text));
}

/* The kind's figures are of its own files; a series goes over the levels of a number too. */
static void figures_follow_the_split(void **state) {
  (void)state;
  static const char rest[] = "methods: [{label: a, method: gd}]\ngrid: {weight: [0.5, 0.75]}\n";
  char text[600];
  snprintf(text, sizeof text, "%sfull: {grid: {weight: [0.25]}}\nsplit: weight method\n%s", rest,
           "figures: [{panels: [{series: [{y: dist2, each: weight, at: {method: a}},"
           " {y: dist2, each: method, at: {weight: 0.250}}]}]}]\n");
  hvi_study_free(parse(text));
  snprintf(text, sizeof text, "%ssplit: weight\n", rest);
  hvi_study *s = parse(text);
  assert_true(s->default_figures);
  assert_null(s->figures);
  hvi_study_free(s);
  s = parse(rest);
  assert_non_null(s->figures);
  hvi_study_free(s);
}

static void runs_names_an_experiment(void **state) {
  hvi_study *s = NULL;
  hvi_error err;
  const char *mine = in(*state, "other.yaml");
  write_file(mine, "id: other\ntitle: t\nkind: trajectory\nproblem: pennies\nruns: penies\n"
                   "methods: [{label: a, method: gd}]\n");
  check_error(
      hvi_study_open(&s, mine, NULL, &err), HVI_ERROR_INPUT, &err,
      "other.yaml:5: runs: there is no experiment 'penies', and no penies.yaml here; did you "
      "mean 'pennies'?");
  assert_null(s);
  write_file(in(*state, "penies.yaml"), "");
  check_ok(hvi_study_open(&s, in(*state, "other.yaml"), NULL, &err), &err);
  hvi_study_free(s);
}

static void an_id_is_a_folders_name(void **state) {
  (void)state;
  static const char *const bad[] = {"../up", "a/b", "A", "-a", "a b"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[200];
    hvi_study *s = NULL;
    snprintf(text, sizeof text, "id: '%s'\ntitle: t\nkind: trajectory\n", bad[i]);
    assert_int_equal(hvi_study_parse(&s, text, "x", NULL), HVI_ERROR_INPUT);
  }
}

static void what_is_missing_is_named(void **state) {
  (void)state;
  hvi_study *s = NULL;
  hvi_error err;
  assert_int_equal(hvi_study_parse(&s, "id: a\ntitle: b\n", "f.yaml", &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "f.yaml:1: the key 'kind' is missing");
}

static void unknown_ids_get_the_nearest(void **state) {
  (void)state;
  hvi_study *s = NULL;
  hvi_error err;
  assert_int_equal(hvi_study_open(&s, "penies", NULL, &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "unknown experiment 'penies'; did you mean 'pennies'?");
  assert_int_equal(hvi_study_open(&s, "/no/such/file.yaml", NULL, &err), HVI_ERROR_IO);
}

static void a_game_file_lies_beside_its_experiment(void **state) {
  hvi_study *s = NULL;
  hvi_problem *p = NULL;
  hvi_error err;
  char *game = slurp(HVI_SOURCE_DIR "/problems/rps.yaml");
  write_file(in(*state, "game.yaml"), game);
  hvi_free(game);
  write_file(in(*state, "mine.yaml"), "id: mine\ntitle: t\nkind: ensemble\nproblem: game.yaml\n"
                                      "methods: [{label: a, method: gd}]\n");
  check_ok(hvi_study_open(&s, in(*state, "mine.yaml"), NULL, &err), &err);
  const hvi_cell c = {.study = s, .part = &s->parts[0]};
  check_ok(hvi_cell_problem(&p, &c, 0, &err), &err);
  assert_int_equal(p->model->dim, 10);
  hvi_problem_free(p);
  assert_int_equal(hvi_cell_problem(&p, &c, 1, &err), HVI_ERROR_UNSUPPORTED);
  hvi_study_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_papers_experiments_are_built_in),
      cmocka_unit_test(keys_reach_the_settings),
      cmocka_unit_test(parts_have_what_they_do_not_give),
      cmocka_unit_test(bad_files_get_a_line_each),
      cmocka_unit_test(factors_must_mean_something),
      cmocka_unit_test(claims_must_say_something),
      cmocka_unit_test(figures_must_be_of_what_is_there),
      cmocka_unit_test(figures_follow_the_split),
      cmocka_unit_test(runs_names_an_experiment),
      cmocka_unit_test(an_id_is_a_folders_name),
      cmocka_unit_test(what_is_missing_is_named),
      cmocka_unit_test(unknown_ids_get_the_nearest),
      cmocka_unit_test(a_game_file_lies_beside_its_experiment),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

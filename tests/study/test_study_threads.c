/* Whole studies, small, of every kind: the same bits on any number of threads and after a stop; what
 * they leave on disk, resuming, and the paper's claims. */
#include "study/running.h"
#include "support/claims.h"

#include <stdlib.h>

#define TWO                                                                                        \
  "methods:\n"                                                                                     \
  "  - {label: LM, method: lm, eta: 0.1, inner: 1, damping: 0.02, highlight: true}\n"              \
  "  - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1}\n"

/* A small study of each kind, without its id, title and kind. */
static const struct {
  const char *kind, *rest;
} small[] = {
    {"trajectory", "problem: pennies\nquick: {iterations: 40}\n" TWO},
    {"timing", "problem: pennies\nquick: {iterations: 20, repeats: 2}\n" TWO},
    {"ensemble", "problem: pennies\nseed: 3\nquick: {iterations: 40, instances: 150}\n" TWO},
    {"rps-scan", "problem: rps\nquick: {iterations: 50, instances: 20}\nmethods:\n"
                 "  - {label: PHGD, method: phgd, eta: 0.05}\n"
                 "  - {label: LM(1), method: lm, eta: 0.1, inner: 1, damping: 0.01}\n"
                 "  - {label: LM(5), method: lm, eta: 0.1, inner: 5, damping: 0.01}\n"
                 "  - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1}\n"
                 "  - {label: GD(100), method: gd, eta: 0.1, inner: 100, inner_lr: 1}\n"
                 "  - {label: GDA, method: gda, eta: 0.1, inner_lr: 1}\n"},
    {"deployment", "problem: credit\noptions: {rows: 200}\nquick: {iterations: 3}\n"
                   "grid: {instance: [0, 2]}\nmethods: [{label: greedy, method: lm, eta: 4}]\n"},
    {"deployment-seeds", "problem: performative-mean\nquick: {iterations: 3, instances: 5}\n"
                         "grid: {batch: 10, growth: [1, 2]}\n"
                         "methods: [{label: lazy, method: gd, eta: 1}]\n"},
    {"linear", "problem: chain\noptions: {data: trajectory}\n"
               "grid: {kind: [walk, blocks], rate: 0.3, decay: 1e-3, second_rate: 1}\n"
               "quick: {iterations: 1000, instances: 20}\n"},
    {"value", "quick: {iterations: 6, instances: 2, batch: 20, measures: 4}\nvalue:\n"
              "  environments: [{environment: lqr, policy: default, testset: nowhere,"
              " stand_in: {states: 30, rollouts: 3, horizon: 50}}]\n"
              "  hidden: [8]\n  gamma: 0.9\n  checkpoint: 0\nmethods:\n"
              "  - {label: TD(0), method: adamw, keep_state: true, inner_lr: 0.01}\n"
              "  - {label: Surr 10, method: adamw, inner: 10, inner_lr: 0.01}\n"},
    {"theory-steps", "problem: quadratic\nquick: {iterations: 30}\nsplit: bias\n"
                     "grid: {shape: [{mu: 1, L: 2, g: identity}], instance: 1..2,"
                     " bias: [aside, random], alpha_share: [0, 0.5], eta_share: 0.5}\n"},
    {"theory-inner", "problem: quadratic\noptions: {n: 4, d: 6}\nquick: {iterations: 20}\n"
                     "grid: {g: [celu, tanh], method: [gd, dgn], far: [3, 5]}\n"},
    {"theory-descent",
     "problem: quadratic\noptions: {rotation: 0}\nquick: {iterations: 99}\ngrid: "
     "{function: [convex, valleys], g: identity, alpha: 0.5, bias: [aside], stream: 1}\n"},
    {"theory-vanishing",
     "problem: quadratic\nquick: {iterations: 99}\ngrid: {shape: [{mu: 1, L: 2, "
     "g: identity, instance: 1, bias: away, step: best}], errors: [harmonic, root]}\n"},
    {"theory-noise", "problem: quadratic\nquick: {instances: 3}\ngrid: {shape: [{mu: 1, L: 2, g: "
                     "identity}], sigma: [0, 1], eta_share: 1, alpha_share: 0.5}\n"},
    {"theory-pl", "problem: quadratic\noptions: {n: 4, d: 6}\nquick: {instances: 9}\n"
                  "grid: {g: [tanh, linear]}\n"},
    {"theory-exact", "quick: {iterations: 200}\ngrid: {problem: [pennies, rps], "
                     "signs: [mended, printed], eta: 0.1}\n"},
    {"theory-alpha", "quick: {iterations: 50}\n"
                     "grid: {problem: pennies, step: [best, theorem, 0.1], alpha: [0.7, 0.9]}\n"},
};

static const char *text_of(const char *kind) {
  static char text[2000];
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    if (strcmp(small[i].kind, kind) != 0) continue;
    snprintf(text, sizeof text, "id: small\ntitle: t\nkind: %s\n%s", kind, small[i].rest);
    return text;
  }
  fail_msg("no small study of kind %s", kind);
  return NULL;
}

/* Stopped after so many ticks, as Ctrl-C does, and taken up again; whether it was stopped. */
static bool stop_and_resume(const char *out, const char *text, size_t after) {
  watcher w = {.stop_after = after};
  bool stopped = false;
  hvi_claims c = run_study(text, (hvi_study_settings){.out = out, .threads = 2}, &w, &stopped);
  if (stopped) assert_int_equal(c.count, 0);
  assert_true(stopped != exists(in(out, "small/claims.json")));
  hvi_claims_clear(&c);
  finish_study(text, (hvi_study_settings){.out = out, .threads = 3, .resume = true});
  assert_true(exists(in(out, "small/claims.json")));
  return stopped;
}

static void every_kind_has_the_same_bits(void **state) {
  char one[128], many[128], tables_of_one[140], tables_of_many[140];
  snprintf(one, sizeof one, "%s/one", (char *)*state);
  snprintf(many, sizeof many, "%s/many", (char *)*state);
  snprintf(tables_of_one, sizeof tables_of_one, "%s/small", one);
  snprintf(tables_of_many, sizeof tables_of_many, "%s/small", many);
  for (size_t k = 0; hvi_kinds[k]; k++) {
    const char *text = text_of(hvi_kinds[k]->name);
    print_message("%s\n", hvi_kinds[k]->name);
    const size_t calls = finish_study(text, (hvi_study_settings){.out = one, .threads = 1});
    finish_study(text, (hvi_study_settings){.out = many, .threads = 3});
    const size_t tables = same_tables(tables_of_one, tables_of_many);
    assert_true(tables > 0);
    /* at the start, at the first cell, half way, near the end */
    const size_t stop[] = {1, 2, calls / 2 + 1, calls - 1};
    size_t stops = 0;
    for (size_t i = 0; i < 4; i++) {
      stops += stop_and_resume(many, text, stop[i]);
      assert_int_equal(same_tables(tables_of_one, tables_of_many), tables);
    }
    assert_true(stops >= 2);
    remove_tree(one);
    remove_tree(many);
  }
}

static void every_claim_holds_on_the_fixed_pennies_game(void **state) {
  bool stopped = true;
  hvi_claims c = run_study("pennies", (hvi_study_settings){.out = *state}, NULL, &stopped);
  assert_false(stopped);
  for (size_t i = 0; i < 10; i++)
    if (c.items[i]->judgement != HVI_HOLDS) fail_msg("%s", c.items[i]->text);
  /* what is left of the sentences elsewhere: at other step sizes and at equal gradients */
  static const char *const lost[] = {"gd10-second-to-lm-best-eta", "gda-slow-best-eta",
                                     "gd10-beats-phgd-equal-gradients"};
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(find_claim(&c, lost[i])->judgement, HVI_HOLDS_NOT);
  static const char *const kept[] = {"eta-decides", "best-inside", "map-bound", "map-outside"};
  for (size_t i = 0; i < 4; i++) assert_int_equal(find_claim(&c, kept[i])->judgement, HVI_HOLDS);
  const hvi_claim *phgd = find_claim(&c, "phgd-linear");
  check_near(phgd->measures[2].value, 1.6e-7, 0.1e-7);
  static const char *const files[] = {"pennies/claims.json", "pennies/pennies.gp",
                                      "pennies/summary.csv", "pennies/trace-gd-10.csv"};
  for (size_t i = 0; i < 4; i++) assert_true(exists(in(*state, files[i])));
  hvi_claims_clear(&c);
}

static void resuming_runs_only_what_is_not_done(void **state) {
  watcher w = {0};
  bool stopped;
  hvi_study_settings s = {.out = *state};
  const char *text = text_of("ensemble");
  assert_true(finish_study(text, s) > 0);
  s.resume = true;
  hvi_claims c = run_study(text, s, &w, &stopped);
  assert_int_equal(w.calls, 0);
  assert_string_equal(c.experiment, "small");
  assert_int_equal(c.figure_count, 1);
  assert_int_equal(c.count, 0); /* of one's own: nothing of the paper's to judge */
  hvi_claims_clear(&c);
  s.full = true; /* other settings: another run */
  assert_true(finish_study(text, s) > 0);
}

/* Only the cells that a changed file changes are run again. */
static void a_changed_file_keeps_its_other_cells(void **state) {
  static const char text[] = "id: grown\ntitle: t\nkind: theory-pl\nproblem: quadratic\n"
                             "options: {n: 4}\nquick: {instances: 9}\ngrid: {d: [%s]}\n";
  char few[300], more[300];
  snprintf(few, sizeof few, text, "6, 7");
  snprintf(more, sizeof more, text, "6, 7, 8");
  hvi_study_settings s = {.out = *state, .threads = 1};
  const size_t both = finish_study(few, s);
  s.resume = true;
  const size_t other = finish_study(more, s);
  assert_true(other < both);
  s.resume = false;
  assert_true(finish_study(more, s) > both);
}

static void the_page_keeps_earlier_experiments(void **state) {
  hvi_error err;
  hvi_claims mine = {.experiment = "mine", .title = "My own", .mode = "quick"};
  check_ok(hvi_study_page(*state, &mine, 1, &err), &err);
  char *page = slurp(in(*state, "index.html"));
  assert_non_null(strstr(page, "id=\"mine\""));
  assert_non_null(strstr(page, "id=\"pennies\"")); /* from another test */
  assert_null(strstr(page, "id=\"rps\""));
  hvi_free(page);
}

/* A result that came with the program: found among data, shown, copied once, labelled. */
static void shipped_results_are_found_and_copied(void **state) {
  hvi_error err;
  char path[300];
  hvi_claims full = {.experiment = "pennies", .title = "t", .mode = "full"};
  hvi_claims_figure(&full, "pennies", NULL, NULL);
  hvi_claims_add(&full, "phgd-linear", "", "as shipped");
  snprintf(path, sizeof path, "%s/data/results/pennies", (const char *)*state);
  check_ok(hvi_folder_make(path, &err), &err);
  check_ok(hvi_claims_write(&full, in(path, "claims.json"), &err), &err);
  write_file(in(path, "pennies.png"), "picture");
  write_file(in(path, "outdated.txt"), "an older test set\nmore\n");
  hvi_claims_clear(&full);
  hvi_claims c = {.experiment = "pennies", .mode = "quick"};
  assert_int_equal(setenv("HVI_DATA", in(*state, "data"), 1), 0);
  hvi_study_attach_full(&c, *state);
  assert_non_null(c.full);
  assert_string_equal(c.outdated, "an older test set");
  assert_string_equal(hvi_claims_find(c.full, "phgd-linear")->text, "as shipped");
  char *copied = slurp(in(*state, "pennies/full/pennies.png"));
  assert_string_equal(copied, "picture");
  assert_true(exists(in(*state, "pennies/full/claims.json")));
  hvi_free(copied);
  hvi_claims_clear(&c);
  c = (hvi_claims){.experiment = "pennies", .mode = "full"}; /* is compared with nothing */
  hvi_study_attach_full(&c, *state);
  assert_null(c.full);
  write_file(in(path, "claims.json"), "{}"); /* damaged: not shown */
  c = (hvi_claims){.experiment = "pennies", .mode = "quick"};
  hvi_study_attach_full(&c, *state);
  assert_null(c.full);
  unsetenv("HVI_DATA");
}

static void a_comparison_of_ones_own(void **state) {
  bool stopped;
  hvi_claims c = run_study("id: own\ntitle: t\nkind: trajectory\nproblem: quadratic\n"
                           "quick: {iterations: 20}\nmethods:\n"
                           "  - {label: one, method: projected, eta: best}\n"
                           "  - {label: two, method: extragradient, eta: 0.05}\n"
                           "claims:\n  - {id: nearer, text: one ends nearer,"
                           " holds: 'end(dist2, \"one\") < end(dist2, \"two\")'}\n",
                           (hvi_study_settings){.out = *state}, NULL, &stopped);
  assert_int_equal(c.count, 1);
  assert_int_equal(find_claim(&c, "nearer")->judgement, HVI_HOLDS);
  assert_true(exists(in(*state, "own/trace-one.csv")));
  assert_true(exists(in(*state, "own/own.gp")));
  hvi_claims_clear(&c);
}

#define LQR                                                                                        \
  "kind: value\nseed: 5\nquick: {iterations: 6, instances: 3, batch: 20, measures: 4}\nvalue:\n"   \
  "  environments: [{environment: lqr, policy: default, testset: nowhere,"                         \
  " stand_in: {states: 30, rollouts: 3, horizon: 50}}]\n"                                          \
  "  hidden: [8]\n  gamma: 0.9\n  checkpoint: 0\n  tune: {tuned: 'five seeds, quick'}\nmethods:\n" \
  "  - {label: A, method: adamw, keep_state: true, inner_lr: 0.01}\n"                              \
  "  - {label: B, method: adamw, inner: 10, inner_lr: 0.01}\n"

/* What a summary shows: given as a measure, an expression, with an interval, or not at all. */
static void claims_have_a_number_and_say_what_they_rest_on(void **state) {
  const hvi_made made = {.version = "1", .commit = "abc", .command = "hvi", .date = "today"};
  bool stopped;
  hvi_claims c =
      run_study("id: words\ntitle: t\npaper: It says.\nshows: It shows. Twice.\n" LQR "claims:\n"
                "  - {id: a, text: t, holds: 'end(error, \"A\") < end(error, \"B\")'}\n"
                "  - {id: b, text: t, holds: 'end(error, \"A\") < end(error, \"B\")', number: y,"
                " measures: {x: 3, y: 5}, needs: full}\n"
                "  - {id: c, text: t, measures: {x: 3}, number: 'end(error, \"A\")'}\n"
                "  - {id: d, text: t, measures: {x: 3}, number: {two: [2, 1, 4]}}\n"
                "  - {id: e, text: t, measures: {x: 3, y: 4}}\n",
                (hvi_study_settings){.out = *state, .made = &made}, NULL, &stopped);
  hvi_claim_number n[5];
  for (size_t i = 0; i < 5; i++) n[i] = hvi_claim_number_of(c.items[i]);
  const hvi_claim *a = c.items[0];
  assert_string_equal(n[0].name, "A over B");
  assert_true(n[0].low < n[0].value && n[0].value < n[0].high);
  assert_int_equal(c.items[1]->judgement, HVI_NEEDS_FULL);
  assert_true(strcmp(n[1].name, "y") == 0 && n[1].value == 5);
  assert_string_equal(a->measures[0].name, "A");
  check_near(n[2].value, a->measures[0].value, 1e-12 * n[2].value);
  check_near(n[2].high - n[2].value, a->measures[1].value, 1e-9 * n[2].value);
  assert_string_equal(n[3].name, "two");
  assert_true(n[3].value == 2 && n[3].low == 1 && n[3].high == 4);
  assert_true(n[4].value == 3 && isnan(n[4].low));
  assert_string_equal(a->seeds, "3 seeds, 5 to 7");
  assert_string_equal(a->tuning, "five seeds, quick");
  assert_string_equal(c.paper, "It says.");
  assert_string_equal(c.shows, "It shows. Twice.");
  assert_memory_equal(&c.made, &made, sizeof made);
  hvi_claims_clear(&c);
}

static void timing_times(void **state) {
  finish_study("id: clock\ntitle: t\nkind: timing\nproblem: pennies\n"
               "quick: {iterations: 100, repeats: 2}\nmethods:\n"
               "  - {label: GDA, method: gda, eta: 0.1, inner_lr: 1}\n"
               "  - {label: GD(10), method: gd, inner: 10, inner_lr: 1}\n",
               (hvi_study_settings){.out = *state});
  csv t = read_csv(in(*state, "clock/times.csv"));
  assert_int_equal(t.rows, 2);
  assert_string_equal(cell_of(&t, 0, "method"), "GDA");
  assert_string_equal(cell_of(&t, 1, "model_passes"), "1001");
  assert_string_equal(cell_of(&t, 1, "grad_evals"), "1000");
  assert_string_equal(cell_of(&t, 1, "inner"), "1000");
  free_csv(&t);
}

static void kinds_and_what_they_need(void **state) {
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"kind: trajektory\n", "unknown kind 'trajektory'; did you mean 'trajectory'?"},
      {"kind: timing\nproblem: pennies\n",
       "the key 'methods' is missing; it belongs to kind timing"},
      {"kind: timing\nmethods: [{label: a, method: gd}]\n", "the key 'problem' is missing"},
      {"kind: timing\nproblem: penies\nmethods: [{label: a, method: gd}]\n",
       "unknown problem 'penies'"},
      {"kind: value\n", "the key 'methods' is missing"},
      {"kind: value\nmethods: [{label: a, method: gd}]\n", "the key 'value' is missing"},
      {"kind: value\nmethods: [{label: a, method: gd}]\nvalue:\n  gap: true\n"
       "  environments: [{environment: lqr, policy: default, testset: x}]\n",
       "the Bellman gap is that of a fixed data set"},
      {"kind: value\nmethods: [{label: a, method: gd}]\nvalue:\n"
       "  environments: [{environment: aunt, policy: default, testset: x}]\n",
       "aunt"},
      {"kind: timing\nproblem: pennies\nmethods: [{label: a, method: gd, at: [{repeat: 9}]}]\n",
       "test:5: 'a': at names repeat '9', which is none of its levels"},
      {"kind: timing\nproblem: pennies\nmethods: [{label: a, method: gd, at: [{size: small}]}]\n",
       "at names size 'small', which is none of its levels"},
      {"kind: timing\nproblem: pennies\nmethods: [{label: a, method: gd, at: [{ieta: 1}]}]\n",
       "'ieta' is no factor and no setting"},
      {"kind: timing\nproblem: pennies\nmethods: [{label: a, method: gd, at: [1]}]\n",
       "test:5: at must be a list of maps"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hvi_study *s = NULL;
    hvi_claims claims;
    char text[400];
    hvi_error err = {HVI_OK, ""};
    bool stopped;
    snprintf(text, sizeof text, "id: a\ntitle: t\n%s", cases[i].text);
    hvi_status status = hvi_study_parse(&s, text, "test", &err);
    if (!status)
      status = hvi_study_run(&claims, &stopped, s, &(hvi_study_settings){.out = *state}, &err);
    check_error(status, HVI_ERROR_INPUT, &err, cases[i].said);
    hvi_study_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_has_the_same_bits),
      cmocka_unit_test(every_claim_holds_on_the_fixed_pennies_game),
      cmocka_unit_test(resuming_runs_only_what_is_not_done),
      cmocka_unit_test(a_changed_file_keeps_its_other_cells),
      cmocka_unit_test(the_page_keeps_earlier_experiments),
      cmocka_unit_test(shipped_results_are_found_and_copied),
      cmocka_unit_test(a_comparison_of_ones_own),
      cmocka_unit_test(claims_have_a_number_and_say_what_they_rest_on),
      cmocka_unit_test(timing_times),
      cmocka_unit_test(kinds_and_what_they_need),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

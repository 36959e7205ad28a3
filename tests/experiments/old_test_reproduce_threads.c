/* Whole experiments, small: what they leave on disk, resuming, stopping, and the paper's claims. */
#include "report/folder.h"

#include "experiments/run.h"

typedef struct watcher {
  size_t calls, stop_after; /* 0: never */
} watcher;

static bool watch(void *context, const char *id, const char *doing, double share) {
  watcher *w = context;
  assert_true(id && doing && share >= 0 && share <= 1);
  w->calls++;
  return w->stop_after == 0 || w->calls < w->stop_after;
}

static hvi_claims reproduce(const char *text, hvi_reproduce_settings s, bool *stopped) {
  hvi_experiment *e = NULL;
  hvi_claims claims = {0};
  hvi_error err;
  hvi_status status = strchr(text, '\n') ? hvi_experiment_parse(&e, text, "test", &err)
                                         : hvi_experiment_new(&e, text, &err);
  if (status == HVI_OK) status = hvi_reproduce(&claims, stopped, e, &s, &err);
  if (status != HVI_OK) fail_msg("%s", err.text);
  hvi_experiment_free(e);
  return claims;
}

static const char ensemble[] =
    "id: small\ntitle: t\nkind: ensemble\nproblem: pennies\nseed: 3\n"
    "quick: {iterations: 40, instances: 150}\nmethods:\n"
    "  - {label: LM, method: lm, eta: 0.1, inner: 1, damping: 0.02, highlight: true}\n"
    "  - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1}\n";

static void every_claim_holds_on_the_fixed_pennies_game(void **state) {
  bool stopped = true;
  hvi_claims c = reproduce("pennies", (hvi_reproduce_settings){.out = *state}, &stopped);
  assert_false(stopped);
  assert_int_equal(c.count, 10);
  for (size_t i = 0; i < c.count; i++)
    if (c.items[i]->judgement != HVI_HOLDS) fail_msg("%s", c.items[i]->text);
  const hvi_claim *phgd = hvi_claims_find(&c, "phgd-linear");
  assert_true(phgd->measures[0].value > 1.5e-7 && phgd->measures[0].value < 1.7e-7);
  static const char *const files[] = {"pennies/claims.json", "pennies/pennies.gp",
                                      "pennies/summary.csv", "pennies/trace-gd-10.csv"};
  for (size_t i = 0; i < 4; i++) assert_true(exists(in(*state, files[i])));
  hvi_claims_clear(&c);
}

static void threads_do_not_change_a_byte(void **state) {
  char *texts[2];
  for (size_t threads = 1; threads <= 2; threads++) {
    bool stopped;
    hvi_claims c =
        reproduce(ensemble, (hvi_reproduce_settings){.out = *state, .threads = threads}, &stopped);
    assert_int_equal(c.count, 0); /* of one's own: nothing of the paper's to judge */
    hvi_claims_clear(&c);
    texts[threads - 1] = slurp(in(*state, "small/ensemble-gd-10.csv"));
  }
  assert_string_equal(texts[0], texts[1]);
  hvi_free(texts[0]);
  hvi_free(texts[1]);
}

static void resuming_runs_only_what_is_not_done(void **state) {
  watcher w = {0};
  bool stopped;
  hvi_reproduce_settings s = {.out = *state, .progress = watch, .context = &w};
  hvi_claims c = reproduce(ensemble, s, &stopped);
  hvi_claims_clear(&c);
  assert_true(w.calls > 0);
  w.calls = 0;
  s.resume = true;
  c = reproduce(ensemble, s, &stopped);
  assert_int_equal(w.calls, 0);
  assert_string_equal(c.experiment, "small");
  assert_int_equal(c.figure_count, 1);
  hvi_claims_clear(&c);
  s.full = true; /* other settings: another run */
  c = reproduce(ensemble, s, &stopped);
  assert_true(w.calls > 0);
  hvi_claims_clear(&c);
}

static void stopping_leaves_no_claims(void **state) {
  for (size_t after = 1; after <= 3; after++) {
    watcher w = {.stop_after = after};
    bool stopped = false;
    hvi_claims c = reproduce(
        ensemble, (hvi_reproduce_settings){.out = *state, .progress = watch, .context = &w},
        &stopped);
    assert_true(stopped);
    assert_int_equal(c.count, 0);
    assert_false(exists(in(*state, "small/claims.json")));
    hvi_claims_clear(&c);
  }
}

static void the_page_keeps_earlier_experiments(void **state) {
  hvi_error err;
  hvi_claims mine = {.experiment = "mine", .title = "My own", .mode = "quick"};
  if (hvi_reproduce_page(*state, &mine, 1, &err) != HVI_OK) fail_msg("%s", err.text);
  char *page = slurp(in(*state, "index.html"));
  assert_non_null(strstr(page, "id=\"mine\""));
  assert_non_null(strstr(page, "id=\"pennies\"")); /* from the first test */
  assert_null(strstr(page, "id=\"rps\""));
  hvi_free(page);
}

static void a_comparison_of_ones_own(void **state) {
  bool stopped;
  hvi_claims c = reproduce("id: own\ntitle: t\nkind: trajectory\nproblem: quadratic\n"
                           "quick: {iterations: 20}\nmethods:\n"
                           "  - {label: one, method: projected, eta: best}\n"
                           "  - {label: two, method: extragradient, eta: 0.05}\n",
                           (hvi_reproduce_settings){.out = *state}, &stopped);
  assert_int_equal(c.count, 0);
  assert_true(exists(in(*state, "own/trace-one.csv")) && exists(in(*state, "own/own.gp")));
  hvi_claims_clear(&c);
}

static void timing_times(void **state) {
  bool stopped;
  hvi_claims c = reproduce("id: clock\ntitle: t\nkind: timing\nproblem: pennies\n"
                           "quick: {iterations: 100, repeats: 2}\nmethods:\n"
                           "  - {label: GDA, method: gda, eta: 0.1, inner_lr: 1}\n"
                           "  - {label: GD(10), method: gd, inner: 10, inner_lr: 1}\n",
                           (hvi_reproduce_settings){.out = *state}, &stopped);
  hvi_claims_clear(&c);
  char *text = slurp(in(*state, "clock/times.csv"));
  assert_non_null(strstr(text, "\nGDA,"));
  assert_non_null(strstr(text, ",1001,1000,1000\n")); /* passes, gradients, inner steps of GD(10) */
  hvi_free(text);
}

static void kinds_and_what_they_need(void **state) {
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"id: a\ntitle: t\nkind: trajektory\n", "unknown kind 'trajektory'"},
      {"id: a\ntitle: t\nkind: timing\nproblem: pennies\n", "needs the keys problem and methods"},
      {"id: a\ntitle: t\nkind: timing\nmethods: [{label: a, method: gd}]\n",
       "needs the keys problem and methods"},
      {"id: a\ntitle: t\nkind: timing\nproblem: penies\nmethods: [{label: a, method: gd}]\n",
       "unknown problem 'penies'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hvi_experiment *e = NULL;
    hvi_claims claims;
    hvi_error err;
    bool stopped;
    hvi_reproduce_settings s = {.out = *state};
    assert_int_equal(hvi_experiment_parse(&e, cases[i].text, "test", &err), HVI_OK);
    assert_int_equal(hvi_reproduce(&claims, &stopped, e, &s, &err), HVI_ERROR_INPUT);
    if (!strstr(err.text, cases[i].said)) fail_msg("%s", err.text);
    hvi_experiment_free(e);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_claim_holds_on_the_fixed_pennies_game),
      cmocka_unit_test(threads_do_not_change_a_byte),
      cmocka_unit_test(resuming_runs_only_what_is_not_done),
      cmocka_unit_test(stopping_leaves_no_claims),
      cmocka_unit_test(the_page_keeps_earlier_experiments),
      cmocka_unit_test(a_comparison_of_ones_own),
      cmocka_unit_test(timing_times),
      cmocka_unit_test(kinds_and_what_they_need),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

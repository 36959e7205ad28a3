/* Policy evaluation as a study, on lqr: streams, threads, resuming, sharing, tuning, missing data. */
#include "study/running.h"

#include "study/study.h"
#include "support/claims.h"

static const char lqr[] =
    "  environments: [{environment: lqr, policy: default, testset: nowhere.safetensors,"
    " stand_in: {states: 30, rollouts: 3, horizon: 50}}]\n";
static const char rest[] =
    "  hidden: [8]\n  gamma: 0.9\n  per_decade: 3\n  checkpoint: 0\n"
    "  tune: {seeds: 2, first: 101, rates: [0.001, 0.01]}\n"
    "methods:\n"
    "  - {label: TD(0), method: adamw, keep_state: true, inner_lr: 0.01}\n"
    "  - {label: Surr 10, method: adamw, inner: 10, inner_lr: 0.01}\n"
    "  - {label: half, method: adamw, inner: 20, alpha: 0.7, inner_lr: 0.01}\n"
    "  - {label: double, method: adamw, inner: 5, double_sampling: 3, inner_lr: 0.01}\n"
    "  - {label: tdc, method: tdc, eta: 0.01, second_rate: 1}\n";
enum { METHODS = 5, SEEDS = 3 };

static const char *online(const char *id) {
  static char text[4000];
  snprintf(text, sizeof text,
           "id: %s\ntitle: t\nkind: value\n"
           "quick: {iterations: 12, instances: 3, batch: 20, measures: 4}\nvalue:\n%s%s",
           id, lqr, rest);
  return text;
}

/* The rows of a method and a seed in runs.csv: [first, last). */
typedef struct range {
  size_t first, last;
} range;

static range rows_of(const csv *t, const char *method, const char *seed) {
  range r = {0, 0};
  while (r.first < t->rows && (strcmp(cell_of(t, r.first, "method"), method) != 0 ||
                               strcmp(cell_of(t, r.first, "seed"), seed) != 0))
    r.first++;
  for (r.last = r.first; r.last < t->rows; r.last++)
    if (strcmp(cell_of(t, r.last, "method"), method) != 0 ||
        strcmp(cell_of(t, r.last, "seed"), seed) != 0)
      break;
  assert_true(r.last > r.first);
  return r;
}

static void threads_do_not_change_a_bit(void **state) {
  finish_study(online("one"), (hvi_study_settings){.out = *state, .threads = 1});
  finish_study(online("two"), (hvi_study_settings){.out = *state, .threads = 3});
  assert_true(same_tables(in(*state, "one"), in(*state, "two")) > METHODS);
  assert_true(exists(in(*state, "one/summary.csv")));
  assert_true(exists(in(*state, "one/one.gp")));
  assert_true(exists(in(*state, "one/seconds-lqr-surr-10.csv")));
}

/* All methods of a seed are charged the same for the same batches, and start from one network. */
static void methods_of_a_seed_share_their_stream(void **state) {
  csv t = read_csv(in(*state, "one/runs.csv"));
  const range td = rows_of(&t, "TD(0)", "2"), ten = rows_of(&t, "Surr 10", "2");
  const range other = rows_of(&t, "TD(0)", "1");
  assert_int_equal(td.last - td.first, ten.last - ten.first);
  for (size_t i = 0; i < td.last - td.first; i++) {
    assert_string_equal(cell_of(&t, td.first + i, "seconds_collect"),
                        cell_of(&t, ten.first + i, "seconds_collect"));
    check_near(number_in_csv(&t, td.first + i, "env_steps"),
               20.0 * number_in_csv(&t, td.first + i, "outer"), 0.0);
  }
  assert_string_equal(cell_of(&t, td.first, "error"), cell_of(&t, ten.first, "error"));
  assert_string_not_equal(cell_of(&t, td.first, "error"), cell_of(&t, other.first, "error"));
  free_csv(&t);
}

/* Surr 10 on seed 3 with a collector of its own, and the plain evaluation. */
static hvi_evaluation_spec plain_spec(hvi_collector *c, hvi_settings *settings) {
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  s.seed = 3;
  s.value.data = hvi_collector_data(c);
  s.value.batch = 20;
  s.value.gamma = 0.9;
  s.value.lambda = 0.0;
  s.value.hidden[0] = 8;
  s.value.hidden_count = 1;
  s.stream = hvi_stream_of_collector(c);
  s.polyak = 0.0;
  s.settings = settings;
  *settings = hvi_method_settings("gd");
  hvi_method_apply(settings, "adamw", NULL);
  settings->eta = 1.0;
  settings->inner.lr = 0.01;
  settings->inner_steps = 10;
  settings->max_outer = 12;
  settings->stall_window = 0;
  s.schedule = (hvi_schedule){.every = 3, .per_decade = 3};
  s.normalise = HVI_NORMALISE_NONE;
  return s;
}

static void a_cell_is_a_plain_evaluation(void **state) {
  csv t = read_csv(in(*state, "one/runs.csv"));
  const range r = rows_of(&t, "Surr 10", "3");
  hvi_env *env = NULL;
  hvi_policy *policy = NULL;
  hvi_collector *c = NULL;
  hvi_evaluation *e = NULL;
  assert_int_equal(hvi_env_new(&env, "lqr", NULL), HVI_OK);
  assert_int_equal(hvi_policy_of_env(&policy, env, NULL), HVI_OK);
  assert_int_equal(hvi_collector_new(&c, env, policy, 3, 1, 13 * 20, NULL), HVI_OK);
  hvi_settings settings;
  const hvi_evaluation_spec s = plain_spec(c, &settings);
  assert_int_equal(hvi_evaluation_new(&e, &s, NULL), HVI_OK);
  while (!hvi_evaluation_state(e).done) assert_int_equal(hvi_evaluation_step(e, NULL), HVI_OK);
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  assert_int_equal(count, r.last - r.first);
  for (size_t i = 1; i < count; i++) {
    check_near(number_in_csv(&t, r.first + i, "outer"), (double)rows[i].outer, 0.0);
    check_near(number_in_csv(&t, r.first + i, "loss0"), rows[i].loss0, 0.0);
    check_near(number_in_csv(&t, r.first + i, "loss"), rows[i].loss, 0.0);
  }
  hvi_evaluation_free(e);
  hvi_collector_free(c);
  hvi_policy_free(policy);
  hvi_env_free(env);
  free_csv(&t);
}

/* Stopped anywhere, a run that resumes ends in the same bits, and what was finished stays. */
static void resuming_gives_the_same_bits(void **state) {
  size_t stops = 0;
  for (size_t after = 3; after < 200; after += 41) {
    watcher w = {.stop_after = after};
    bool stopped = false;
    char id[16], claims[64];
    snprintf(id, sizeof id, "stop-%zu", after);
    snprintf(claims, sizeof claims, "%s/claims.json", id);
    hvi_study_settings s = {.out = *state, .threads = 2};
    hvi_claims c = run_study(online(id), s, &w, &stopped);
    hvi_claims_clear(&c);
    stops += stopped;
    assert_true(!stopped || !exists(in(*state, claims)));
    s.resume = true;
    finish_study(online(id), s);
    assert_true(exists(in(*state, claims)));
    same_tables(in(*state, "one"), in(*state, id));
  }
  assert_true(stops >= 4);
}

/* A method more: the cells of the others are taken from the journal. Another rate: none are. */
static void only_changed_cells_are_run(void **state) {
  char text[6000];
  hvi_study_settings s = {.out = *state, .threads = 1};
  const size_t all = finish_study(online("grown"), s);
  snprintf(text, sizeof text, "%s  - {label: more, method: adamw, inner: 3, inner_lr: 0.01}\n",
           online("grown"));
  s.resume = true;
  const size_t more = finish_study(text, s);
  assert_true(more < all / 3);
  snprintf(text, sizeof text, "%s", online("grown"));
  memcpy(strstr(text, "gamma: 0.9"), "gamma: 0.8", 10);
  assert_true(finish_study(text, s) >= all);
}

static const char *offline(const char *id, const char *more) {
  static char text[4000];
  snprintf(text, sizeof text,
           "id: %s\ntitle: t\nkind: value\n%s"
           "quick: {gradients: 20, instances: 2, batch: 30, offline: 60, measures: 2}\nvalue:\n"
           "%s  hidden: [8]\n  gamma: 0.9\n  gap: true\n"
           "methods:\n  - {label: TD(0), method: adamw, keep_state: true, inner_lr: 0.01}\n"
           "  - {label: ten, method: adamw, inner: 10, inner_lr: 0.01}\n"
           "  - {label: half, method: adamw, inner: 10, alpha: 0.7, inner_lr: 0.01}\n",
           id, more, lqr);
  return text;
}

static void offline_runs_have_a_budget_of_gradients(void **state) {
  finish_study(offline("fixed", ""), (hvi_study_settings){.out = *state, .threads = 2});
  csv t = read_csv(in(*state, "fixed/runs.csv"));
  const range td = rows_of(&t, "TD(0)", "1"), ten = rows_of(&t, "ten", "1");
  assert_string_equal(cell_of(&t, td.last - 1, "outer"), "20");
  assert_string_equal(cell_of(&t, ten.last - 1, "outer"), "2");
  assert_string_equal(cell_of(&t, td.last - 1, "grad_evals"), "20");
  assert_string_equal(cell_of(&t, ten.last - 1, "grad_evals"), "20");
  assert_true(number_in_csv(&t, td.first, "gap") > 0.0);
  assert_string_equal(cell_of(&t, td.first, "gap"), cell_of(&t, ten.first, "gap"));
  free_csv(&t);
  csv limits = read_csv(in(*state, "fixed/thresholds-lqr.csv"));
  assert_int_equal(limits.rows, 1);
  free_csv(&limits);
  /* another study with the same runs takes them */
  const size_t calls =
      finish_study(offline("view", "runs: fixed\n"), (hvi_study_settings){.out = *state});
  assert_true(calls <= 2);
  assert_true(exists(in(*state, "view/summary.csv")));
  assert_false(exists(in(*state, "view/cells.partial")));
}

/* One lost seed moves the mean a hundredfold, and the median not at all: summary.csv has both. */
static void the_summary_has_median_and_worst(void **state) {
  csv t = read_csv(in(*state, "one/summary.csv"));
  csv runs = read_csv(in(*state, "one/runs.csv"));
  assert_int_equal(t.rows, METHODS);
  double end[SEEDS];
  for (size_t s = 0; s < SEEDS; s++) {
    const char seed[] = {(char)('1' + s), '\0'};
    end[s] = number_in_csv(&runs, rows_of(&runs, "TD(0)", seed).last - 1, "error");
  }
  const double worst = fmax(fmax(end[0], end[1]), end[2]), sum = end[0] + end[1] + end[2];
  const double least = fmin(fmin(end[0], end[1]), end[2]);
  check_near(number_in_csv(&t, 0, "worst"), worst, 0.0);
  check_near(number_in_csv(&t, 0, "median"), sum - worst - least, 1e-12 * sum);
  check_near(number_in_csv(&t, 0, "error"), sum / 3.0, 1e-12 * sum);
  assert_string_equal(cell_of(&t, 0, "seeds"), "3");
  assert_string_equal(cell_of(&t, 0, "diverged"), "0");
  free_csv(&t);
  free_csv(&runs);
}

/* Passes go over the same batches, times over more of them; both count in outer steps. The table of
 * costs is worked out anew from runs.csv. */
static void more_passes_and_more_data(void **state) {
  char text[4000];
  snprintf(text, sizeof text,
           "id: more\ntitle: t\nkind: value\n"
           "quick: {iterations: 10, instances: 2, batch: 20, gamma: 0.8, measures: 10}\nvalue:\n%s"
           "  hidden: [8]\n  gamma: 0.9\n  clocks: [slow]\nmethods:\n"
           "  - {label: one, method: adamw, keep_state: true, inner_lr: 0.01}\n"
           "  - {label: passes, method: adamw, keep_state: true, inner_lr: 0.01, passes: 3}\n"
           "  - {label: times, method: adamw, keep_state: true, inner_lr: 0.01, times: 2}\n"
           "  - {label: scaled, method: adamw, keep_state: true, inner_lr: 0.01, normalise: all}\n",
           lqr);
  char *clocks = strstr(text, "testset:"); /* a speed of its own: 20 rows take a second */
  memmove(clocks + 14, clocks, strlen(clocks) + 1);
  memcpy(clocks, "clocks: [20], ", 14);
  finish_study(text, (hvi_study_settings){.out = *state, .threads = 2});
  csv t = read_csv(in(*state, "more/runs.csv")), c = read_csv(in(*state, "more/costs.csv"));
  const range one = rows_of(&t, "one", "1"), passes = rows_of(&t, "passes", "1"),
              times = rows_of(&t, "times", "1"), scaled = rows_of(&t, "scaled", "1");
  const struct {
    range r;
    double outer, batches;
  } ends[] = {{one, 10, 10}, {passes, 30, 10}, {times, 20, 20}, {scaled, 10, 10}};
  for (size_t i = 0; i < 4; i++) {
    check_near(number_in_csv(&t, ends[i].r.last - 1, "outer"), ends[i].outer, 0.0);
    check_near(number_in_csv(&t, ends[i].r.last - 1, "batches"), ends[i].batches, 0.0);
  }
  /* the same network on the same batches: equal after one pass, and after as many batches */
  const double end = number_in_csv(&t, one.last - 1, "error");
  check_near(number_in_csv(&t, times.first + 5, "error"), end, 0.0);
  assert_true(number_in_csv(&t, scaled.last - 1, "error") != end);
  /* where data cost all, a method stands where its batches are those of the first */
  size_t i = 0;
  while (strcmp(cell_of(&c, i, "method"), "times") != 0) i++;
  check_near(number_in_csv(&c, i + 24 * 2, "cost"), 1e5, 1e-6);
  check_near(number_in_csv(&c, i + 24 * 2, "error"), end, 1e-3 * end);
  csv k = read_csv(in(*state, "more/clocks-lqr-slow.csv"));
  check_near(number_in_csv(&k, 0, "batch_ms"), 1000.0, 1e-9);
  free_csv(&t), free_csv(&c), free_csv(&k);
}

static void tuning_names_the_best(void **state) {
  hvi_study *study = NULL;
  hvi_error err;
  char *text = NULL;
  bool stopped = true;
  watcher w = {0};
  const hvi_study_settings s = {.out = *state, .threads = 2, .progress = watch, .context = &w};
  check_ok(hvi_study_parse(&study, online("grid"), "test", &err), &err);
  check_ok(hvi_study_tune(&text, &stopped, study, &s, &err), &err);
  assert_false(stopped);
  assert_int_equal(study->parts[0].method_count, METHODS); /* as the file has it */
  assert_non_null(strstr(text, "seeds 101 to 102"));
  assert_non_null(strstr(text, "lqr, Surr 10: 0.001 -> "));
  csv t = read_csv(in(*state, "grid/tune.csv"));
  size_t best = 0;
  for (size_t i = 0; i < t.rows; i++) {
    const double median = number_in_csv(&t, i, "median"), worst = number_in_csv(&t, i, "worst");
    const char *method = cell_of(&t, i, "method");
    const bool lost = strcmp(cell_of(&t, i, "rejected"), "1") == 0, top = i + 1 == t.rows;
    assert_true(median <= worst || isinf(worst));
    /* no descent: more than one inner step, and more loss after them than before */
    const bool several = strcmp(method, "TD(0)") != 0 && strcmp(method, "tdc") != 0;
    assert_int_equal(lost, several && number_in_csv(&t, i, "ratio") > 1.0);
    if (strcmp(cell_of(&t, i, "best"), "1") != 0) continue;
    best++;
    assert_false(lost);
    /* inside of its grid, or the grid was extended as far as it goes */
    const bool first = i == 0 || strcmp(cell_of(&t, i - 1, "method"), method) != 0;
    const bool last = top || strcmp(cell_of(&t, i + 1, "method"), method) != 0;
    size_t rates = 0;
    for (size_t k = 0; k < t.rows; k++) rates += strcmp(cell_of(&t, k, "method"), method) == 0;
    assert_true((!first && !last) || rates >= 6);
  }
  assert_true(t.rows > 2 * METHODS);
  assert_int_equal(best, METHODS);
  free_csv(&t);
  hvi_free(text);
  study->parts[0].value->tune_first = 2;
  check_error(hvi_study_tune(&text, &stopped, study, &s, &err), HVI_ERROR_INPUT, &err,
              "among the reported ones");
  hvi_study_free(study);
  char parts[4200]; /* one of another kind has the plan of the whole, and no rates */
  snprintf(parts, sizeof parts,
           "%sparts:\n  - {kind: value}\n  - {name: game, kind: trajectory, problem: pennies,"
           " methods: [{label: a, method: gd}]}\n",
           online("parts"));
  memmove(strstr(parts, "kind: value\n"), "seed: 1    \n", 12);
  check_ok(hvi_study_parse(&study, parts, "test", &err), &err);
  check_ok(hvi_study_tune(&text, &stopped, study, &s, &err), &err);
  same_csv("tune.csv", in(*state, "grid/tune.csv"), in(*state, "parts/tune.csv"));
  hvi_free(text);
  hvi_study_free(study);
  check_ok(hvi_study_open(&study, "pennies", NULL, &err), &err);
  check_error(hvi_study_tune(&text, &stopped, study, &s, &err), HVI_ERROR_INPUT, &err,
              "no rates to tune");
  hvi_study_free(study);
}

/* Stopped again and again, it finds the same rates. Stopped while grids are extended, it tells those before. */
static void tuning_can_be_resumed(void **state) {
  hvi_study *study = NULL;
  hvi_error err;
  size_t stops = 0, told = 0;
  bool stopped = true;
  check_ok(hvi_study_parse(&study, online("often"), "test", &err), &err);
  for (; stopped && stops < 100; stops++) {
    watcher w = {.stop_after = 60};
    char *text = NULL;
    const hvi_study_settings s = {
        .out = *state, .threads = 1, .resume = true, .progress = watch, .context = &w};
    check_ok(hvi_study_tune(&text, &stopped, study, &s, &err), &err);
    assert_true(stopped || text);
    if (text) assert_non_null(strstr(text, "for the file:"));
    told += stopped && text;
    hvi_free(text);
  }
  assert_true(stops > 1 && told > 0);
  assert_false(stopped);
  same_csv("tune.csv", in(*state, "grid/tune.csv"), in(*state, "often/tune.csv"));
  hvi_study_free(study);
}

/* What is missing is named with what makes it; its claims are not judged, and this is no error. */
static void missing_data_are_named(void **state) {
  static const struct {
    const char *files, *said;
  } cases[] = {{"policy: no/such.safetensors, testset: t",
                "gone: lqr not run: needs data/no/such.safetensors (made by: hvi policy train lqr "
                "--out data/no/such.safetensors)"},
               {"policy: default, testset: no/set",
                "(made by: hvi testset lqr --policy default --out data/no/set)"}};
  for (size_t i = 0; i < 2; i++) {
    char text[1000];
    watcher w = {0};
    bool stopped = true;
    snprintf(
        text, sizeof text,
        "id: gone\ntitle: t\nkind: value\nquick: {instances: 2, iterations: 3}\nvalue:\n"
        "  environments:\n    - {environment: lqr, %s}\nmethods: [{label: a, method: gd}]\n"
        "claims:\n  - {id: good, text: t, each: environment, holds: 'end(error, \"a\") < 1'}\n",
        cases[i].files);
    hvi_claims c = run_study(text, (hvi_study_settings){.out = *state}, &w, &stopped);
    assert_false(stopped);
    if (!strstr(w.said, cases[i].said)) fail_msg("%s", w.said);
    const hvi_claim *claim = find_claim(&c, "good-lqr");
    assert_int_equal(claim->judgement, HVI_NOT_JUDGED);
    assert_non_null(strstr(claim->note, "Not run: needs data/no/s"));
    hvi_claims_clear(&c);
  }
}

static void files_are_found_in_the_folder_of_the_variable(void **state) {
  assert_int_equal(setenv("HVI_DATA", *state, 1), 0);
  char *found = hvi_study_find_file("one/summary.csv");
  assert_string_equal(found, in(*state, "one/summary.csv"));
  hvi_free(found);
  assert_null(hvi_study_find_file("one/nothing.csv"));
  unsetenv("HVI_DATA");
  assert_null(hvi_study_find_file("one/summary.csv"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(methods_of_a_seed_share_their_stream),
      cmocka_unit_test(a_cell_is_a_plain_evaluation),
      cmocka_unit_test(resuming_gives_the_same_bits),
      cmocka_unit_test(only_changed_cells_are_run),
      cmocka_unit_test(offline_runs_have_a_budget_of_gradients),
      cmocka_unit_test(the_summary_has_median_and_worst),
      cmocka_unit_test(more_passes_and_more_data),
      cmocka_unit_test(tuning_names_the_best),
      cmocka_unit_test(tuning_can_be_resumed),
      cmocka_unit_test(missing_data_are_named),
      cmocka_unit_test(files_are_found_in_the_folder_of_the_variable),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

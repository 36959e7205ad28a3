/* Policy evaluation as an experiment, on lqr: pieces, threads, resuming, sharing, missing data. */
#include "report/folder.h"

#include "evaluate/columns.h"
#include "experiments/value_study.h"

#include <math.h>
#include <stdbool.h>

static const char place[] =
    "  places: [{environment: lqr, policy: default, testset: nowhere.safetensors,"
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

static const char *online(const char *id) {
  static char text[4000];
  snprintf(text, sizeof text,
           "id: %s\ntitle: t\nkind: value\n"
           "quick: {iterations: 12, instances: 3, batch: 20, measures: 4}\nvalue:\n%s%s",
           id, place, rest);
  return text;
}

typedef struct watcher {
  size_t calls, stop_after; /* 0: never */
  char said[1000];
} watcher;

static bool watch(void *context, const char *id, const char *doing, double share) {
  watcher *w = context;
  assert_true(id && doing && share >= 0 && share <= 1);
  w->calls++;
  return w->stop_after == 0 || w->calls < w->stop_after;
}

static void listen(void *context, const char *line) {
  watcher *w = context;
  snprintf(w->said, sizeof w->said, "%s", line);
}

static hvi_claims reproduce(const char *text, const char *out, size_t threads, bool resume,
                            watcher *w, bool *stopped) {
  hvi_experiment *e = NULL;
  hvi_claims claims = {0};
  hvi_error err;
  const hvi_reproduce_settings s = {.out = out,
                                    .threads = threads,
                                    .resume = resume,
                                    .progress = watch,
                                    .message = listen,
                                    .context = w};
  hvi_status status = strchr(text, '\n') ? hvi_experiment_parse(&e, text, "test", &err)
                                         : hvi_experiment_new(&e, text, &err);
  if (status == HVI_OK) status = hvi_reproduce(&claims, stopped, e, &s, &err);
  if (status != HVI_OK) fail_msg("%s", err.text);
  hvi_experiment_free(e);
  return claims;
}

static void run(const char *text, const char *out, size_t threads, bool resume) {
  watcher w = {0};
  bool stopped = true;
  hvi_claims c = reproduce(text, out, threads, resume, &w, &stopped);
  assert_false(stopped);
  hvi_claims_clear(&c);
}

/* A piece's rows, whatever it says about itself. */
static hvi_study_curve read_piece(const char *folder, const char *name) {
  hvi_study_curve c;
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  hvi_error err;
  char *text = slurp(path), about[2048];
  assert_int_equal(sscanf(text, "%*[^\n]\n# %2047[^\n]", about), 1);
  hvi_free(text);
  hvi_kept head = {.kind = "result of a run", .about = about};
  if (hvi_study_curve_read(&c, path, &head, &err)) fail_msg("%s", err.text);
  return c;
}

static bool is_clock(size_t column) {
  return strncmp(hvi_evaluation_column(column), "seconds", 7) == 0;
}

static void same_rows(const hvi_study_curve *a, const hvi_study_curve *b, const char *name) {
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++)
    for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++) {
      const double x = hvi_evaluation_cell(&a->rows[i], j);
      const double y = hvi_evaluation_cell(&b->rows[i], j);
      if (!is_clock(j) && memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)))
        fail_msg("%s, row %zu, %s: %.17g and %.17g", name, i, hvi_evaluation_column(j), x, y);
    }
}

static const char *const slugs[] = {"td-0", "surr-10", "half", "double", "tdc"};
enum { SLUGS = 5, SEEDS = 3 };

static void same_pieces(const char *one, const char *other) {
  for (size_t i = 0; i < SLUGS * SEEDS; i++) {
    char name[64];
    snprintf(name, sizeof name, "lqr-%s-%zu.csv", slugs[i / SEEDS], i % SEEDS + 1);
    hvi_study_curve a = read_piece(one, name), b = read_piece(other, name);
    same_rows(&a, &b, name);
    hvi_free(a.rows);
    hvi_free(b.rows);
  }
}

static void threads_do_not_change_a_bit(void **state) {
  run(online("one"), *state, 1, false);
  run(online("two"), *state, 3, false);
  same_pieces(in(*state, "one/pieces"), in(*state, "two/pieces"));
  assert_true(exists(in(*state, "one/summary.csv")) && exists(in(*state, "one/one.gp")));
  assert_true(exists(in(*state, "one/lqr-surr-10-seconds.csv")));
}

/* All methods of a seed are charged the same for the same batches, and start from one network. */
static void methods_of_a_seed_share_their_stream(void **state) {
  hvi_study_curve td = read_piece(in(*state, "one/pieces"), "lqr-td-0-2.csv");
  hvi_study_curve ten = read_piece(in(*state, "one/pieces"), "lqr-surr-10-2.csv");
  hvi_study_curve other = read_piece(in(*state, "one/pieces"), "lqr-td-0-1.csv");
  assert_int_equal(td.count, ten.count);
  for (size_t i = 0; i < td.count; i++) {
    assert_true(td.rows[i].seconds_collect == ten.rows[i].seconds_collect);
    assert_int_equal(td.rows[i].env_steps, 20 * td.rows[i].outer);
  }
  assert_true(td.rows[0].error == ten.rows[0].error);
  assert_true(td.rows[0].error != other.rows[0].error);
  hvi_free(td.rows);
  hvi_free(ten.rows);
  hvi_free(other.rows);
}

/* The same run without any of this: a collector of its own, and the plain evaluation. */
static void a_piece_is_a_plain_evaluation(void **state) {
  hvi_study_curve piece = read_piece(in(*state, "one/pieces"), "lqr-surr-10-3.csv");
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  hvi_env *env = NULL;
  hvi_policy *policy = NULL;
  hvi_collector *c = NULL;
  hvi_evaluation *e = NULL;
  assert_int_equal(hvi_env_new(&env, "lqr", NULL), HVI_OK);
  assert_int_equal(hvi_policy_of_env(&policy, env, NULL), HVI_OK);
  assert_int_equal(hvi_collector_new(&c, env, policy, 3, 1, 13 * 20, NULL), HVI_OK);
  s.seed = 3;
  s.value.data = hvi_collector_data(c);
  s.value.batch = 20;
  s.value.gamma = 0.9;
  s.value.lambda = 0.0;
  s.value.hidden[0] = 8;
  s.value.hidden_count = 1;
  s.stream = hvi_stream_of_collector(c);
  s.settings.inner_lr_decay = s.polyak = 0.0;
  s.settings = hvi_settings_defaults();
  hvi_method_apply(&s.settings, "adamw", NULL);
  s.settings.eta = 1.0;
  s.settings.inner.lr = 0.01;
  s.settings.inner_steps = 10;
  s.settings.max_outer = 12;
  s.settings.stall_window = 0;
  s.schedule = (hvi_schedule){.every = 3, .per_decade = 3};
  assert_int_equal(hvi_evaluation_new(&e, &s, NULL), HVI_OK);
  while (!hvi_evaluation_state(e).done) assert_int_equal(hvi_evaluation_step(e, NULL), HVI_OK);
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  assert_int_equal(count, piece.count);
  for (size_t i = 1; i < count; i++) {
    assert_int_equal(rows[i].outer, piece.rows[i].outer);
    assert_true(rows[i].loss0 == piece.rows[i].loss0 && rows[i].loss == piece.rows[i].loss);
  }
  hvi_evaluation_free(e);
  hvi_collector_free(c);
  hvi_policy_free(policy);
  hvi_env_free(env);
  hvi_free(piece.rows);
}

/* Stopped anywhere, a run that resumes ends in the same bits, and what was finished stays. */
static void resuming_gives_the_same_bits(void **state) {
  size_t stops = 0;
  for (size_t after = 3; after < 200; after += 41) {
    watcher w = {.stop_after = after};
    bool stopped = false;
    char id[16];
    snprintf(id, sizeof id, "stop-%zu", after);
    hvi_claims c = reproduce(online(id), *state, 2, false, &w, &stopped);
    hvi_claims_clear(&c);
    stops += stopped;
    char claims[64], pieces[64];
    snprintf(claims, sizeof claims, "%s/claims.json", id);
    snprintf(pieces, sizeof pieces, "%s/pieces", id);
    assert_true(!stopped || !exists(in(*state, claims)));
    run(online(id), *state, 2, true);
    assert_true(exists(in(*state, claims)));
    same_pieces(in(*state, "one/pieces"), in(*state, pieces));
  }
  assert_true(stops >= 4);
}

static void resuming_skips_what_is_finished(void **state) {
  struct stat before, after;
  const char *kept = "one/pieces/lqr-td-0-1.csv";
  assert_int_equal(remove(in(*state, "one/claims.json")), 0);
  assert_int_equal(remove(in(*state, "one/pieces/lqr-tdc-2.csv")), 0);
  assert_int_equal(stat(in(*state, kept), &before), 0);
  watcher w = {0};
  bool stopped;
  hvi_claims c = reproduce(online("one"), *state, 1, true, &w, &stopped);
  hvi_claims_clear(&c);
  assert_int_equal(stat(in(*state, kept), &after), 0);
  assert_true(before.st_ino == after.st_ino && before.st_mtime == after.st_mtime);
  assert_true(w.calls > 10 && w.calls < 20); /* the twelve steps of one piece */
  same_pieces(in(*state, "one/pieces"), in(*state, "two/pieces"));
}

/* Another rate is another run: its files do not count. */
static void pieces_of_other_settings_are_not_taken(void **state) {
  char *text = hvi_copy_text(online("one"));
  char *rate = strstr(text, "inner_lr: 0.01");
  memcpy(rate, "inner_lr: 0.02", 8);
  watcher w = {0};
  bool stopped;
  hvi_claims c = reproduce(text, *state, 1, true, &w, &stopped);
  hvi_claims_clear(&c);
  assert_true(w.calls > 3 * 12);
  hvi_free(text);
}

static const char *offline(const char *id, const char *more) {
  static char text[4000];
  snprintf(text, sizeof text,
           "id: %s\ntitle: t\nkind: value\n"
           "quick: {gradients: 20, instances: 2, batch: 30, offline: 60, measures: 2}\nvalue:\n"
           "%s  hidden: [8]\n  gamma: 0.9\n  gap: true\n%s"
           "  panels: [{x: gradients, y: gap}, {x: outer, y: ratio}, {x: threshold, y: error}]\n"
           "methods:\n  - {label: TD(0), method: adamw, keep_state: true, inner_lr: 0.01}\n"
           "  - {label: ten, method: adamw, inner: 10, inner_lr: 0.01}\n"
           "  - {label: half, method: adamw, inner: 10, alpha: 0.7, inner_lr: 0.01}\n",
           id, place, more);
  return text;
}

static void offline_runs_have_a_budget_of_gradients(void **state) {
  run(offline("fixed", ""), *state, 2, false);
  hvi_study_curve td = read_piece(in(*state, "fixed/pieces"), "lqr-td-0-1.csv");
  hvi_study_curve ten = read_piece(in(*state, "fixed/pieces"), "lqr-ten-1.csv");
  assert_int_equal(td.rows[td.count - 1].outer, 20);
  assert_int_equal(ten.rows[ten.count - 1].outer, 2);
  assert_int_equal(td.rows[td.count - 1].grad_evals, 20);
  assert_int_equal(ten.rows[ten.count - 1].grad_evals, 20);
  assert_true(td.rows[0].gap > 0.0 && td.rows[0].gap == ten.rows[0].gap);
  hvi_free(td.rows);
  hvi_free(ten.rows);
  /* another experiment with the same runs takes them */
  watcher w = {0};
  bool stopped;
  hvi_claims c = reproduce(offline("view", "  runs: fixed\n"), *state, 1, false, &w, &stopped);
  hvi_claims_clear(&c);
  assert_true(w.calls <= 2);
  assert_true(exists(in(*state, "view/summary.csv")));
  assert_false(exists(in(*state, "view/pieces")));
}

static void tuning_names_the_best(void **state) {
  hvi_experiment *e = NULL;
  hvi_error err;
  char *text = NULL;
  bool stopped = true;
  watcher w = {0};
  const hvi_reproduce_settings s = {.out = *state, .threads = 2, .progress = watch, .context = &w};
  assert_int_equal(hvi_experiment_parse(&e, online("grid"), "test", NULL), HVI_OK);
  if (hvi_reproduce_tune(&text, &stopped, e, &s, &err) != HVI_OK) fail_msg("%s", err.text);
  assert_false(stopped);
  assert_non_null(strstr(text, "seeds 101 to 102"));
  assert_non_null(strstr(text, "lqr, Surr 10: 0.001 -> "));
  char *table = slurp(in(*state, "grid/tune.csv"));
  size_t lines = 0, best = 0;
  for (const char *c = table; *c; c++) {
    lines += *c == '\n';
    best += strncmp(c, ",1\n", 3) == 0;
  }
  assert_int_equal(lines, 1 + 2 * SLUGS);
  assert_int_equal(best, SLUGS);
  hvi_free(table);
  hvi_free(text);
  e->study->tune_first = 2;
  assert_int_equal(hvi_reproduce_tune(&text, &stopped, e, &s, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "among the reported ones"));
  hvi_experiment_free(e);
  assert_int_equal(hvi_experiment_new(&e, "pennies", NULL), HVI_OK);
  assert_int_equal(hvi_reproduce_tune(&text, &stopped, e, &s, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "no rates to tune"));
  hvi_experiment_free(e);
}

static void missing_data_are_named(void **state) {
  char text[1000];
  watcher w = {0};
  bool stopped = true;
  snprintf(text, sizeof text,
           "id: gone\ntitle: t\nkind: value\nvalue:\n  places:\n"
           "    - {environment: lqr, policy: no/such.safetensors, testset: t}\n"
           "methods: [{label: a, method: gd}]\n");
  hvi_claims c = reproduce(text, *state, 1, false, &w, &stopped);
  assert_false(stopped);
  assert_string_equal(w.said, "gone: lqr not run: needs data/no/such.safetensors (made by: hvi "
                              "policy train lqr --out data/no/such.safetensors)");
  hvi_claims_clear(&c);
  snprintf(text, sizeof text,
           "id: gone\ntitle: t\nkind: value\nvalue:\n  places:\n"
           "    - {environment: lqr, policy: default, testset: no/set}\n"
           "methods: [{label: a, method: gd}]\n");
  c = reproduce(text, *state, 1, false, &w, &stopped);
  assert_non_null(strstr(w.said, "(made by: hvi testset lqr --policy default --out data/no/set)"));
  hvi_claims_clear(&c);
}

static void files_are_found_in_the_folder_of_the_variable(void **state) {
  assert_int_equal(setenv("HVI_DATA", *state, 1), 0);
  char *found = hvi_study_find("one/summary.csv");
  assert_string_equal(found, in(*state, "one/summary.csv"));
  hvi_free(found);
  assert_null(hvi_study_find("one/nothing.csv"));
  unsetenv("HVI_DATA");
  assert_null(hvi_study_find("one/summary.csv"));
}

static void what_a_study_needs(void **state) {
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"id: a\ntitle: t\nkind: value\n", "kind value needs the keys value and methods"},
      {"id: a\ntitle: t\nkind: value\nmethods: [{label: a, method: gd}]\nvalue:\n  gap: true\n"
       "  places: [{environment: lqr, policy: default, testset: x}]\n",
       "the Bellman gap is that of a fixed data set"},
      {"id: a\ntitle: t\nkind: value\nmethods: [{label: a, method: gd}]\nvalue:\n"
       "  places: [{environment: aunt, policy: default, testset: x}]\n",
       "aunt"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hvi_experiment *e = NULL;
    hvi_claims claims;
    hvi_error err;
    bool stopped;
    const hvi_reproduce_settings s = {.out = *state};
    assert_int_equal(hvi_experiment_parse(&e, cases[i].text, "test", &err), HVI_OK);
    assert_int_equal(hvi_reproduce(&claims, &stopped, e, &s, &err), HVI_ERROR_INPUT);
    if (!strstr(err.text, cases[i].said)) fail_msg("%s", err.text);
    hvi_experiment_free(e);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(methods_of_a_seed_share_their_stream),
      cmocka_unit_test(a_piece_is_a_plain_evaluation),
      cmocka_unit_test(resuming_gives_the_same_bits),
      cmocka_unit_test(resuming_skips_what_is_finished),
      cmocka_unit_test(pieces_of_other_settings_are_not_taken),
      cmocka_unit_test(offline_runs_have_a_budget_of_gradients),
      cmocka_unit_test(tuning_names_the_best),
      cmocka_unit_test(missing_data_are_named),
      cmocka_unit_test(files_are_found_in_the_folder_of_the_variable),
      cmocka_unit_test(what_a_study_needs),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

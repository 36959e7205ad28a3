/* Studies of kind value on a device, an emulated one: all cells at once or as many as it has room for,
 * resumed, lost, and taken to the processor and back. */
#include "study/running.h"

#include "gpu/gang.h"
#include "support/emulated_device.h"

enum { METHODS = 4, SEEDS = 3 };

static const char *const methods[METHODS][2] = {
    {"TD(0)", "{label: TD(0), method: adamw, keep_state: true, inner_lr: 0.01}"},
    {"Surr 10", "{label: Surr 10, method: adamw, inner: 10, inner_lr: 0.01}"},
    {"half", "{label: half, method: adamw, inner: 20, alpha: 0.7, inner_lr: 0.01}"},
    {"lm", "{label: lm, method: lm, inner: 2, damping: 1}"}}; /* on the processor, beside them */

/* The methods [first, end), on so many seeds from `seed` on. */
typedef struct extent {
  size_t first, end, seed, seeds;
} extent;
static const extent whole = {0, METHODS, 1, SEEDS};

static const char online[] = "iterations: 12, measures: 4",
                  offline[] = "gradients: 20, offline: 60, measures: 2",
                  full_batch[] = "gradients: 20, offline: 50, measures: 2";
enum { SIZES = 3 };
static const char *const sizes[SIZES] = {online, offline, full_batch}, *const ids[SIZES] = {
                                                                           "all", "fixed", "whole"};

static const char *study_text(const char *id, extent x, const char *size) {
  static char text[4000];
  int n = snprintf(text, sizeof text,
                   "id: %s\ntitle: t\nkind: value\nseed: %zu\n"
                   "quick: {instances: %zu, batch: 20, %s}\nvalue:\n"
                   "  environments: [{environment: lqr, policy: default, testset: nowhere,"
                   " stand_in: {states: 30, rollouts: 3, horizon: 50}}]\n"
                   "  hidden: [8]\n  gamma: 0.9\n%s%s%smethods:\n",
                   id, x.seed, x.seeds, size, strstr(size, "offline") ? "  gap: true\n" : "",
                   size == full_batch ? "  draw: all\n" : "",
                   strstr(id, "lost") || strstr(id, "moved") ? "  checkpoint: 0\n" : "");
  for (size_t i = x.first; i < x.end; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "  - %s\n", methods[i][1]);
  return text;
}

static hvi_gang *open_gang(emulation how) {
  hvi_gang *gang = NULL;
  hvi_error err;
  emulated = how;
  check_ok(hvi_gang_open_with(&gang, emulated_device(), HVI_DEVICE_FP32, &err), &err);
  return gang;
}

/* Tells whether a line about the bottleneck has been told, and stops where it should. */
typedef struct observer {
  size_t calls, stop_after;
  char summary[400];
} observer;

static bool observe(void *context, const char *id, const char *doing, double share) {
  observer *o = context;
  (void)id, (void)doing, (void)share;
  return ++o->calls < o->stop_after || o->stop_after == 0;
}

static void note(void *context, const char *line) {
  observer *o = context;
  if (strstr(line, "bottleneck")) snprintf(o->summary, sizeof o->summary, "%s", line);
}

/* What a cell needs of a device that has so many rows at most. */
static size_t bytes_of_cell(size_t rows) {
  hvi_env *env = NULL;
  hvi_error err;
  check_ok(hvi_env_new(&env, "lqr", &err), &err);
  const hvi_device_shape s = {.layer_count = 2, .width = {env->obs, 8, 1}};
  hvi_env_free(env);
  return emulated_net_bytes(&s) + emulated_row_bytes(&s, rows) + emulated_step_bytes(&s, rows);
}

/* A study on a device of its own; how it ends is the caller's business. */
static hvi_status run_on(emulation how, const char *text, hvi_study_settings s, observer *o,
                         bool *stopped, hvi_claims *claims, hvi_error *err) {
  hvi_study *study = NULL;
  s.progress = observe, s.message = note, s.context = o;
  s.device = open_gang(how);
  check_ok(hvi_study_parse(&study, text, "test", err), err);
  const hvi_status status = hvi_study_run(claims, stopped, study, &s, err);
  hvi_study_free(study);
  hvi_gang_close(s.device);
  return status;
}

/* It must end. */
static observer finish_with(emulation how, const char *text, hvi_study_settings s) {
  observer o = {0};
  bool stopped = true;
  hvi_claims claims;
  hvi_error err;
  check_ok(run_on(how, text, s, &o, &stopped, &claims, &err), &err);
  assert_false(stopped);
  hvi_claims_clear(&claims);
  return o;
}

static observer finish_on(const char *text, hvi_study_settings s) {
  return finish_with((emulation){0}, text, s);
}

/* The rows of the one cell are among those of all, clocks apart; how many there are. */
static size_t find_rows(const char *alone, const char *all, const char *method, size_t seed) {
  csv a = read_csv(alone), b = read_csv(all);
  size_t rows = 0;
  for (size_t k = 0; k < b.rows; k++) {
    if (strcmp(cell_of(&b, k, "method"), method) != 0 ||
        number_in_csv(&b, k, "seed") != (double)seed)
      continue;
    assert_true(rows < a.rows);
    for (size_t c = 0; c < a.columns; c++) {
      const char *x = a.cell[(rows + 1) * a.columns + c], *y = cell_of(&b, k, a.cell[c]);
      if (!is_clock(a.cell[c]) && strcmp(x, y) != 0)
        fail_msg("%s of %s: %s alone, and %s among others", a.cell[c], method, x, y);
    }
    rows++;
  }
  assert_int_equal(rows, a.rows);
  free_csv(&a), free_csv(&b);
  return rows;
}

/* Cells that are alone on a device have the rows that they have among all others. */
static void a_cell_does_not_see_the_others(void **state) {
  for (size_t k = 0; k < SIZES; k++) {
    char path[64];
    size_t rows = 0;
    const observer o =
        finish_on(study_text(ids[k], whole, sizes[k]), (hvi_study_settings){.out = *state});
    assert_non_null(strstr(o.summary, "device busy "));
    assert_non_null(strstr(o.summary, " s for data: "));
    assert_true(emulated.most_jobs > 1); /* they did learn together */
    snprintf(path, sizeof path, "%s/runs.csv", ids[k]);
    for (size_t m = 0; m < METHODS; m++)
      for (size_t seed = 1; seed <= SEEDS; seed++) {
        const extent one = {m, m + 1, seed, 1};
        char all[600];
        snprintf(all, sizeof all, "%s", in(*state, path));
        finish_on(study_text("alone", one, sizes[k]), (hvi_study_settings){.out = *state});
        rows += find_rows(in(*state, "alone/runs.csv"), all, methods[m][0], seed);
      }
    csv t = read_csv(in(*state, path));
    assert_int_equal(rows, t.rows);
    free_csv(&t);
  }
}

/* The device computes with as many digits: first-order cells end where those of the processor do,
 * and second-order ones, which run there, in the same bits. */
static void check_ends(const char *here, const char *there) {
  csv a = read_csv(here), b = read_csv(there);
  size_t others = 0;
  assert_int_equal(a.rows, b.rows);
  for (size_t i = 0; i < a.rows; i++) {
    const bool second = strcmp(cell_of(&a, i, "method"), "lm") == 0;
    const double x = number_in_csv(&a, i, "error"), y = number_in_csv(&b, i, "error");
    check_near(y, x, second ? 0.0 : 1e-3 * x);
    others += x != y;
  }
  assert_true(others > 0);
  free_csv(&a), free_csv(&b);
}

static void it_ends_where_the_processor_ends(void **state) {
  finish_study(study_text("here", whole, online), (hvi_study_settings){.out = *state});
  check_ends(in(*state, "here/runs.csv"), in(*state, "all/runs.csv"));
}

/* Stopped anywhere and resumed, with as few collecting threads as one: the same rows. */
static void resuming_gives_the_same_bits(void **state) {
  size_t stops = 0;
  for (size_t after = 3; after < 150; after += 41) {
    observer o = {.stop_after = after};
    bool stopped = false;
    hvi_claims claims;
    hvi_error err;
    char id[16];
    snprintf(id, sizeof id, "stop-%zu", after);
    hvi_study_settings s = {.out = *state, .threads = 1};
    check_ok(run_on((emulation){0}, study_text(id, whole, online), s, &o, &stopped, &claims, &err),
             &err);
    hvi_claims_clear(&claims);
    stops += stopped;
    s.resume = true;
    finish_on(study_text(id, whole, online), s);
    assert_true(same_tables(in(*state, "all"), in(*state, id)) > METHODS);
  }
  assert_true(stops >= 3);
}

/* A device that is lost at any call, while there is room for all or for two, leaves no result, and
 * nothing is lost. */
static void a_lost_device_is_told_and_nothing_is_lost(void **state) {
  size_t failures = 0;
  for (size_t at = 7; at < 260; at += 36) {
    observer o = {0};
    bool stopped = false;
    hvi_claims claims = {0};
    hvi_error err;
    char id[16], path[64];
    snprintf(id, sizeof id, "lost-%zu", at);
    snprintf(path, sizeof path, "%s/claims.json", id);
    hvi_study_settings s = {.out = *state};
    const emulation how = {.fail_call = at, .memory = at % 8 == 3 ? 2 * bytes_of_cell(30) : 0};
    const hvi_status status =
        run_on(how, study_text(id, whole, online), s, &o, &stopped, &claims, &err);
    failures += status != HVI_OK;
    assert_int_equal(exists(in(*state, path)), status == HVI_OK);
    assert_false(stopped);
    hvi_claims_clear(&claims);
    s.resume = true;
    finish_on(study_text(id, whole, online), s);
    same_tables(in(*state, "all"), in(*state, id));
  }
  assert_true(failures >= 5);
}

/* With too little memory for all, as many learn at once as there is room for: the same bits. */
static void cells_take_turns_where_memory_is_short(void **state) {
  const size_t rows[SIZES] = {30, 60, 50}; /* of the test set, and of the data of the gap */
  size_t refused = 0;
  for (size_t k = 0; k < SIZES; k++)
    for (size_t room = 1; room <= 4; room += 3) {
      char id[32];
      snprintf(id, sizeof id, "small-%s-%zu", ids[k], room);
      const emulation how = {.memory = room * bytes_of_cell(rows[k])};
      finish_with(how, study_text(id, whole, sizes[k]), (hvi_study_settings){.out = *state});
      refused += emulated.refused;
      assert_true(same_tables(in(*state, ids[k]), in(*state, id)) > METHODS);
    }
  assert_true(refused > 0); /* there was too little indeed */
}

/* No room for one: told, and another device, or the processor, goes on. */
static void no_room_for_one_cell_is_told(void **state) {
  observer o = {0};
  bool stopped = false;
  hvi_claims claims = {0};
  hvi_error err;
  hvi_study_settings s = {.out = *state};
  const emulation how = {.memory = bytes_of_cell(30) - 1};
  const char *text = study_text("tight", whole, online);
  check_error(run_on(how, text, s, &o, &stopped, &claims, &err), HVI_ERROR_MEMORY, &err,
              "with no other network there");
  assert_false(exists(in(*state, "tight/claims.json")));
  s.resume = true;
  finish_on(study_text("tight", whole, online), s);
  assert_true(same_tables(in(*state, "all"), in(*state, "tight")) > METHODS);
}

/* Begun on one and ended on the other, with cells stopped in the midst: it ends where both do, and the
 * result says so. */
static void a_study_changes_to_the_device_and_back(void **state) {
  for (int first = 0; first < 2; first++) {
    const char *id = first ? "moved-away" : "moved-here";
    hvi_study_settings s = {.out = *state, .threads = 2};
    for (int part = 0; part < 2; part++) {
      observer o = {.stop_after = part ? 0 : 60};
      bool stopped = false;
      hvi_study *study = NULL;
      hvi_claims claims = {0};
      hvi_error err;
      s.resume = s.accept_other_bits = part;
      s.progress = observe, s.message = note, s.context = &o;
      s.device = part != first ? open_gang((emulation){0}) : NULL;
      check_ok(hvi_study_parse(&study, study_text(id, whole, online), "test", &err), &err);
      check_ok(hvi_study_run(&claims, &stopped, study, &s, &err), &err);
      assert_int_equal(stopped, !part);
      if (part) assert_non_null(strstr(claims.levels, "emulated+mixed"));
      hvi_claims_clear(&claims);
      hvi_study_free(study);
      hvi_gang_close(s.device);
    }
    char path[64];
    snprintf(path, sizeof path, "%s/runs.csv", id);
    check_ends(in(*state, "here/runs.csv"), in(*state, path));
  }
}

/* What a device computed is not taken for the processor's, nor for that of another device, unless
 * that is asked for; the result then names both. */
static void other_bits_are_refused(void **state) {
  const char *text = study_text("mixed", whole, online);
  observer o = {.stop_after = 40};
  bool stopped = false;
  hvi_study *study = NULL;
  hvi_claims claims = {0};
  hvi_error err;
  hvi_study_settings s = {.out = *state, .threads = 2};
  check_ok(run_on((emulation){0}, text, s, &o, &stopped, &claims, &err), &err);
  assert_true(stopped);
  s.resume = true;
  check_ok(hvi_study_parse(&study, text, "test", &err), &err);
  check_error(hvi_study_run(&claims, &stopped, study, &s, &err), HVI_ERROR_INPUT, &err,
              "--accept-other-bits");
  o = (observer){0};
  check_error(run_on((emulation){.level = "another"}, text, s, &o, &stopped, &claims, &err),
              HVI_ERROR_INPUT, &err, "--accept-other-bits");
  s.accept_other_bits = true;
  check_ok(hvi_study_run(&claims, &stopped, study, &s, &err), &err);
  assert_false(stopped);
  assert_non_null(strstr(claims.levels, "emulated"));
  hvi_claims_clear(&claims);
  hvi_study_free(study);
  /* and a finished one */
  check_ok(hvi_study_parse(&study, study_text("all", whole, online), "test", &err), &err);
  s.accept_other_bits = false;
  check_error(hvi_study_run(&claims, &stopped, study, &s, &err), HVI_ERROR_INPUT, &err, "emulated");
  hvi_study_free(study);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cell_does_not_see_the_others),
      cmocka_unit_test(it_ends_where_the_processor_ends),
      cmocka_unit_test(resuming_gives_the_same_bits),
      cmocka_unit_test(a_lost_device_is_told_and_nothing_is_lost),
      cmocka_unit_test(cells_take_turns_where_memory_is_short),
      cmocka_unit_test(no_room_for_one_cell_is_told),
      cmocka_unit_test(a_study_changes_to_the_device_and_back),
      cmocka_unit_test(other_bits_are_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

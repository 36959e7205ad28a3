/* A data set that grows is the one that hvi_dataset_collect writes, however it is asked for. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "mortal_env.h"
#include "rollout_folder.h"
#include "support/starve.h"

#include <hvi/collector.h>

enum { ROWS = 3001 };

typedef struct subject {
  hvi_env *env;
  hvi_policy *policy;
} subject;

static subject lqr(void) {
  subject s;
  hvi_error err;
  check_ok(hvi_env_new(&s.env, "lqr", &err), &err);
  check_ok(hvi_policy_of_env(&s.policy, s.env, &err), &err);
  return s;
}

static subject mortal(void) { return (subject){mortal_new(), mortal_policy()}; }

static void release(subject x) {
  hvi_env_free(x.env);
  hvi_policy_free(x.policy);
}

static hvi_collector *collector(subject x, size_t threads, size_t capacity) {
  hvi_collector *c;
  hvi_error err;
  check_ok(hvi_collector_new(&c, x.env, x.policy, 5, threads, capacity, &err), &err);
  return c;
}

static void need(hvi_collector *c, size_t rows) {
  hvi_error err;
  check_ok(hvi_collector_need(c, rows, &err), &err);
}

static hvi_dataset *written(subject x, size_t rows) {
  hvi_collect_settings s = hvi_collect_defaults();
  hvi_dataset *d;
  hvi_error err;
  s.run.seed = 5;
  s.run.threads = 1;
  s.transitions = rows;
  check_ok(hvi_dataset_collect(here.file, x.env, x.policy, &s, NULL, &err), &err);
  check_ok(hvi_dataset_load(&d, here.file, &err), &err);
  return d;
}

static void check_rows(const hvi_dataset *a, const hvi_dataset *b, size_t first, size_t end) {
  const size_t n = end - first, obs = a->obs, act = a->act;
  assert_memory_equal(a->observation + first * obs, b->observation + first * obs,
                      n * obs * sizeof(float));
  assert_memory_equal(a->next + first * obs, b->next + first * obs, n * obs * sizeof(float));
  assert_memory_equal(a->action + first * act, b->action + first * act, n * act * sizeof(float));
  assert_memory_equal(a->reward + first, b->reward + first, n * sizeof(float));
  assert_memory_equal(a->terminated + first, b->terminated + first, n * sizeof(bool));
  assert_memory_equal(a->truncated + first, b->truncated + first, n * sizeof(bool));
}

static void rows_are_those_of_a_file(void **state) {
  (void)state;
  static const size_t steps[] = {1, 7, 500, ROWS};
  subject subjects[] = {mortal(), lqr()};
  for (size_t k = 0; k < 2; k++) {
    hvi_dataset *all = written(subjects[k], ROWS);
    for (size_t i = 0; i < 4; i++) {
      hvi_collector *c = collector(subjects[k], 1 + i, ROWS + 10 * i);
      const hvi_dataset *d = hvi_collector_data(c);
      const float *where = d->observation;
      assert_int_equal(d->count, 0);
      for (size_t rows = 0; rows < ROWS;) {
        rows = rows + steps[i] < ROWS ? rows + steps[i] : ROWS;
        need(c, rows);
        assert_int_equal(d->count, rows);
        check_rows(d, all, 0, rows);
      }
      assert_ptr_equal(d->observation, where);
      assert_true(hvi_collector_spent(c).steps >= ROWS);
      assert_true(hvi_collector_spent(c).seconds > 0.0);
      assert_string_equal(d->origin.environment, all->origin.environment);
      assert_string_equal(d->origin.fingerprint, all->origin.fingerprint);
      assert_int_equal(d->origin.seed, 5);
      need(c, 3); /* there already */
      assert_int_equal(d->count, ROWS);
      hvi_collector_free(c);
    }
    hvi_dataset_free(all);
    release(subjects[k]);
  }
}

/* An episode begins at a mark's row, and a collector that skips to it has the same rows. */
static void it_goes_on_from_a_mark(void **state) {
  (void)state;
  subject subjects[] = {mortal(), lqr()};
  for (size_t k = 0; k < 2; k++) {
    hvi_collector *whole = collector(subjects[k], 2, ROWS);
    const hvi_dataset *all = hvi_collector_data(whole);
    need(whole, ROWS);
    for (size_t row = 0; row <= ROWS; row += 97) {
      const hvi_collector_mark mark = hvi_collector_find(whole, row);
      assert_true(mark.row <= row);
      if (mark.row > 0) assert_true(all->terminated[mark.row - 1] || all->truncated[mark.row - 1]);
      for (size_t i = mark.row; i < row; i++)
        assert_false(i < ROWS && (all->terminated[i] || all->truncated[i]));
      hvi_collector *c = collector(subjects[k], 1 + row % 2, ROWS);
      hvi_error err;
      if (row % 3 == 0) need(c, 50); /* a buffer, say */
      check_ok(hvi_collector_skip(c, mark, &err), &err);
      need(c, ROWS);
      check_rows(hvi_collector_data(c), all, mark.row, ROWS);
      if (row % 3 == 0) check_rows(hvi_collector_data(c), all, 0, 50);
      const hvi_collector_mark again = hvi_collector_find(c, row);
      assert_int_equal(again.row, mark.row);
      assert_int_equal(again.episode, mark.episode);
      hvi_collector_free(c);
    }
    hvi_collector_free(whole);
    release(subjects[k]);
  }
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  subject x = mortal(), y = lqr();
  hvi_collector *c;
  hvi_error err;
  check_error(hvi_collector_new(&c, y.env, x.policy, 1, 1, 10, &err), HVI_ERROR_INPUT, &err, "lqr");
  check_error(hvi_collector_new(&c, NULL, x.policy, 1, 1, 10, &err), HVI_ERROR_ARGUMENT, &err,
              "an environment");
  check_error(hvi_collector_new(&c, x.env, x.policy, 1, 1, 0, &err), HVI_ERROR_ARGUMENT, &err,
              "room for a transition");
  check_error(hvi_collector_new(&c, x.env, x.policy, 1, 4000, 10, &err), HVI_ERROR_ARGUMENT, &err,
              "threads");
  assert_null(c);
  hvi_collector_free(NULL);
  c = collector(x, 1, 100);
  check_error(hvi_collector_need(c, 101, &err), HVI_ERROR_ARGUMENT, &err, "the 100");
  need(c, 100);
  check_error(hvi_collector_skip(c, (hvi_collector_mark){.episode = 900, .row = 101}, &err),
              HVI_ERROR_ARGUMENT, &err, "at most 100");
  check_error(hvi_collector_skip(c, (hvi_collector_mark){.episode = 7, .row = 1}, &err),
              HVI_ERROR_ARGUMENT, &err, "another run");
  hvi_collector_free(c);
  release(x);
  release(y);
}

/* States grow beyond floats: an error, and the rows before it stay. */
static void numbers_that_run_away_are_an_error(void **state) {
  (void)state;
  subject x = lqr();
  hvi_error err;
  double gain[8], std[2] = {1.0, 1.0};
  for (size_t i = 0; i < 8; i++) gain[i] = 10.0;
  hvi_policy *wild;
  check_ok(hvi_policy_linear(&wild, 4, 2, gain, std, &err), &err);
  hvi_collector *c = collector((subject){x.env, wild}, 2, 5000);
  check_error(hvi_collector_need(c, 5000, &err), HVI_ERROR_INPUT, &err, "beyond 3e38");
  assert_int_equal(hvi_collector_data(c)->count, 0);
  hvi_collector_free(c);
  hvi_policy_free(wild);
  release(x);
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  subject x = mortal();
  hvi_status status;
  size_t allowed = 0;
  do {
    hvi_collector *c;
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed++;
    status = hvi_collector_new(&c, x.env, x.policy, 1, 2, 100, &err);
    allocations_left = (size_t)-1;
    if (status) check_error(status, HVI_ERROR_MEMORY, &err, "memory");
    assert_int_equal(c == NULL, status != HVI_OK);
    hvi_collector_free(c);
  } while (status);
  assert_true(allowed > 30);
  release(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(rows_are_those_of_a_file, enter, leave),
      cmocka_unit_test(it_goes_on_from_a_mark),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(numbers_that_run_away_are_an_error),
      cmocka_unit_test(without_memory_it_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Data sets against a plain loop over episodes, on any number of threads, stopped and resumed. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "mortal_env.h"
#include "rollout_folder.h"
#include "support/starve.h"

#include <hvi/rollout.h>
#include <hvi/tensors.h>
#include <hvi/version.h>

enum { MOST_OBS = 8 };

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

static void release(subject s) {
  hvi_env_free(s.env);
  hvi_policy_free(s.policy);
}

static hvi_collect_settings settings(size_t transitions, size_t threads) {
  hvi_collect_settings s = hvi_collect_defaults();
  s.run.seed = 5;
  s.run.threads = threads;
  s.run.policy_name = "a policy";
  s.transitions = transitions;
  return s;
}

static void collect(const char *path, subject x, const hvi_collect_settings *s) {
  hvi_error err;
  hvi_rollout_report report;
  check_ok(hvi_dataset_collect(path, x.env, x.policy, s, &report, &err), &err);
  assert_false(report.stopped);
}

static hvi_dataset *load(const char *path) {
  hvi_dataset *d;
  hvi_error err;
  check_ok(hvi_dataset_load(&d, path, &err), &err);
  return d;
}

static void check_floats(const float *got, const double *wanted, size_t n) {
  for (size_t i = 0; i < n; i++) assert_true(got[i] == (float)wanted[i]);
}

/* The definition, one episode after the other. */
static void check_rows(const hvi_dataset *d, subject x, uint64_t seed, bool deterministic) {
  double obs[MOST_OBS], next[MOST_OBS], action[MOST_OBS];
  float *scratch = hvi_alloc(hvi_policy_scratch(x.policy, 1), sizeof *scratch);
  size_t row = 0;
  for (uint64_t e = 0; row < d->count; e++) {
    hvi_rng env_rng = hvi_rng_new(seed, "episode-environment", e);
    hvi_rng policy_rng = hvi_rng_new(seed, "episode-policy", e);
    hvi_transition t = {0};
    hvi_env_reset(x.env, &env_rng);
    for (; row < d->count && !t.terminated && !t.truncated; row++) {
      hvi_env_observe(x.env, obs);
      hvi_policy_act(x.policy, scratch, 1, obs, deterministic ? NULL : &policy_rng, action);
      t = hvi_env_step(x.env, action, &env_rng);
      hvi_env_observe(x.env, next);
      check_floats(d->observation + row * d->obs, obs, d->obs);
      check_floats(d->action + row * d->act, action, d->act);
      check_floats(d->reward + row, &t.reward, 1);
      check_floats(d->next + row * d->obs, next, d->obs);
      assert_int_equal(d->terminated[row], t.terminated);
      assert_int_equal(d->truncated[row], t.truncated);
    }
  }
  hvi_free(scratch);
}

static void check_against_the_loop(subject x, size_t transitions, bool deterministic) {
  hvi_collect_settings s = settings(transitions, 2);
  s.deterministic = deterministic;
  s.run.partial = HVI_PARTIAL_FRESH;
  collect(here.file, x, &s);
  assert_int_equal(entries(false), 1);
  hvi_dataset *d = load(here.file);
  assert_int_equal(d->count, transitions);
  assert_int_equal(d->obs, x.env->obs);
  assert_int_equal(d->act, x.env->act);
  check_rows(d, x, 5, deterministic);
  hvi_dataset_free(d);
}

static void rows_are_those_of_a_plain_loop(void **state) {
  (void)state;
  static const size_t counts[] = {1, 7, 40, 41, 333, 1501};
  subject subjects[] = {mortal(), lqr()};
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
      check_against_the_loop(subjects[k], counts[i], i % 2 == 1);
    release(subjects[k]);
  }
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  subject x = mortal();
  hvi_collect_settings s = settings(5003, 1);
  collect(here.other, x, &s);
  for (size_t threads = 0; threads <= 5; threads++) {
    s.run.threads = threads;
    collect(here.file, x, &s);
    check_same_files(here.file, here.other);
  }
  s.run.seed = 6;
  collect(here.file, x, &s);
  hvi_dataset *a = load(here.file), *b = load(here.other);
  assert_memory_not_equal(a->observation, b->observation, a->count * sizeof(float));
  hvi_dataset_free(a);
  hvi_dataset_free(b);
  release(x);
}

static void a_file_tells_where_it_comes_from(void **state) {
  (void)state;
  subject x = mortal();
  hvi_collect_settings s = settings(2000, 1);
  char fingerprint[17], other[17];
  collect(here.file, x, &s);
  hvi_dataset *d = load(here.file);
  hvi_policy_fingerprint(fingerprint, x.policy);
  assert_string_equal(d->origin.environment, "mortal");
  assert_string_equal(d->origin.policy, "a policy");
  assert_string_equal(d->origin.fingerprint, fingerprint);
  assert_string_equal(d->origin.version, hvi_version());
  assert_int_equal(d->origin.seed, 5);
  /* about a quarter of the hundred deaths */
  assert_in_range(d->origin.broken, 5, 60);
  const double gain[] = {0.01, 0.2000001}, std[] = {0.5};
  hvi_policy *twin;
  hvi_error err;
  check_ok(hvi_policy_linear(&twin, MORTAL_OBS, 1, gain, std, &err), &err);
  hvi_policy_fingerprint(other, twin);
  assert_string_not_equal(fingerprint, other);
  hvi_policy_free(twin);
  hvi_dataset_free(d);
  release(x);
}

/* Stops the run at the n-th look. */
static bool stop_later(void *context, size_t done, size_t total) {
  size_t *looks = context;
  assert_true(done <= total);
  return (*looks)-- > 1;
}

static void a_stopped_run_goes_on_to_the_same_bits(void **state) {
  (void)state;
  subject x = mortal();
  hvi_error err;
  hvi_rollout_report report;
  hvi_collect_settings s = settings(30011, 1);
  collect(here.other, x, &s);
  s.run.progress = stop_later;
  size_t stops = 0, resumed = 0;
  for (bool stopped = true; stopped;) {
    size_t looks = 9 + stops % 5;
    s.run.progress_context = &looks;
    s.run.threads = 1 + stops % 3;
    s.run.partial = HVI_PARTIAL_RESUME;
    check_ok(hvi_dataset_collect(here.file, x.env, x.policy, &s, &report, &err), &err);
    assert_true(report.resumed >= resumed);
    resumed = report.resumed;
    stopped = report.stopped;
    stops += stopped;
    assert_int_equal(entries(false), 2); /* the other file, and one of the two */
  }
  assert_true(stops > 3);
  check_same_files(here.file, here.other);
  release(x);
}

/* A partial file that is torn or altered in the middle costs time, not truth. */
static void a_damaged_partial_file_gives_the_same_bits(void **state) {
  (void)state;
  subject x = mortal();
  hvi_error err;
  hvi_rollout_report report;
  hvi_collect_settings s = settings(20011, 2);
  collect(here.other, x, &s);
  size_t looks = 20, size;
  s.run.progress = stop_later;
  s.run.progress_context = &looks;
  check_ok(hvi_dataset_collect(here.file, x.env, x.policy, &s, &report, &err), &err);
  assert_true(report.stopped);
  unsigned char *bytes = file_bytes(here.partial, &size);
  s.run.progress = NULL;
  s.run.partial = HVI_PARTIAL_RESUME;
  for (size_t k = 0; k < 3; k++) {
    const size_t at = size / 2 + 1009 * k;
    if (k == 2) {
      write_bytes(here.partial, bytes, at);
    } else {
      bytes[at] ^= 4;
      write_bytes(here.partial, bytes, size);
      bytes[at] ^= 4;
    }
    check_ok(hvi_dataset_collect(here.file, x.env, x.policy, &s, &report, &err), &err);
    assert_true(report.resumed > 0);
    assert_true(report.damaged > 0);
    check_same_files(here.file, here.other);
  }
  hvi_free(bytes);
  release(x);
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  subject x = mortal(), y = lqr();
  hvi_error err;
  hvi_collect_settings s = settings(100, 1);
  check_error(hvi_dataset_collect(here.file, y.env, x.policy, &s, NULL, &err), HVI_ERROR_INPUT,
              &err, "lqr");
  s.transitions = 0;
  check_error(hvi_dataset_collect(here.file, x.env, x.policy, &s, NULL, &err), HVI_ERROR_ARGUMENT,
              &err, "transitions: must be a whole number from 1");
  s = settings(100, 4000);
  check_error(hvi_dataset_collect(here.file, x.env, x.policy, &s, NULL, &err), HVI_ERROR_ARGUMENT,
              &err, "threads");
  check_error(hvi_dataset_collect(here.file, x.env, x.policy, NULL, NULL, &err), HVI_ERROR_ARGUMENT,
              &err, "settings");
  s = settings(100, 1);
  check_error(hvi_dataset_collect("/nowhere/file", x.env, x.policy, &s, NULL, &err), HVI_ERROR_IO,
              &err, "/nowhere/file");
  assert_int_equal(entries(false), 0);
  release(x);
  release(y);
}

/* A gain that drives lqr away: states grow beyond floats before the simulation itself gives up. */
static void numbers_that_run_away_are_an_error(void **state) {
  (void)state;
  subject x = lqr();
  hvi_error err;
  double gain[8] = {0}, std[2] = {1.0, 1.0};
  for (size_t i = 0; i < 8; i++) gain[i] = 10.0;
  hvi_policy *wild;
  check_ok(hvi_policy_linear(&wild, 4, 2, gain, std, &err), &err);
  hvi_collect_settings s = settings(1000, 2);
  check_error(hvi_dataset_collect(here.file, x.env, wild, &s, NULL, &err), HVI_ERROR_INPUT, &err,
              "not finite or beyond 3e38");
  assert_int_equal(entries(false), 1); /* the partial file */
  hvi_policy_free(wild);
  release(x);
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  subject x = mortal();
  hvi_collect_settings s = settings(100, 1);
  s.run.partial = HVI_PARTIAL_FRESH;
  hvi_status status;
  size_t allowed = 0;
  do {
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed++;
    status = hvi_dataset_collect(here.file, x.env, x.policy, &s, NULL, &err);
    allocations_left = (size_t)-1;
    if (status) check_error(status, HVI_ERROR_MEMORY, &err, "memory");
  } while (status);
  assert_true(allowed > 20);
  allowed = 0;
  do {
    hvi_dataset *d;
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed++;
    status = hvi_dataset_load(&d, here.file, &err);
    allocations_left = (size_t)-1;
    if (status) check_error(status, HVI_ERROR_MEMORY, &err, "memory");
    assert_int_equal(d == NULL, status != HVI_OK);
    hvi_dataset_free(d);
  } while (status);
  assert_true(allowed > 5);
  release(x);
}

/* A good file of three rows, and one thing wrong with it at a time. */
static void a_bad_file_is_refused(void **state) {
  (void)state;
  static float obs[6] = {1, 2, 3, 4, 5, 6}, action[3], reward[3], next[6], bad[3] = {0, NAN, 0};
  static unsigned char terminated[3], truncated[3] = {0, 0, 1};
  const hvi_tensor good[6] = {{"obs", HVI_TENSOR_F32, 2, {3, 2}, obs},
                              {"action", HVI_TENSOR_F32, 2, {3, 1}, action},
                              {"reward", HVI_TENSOR_F32, 1, {3}, reward},
                              {"next_obs", HVI_TENSOR_F32, 2, {3, 2}, next},
                              {"terminated", HVI_TENSOR_BOOL, 1, {3}, terminated},
                              {"truncated", HVI_TENSOR_BOOL, 1, {3}, truncated}};
  static const struct {
    size_t which;
    hvi_tensor instead;
    const char *words;
  } faults[] = {
      {0,
       {"states", HVI_TENSOR_F32, 2, {3, 2}, obs},
       "no tensor 'obs' (or observation observations)"},
      {0, {"obs", HVI_TENSOR_F32, 3, {3, 1, 2}, obs}, "axes"},
      {2, {"reward", HVI_TENSOR_F32, 2, {3, 2}, obs}, "'reward' has 2 axes"},
      {0, {"obs", HVI_TENSOR_F32, 2, {0, 2}, obs}, "0 rows"},
      {1, {"action", HVI_TENSOR_F32, 2, {2, 1}, action}, "'action' has 2 rows, should have 3"},
      {2, {"reward", HVI_TENSOR_F32, 1, {3}, bad}, "reward"},
      {3, {"next_obs", HVI_TENSOR_F32, 2, {3, 1}, next}, "1 columns, should have 2"},
      {4, {"terminated", HVI_TENSOR_F32, 1, {3}, obs}, "has 2 in row 1, should have 0 or 1"},
      {4, {"ended", HVI_TENSOR_BOOL, 1, {3}, terminated}, "no tensor 'terminated'"},
      {5, {"truncated", HVI_TENSOR_BOOL, 1, {1}, truncated}, "'truncated' has 1 rows"},
  };
  hvi_error err;
  hvi_dataset *d;
  check_ok(hvi_tensors_write(here.file, good, 6, NULL, 0, &err), &err);
  d = load(here.file);
  assert_int_equal(d->count, 3);
  assert_string_equal(d->origin.environment, "");
  assert_true(d->truncated[2]);
  assert_true(!d->terminated[2]);
  assert_true(d->observation[5] == 6.0f);
  hvi_dataset_free(d);
  for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
    hvi_tensor items[6];
    memcpy(items, good, sizeof good);
    items[faults[k].which] = faults[k].instead;
    check_ok(hvi_tensors_write(here.file, items, 6, NULL, 0, &err), &err);
    check_error(hvi_dataset_load(&d, here.file, &err), HVI_ERROR_INPUT, &err, faults[k].words);
    if (!strstr(err.text, here.file)) fail_msg("'%s' does not name the file", err.text);
    assert_null(d);
  }
  check_error(hvi_dataset_load(&d, "/nowhere", &err), HVI_ERROR_IO, &err, "/nowhere");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(rows_are_those_of_a_plain_loop, enter, leave),
      cmocka_unit_test_setup_teardown(any_number_of_threads_gives_the_same_bits, enter, leave),
      cmocka_unit_test_setup_teardown(a_file_tells_where_it_comes_from, enter, leave),
      cmocka_unit_test_setup_teardown(a_stopped_run_goes_on_to_the_same_bits, enter, leave),
      cmocka_unit_test_setup_teardown(a_damaged_partial_file_gives_the_same_bits, enter, leave),
      cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, enter, leave),
      cmocka_unit_test_setup_teardown(numbers_that_run_away_are_an_error, enter, leave),
      cmocka_unit_test_setup_teardown(without_memory_it_says_so, enter, leave),
      cmocka_unit_test_setup_teardown(a_bad_file_is_refused, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

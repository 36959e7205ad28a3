/* Test sets against a plain loop over roll-outs, on any number of threads, stopped and resumed. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "base/hash.h"
#include "mortal_env.h"
#include "rl/rollout.h"
#include "rollout_folder.h"
#include "support/starve.h"

#include <hvi/tensors.h>
#include <hvi/testset.h>

static hvi_testset_settings settings(size_t states, size_t threads) {
  hvi_testset_settings s = hvi_testset_defaults();
  s.run.seed = 3;
  s.run.threads = threads;
  s.states = states;
  s.rollouts = 5;
  s.horizon = 60;
  s.gamma = 0.9;
  return s;
}

static hvi_testset *load(const char *path) {
  hvi_testset *t;
  hvi_error err;
  check_ok(hvi_testset_load(&t, path, &err), &err);
  return t;
}

static void make(const char *path, const hvi_testset_settings *s) {
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  hvi_rollout_report report;
  hvi_error err;
  check_ok(hvi_testset_make(path, env, policy, s, &report, &err), &err);
  assert_false(report.stopped);
  hvi_env_free(env);
  hvi_policy_free(policy);
}

/* Roll-out r of state i by the definition. */
static void check_rollout(const hvi_testset *t, size_t i, size_t r, hvi_env *env,
                          const hvi_policy *policy, float *scratch) {
  const size_t k = i * t->rollouts + r;
  hvi_rng env_rng = hvi_rng_new(3, "rollout-environment", k);
  hvi_rng policy_rng = hvi_rng_new(3, "rollout-policy", k);
  double obs[MORTAL_OBS], action, sum = 0.0;
  hvi_transition step = {0};
  size_t length = 0;
  hvi_env_restore(env, t->states + i * t->state);
  while (length < t->horizon && !step.terminated) {
    hvi_env_observe(env, obs);
    hvi_policy_act(policy, scratch, 1, obs, &policy_rng, &action);
    step = hvi_env_step(env, &action, &env_rng);
    sum += pow(t->gamma, (double)length++) * step.reward;
  }
  check_near(t->returns[k], sum, 1e-12);
  assert_true(t->length[k] == (double)length);
  assert_true(t->terminated[k] == (step.terminated ? 1.0 : 0.0));
}

static void returns_are_those_of_a_plain_loop(void **state) {
  (void)state;
  static const size_t counts[] = {1, 7, 8, 9, 50};
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  float *scratch = hvi_alloc(hvi_policy_scratch(policy, 1), sizeof *scratch);
  for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
    const hvi_testset_settings s = settings(counts[k], 2);
    make(here.file, &s);
    assert_int_equal(entries(false), 1);
    hvi_testset *t = load(here.file);
    assert_int_equal(t->count, counts[k]);
    assert_true(t->gamma == 0.9);
    assert_true(t->horizon == 60);
    assert_true(t->reward_bound == 1.0);
    for (size_t i = 0; i < t->count; i++) {
      double mean = 0.0, square = 0.0;
      double whole[5];
      for (size_t r = 0; r < t->rollouts; r++) {
        const size_t at = i * 5 + r;
        check_rollout(t, i, r, env, policy, scratch);
        whole[r] = t->returns[at] + (t->terminated[at] != 0.0 ? 0.0 : pow(0.9, 60.0) * t->tail);
        mean += whole[r] / 5.0;
      }
      for (size_t r = 0; r < 5; r++) square += pow(whole[r] - mean, 2.0);
      check_near(t->value[i], mean, 1e-12);
      check_near(t->standard_error[i], sqrt(square / 4.0 / 5.0), 1e-12);
    }
    check_near(t->tail, hvi_testset_judge(t).mean_value, 1e-12);
    hvi_testset_free(t);
  }
  hvi_free(scratch);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

enum { MOST_VISITED = 10000 };

/* All states visited in the first episodes, by the definition: [*count][2], and their episodes. */
static double *visited_states(size_t wanted, size_t least, size_t *count, size_t *episode) {
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  float *scratch = hvi_alloc(hvi_policy_scratch(policy, 1), sizeof *scratch);
  double *all = hvi_alloc_doubles(MOST_VISITED * MORTAL_OBS), action;
  *count = 0;
  for (uint64_t e = 0; *count < wanted || e < least; e++) {
    hvi_rng env_rng = hvi_rng_new(3, "visit-environment", e);
    hvi_rng policy_rng = hvi_rng_new(3, "visit-policy", e);
    hvi_transition step = {0};
    hvi_env_reset(env, &env_rng);
    while (!step.terminated && !step.truncated) {
      assert_true(*count < MOST_VISITED);
      episode[*count] = e;
      double *obs = all + MORTAL_OBS * (*count)++;
      hvi_env_observe(env, obs);
      hvi_policy_act(policy, scratch, 1, obs, &policy_rng, &action);
      step = hvi_env_step(env, &action, &env_rng);
    }
  }
  hvi_free(scratch);
  hvi_policy_free(policy);
  hvi_env_free(env);
  return all;
}

/* The last action is a continuous number, so that a state is known by it. */
static size_t find(const double *all, size_t count, const double *row) {
  for (size_t i = 0; i < count; i++)
    if (memcmp(all + i * MORTAL_OBS, row, MORTAL_OBS * sizeof *row) == 0) return i;
  fail_msg("a state that was not visited");
  return 0;
}

static void states_are_visited_ones_each_once(void **state) {
  (void)state;
  hvi_testset_settings s = settings(300, 2);
  static const struct {
    size_t visits, wanted, episodes, least;
  } cases[] = {{0, 1500, 1, 1}, {301, 301, 1, 1}, {301, 301, 200, 200}, {301, 301, 999, 300}};
  static size_t episode[MOST_VISITED];
  s.rollouts = 2;
  s.horizon = 1;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    size_t count;
    s.visits = cases[k].visits;
    s.episodes = cases[k].episodes;
    double *all = visited_states(cases[k].wanted, cases[k].least, &count, episode), place = 0.0;
    if (k > 0)
      assert_true(count - cases[k].wanted < MORTAL_LIMIT ||
                  episode[count - 1] + 1 == cases[k].least);
    bool *seen = hvi_alloc(count, sizeof *seen);
    make(here.file, &s);
    hvi_testset *t = load(here.file);
    for (size_t i = 0; i < t->count; i++) {
      const size_t at = find(all, count, t->states + i * t->state);
      assert_false(seen[at]);
      assert_true(t->episode[i] == (double)episode[at]);
      seen[at] = true;
      place += (double)at / (double)count / (double)t->count;
      for (size_t j = 0; j < t->obs; j++)
        assert_true(t->observation[i * t->obs + j] == (float)t->states[i * t->state + j]);
    }
    /* a uniform choice: the mean place is 1/2 within four standard errors, also of the first half
     */
    check_near(place, 0.5, 4.0 * sqrt(1.0 / 12.0 / 300.0));
    place = 0.0;
    for (size_t i = 0; i < 150; i++)
      place += (double)find(all, count, t->states + i * t->state) / (double)count / 150.0;
    check_near(place, 0.5, 4.0 * sqrt(1.0 / 12.0 / 150.0));
    assert_null(t->label);
    hvi_testset_free(t);
    hvi_free(seen);
    hvi_free(all);
  }
}

/* Early and late states of an episode. */
static size_t mortal_class(const hvi_env *env, const double *obs) {
  (void)env;
  return obs[0] >= 10.0;
}

static void classes_are_the_environments(void **state) {
  (void)state;
  hvi_env_ops ops = mortal_ops;
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  const hvi_testset_settings s = settings(300, 2);
  hvi_error err;
  ops.classes = "early late";
  ops.classify = mortal_class;
  env->ops = &ops;
  check_ok(hvi_testset_make(here.file, env, policy, &s, NULL, &err), &err);
  hvi_testset *t = load(here.file);
  assert_int_equal(t->classes, 2);
  double sum[3] = {0}, squares[3] = {0}, mean = 0.0;
  size_t count[3] = {0}, episodes[3] = {0};
  static bool seen[3][1000];
  for (size_t i = 0; i < t->count; i++) mean += t->value[i] / 300.0;
  for (size_t i = 0; i < t->count; i++) {
    const size_t label = t->observation[i * t->obs] >= 10.0;
    assert_true(t->label[i] == (double)label);
    for (size_t k = label; k < 3; k += 2 - label) {
      bool *known = &seen[k][(size_t)t->episode[i]];
      sum[k] += t->value[i];
      squares[k] += pow(t->value[i] - mean, 2.0);
      episodes[k] += !*known;
      *known = true;
      count[k]++;
    }
  }
  static const char *const names[] = {"early", "late", "all"};
  assert_true(count[0] > 50 && count[1] > 50 && count[2] == 300);
  for (size_t k = 0; k < 3; k++) {
    hvi_class_figures f;
    check_ok(hvi_testset_class(&f, t, k, &err), &err);
    assert_string_equal(f.name, names[k]);
    assert_int_equal(f.count, count[k]);
    assert_int_equal(f.episodes, episodes[k]);
    check_near(f.mean_value, sum[k] / (double)count[k], 1e-12);
    check_near(f.variance_share, squares[k] / squares[2], 1e-12);
  }
  hvi_testset_free(t);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

/* V = sum over all t of (0.95 gamma)^t, whatever the state: the clock of the time limit stands
 * between 0 and 39, and would cut many roll-outs short. */
static void values_are_those_of_the_endless_task(void **state) {
  (void)state;
  hvi_testset_settings s = settings(600, 2);
  s.rollouts = 8;
  make(here.file, &s);
  hvi_testset *t = load(here.file);
  const hvi_testset_figures f = hvi_testset_judge(t);
  const double q = (1.0 - MORTAL_DEATH) * s.gamma, V = 1.0 / (1.0 - q);
  const double error = sqrt(f.noise_floor / 600.0), living = pow(1.0 - MORTAL_DEATH, 60.0);
  double worst = 0.0, squares = 0.0;
  for (size_t i = 0; i < t->count; i++) {
    worst = fmax(worst, fabs(t->value[i] - t->tail));
    squares += pow(t->value[i] - t->tail, 2.0) / 600.0;
  }
  check_near(f.mean_value, V, 4.0 * error);
  assert_true(4.0 * error < 0.03 * V);
  check_near(f.terminated_share, 1.0 - living, 4.0 * sqrt(living / 4800.0));
  check_near(f.after, pow(0.9, 60.0), 1e-15);
  check_near(f.put_back, pow(0.9, 60.0) * (1.0 - f.terminated_share) * f.mean_value, 1e-12);
  check_near(f.missing_bound, pow(0.9, 60.0) * (10.0 + t->tail), 1e-12);
  check_near(f.missing_most, pow(0.9, 60.0) * worst, 1e-15);
  check_near(f.missing_typical, pow(0.9, 60.0) * sqrt(squares), 1e-15);
  assert_true(f.below_error);
  /* about 1/4 of the deaths of 4,800 roll-outs are failures, and some of those on the way */
  assert_in_range(t->origin.broken, 1000, 1500);
  hvi_testset_free(t);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  hvi_testset_settings s = settings(101, 1);
  make(here.other, &s);
  for (size_t threads = 0; threads <= 4; threads++) {
    s.run.threads = threads;
    make(here.file, &s);
    check_same_files(here.file, here.other);
  }
}

static bool stop_later(void *context, size_t done, size_t total) {
  size_t *looks = context;
  assert_true(done <= total);
  return (*looks)-- > 1;
}

static void a_stopped_run_goes_on_to_the_same_bits(void **state) {
  (void)state;
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  hvi_testset_settings s = settings(400, 1);
  hvi_rollout_report report = {.stopped = true};
  hvi_error err;
  make(here.other, &s);
  size_t stops = 0;
  s.run.progress = stop_later;
  s.run.partial = HVI_PARTIAL_RESUME;
  for (; report.stopped; stops += report.stopped) {
    size_t looks = 5 + stops % 7;
    s.run.progress_context = &looks;
    s.run.threads = 1 + stops % 3;
    check_ok(hvi_testset_make(here.file, env, policy, &s, &report, &err), &err);
  }
  assert_true(stops > 3);
  check_same_files(here.file, here.other);
  assert_int_equal(entries(false), 2);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

/* Gives the first episode of every record another length, under a checksum that fits: behind 16 bytes
 * of magic stand size and checksum of a text, and this text, then records with heads of four words. */
static void spoil(double length) {
  size_t size;
  uint64_t word[4];
  unsigned char *bytes = file_bytes(here.partial, &size);
  memcpy(word, bytes + 16, sizeof *word);
  for (size_t at = 32 + (size_t)word[0]; at < size; at += sizeof word + (size_t)word[2]) {
    unsigned char *contents = bytes + at + sizeof word;
    memcpy(word, bytes + at, sizeof word);
    memcpy(contents + offsetof(hvi_return, length), &length, sizeof length);
    word[3] = hvi_checksum(HVI_HASH_START, word, 3 * sizeof *word);
    for (size_t done = 0, block = 1 << 14, left; done < word[2]; done += block) {
      left = (size_t)word[2] - done;
      word[3] = hvi_checksum(word[3], contents + done, left < block ? left : block);
    }
    memcpy(bytes + at + 3 * sizeof *word, &word[3], sizeof *word);
  }
  write_bytes(here.partial, bytes, size);
  hvi_free(bytes);
}

static void records_that_cannot_be_are_refused(void **state) {
  (void)state;
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  hvi_testset_settings s = settings(400, 1);
  size_t looks = 5;
  hvi_error err;
  s.run.progress = stop_later;
  s.run.progress_context = &looks;
  check_ok(hvi_testset_make(here.file, env, policy, &s, NULL, &err), &err);
  const double lengths[] = {-1.0, NAN, 1e9, 0.0};
  s.run.partial = HVI_PARTIAL_RESUME;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    spoil(lengths[i]);
    looks = SIZE_MAX;
    check_error(hvi_testset_make(here.file, env, policy, &s, NULL, &err), HVI_ERROR_INPUT, &err,
                "of the partial file is not whole");
  }
  hvi_policy_free(policy);
  hvi_env_free(env);
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  hvi_error err;
  hvi_testset_settings bad[6];
  for (size_t k = 0; k < 6; k++) bad[k] = settings(10, 1);
  static const char *const words[] = {
      "states: must be a whole number from 1",
      "rollouts: must be a whole number from 2",
      "horizon: must be a whole number from 1",
      "gamma: must be",
      "cannot be chosen",
      "too large",
  };
  bad[0].states = 0;
  bad[1].rollouts = 1;
  bad[2].horizon = 0;
  bad[3].gamma = 1.0;
  bad[4].visits = 9;
  bad[5] = (hvi_testset_settings){bad[5].run, 1000000000, 1000000, 1000000000, 0.9, 0, 1};
  for (size_t k = 0; k < 6; k++) {
    check_error(hvi_testset_make(here.file, env, policy, &bad[k], NULL, &err), HVI_ERROR_ARGUMENT,
                &err, words[k]);
  }
  hvi_testset_settings s = settings(10, 1);
  const double gain[3] = {0}, std[1] = {0};
  hvi_policy *other;
  check_ok(hvi_policy_linear(&other, 3, 1, gain, std, &err), &err);
  check_error(hvi_testset_make(here.file, env, other, &s, NULL, &err), HVI_ERROR_INPUT, &err,
              "mortal");
  assert_int_equal(entries(false), 0);
  hvi_policy_free(other);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  hvi_testset_settings s = settings(9, 1);
  hvi_status status;
  size_t allowed = 0;
  s.run.partial = HVI_PARTIAL_FRESH;
  do {
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed++;
    status = hvi_testset_make(here.file, env, policy, &s, NULL, &err);
    allocations_left = (size_t)-1;
    if (status) check_error(status, HVI_ERROR_MEMORY, &err, "memory");
  } while (status);
  assert_true(allowed > 30);
  allowed = 0;
  do {
    hvi_testset *t;
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed++;
    status = hvi_testset_load(&t, here.file, &err);
    allocations_left = (size_t)-1;
    if (status) check_error(status, HVI_ERROR_MEMORY, &err, "memory");
    assert_int_equal(t == NULL, status != HVI_OK);
    hvi_testset_free(t);
  } while (status);
  assert_true(allowed > 8);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

/* A good file, and one thing wrong with it at a time. */
static void a_bad_file_is_refused(void **state) {
  (void)state;
  static float obs[2] = {1, 2};
  static double saved[2], value[2] = {2.0, 5.0}, error[2] = {1.0, 0.0};
  static double returns[4] = {1.0, 3.0, 5.0, 5.0}, wrong[2] = {2.0, 5.1}, bad[2] = {2.0, NAN};
  static int32_t length[4] = {4, 4, 3, 1}, longer[4] = {4, 5, 3, 1};
  static unsigned char terminated[4] = {0, 0, 1, 1};
  enum { ITEMS = 7, NOTES = 2 };
  const hvi_tensor good[ITEMS] = {{"obs", HVI_TENSOR_F32, 2, {2, 1}, obs},
                                  {"state", HVI_TENSOR_F64, 2, {2, 1}, saved},
                                  {"value", HVI_TENSOR_F64, 1, {2}, value},
                                  {"standard_error", HVI_TENSOR_F64, 1, {2}, error},
                                  {"returns", HVI_TENSOR_F64, 2, {2, 2}, returns},
                                  {"length", HVI_TENSOR_I32, 2, {2, 2}, length},
                                  {"terminated", HVI_TENSOR_BOOL, 2, {2, 2}, terminated}};
  const hvi_tensor_note notes[NOTES] = {{"gamma", "0.5"}, {"horizon", "4"}};
  static const struct {
    size_t which;
    hvi_tensor instead;
    const char *words;
  } faults[] = {
      {1, {"states", HVI_TENSOR_F64, 2, {2, 1}, saved}, "no tensor 'state'"},
      {2, {"value", HVI_TENSOR_F64, 1, {2}, wrong}, "state 1 is not that of its returns"},
      {2, {"value", HVI_TENSOR_F64, 1, {2}, bad}, "value"},
      {3, {"standard_error", HVI_TENSOR_F64, 1, {2}, value}, "not that of its returns"},
      {4, {"returns", HVI_TENSOR_F64, 2, {2, 1}, returns}, "should have 1"},
      {5, {"length", HVI_TENSOR_I32, 2, {2, 2}, longer}, "a roll-out of 5 steps"},
  };
  static const struct {
    size_t at;
    hvi_tensor_note instead;
    const char *words;
  } bad_notes[] = {{0, {"gamma", "1"}, "gamma"},
                   {0, {"gamma", "0"}, "gamma"},
                   {0, {"gamma", "half"}, "gamma"},
                   {0, {"gamma", ""}, "gamma"},
                   {0, {"gamma", "nan"}, "gamma"},
                   {0, {"Gamma", "0.5"}, "gamma"},
                   {1, {"horizon", "0"}, "horizon 0"},
                   {1, {"horizon", "1e10"}, "horizon 1e+10"},
                   {1, {"horizon", "4x"}, "'horizon' is '4x', which is no number"},
                   {1, {"Horizon", "4"}, "no note 'horizon'"},
                   {2, {"reward_bound", "-1"}, "reward bound -1"},
                   {2, {"reward_bound", "high"}, "'reward_bound'"},
                   {2, {"tail", "inf"}, "tail inf"},
                   {2, {"tail", "long"}, "'tail'"}};
  hvi_error err;
  hvi_testset *t;
  check_ok(hvi_tensors_write(here.file, good, ITEMS, notes, NOTES, &err), &err);
  t = load(here.file);
  assert_true(t->count == 2);
  assert_true(t->rollouts == 2);
  assert_true(t->gamma == 0.5);
  assert_true(t->horizon == 4);
  assert_true(isinf(t->reward_bound));
  assert_true(t->terminated[2] == 1.0);
  assert_true(t->length[2] == 3.0);
  assert_true(isinf(hvi_testset_judge(t).missing_bound));
  hvi_testset_free(t);
  for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
    hvi_tensor items[ITEMS];
    memcpy(items, good, sizeof good);
    items[faults[k].which] = faults[k].instead;
    check_ok(hvi_tensors_write(here.file, items, ITEMS, notes, NOTES, &err), &err);
    check_error(hvi_testset_load(&t, here.file, &err), HVI_ERROR_INPUT, &err, faults[k].words);
    assert_null(t);
  }
  for (size_t k = 0; k < sizeof bad_notes / sizeof *bad_notes; k++) {
    hvi_tensor_note some[NOTES + 1] = {notes[0], notes[1], {"remark", "none"}};
    some[bad_notes[k].at] = bad_notes[k].instead;
    check_ok(hvi_tensors_write(here.file, good, ITEMS, some, NOTES + 1, &err), &err);
    check_error(hvi_testset_load(&t, here.file, &err), HVI_ERROR_INPUT, &err, bad_notes[k].words);
  }
  /* one roll-out a state */
  hvi_tensor items[ITEMS];
  memcpy(items, good, sizeof good);
  for (size_t k = 4; k < ITEMS; k++) items[k].shape[1] = 1;
  check_ok(hvi_tensors_write(here.file, items, ITEMS, notes, NOTES, &err), &err);
  check_error(hvi_testset_load(&t, here.file, &err), HVI_ERROR_INPUT, &err, "should have two");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(returns_are_those_of_a_plain_loop, enter, leave),
      cmocka_unit_test_setup_teardown(states_are_visited_ones_each_once, enter, leave),
      cmocka_unit_test_setup_teardown(classes_are_the_environments, enter, leave),
      cmocka_unit_test_setup_teardown(values_are_those_of_the_endless_task, enter, leave),
      cmocka_unit_test_setup_teardown(any_number_of_threads_gives_the_same_bits, enter, leave),
      cmocka_unit_test_setup_teardown(a_stopped_run_goes_on_to_the_same_bits, enter, leave),
      cmocka_unit_test_setup_teardown(records_that_cannot_be_are_refused, enter, leave),
      cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, enter, leave),
      cmocka_unit_test_setup_teardown(without_memory_it_says_so, enter, leave),
      cmocka_unit_test_setup_teardown(a_bad_file_is_refused, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

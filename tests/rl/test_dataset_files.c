/* Data sets and test sets as others write them: names, types, layouts, and what is said of them. */
#include "rl/rollout_folder.h"
#include "support/starve.h"

#include "io/npy.h"

#include <hvi/evaluate.h>

enum { ROWS = 6, OBS = 2 };

/* Two episodes: rows 0 to 2, which terminates, and 3 to 5, which is cut. States count up. */
static const double states[2 * ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const double next_states[2 * ROWS] = {2, 3, 4, 5, 90, 91, 8, 9, 10, 11, 92, 93};
static const double rewards[ROWS] = {1, 2, 3, 4, 5, 6};
static const unsigned char terminals[ROWS] = {0, 0, 1, 0, 0, 0},
                           timeouts[ROWS] = {0, 0, 0, 0, 0, 1};
static const unsigned char ends[ROWS] = {0, 0, 1, 0, 0, 1};

static hvi_tensor numbers(const char *name, const double *x, size_t rows, size_t columns) {
  return (hvi_tensor){name, HVI_TENSOR_F64, columns ? 2 : 1, {rows, columns}, x};
}

static hvi_tensor flags(const char *name, const unsigned char *x) {
  return (hvi_tensor){name, HVI_TENSOR_BOOL, 1, {ROWS}, x};
}

static hvi_status read_items(hvi_dataset **d, const hvi_tensor *items, size_t count,
                             const char *map, hvi_error *err) {
  check_ok(hvi_tensors_write(here.file, items, count, NULL, 0, err), err);
  return hvi_dataset_read(d, here.file, map ? &(hvi_names){1, &map} : NULL, err);
}

#define READ(d, map, ...)                                                                          \
  do {                                                                                             \
    const hvi_tensor items_[] = {__VA_ARGS__};                                                     \
    hvi_error err_;                                                                                \
    check_ok(read_items(d, items_, sizeof items_ / sizeof *items_, map, &err_), &err_);            \
  } while (0)
#define REFUSE(words, map, ...)                                                                    \
  do {                                                                                             \
    const hvi_tensor items_[] = {__VA_ARGS__};                                                     \
    hvi_error err_;                                                                                \
    hvi_dataset *d_;                                                                               \
    check_error(read_items(&d_, items_, sizeof items_ / sizeof *items_, map, &err_),               \
                HVI_ERROR_INPUT, &err_, words);                                                    \
    assert_null(d_);                                                                               \
  } while (0)

static void check_row(const hvi_dataset *d, size_t i, double state, double next, bool terminated,
                      bool truncated) {
  assert_true(d->observation[i * OBS] == (float)state);
  assert_true(d->observation[i * OBS + 1] == (float)state + 1.0F);
  if (!terminated) assert_true(d->next[i * OBS + 1] == (float)next + 1.0F);
  assert_int_equal(d->terminated[i], terminated);
  assert_int_equal(d->truncated[i], truncated);
}

static void check_rows(const hvi_dataset *d, bool cut) {
  assert_int_equal(d->count, ROWS);
  assert_int_equal(d->obs, OBS);
  for (size_t i = 0; i < ROWS; i++) {
    check_row(d, i, states[2 * i], next_states[2 * i], i == 2, cut && i == 5);
    assert_true(d->reward[i] == (float)rewards[i]);
  }
}

static void said(const hvi_dataset *d, const char *words) {
  if (!strstr(d->remarks, words)) fail_msg("'%s' does not say '%s'", d->remarks, words);
}

static void names_of_others_are_known(void **state) {
  (void)state;
  hvi_dataset *d;
  READ(&d, NULL, numbers("observations", states, ROWS, 2), numbers("actions", rewards, ROWS, 1),
       numbers("rewards", rewards, ROWS, 0), numbers("next_observations", next_states, ROWS, 2),
       flags("terminals", terminals), flags("timeouts", timeouts));
  check_rows(d, true);
  said(d, "obs is 'observations', action is 'actions'");
  assert_int_equal(d->act, 1);
  hvi_dataset_free(d);
  READ(&d, NULL, numbers("observation", states, ROWS, 2), numbers("reward", rewards, ROWS, 1),
       numbers("next_observation", next_states, ROWS, 2), flags("terminations", terminals),
       flags("truncations", timeouts));
  check_rows(d, true);
  said(d, "no 'action'");
  assert_int_equal(d->act, 0);
  hvi_dataset_free(d);
  READ(&d, "obs=s", numbers("s", states, ROWS, 2), numbers("observations", next_states, ROWS, 2),
       numbers("reward", rewards, ROWS, 0), numbers("next_obs", next_states, ROWS, 2),
       flags("terminated", terminals), flags("truncated", timeouts));
  check_rows(d, true);
  hvi_dataset_free(d);
}

static void names_that_are_not_clear_are_refused(void **state) {
  (void)state;
  hvi_dataset *d;
  hvi_error err;
  const char *map = "observation=x";
#define REST                                                                                       \
  numbers("reward", rewards, ROWS, 0), numbers("next_obs", next_states, ROWS, 2),                  \
      flags("terminated", terminals)
  REFUSE("'obs' and 'observations' could both be 'obs'; --map obs=NAME", NULL,
         numbers("obs", states, ROWS, 2), numbers("observations", states, ROWS, 2), REST);
  REFUSE("no tensor 'y', which is to be 'obs'", "obs=y", numbers("obs", states, ROWS, 2), REST);
  REFUSE("there are: next_obs, reward, x, terminated", NULL, numbers("x", states, ROWS, 2), REST);
  check_error(hvi_dataset_read(&d, here.file, &(hvi_names){1, &map}, &err), HVI_ERROR_ARGUMENT,
              &err, "should be COLUMN=NAME, the column one of obs, action, reward");
}

static void ends_are_read_as_they_are(void **state) {
  (void)state;
  hvi_dataset *d;
  static const float halves[ROWS] = {0, 0, 0.5F, 0, 0, 0}, ones[ROWS] = {0, 0, 1, 0, 0, 0};
  static const int64_t longs[ROWS] = {0, 0, 1, 0, 0, 0};
  static const int8_t bytes[ROWS] = {0, 0, 1, 0, 0, 0}, signs[ROWS] = {0, 0, -1, 0, 0, 0};
#define DATA                                                                                       \
  numbers("obs", states, ROWS, 2), numbers("reward", rewards, ROWS, 0),                            \
      numbers("next_obs", next_states, ROWS, 2)
  /* terminated alone: cuts are not known */
  READ(&d, NULL, DATA, {"terminated", HVI_TENSOR_F32, 1, {ROWS}, ones});
  check_rows(d, false);
  assert_true(d->cuts_unknown);
  said(d, "no 'truncated'");
  hvi_value_spec spec = hvi_value_defaults();
  hvi_problem *p;
  hvi_error err;
  spec.data = d;
  spec.draw = HVI_VALUE_ALL;
  spec.lambda = 0.5;
  check_error(hvi_value_new(&p, &spec, 1, &err), HVI_ERROR_INPUT, &err,
              "lambda targets need 'truncated'");
  spec.lambda = 0.0;
  spec.returns = true;
  check_error(hvi_value_new(&p, &spec, 1, &err), HVI_ERROR_INPUT, &err, "returns need 'truncated'");
  hvi_dataset_free(d);
  READ(&d, NULL, DATA, {"terminated", HVI_TENSOR_I64, 2, {ROWS, 1}, longs});
  check_rows(d, false);
  hvi_dataset_free(d);
  READ(&d, NULL, DATA, {"terminals", HVI_TENSOR_I8, 1, {ROWS}, bytes}, flags("done", ends));
  check_rows(d, true); /* done and not terminated */
  assert_false(d->cuts_unknown);
  hvi_dataset_free(d);
  READ(&d, NULL, DATA, flags("done", ends), flags("truncated", timeouts));
  check_rows(d, true);
  said(d, "'done' is read as terminated or truncated\n");
  hvi_dataset_free(d);
  READ(&d, NULL, DATA, flags("dones", ends));
  assert_true(d->terminated[2] && d->terminated[5] && !d->cuts_unknown);
  said(d, "every end as a termination");
  hvi_dataset_free(d);
  REFUSE("'terminated' has 0.5 in row 2, should have 0 or 1", NULL, DATA,
         {"terminated", HVI_TENSOR_F32, 1, {ROWS}, halves});
  REFUSE("'done' has -1 in row 2", NULL, DATA, {"done", HVI_TENSOR_I8, 1, {ROWS}, signs});
  REFUSE("row 2 is terminated and not done", NULL, DATA, flags("terminated", terminals),
         flags("done", timeouts));
  REFUSE("nor 'done'", NULL, DATA);
}

/* D4RL: successors are the rows that follow, and rows without one are dropped. */
static void successors_are_taken_from_the_next_row(void **state) {
  (void)state;
  hvi_dataset *d;
#define STEPS numbers("obs", states, ROWS, 2), numbers("reward", rewards, ROWS, 0)
  READ(&d, NULL, STEPS, numbers("action", rewards, ROWS, 1), flags("terminals", terminals),
       flags("timeouts", timeouts));
  assert_int_equal(d->count, ROWS - 1);
  said(d, "1 rows at the ends of episodes, which have none, dropped");
  check_row(d, 0, 0, 2, false, false);
  check_row(d, 1, 2, 4, false, false);
  check_row(d, 2, 4, 0, true, false);
  check_row(d, 3, 6, 8, false, false);
  check_row(d, 4, 8, 10, false, true); /* the row after it is gone */
  assert_true(d->reward[4] == 5.0F && d->action[4] == 5.0F);
  hvi_dataset_free(d);
  READ(&d, NULL, STEPS, flags("terminated", timeouts), flags("truncated", terminals));
  assert_int_equal(d->count, ROWS - 1); /* the last row ends in a termination and stays */
  check_row(d, 1, 2, 4, false, true);
  check_row(d, 2, 6, 8, false, false);
  check_row(d, 4, 10, 0, true, false);
  hvi_dataset_free(d);
  REFUSE("no tensor 'next_obs' (or next_observations); the next row's 'obs'", NULL, STEPS,
         flags("terminated", terminals));
}

/* Minari: each episode has an observation more than steps. */
static void episodes_with_their_last_state_are_read(void **state) {
  (void)state;
  hvi_dataset *d;
  static const double all[16] = {0, 1, 2, 3, 4, 5, 90, 91, 6, 7, 8, 9, 10, 11, 92, 93};
#define ENDS flags("terminations", terminals), flags("truncations", timeouts)
  READ(&d, NULL, numbers("observations", all, 8, 2), numbers("rewards", rewards, ROWS, 0), ENDS);
  check_rows(d, true);
  assert_true(d->next[4] == 90.0F && d->next[11] == 93.0F);
  hvi_dataset_free(d);
  REFUSE("7 rows of 'obs' do not go with 6 steps", NULL, numbers("obs", all, 7, 2),
         numbers("reward", rewards, ROWS, 0), ENDS);
}

static hvi_status read_again(void *context, hvi_error *err) {
  hvi_dataset *d;
  (void)context;
  const hvi_status status = hvi_dataset_load(&d, here.file, err);
  assert_int_equal(d == NULL, status != HVI_OK);
  hvi_dataset_free(d);
  return status;
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  hvi_dataset *d;
  READ(&d, NULL, STEPS, flags("terminals", terminals), flags("timeouts", timeouts));
  hvi_dataset_free(d);
  assert_true(starve(read_again, NULL) > 6);
}

/* Test sets */

static void values_alone_make_a_test_set(void **state) {
  (void)state;
  hvi_testset *set;
  hvi_probe *probe;
  hvi_error err;
  static const double errors[ROWS] = {0.1, 0.2, 0.1, 0.2, 0.1, 0.2},
                      wrong[ROWS] = {0, 0, -1, 0, 0, 0};
  const hvi_tensor plain[] = {numbers("obs", states, ROWS, 2), numbers("value", rewards, ROWS, 1)};
  check_ok(hvi_tensors_write(here.file, plain, 2, NULL, 0, &err), &err);
  check_ok(hvi_testset_load(&set, here.file, &err), &err);
  assert_int_equal(set->count, ROWS);
  assert_true(set->gamma == 0.0 && set->exact && set->rollouts == 0);
  assert_true(set->value[5] == 6.0 && set->standard_error[5] == 0.0);
  const hvi_testset_figures f = hvi_testset_judge(set);
  check_near(f.mean_value, 3.5, 1e-12);
  assert_true(isnan(f.after) && isnan(f.terminated_share));
  check_ok(hvi_probe_of_testset(&probe, set, &err), &err);
  assert_true(probe->gamma == 0.0 && probe->observation[3] == 3.0F);
  hvi_probe_free(probe);
  hvi_testset_free(set);

  /* under names of one's own */
  const hvi_tensor named[] = {numbers("s", states, ROWS, 2), numbers("v", rewards, ROWS, 1)};
  const char *const both[] = {"obs=s", "value=v"}, *const none[] = {"reward=v"};
  check_ok(hvi_tensors_write(here.file, named, 2, NULL, 0, &err), &err);
  check_error(hvi_testset_load(&set, here.file, &err), HVI_ERROR_INPUT, &err, "no tensor 'obs'");
  check_error(hvi_testset_read(&set, here.file, &(hvi_names){1, none}, &err), HVI_ERROR_ARGUMENT,
              &err, "one of obs, state, value, standard_error");
  check_ok(hvi_testset_read(&set, here.file, &(hvi_names){2, both}, &err), &err);
  assert_true(set->value[5] == 6.0 && set->observation[3] == 3.0);
  hvi_testset_free(set);

  const hvi_tensor full[] = {numbers("observations", states, ROWS, 2),
                             numbers("values", rewards, ROWS, 0),
                             numbers("standard_error", errors, ROWS, 0)};
  const hvi_tensor_note gamma = {"gamma", "0.9"}, odd = {"gamma", "1.5"};
  check_ok(hvi_tensors_write(here.file, full, 3, &gamma, 1, &err), &err);
  check_ok(hvi_testset_load(&set, here.file, &err), &err);
  assert_true(set->gamma == 0.9 && !set->exact && set->standard_error[1] == 0.2);
  hvi_testset_free(set);
  check_ok(hvi_tensors_write(here.file, full, 3, &odd, 1, &err), &err);
  check_error(hvi_testset_load(&set, here.file, &err), HVI_ERROR_INPUT, &err,
              "gamma 1.5 is out of range");
  const hvi_tensor bad[] = {plain[0], plain[1], numbers("standard_error", wrong, ROWS, 0)};
  check_ok(hvi_tensors_write(here.file, bad, 3, NULL, 0, &err), &err);
  check_error(hvi_testset_load(&set, here.file, &err), HVI_ERROR_INPUT, &err, "state 2 is -1");
  /* episodes and classes of one's own */
  static const double episode[ROWS] = {7, 900000, 7, 2, 7, 7}, label[ROWS] = {0, 2, 0, 1, 0, 0};
  static const double fraction[ROWS] = {0, 0, 0.5, 0, 0, 0};
  const hvi_tensor grouped[] = {plain[0], plain[1], numbers("episode", episode, ROWS, 0),
                                numbers("class", label, ROWS, 0)};
  const hvi_tensor_note names[] = {{"classes", "plain odd"}, {"classes", "plain odd rest"}};
  check_ok(hvi_tensors_write(here.file, grouped, 4, NULL, 0, &err), &err);
  check_ok(hvi_testset_load(&set, here.file, &err), &err);
  assert_true(set->classes == 3);
  check_ok(hvi_probe_of_testset(&probe, set, &err), &err);
  check_close(probe->episode, episode, ROWS, 0.0);
  check_close(probe->label, label, ROWS, 0.0);
  hvi_class_figures c;
  check_ok(hvi_testset_class(&c, set, 1, &err), &err);
  assert_string_equal(c.name, "1");
  check_ok(hvi_testset_class(&c, set, 3, &err), &err);
  assert_true(c.episodes == 3 && c.count == ROWS);
  hvi_probe_free(probe);
  hvi_testset_free(set);
  check_ok(hvi_tensors_write(here.file, grouped, 4, &names[1], 1, &err), &err);
  check_ok(hvi_testset_load(&set, here.file, &err), &err);
  check_ok(hvi_testset_class(&c, set, 2, &err), &err);
  assert_string_equal(c.name, "rest");
  assert_true(c.count == 1 && c.episodes == 1 && c.mean_value == 2.0);
  check_near(c.variance_share, 2.25 / 17.5, 1e-12);
  hvi_testset_free(set);
  check_ok(hvi_tensors_write(here.file, grouped, 4, names, 1, &err), &err);
  check_error(hvi_testset_load(&set, here.file, &err), HVI_ERROR_INPUT, &err,
              "state 1 is of class 2, should be a whole number below 2");
  const hvi_tensor torn[] = {plain[0], plain[1], numbers("episode", fraction, ROWS, 0)};
  check_ok(hvi_tensors_write(here.file, torn, 3, NULL, 0, &err), &err);
  check_error(hvi_testset_load(&set, here.file, &err), HVI_ERROR_INPUT, &err,
              "state 2 is of episode 0.5, should be");
  const hvi_tensor half[] = {plain[0], plain[1], numbers("returns", states, ROWS, 2)};
  check_ok(hvi_tensors_write(here.file, half, 3, NULL, 0, &err), &err);
  check_error(hvi_testset_load(&set, here.file, &err), HVI_ERROR_INPUT, &err, "no tensor 'state'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names_of_others_are_known, enter, leave),
      cmocka_unit_test_setup_teardown(names_that_are_not_clear_are_refused, enter, leave),
      cmocka_unit_test_setup_teardown(ends_are_read_as_they_are, enter, leave),
      cmocka_unit_test_setup_teardown(successors_are_taken_from_the_next_row, enter, leave),
      cmocka_unit_test_setup_teardown(episodes_with_their_last_state_are_read, enter, leave),
      cmocka_unit_test_setup_teardown(without_memory_it_says_so, enter, leave),
      cmocka_unit_test_setup_teardown(values_alone_make_a_test_set, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What bindings use: problems from texts, data sets from arrays, settings against their method. */
#include "support/check.h"

#include <hvi/builtin.h>
#include <hvi/rollout.h>
#include <hvi/solver.h>

#include <math.h>
#include <string.h>

static void a_text_is_a_problem(void **state) {
  (void)state;
  const char *json = "{\"transitions\": [[0.5, 0.5], [1, 0]], \"rewards\": [1, 0], \"gamma\": 0.5}";
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_problem_parse(&p, json, "text", NULL, 1, 0, &err), &err);
  assert_int_equal(p->model->out, 2);
  hvi_problem_free(p);
  assert_int_equal(hvi_problem_parse(&p, "{\"a\": 1}", "text", NULL, 1, 0, &err), HVI_ERROR_INPUT);
  assert_null(p);
  assert_non_null(strstr(err.text, "text:1"));
  assert_int_equal(hvi_problem_parse(&p, NULL, "text", NULL, 1, 0, &err), HVI_ERROR_ARGUMENT);
}

static void arrays_are_a_data_set(void **state) {
  (void)state;
  const double obs[] = {1, 2, 3, 4}, reward[] = {5, 6};
  const bool ends[] = {false, true};
  hvi_tensor items[] = {{"obs", HVI_TENSOR_F64, 2, {2, 2}, obs},
                        {"reward", HVI_TENSOR_F64, 1, {2}, reward},
                        {"next_obs", HVI_TENSOR_F64, 2, {2, 2}, obs},
                        {"terminated", HVI_TENSOR_BOOL, 1, {2}, ends}};
  const hvi_tensors arrays = {.count = 4, .items = items};
  hvi_dataset *d = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_dataset_of(&d, &arrays, "arrays", NULL, &err), &err);
  assert_int_equal(d->count, 2);
  assert_true(d->next[3] == 4.0F && d->reward[1] == 6.0F && d->terminated[1] && !d->terminated[0]);
  hvi_dataset_free(d);
  items[1].shape[0] = 1;
  assert_int_equal(hvi_dataset_of(&d, &arrays, "arrays", NULL, &err), HVI_ERROR_INPUT);
  assert_null(d);
  assert_non_null(strstr(err.text, "arrays"));
  assert_int_equal(hvi_dataset_of(&d, NULL, "arrays", NULL, &err), HVI_ERROR_ARGUMENT);
}

static void settings_need_their_method(void **state) {
  (void)state;
  const hvi_setting *inner = hvi_setting_find(hvi_settings_table(), "inner");
  const hvi_setting *momentum = hvi_setting_find(hvi_settings_table(), "momentum");
  hvi_settings s = hvi_method_settings("gd"), asked = hvi_settings_defaults();
  hvi_error err = {HVI_OK, ""};
  asked.inner_steps = 7;
  check_ok(hvi_settings_take(&s, &asked, inner, "gd", NULL, &err), &err);
  assert_int_equal(s.inner_steps, 7);
  assert_int_equal(hvi_settings_take(&s, &asked, momentum, "gd", NULL, &err), HVI_ERROR_ARGUMENT);
  assert_string_equal(err.text, "method gd does not use momentum; it is for momentum");
  s = hvi_method_settings("phgd");
  assert_int_equal(hvi_settings_take(&s, &asked, inner, "phgd", "--inner", &err),
                   HVI_ERROR_ARGUMENT);
  assert_string_equal(err.text, "method phgd fixes --inner at 1; --method gn leaves it open");
  assert_int_equal(s.inner_steps, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_text_is_a_problem),
      cmocka_unit_test(arrays_are_a_data_set),
      cmocka_unit_test(settings_need_their_method),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

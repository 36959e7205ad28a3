/* The registry: names, keys, values, and instances that depend on (seed, instance) alone. */
#include "check.h"

static void every_entry_is_complete(void **state) {
  (void)state;
  size_t count = 0;
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++, count++) {
    assert_non_null(b->summary);
    for (const hvi_setting *key = b->options->rows; key->name; key++) {
      assert_non_null(key->help);
      /* saying the default aloud changes nothing */
      hvi_option option = {key->name, key->fallback};
      hvi_problem *p = make(b->name, NULL, 0, 1, 0), *q = make(b->name, &option, 1, 1, 0);
      check_same_problem(p, q);
      hvi_problem_free(p);
      hvi_problem_free(q);
    }
  }
  assert_true(count >= 9);
}

static void every_problem_is_sound(void **state) {
  (void)state;
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++)
    for (uint64_t instance = 0; instance < 4; instance++) {
      hvi_problem *p = make(b->name, NULL, 0, 11, instance);
      if (p->solution) assert_true(residual_at_solution(p) < 1e-12);
      if (p->ops->affine) check_affine(p);
      size_t covered = 0;
      for (size_t i = 0; i < p->set_count; i++) {
        assert_int_equal(p->sets[i].begin, covered);
        covered += p->sets[i].len;
      }
      assert_int_equal(covered, p->model->out);
      hvi_problem_free(p);
    }
}

static void instances_depend_on_seed_and_number(void **state) {
  (void)state;
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) {
    hvi_problem *p = make(b->name, NULL, 0, 3, 5), *other = make(b->name, NULL, 0, 3, 6);
    hvi_problem *again = make(b->name, NULL, 0, 3, 5), *seed = make(b->name, NULL, 0, 4, 5);
    check_same_problem(p, again);
    assert_memory_not_equal(p->theta0, other->theta0, p->model->dim * sizeof(double));
    assert_memory_not_equal(p->theta0, seed->theta0, p->model->dim * sizeof(double));
    hvi_problem_free(p);
    hvi_problem_free(other);
    hvi_problem_free(again);
    hvi_problem_free(seed);
  }
}

static void counterexample_is_the_rotation(void **state) {
  (void)state;
  hvi_problem *p = make("counterexample", NULL, 0, 0, 0);
  double f[2];
  operate(p, (const double[]){3, 5}, f);
  assert_true(f[0] == 8);
  assert_true(f[1] == 2);
  assert_true(p->theta0[0] == 1);
  assert_true(p->theta0[1] == 0);
  hvi_constants c;
  assert_int_equal(hvi_problem_constants(&c, p, NULL), HVI_OK);
  assert_true(fabs(c.mu - 1) < 1e-15);
  assert_true(fabs(c.lipschitz - sqrt(2)) < 1e-15);
  hvi_problem_free(p);
}

static void refuse(const char *name, const char *key, const char *value, const char *words) {
  hvi_problem *p = (hvi_problem *)&name;
  hvi_error err = {HVI_OK, ""};
  hvi_option option = {key, value};
  assert_int_equal(hvi_builtin_new(&p, name, &option, key ? 1 : 0, 0, 0, &err), HVI_ERROR_INPUT);
  assert_null(p);
  assert_int_equal(err.status, HVI_ERROR_INPUT);
  check_text(&err, words);
}

static void bad_input_gets_one_line(void **state) {
  (void)state;
  refuse("penies", NULL, NULL, "unknown problem 'penies'; did you mean 'pennies'?");
  refuse("chess", NULL, NULL,
         "unknown problem 'chess'; there are pennies, rps, quadratic, counterexample");
  refuse("pennies", "wieght", "1", "pennies: unknown key 'wieght'; did you mean 'weight'?");
  refuse("pennies", "colour", "1", "there are a1, a2, b1, b2, weight, signs");
  refuse("counterexample", "weight", "1", "counterexample: unknown key 'weight'; there are none");
  refuse("pennies", "weight", "-3", "pennies: weight: must be a number from 0 to 100, not '-3'");
  refuse("pennies", "weight", "nan", "must be a number from 0 to 100, not 'nan'");
  refuse("pennies", "weight", "inf", "must be a number from 0 to 100, not 'inf'");
  refuse("pennies", "weight", "1x", "must be a number from 0 to 100, not '1x'");
  refuse("pennies", "weight", "", "must be a number from 0 to 100, not ''");
  refuse("pennies", "signs", "upside-down",
         "pennies: signs: must be mended or printed, not 'upside-down'");
  refuse("quadratic", "g", "line",
         "quadratic: g: must be linear, celu, tanh, softplus or identity, not 'line'");
}

static void bad_calls_are_told_apart(void **state) {
  (void)state;
  hvi_problem *p;
  hvi_option nothing = {"weight", NULL};
  assert_int_equal(hvi_builtin_new(NULL, "rps", NULL, 0, 0, 0, NULL), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_builtin_new(&p, NULL, NULL, 0, 0, 0, NULL), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_builtin_new(&p, "rps", NULL, 1, 0, 0, NULL), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_builtin_new(&p, "rps", &nothing, 1, 0, 0, NULL), HVI_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_entry_is_complete),
      cmocka_unit_test(every_problem_is_sound),
      cmocka_unit_test(instances_depend_on_seed_and_number),
      cmocka_unit_test(counterexample_is_the_rotation),
      cmocka_unit_test(bad_input_gets_one_line),
      cmocka_unit_test(bad_calls_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ensembles from outside: threads, progress, which path is taken, and what is refused. */
#include "ensemble/games.h"

#include "ensemble/lanes.h"

#include <stdio.h>

static hvi_settings method_named(const char *name) {
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, name, NULL);
  s.max_outer = 40;
  return s;
}

static void same_bits_for_any_number_of_threads(void **state) {
  (void)state;
  const char *const names[] = {"gd", "adam", "phgd", "lm", "extragradient"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const hvi_settings s = method_named(names[i]);
    const hvi_ensemble_settings alone = {.count = 5 * HVI_LANES + 3, .threads = 1};
    hvi_ensemble *one = run_ensemble(make_builtin, "rps", &s, alone);
    for (size_t threads = 2; threads <= 3; threads++) {
      hvi_ensemble_settings many = alone;
      many.threads = threads;
      hvi_ensemble *other = run_ensemble(make_builtin, "rps", &s, many);
      check_same_ensemble(one, other);
      hvi_ensemble_free(other);
    }
    hvi_ensemble_free(one);
  }
}

static bool takes_lanes(hvi_instance_fn make, const char *name, const hvi_settings *s) {
  hvi_ensemble *e = run_ensemble(make, name, s, (hvi_ensemble_settings){.count = 3});
  const bool lanes = e->lanes;
  for (size_t i = 0; i < 3; i++) assert_true(isfinite(e->residual[i]));
  hvi_ensemble_free(e);
  return lanes;
}

/* One player, of one layer: with an activation that no lane knows, a bias, or two outputs. */
static hvi_status make_layer(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  const char *what = context;
  const double a[] = {0.5 + (double)index, 1.0}, theta0 = 1.0;
  const hvi_layer layer = {.out = strcmp(what, "tall") == 0 ? 2 : 1,
                           .matrix = a,
                           .bias = strcmp(what, "bias") == 0 ? a : NULL,
                           .activation = strcmp(what, "gelu") == 0 ? HVI_GELU : HVI_TANH};
  const hvi_stack_spec spec = {.in = 1, .rows = 1, .layer_count = 1, .layers = &layer};
  hvi_player player = {.theta0 = &theta0, .set = HVI_SET_FREE, .weight = 1.0};
  hvi_status status = hvi_stack_new(&player.model, &spec, err);
  if (status) return status;
  const hvi_game_spec game = {.player_count = 1, .players = &player};
  return hvi_game_new(p, &game, err);
}

static void lanes_where_they_fit(void **state) {
  (void)state;
  const char *const fit[] = {"gd", "lm", "gda"};
  for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
    const hvi_settings s = method_named(fit[i]);
    assert_true(takes_lanes(make_builtin, "pennies", &s));
  }
  const char *const other[] = {"gn",    "dgn",           "phgd", "momentum", "adam",
                               "adamw", "extragradient", "ogda", "agda",     "adam-gda"};
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    const hvi_settings s = method_named(other[i]);
    assert_false(takes_lanes(make_builtin, "pennies", &s));
  }
  const hvi_settings gd = method_named("gd");
  assert_true(takes_lanes(make_layer, "plain", &gd));
  assert_false(takes_lanes(make_layer, "gelu", &gd));
  assert_false(takes_lanes(make_layer, "bias", &gd));
  const hvi_settings lm = method_named("lm");
  assert_true(takes_lanes(make_layer, "tall", &gd));
  assert_false(takes_lanes(make_layer, "tall", &lm));
}

static void the_solver_where_they_do_not(void **state) {
  (void)state;
  hvi_settings s = method_named("lm");
  s.inner.adapt_damping = true;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("lm");
  s.inner.linear = HVI_SOLVE_MATRIX_FREE;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.target = HVI_TARGET_OPTIMISTIC;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.alternating = true;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.alpha = 0.5;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.max_f_evals = 7;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.eta_decay = 0.5;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.inner_lr_decay = 0.5;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
  s = method_named("gd");
  s.tol_relative = true;
  assert_false(takes_lanes(make_builtin, "pennies", &s));
}

static hvi_status make_mixed(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  (void)context;
  return hvi_builtin_new(p, index == HVI_LANES + 5 ? "rps" : "pennies", NULL, 0, 7, index + 1, err);
}

/* A chunk with a game of another shape goes through the solver; the others keep their lanes. */
static void shapes_may_differ(void **state) {
  (void)state;
  const size_t count = 2 * HVI_LANES;
  const hvi_settings s = method_named("lm");
  hvi_ensemble *mixed = run_ensemble(make_mixed, "", &s, (hvi_ensemble_settings){.count = count});
  hvi_ensemble *lanes =
      run_ensemble(make_builtin, "pennies", &s, (hvi_ensemble_settings){.count = count});
  hvi_ensemble *solver =
      run_ensemble(make_mixed, "", &s, (hvi_ensemble_settings){.count = count, .scalar = true});
  assert_false(mixed->lanes);
  for (size_t row = 0; row < mixed->rows; row++) {
    const size_t at = row * count, half = at + HVI_LANES;
    check_same_bits(mixed->dist2 + at, lanes->dist2 + at, HVI_LANES);
    check_same_bits(mixed->dist2 + half, solver->dist2 + half, HVI_LANES);
  }
  hvi_ensemble_free(mixed);
  hvi_ensemble_free(lanes);
  hvi_ensemble_free(solver);
}

/* Stops once `limit` instances are done. */
typedef struct watch {
  size_t limit, calls, last;
} watch;

static bool look(void *context, size_t done) {
  watch *w = context;
  assert_true(done > w->last);
  w->calls++;
  w->last = done;
  return done < w->limit;
}

static void progress_counts_up(void **state) {
  (void)state;
  const size_t count = 3 * HVI_LANES + 1;
  const hvi_settings s = method_named("gd");
  watch w = {.limit = SIZE_MAX};
  hvi_ensemble *e =
      run_ensemble(make_builtin, "pennies", &s,
                   (hvi_ensemble_settings){
                       .count = count, .threads = 2, .progress = look, .progress_context = &w});
  assert_int_equal(w.calls, 4);
  assert_int_equal(w.last, count);
  hvi_ensemble_free(e);
}

static void progress_stops(void **state) {
  (void)state;
  const hvi_settings s = method_named("gd");
  watch w = {.limit = HVI_LANES};
  hvi_ensemble *e = run_ensemble(
      make_builtin, "pennies", &s,
      (hvi_ensemble_settings){
          .count = 3 * HVI_LANES, .threads = 1, .progress = look, .progress_context = &w});
  assert_int_equal(w.calls, 1);
  for (size_t i = 0; i < 3 * HVI_LANES; i++) {
    assert_int_equal(e->outcome[i], i < HVI_LANES ? HVI_LIMIT : HVI_STOPPED);
    assert_true(isnan(e->dist2[i]) == (i >= HVI_LANES));
  }
  hvi_ensemble_free(e);
}

static hvi_status make_bad(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  const size_t *bad = context;
  return hvi_builtin_new(p, index >= *bad ? "penies" : "pennies", NULL, 0, 7, index + 1, err);
}

static void a_bad_instance_is_named(void **state) {
  (void)state;
  size_t bad[] = {0, 5, HVI_LANES + 9};
  const hvi_settings s = method_named("gd");
  for (size_t i = 0; i < 3; i++) {
    for (int scalar = 0; scalar < 2; scalar++) {
      char text[32];
      hvi_error err = {0};
      hvi_ensemble *e = (hvi_ensemble *)&err;
      const hvi_ensemble_settings es = {
          .count = 4 * HVI_LANES, .threads = 2, .scalar = scalar != 0};
      snprintf(text, sizeof text, "instance %zu: ", bad[i]);
      assert_int_equal(hvi_ensemble_run(&e, make_bad, &bad[i], &s, &es, &err), HVI_ERROR_INPUT);
      assert_null(e);
      assert_int_equal(strncmp(err.text, text, strlen(text)), 0);
      assert_non_null(strstr(err.text, "pennies"));
    }
  }
}

static void expect_refusal(const hvi_settings *s, size_t count, const char *why) {
  hvi_error err = {0};
  hvi_ensemble *e;
  const hvi_ensemble_settings es = {.count = count};
  assert_int_equal(hvi_ensemble_run(&e, make_builtin, (void *)(uintptr_t) "pennies", s, &es, &err),
                   HVI_ERROR_ARGUMENT);
  assert_null(e);
  assert_non_null(strstr(err.text, why));
}

static bool watch_rows(void *context, const hvi_record *row) {
  (void)context, (void)row;
  return true;
}

static void bad_settings_are_refused(void **state) {
  (void)state;
  hvi_settings s = method_named("gd");
  expect_refusal(&s, 0, "at least one instance");
  s.eta = -1.0;
  expect_refusal(&s, 5, "eta");
  s = method_named("gd");
  s.max_outer = 0;
  s.tol = 1e-3;
  expect_refusal(&s, 5, "iteration limit");
  s = method_named("gd");
  s.observe = watch_rows;
  expect_refusal(&s, 5, "observer");
  hvi_ensemble_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits_for_any_number_of_threads),
      cmocka_unit_test(lanes_where_they_fit),
      cmocka_unit_test(the_solver_where_they_do_not),
      cmocka_unit_test(shapes_may_differ),
      cmocka_unit_test(progress_counts_up),
      cmocka_unit_test(progress_stops),
      cmocka_unit_test(a_bad_instance_is_named),
      cmocka_unit_test(bad_settings_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

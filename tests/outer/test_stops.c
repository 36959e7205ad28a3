/* How a solve ends: every outcome with its reason, and the best iterate whatever the end. */
#include "support/solve.h"
#include "support/toy.h"

static trace rows;

static const double one[] = {1.0, 0.0, 0.0, 1.0}, zero[2], start[] = {3.0, -4.0};

/* F(z) = z on the plane: the exact step multiplies z by 1 - eta. */
static void plane(toy *t) { toy_init(t, identity_model(2), one, zero, start); }

static void check_end(const hvi_solver *solver, hvi_outcome outcome, const char *reason) {
  const hvi_info info = hvi_solver_info(solver);
  assert_int_equal(info.outcome, outcome);
  assert_string_equal(info.reason, reason);
}

static void the_tolerance_ends_it(void **state) {
  (void)state;
  toy t;
  plane(&t);
  hvi_settings s = settings_for("projected", 0.5, 0);
  s.tol = 5.0 / 1024.5;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_CONVERGED, "residual within the tolerance");
  assert_int_equal(hvi_solver_info(solver).last.outer, 11);
  check_near(hvi_solver_info(solver).last.residual, 5.0 / 2048, 1e-17);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* A start that is a solution needs no step, even when no tolerance was set. */
static void the_start_may_be_the_end(void **state) {
  (void)state;
  toy t;
  plane(&t);
  t.base.theta0 = zero;
  const hvi_settings s = settings_for("gd", 0.5, 100);
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_CONVERGED, "residual within the tolerance");
  assert_int_equal(rows.count, 1);
  assert_int_equal(rows.rows[0].outer, 0);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void limits_end_it(void **state) {
  (void)state;
  toy t;
  plane(&t);
  hvi_settings s = settings_for("gd", 0.01, 17);
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_LIMIT, "iteration limit");
  assert_int_equal(rows.count, 18);
  hvi_solver_free(solver);

  s.max_outer = 0;
  s.max_f_evals = 9;
  solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_LIMIT, "evaluation limit");
  assert_int_equal(hvi_solver_info(solver).last.counts.f_evals, 9);
  hvi_solver_free(solver);

  s.max_f_evals = 0;
  s.max_seconds = 1e-9;
  solver = solver_for(&t.base, &s);
  hvi_solver_run(solver);
  check_end(solver, HVI_LIMIT, "time limit");
  assert_true(hvi_solver_info(solver).last.seconds >= 1e-9);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* A model in a flat place: nothing moves, and the residual is not small. */
static void standing_still_is_a_stall(void **state) {
  (void)state;
  static const double number[] = {1.0}, low[] = {-50.0}, push[] = {-1.0};
  const hvi_layer layer = {.out = 1, .matrix = number, .activation = HVI_RELU};
  const hvi_stack_spec spec = {.in = 1, .rows = 1, .layer_count = 1, .layers = &layer};
  hvi_model *m;
  hvi_error err;
  toy t;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  toy_init(&t, m, number, push, low);
  hvi_settings s = settings_for("gd", 0.1, 1000);
  s.stall_window = 25;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  assert_int_equal(hvi_solver_info(solver).outcome, HVI_STALLED);
  assert_int_equal(hvi_solver_info(solver).last.outer, 25);
  hvi_solver_free(solver);
  s.stall_window = 0;
  solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_LIMIT, "iteration limit");
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* Slow is not still, and neither is being there. */
static void slow_progress_and_rounding_are_no_stall(void **state) {
  (void)state;
  toy t;
  plane(&t);
  hvi_settings s = settings_for("gd", 0.1, 1000);
  s.stall_window = 5;
  s.inner.lr = 1e-6;
  hvi_solver *solver = solver_for(&t.base, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_LIMIT);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);

  hvi_problem *p = builtin("pennies", 0);
  s = settings_for("lm", 0.04, 1200);
  s.stall_window = 20;
  s.inner_steps = 3;
  solver = solver_for(p, &s);
  hvi_solver_run(solver);
  assert_true(hvi_solver_info(solver).outcome != HVI_STALLED);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* eta = 3 multiplies z by -2: the residual passes 10 (1 + 5) at 2^4. The best is the start. */
static void growth_is_divergence(void **state) {
  (void)state;
  toy t;
  plane(&t);
  hvi_settings s = settings_for("projected", 3.0, 1000);
  s.growth_bound = 10.0;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_DIVERGED, "the residual grew beyond its bound");
  const hvi_info info = hvi_solver_info(solver);
  assert_int_equal(info.last.outer, 4);
  assert_int_equal(info.best_outer, 0);
  check_close(info.best_theta, start, 2, 0.0);
  check_close(info.best_z, start, 2, 0.0);
  check_near(info.best_residual, 5.0, 0.0);
  hvi_solver_free(solver);

  /* without a bound it runs into infinity, which is divergence too */
  s.growth_bound = 0.0;
  s.max_outer = 3000;
  solver = solver_for(&t.base, &s);
  hvi_solver_run(solver);
  check_end(solver, HVI_DIVERGED, "a value is not finite");
  check_close(hvi_solver_info(solver).best_theta, start, 2, 0.0);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* F breaks down at its sixth evaluation, which is row 5. The rows before it are good, none after it
 * is looked at, and a residual that could still be computed does not make it the best. */
static void check_breakdown(hvi_set_kind kind, double value) {
  static const double lower[] = {0, 0}, upper[] = {10, 10}, outside[] = {3.0, 4.0};
  static const double push[] = {7.0, 7.0};
  size_t calls = 0;
  toy t;
  toy_init(&t, identity_model(2), one, push, outside);
  t.calls = &calls, t.spoil_at = 6, t.spoiled = value;
  t.sets[0] = (hvi_set){.kind = kind, .len = 2, .lower = lower, .upper = upper};
  const hvi_settings s = settings_for("gd", 1e-3, 100);
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_DIVERGED, "a value is not finite");
  const hvi_info info = hvi_solver_info(solver);
  assert_int_equal(rows.count, 6);
  assert_int_equal(info.last.outer, 5);
  assert_true(info.best_outer < 5);
  assert_true(!(info.last.residual < INFINITY));
  assert_true(isfinite(info.best_residual));
  check_finite(info.best_theta, 2);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void a_breakdown_is_divergence(void **state) {
  (void)state;
  static const double values[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 3; i++) {
    check_breakdown(HVI_SET_FREE, values[i]);
    check_breakdown(HVI_SET_BOX, values[i]);
    check_breakdown(HVI_SET_SIMPLEX, values[i]);
  }
}

static void a_start_that_breaks_down_is_divergence(void **state) {
  (void)state;
  size_t calls = 0;
  toy t;
  plane(&t);
  t.calls = &calls, t.spoil_at = 1, t.spoiled = NAN;
  hvi_settings s = settings_for("gd", 0.1, 100);
  s.tol = 1e300;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_DIVERGED, "a value is not finite");
  assert_int_equal(rows.count, 1);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void the_observer_ends_it(void **state) {
  (void)state;
  static const size_t ends[] = {1, 2, 8};
  for (size_t i = 0; i < 3; i++) {
    toy t;
    plane(&t);
    rows.stop_at = ends[i];
    hvi_solver *solver = solve_traced(&t.base, settings_for("gd", 0.01, 100), &rows);
    rows.stop_at = 0;
    check_end(solver, HVI_STOPPED, "stopped by the observer");
    assert_int_equal(rows.count, ends[i]);
    assert_int_equal(hvi_solver_info(solver).last.outer, ends[i] - 1);
    /* the end stays the end */
    assert_int_equal(hvi_solver_step(solver), HVI_STOPPED);
    assert_int_equal(hvi_solver_run(solver), HVI_STOPPED);
    assert_int_equal(rows.count, ends[i]);
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

/* Convergence in the last row is convergence, whatever the observer says of it. */
static void an_outcome_is_not_overruled(void **state) {
  (void)state;
  toy t;
  plane(&t);
  hvi_settings s = settings_for("projected", 0.5, 2);
  rows.stop_at = 3;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  check_end(solver, HVI_LIMIT, "iteration limit");
  hvi_solver_free(solver);
  s.tol = 2.0;
  solver = solve_traced(&t.base, s, &rows);
  rows.stop_at = 0;
  check_end(solver, HVI_CONVERGED, "residual within the tolerance");
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* GDA on pennies wanders: the best row is the one with the smallest residual, and is kept whole. */
static void the_best_iterate_is_the_best_row(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_solver *solver = solve_traced(p, settings_for("gda", 0.9, 700), &rows);
  const hvi_info info = hvi_solver_info(solver);
  size_t best = 0;
  for (size_t t = 1; t < rows.count; t++)
    if (rows.rows[t].residual < rows.rows[best].residual) best = t;
  assert_true(best > 0);
  assert_true(best < rows.count - 1);
  assert_int_equal(info.best_outer, best);
  check_same_bits(&info.best_residual, &rows.rows[best].residual, 1);
  check_same_bits(&info.best_dist2, &rows.rows[best].dist2, 1);
  check_same_bits(info.best_theta, rows.theta[best], 2);
  check_same_bits(info.best_z, rows.z[best], 2);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

static void stepping_is_running(void **state) {
  (void)state;
  hvi_problem *p = builtin("rps", 1);
  const hvi_settings s = settings_for("lm", 0.1, 50);
  hvi_solver *run = solver_for(p, &s), *step = solver_for(p, &s);
  assert_int_equal(hvi_solver_info(step).outcome, HVI_RUNNING);
  hvi_solver_run(run);
  size_t count = 0;
  while (hvi_solver_step(step) == HVI_RUNNING) count++;
  assert_int_equal(count, 49);
  const hvi_info a = hvi_solver_info(run), b = hvi_solver_info(step);
  check_same_bits(a.last.theta, b.last.theta, p->model->dim);
  assert_int_equal(a.last.counts.model_passes, b.last.counts.model_passes);
  hvi_solver_free(run);
  hvi_solver_free(step);
  hvi_problem_free(p);
}

/* A noisy F: no residual, one draw a row, the seed decides, and a breakdown is not the best. */
static void a_stochastic_problem_follows_its_seed(void **state) {
  (void)state;
  double ends[3][2];
  for (size_t i = 0; i < 3; i++) {
    toy t;
    plane(&t);
    t.base.ops = &toy_noisy_ops;
    t.base.sample_bytes = sizeof(double);
    t.noise = 0.5;
    hvi_settings s = settings_for("gd", 0.1, 200);
    s.seed = i / 2;
    hvi_solver *solver = solve_traced(&t.base, s, &rows);
    check_end(solver, HVI_LIMIT, "iteration limit");
    const hvi_info info = hvi_solver_info(solver);
    assert_true(isnan(info.last.residual));
    assert_int_equal(info.last.counts.f_evals, 201);
    assert_int_equal(info.best_outer, 200); /* the latest, for want of a residual */
    memcpy(ends[i], info.last.theta, sizeof ends[i]);
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
  check_same_bits(ends[0], ends[1], 2);
  assert_memory_not_equal(ends[0], ends[2], sizeof ends[0]);
}

/* The written-out loop with the same stream: z <- z - eta (z + noise_t). */
static void a_draw_belongs_to_its_row(void **state) {
  (void)state;
  toy t;
  plane(&t);
  t.base.ops = &toy_noisy_ops;
  t.base.sample_bytes = sizeof(double);
  t.noise = 0.5;
  hvi_settings s = settings_for("gd", 0.1, 50);
  s.seed = 9;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  hvi_rng rng = hvi_rng_new(9, "solver", 0);
  double z[2] = {start[0], start[1]};
  for (size_t k = 0; k <= 50; k++) {
    check_close(rows.z[k], z, 2, 1e-13);
    const double noise = 0.5 * hvi_rng_normal(&rng);
    for (size_t i = 0; i < 2; i++) z[i] -= 0.1 * (z[i] + noise);
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void a_stochastic_breakdown_leaves_the_last_good_iterate(void **state) {
  (void)state;
  toy t;
  plane(&t);
  t.base.ops = &toy_noisy_ops;
  t.base.sample_bytes = sizeof(double);
  t.noise = 0.5;
  hvi_solver *solver = solve_traced(&t.base, settings_for("gd", 1e30, 100), &rows);
  check_end(solver, HVI_DIVERGED, "a value is not finite");
  check_finite(hvi_solver_info(solver).best_theta, 2);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void outcomes_have_names(void **state) {
  (void)state;
  static const char *const names[] = {"running", "converged", "limit",
                                      "stalled", "diverged",  "stopped"};
  for (int i = 0; i < HVI_OUTCOME_COUNT; i++)
    assert_string_equal(hvi_outcome_name((hvi_outcome)i), names[i]);
  assert_string_equal(hvi_outcome_name(HVI_OUTCOME_COUNT), "unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_tolerance_ends_it),
      cmocka_unit_test(the_start_may_be_the_end),
      cmocka_unit_test(limits_end_it),
      cmocka_unit_test(standing_still_is_a_stall),
      cmocka_unit_test(slow_progress_and_rounding_are_no_stall),
      cmocka_unit_test(growth_is_divergence),
      cmocka_unit_test(a_breakdown_is_divergence),
      cmocka_unit_test(a_start_that_breaks_down_is_divergence),
      cmocka_unit_test(the_observer_ends_it),
      cmocka_unit_test(an_outcome_is_not_overruled),
      cmocka_unit_test(the_best_iterate_is_the_best_row),
      cmocka_unit_test(stepping_is_running),
      cmocka_unit_test(a_stochastic_problem_follows_its_seed),
      cmocka_unit_test(a_draw_belongs_to_its_row),
      cmocka_unit_test(a_stochastic_breakdown_leaves_the_last_good_iterate),
      cmocka_unit_test(outcomes_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Lanes against the ordinary solver, method by method.
 *
 * Most instances agree closely to the end. Some trajectories are sensitive. The yardstick for these
 * is the solver itself, started a few units in the last place away: lanes may part from the solver in
 * about as many instances as that does, not in more.
 */
#include "ensemble/games.h"

#include "ensemble/lanes.h"

enum { COUNT = HVI_LANES + 6, MANY = 150, STEPS = 52 };

typedef struct trial {
  const char *method;
  size_t inner;
  double eta;
} trial;

static const trial trials[] = {
    {"gda", 1, 0.1}, {"gd", 10, 0.1}, {"lm", 1, 0.1}, {"lm", 5, 0.1}, {"lm", 10, 0.01},
};
enum { GD = 1, LM = 2 };

static hvi_settings settings_of(const trial *t) {
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, t->method, NULL);
  s.inner_steps = t->inner;
  s.eta = t->eta;
  s.inner.lr = 1.0;
  s.max_outer = STEPS;
  return s;
}

/* A kind of instance, also with its start shifted. */
typedef struct family {
  hvi_instance_fn make;
  const char *name;
  double shift;
} family;

static hvi_status make_shifted(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  const family *f = context;
  hvi_status status = f->make((void *)(uintptr_t)f->name, index, p, err);
  double *theta0 = status ? NULL : (double *)(uintptr_t)(*p)->theta0;
  for (size_t i = 0; !status && i < (*p)->model->dim; i++) theta0[i] *= 1.0 + f->shift;
  return status;
}

static hvi_ensemble *run_family(const family *f, const hvi_settings *s, bool scalar) {
  hvi_ensemble *e;
  hvi_error err = {0};
  const hvi_ensemble_settings es = {.count = COUNT, .scalar = scalar};
  if (hvi_ensemble_run(&e, make_shifted, (void *)(uintptr_t)f, s, &es, &err))
    fail_msg("%s", err.text);
  assert_true(e->lanes == !scalar);
  return e;
}

static size_t outcomes_differ(const hvi_ensemble *a, const hvi_ensemble *b) {
  size_t count = 0;
  for (size_t i = 0; i < a->count; i++) count += a->outcome[i] != b->outcome[i];
  return count;
}

static size_t rows_differ(const hvi_ensemble *a, const hvi_ensemble *b, size_t row) {
  return count_different(a->residual, b->residual, a, row, 1e-9) +
         count_different(a->dist2, b->dist2, a, row, 1e-8);
}

/* A ratio of losses near rounding has fewer digits. */
static size_t ratios_differ(const hvi_ensemble *a, const hvi_ensemble *b, size_t row) {
  return count_different(a->ratio, b->ratio, a, row, 1e-6);
}

static size_t allowed(size_t by_shift) { return by_shift == 0 ? 1 : 3 * by_shift + 3; }

static void compare(hvi_instance_fn make, const char *name, const hvi_settings *s) {
  const family plain = {make, name, 0.0}, shifted = {make, name, 2e-15};
  hvi_ensemble *lanes = run_family(&plain, s, false), *solver = run_family(&plain, s, true);
  hvi_ensemble *near = run_family(&shifted, s, true);
  for (size_t row = 0; row <= STEPS; row++) {
    const size_t apart = rows_differ(lanes, solver, row),
                 ratios = ratios_differ(lanes, solver, row);
    const size_t apart_near = rows_differ(near, solver, row);
    const size_t ratios_near = ratios_differ(near, solver, row);
    if (row == 0 ? apart > 0 : apart > allowed(apart_near) || ratios > allowed(ratios_near)) {
      fail_msg("%s with %s(%zu), row %zu: %zu (%zu) values and %zu (%zu) ratios differ", name,
               s->optimizer->name, s->inner_steps, row, apart, apart_near, ratios, ratios_near);
    }
  }
  assert_true(outcomes_differ(lanes, solver) <= allowed(outcomes_differ(near, solver)));
  assert_true(rows_differ(near, solver, 1) < COUNT / 10);
  hvi_ensemble_free(lanes);
  hvi_ensemble_free(solver);
  hvi_ensemble_free(near);
}

static void agree_on(hvi_instance_fn make, const char *name, double rate) {
  for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
    hvi_settings s = settings_of(&trials[i]);
    s.inner.lr *= rate;
    compare(make, name, &s);
  }
}

static void agree_on_pennies(void **state) {
  (void)state;
  agree_on(make_builtin, "pennies", 1.0);
}

static void agree_on_rps(void **state) {
  (void)state;
  agree_on(make_builtin, "rps", 1.0);
}

static void agree_on_every_kind_of_player(void **state) {
  (void)state;
  /* steps small enough for its unbounded player, whose kinks would make chaos of larger ones */
  agree_on(make_zoo, "zoo", 0.1);
}

static void agree_on_outer_options(void **state) {
  (void)state;
  const double own[] = {0.05, 0.08};
  hvi_settings s = settings_of(&trials[GD]);
  s.step_rule = HVI_STEP_THEOREM;
  compare(make_builtin, "pennies", &s);
  s.step_rule = HVI_STEP_BEST;
  compare(make_builtin, "rps", &s);
  s.step_rule = HVI_STEP_FIXED;
  s.inner_growth = 0.5;
  compare(make_builtin, "pennies", &s);
  s.theta0 = own;
  compare(make_builtin, "pennies", &s);
}

/* Instances end one by one: converged, stalled, and diverged by the bound on growth. */
static void agree_on_endings(void **state) {
  (void)state;
  hvi_settings s = settings_of(&trials[GD]);
  s.tol = 0.05;
  compare(make_builtin, "pennies", &s);
  s.tol = 0.0;
  s.growth_bound = 0.8;
  compare(make_builtin, "pennies", &s);
  s = settings_of(&trials[LM]);
  s.stall_window = 5;
  compare(make_builtin, "pennies", &s);
}

static hvi_ensemble *run_with(const hvi_settings *s, size_t count, size_t every, bool scalar) {
  return run_ensemble(
      make_builtin, "pennies", s,
      (hvi_ensemble_settings){.count = count, .record_every = every, .scalar = scalar});
}

static void each_ending_occurs(void **state) {
  (void)state;
  size_t seen[HVI_OUTCOME_COUNT] = {0};
  hvi_settings s = settings_of(&trials[GD]);
  s.tol = 0.05;
  s.growth_bound = 0.45;
  hvi_ensemble *e = run_with(&s, MANY, 1, false);
  for (size_t i = 0; i < MANY; i++) seen[e->outcome[i]]++;
  assert_true(seen[HVI_CONVERGED] > 0);
  assert_true(seen[HVI_LIMIT] > 0);
  assert_true(seen[HVI_DIVERGED] > 0);
  for (size_t i = 0; i < MANY; i++) {
    const double last = e->dist2[STEPS * MANY + i];
    assert_true(isinf(last) == (e->outcome[i] == HVI_DIVERGED));
    if (e->outcome[i] != HVI_CONVERGED) continue;
    size_t end = 0;
    while (e->residual[end * MANY + i] > s.tol) end++;
    assert_true(end <= STEPS);
    assert_true(last == e->dist2[end * MANY + i]);
    if (end < STEPS) assert_true(isnan(e->ratio[(end + 1) * MANY + i]));
  }
  hvi_ensemble_free(e);
}

/* Rows taken seldom are the same rows, also where an instance ended in between. */
static void rows_do_not_depend_on_how_often(void **state) {
  (void)state;
  for (int scalar = 0; scalar < 2; scalar++) {
    hvi_settings s = settings_of(&trials[GD]);
    s.tol = 0.05;
    s.growth_bound = 0.45;
    hvi_ensemble *all = run_with(&s, 70, 1, scalar), *some = run_with(&s, 70, 7, scalar);
    assert_int_equal(some->rows, 9);
    assert_int_equal(some->outer[7], 49);
    assert_int_equal(some->outer[8], STEPS);
    for (size_t row = 0; row < some->rows; row++) {
      const size_t from = some->outer[row] * 70, to = row * 70;
      check_same_bits(all->dist2 + from, some->dist2 + to, 70);
      check_same_bits(all->residual + from, some->residual + to, 70);
      check_same_bits(all->ratio + from, some->ratio + to, 70);
    }
    hvi_ensemble_free(all);
    hvi_ensemble_free(some);
  }
}

/* What an instance does depends neither on its neighbours nor on how full the last chunk is. */
static void neighbours_do_not_matter(void **state) {
  (void)state;
  const size_t small = HVI_LANES + 1, large = 2 * HVI_LANES - 1;
  for (size_t i = GD; i < sizeof trials / sizeof *trials; i += 2) { /* gd, lm */
    const hvi_settings s = settings_of(&trials[i]);
    hvi_ensemble *a =
        run_ensemble(make_builtin, "rps", &s, (hvi_ensemble_settings){.count = small});
    hvi_ensemble *b =
        run_ensemble(make_builtin, "rps", &s, (hvi_ensemble_settings){.count = large});
    for (size_t row = 0; row <= STEPS; row++) {
      check_same_bits(a->dist2 + row * small, b->dist2 + row * large, small);
      check_same_bits(a->residual + row * small, b->residual + row * large, small);
    }
    hvi_ensemble_free(a);
    hvi_ensemble_free(b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agree_on_pennies),
      cmocka_unit_test(agree_on_rps),
      cmocka_unit_test(agree_on_every_kind_of_player),
      cmocka_unit_test(agree_on_outer_options),
      cmocka_unit_test(agree_on_endings),
      cmocka_unit_test(each_ending_occurs),
      cmocka_unit_test(rows_do_not_depend_on_how_often),
      cmocka_unit_test(neighbours_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

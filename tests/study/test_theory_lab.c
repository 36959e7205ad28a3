/* Errors placed on purpose: of exactly the size asked for, where they were asked for, inside Z. */
#include "study/theory_lab.h"
#include "support/check.h"

/* With the identity as model, or a linear map of more parameters than outputs. */
static hvi_problem *quadratic(bool linear) {
  const hvi_option options[] = {{"g", linear ? "linear" : "identity"}, {"d", linear ? "12" : "8"}};
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, "quadratic", options, 2, 1, 1, &err), &err);
  return p;
}

static hvi_problem *constrained(hvi_set_kind set, uint64_t instance) {
  hvi_problem *whole = quadratic(false), *p;
  hvi_error err;
  check_ok(hvi_lab_constrained(&p, whole, set, 1, instance, &err), &err);
  hvi_problem_free(whole);
  return p;
}

typedef struct watch {
  const hvi_problem *problem;
  double alpha;
  hvi_bias bias;
  size_t steps, exact; /* with alpha to the last digits; Z may end before that */
} watch;

static void check_inside(const hvi_problem *p, const double *z) {
  double back[16];
  hvi_problem_project(p, z, back);
  check_close(back, z, p->model->out, 1e-12);
}

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  watch *w = context;
  if (!step || step->gap0 < 1e-16) return true;
  w->steps++;
  assert_true(step->alpha <= w->alpha * (1.0 + 1e-6));
  w->exact += step->alpha >= w->alpha * (1.0 - 1e-6);
  check_inside(w->problem, row->z);
  return true;
}

static watch run(const hvi_problem *p, bool direct, hvi_bias bias, double alpha) {
  const hvi_placement place = {
      .problem = p, .direct = direct, .bias = bias, .alpha = alpha, .seed = 3};
  const hvi_settings s = hvi_lab_settings(&place, 0.05, 60);
  watch w = {.problem = p, .alpha = alpha, .bias = bias};
  hvi_info info;
  hvi_error err;
  check_ok(hvi_steps_run(&info, p, &s, true, see, &w, &err), &err);
  assert_true(w.steps > 20);
  return w;
}

static void errors_are_exactly_alpha(void **state) {
  (void)state;
  for (int b = 0; b < HVI_BIAS_COUNT; b++) {
    for (int k = 0; k < 2; k++) {
      hvi_problem *p = quadratic(k);
      const watch w = run(p, !k, (hvi_bias)b, 0.3);
      assert_int_equal(w.exact, w.steps);
      hvi_problem_free(p);
    }
  }
}

static void errors_stay_in_bounded_sets(void **state) {
  (void)state;
  static const hvi_set_kind sets[] = {HVI_SET_BOX, HVI_SET_SIMPLEX};
  for (int b = 0; b < HVI_BIAS_COUNT; b++) {
    for (size_t k = 0; k < 2; k++) {
      hvi_problem *p = constrained(sets[k], 1);
      const watch w = run(p, true, (hvi_bias)b, 0.3);
      assert_true(2 * w.exact > w.steps);
      hvi_problem_free(p);
    }
  }
}

/* The solution of a constrained problem solves it, and F does not vanish there on the simplex. */
static void constrained_problems_are_solved_inside(void **state) {
  (void)state;
  static const hvi_set_kind sets[] = {HVI_SET_BOX, HVI_SET_SIMPLEX};
  for (size_t k = 0; k < 2; k++) {
    hvi_problem *p = constrained(sets[k], 2);
    double f[8];
    p->ops->operate(p, NULL, p->solution, p->solution, f);
    check_near(hvi_problem_residual(p, p->solution, f), 0.0, 1e-14);
    if (k == 1) assert_true(fabs(f[0]) > 0.5);
    for (size_t i = 0; i < 8; i++) {
      assert_true(p->solution[i] > 0.02);
      assert_true(p->solution[i] < 0.98);
    }
    check_inside(p, p->theta0);
    hvi_problem_free(p);
  }
}

/* |z_{t+1} - z*| = |z_t^* - z*| + alpha eta |F|, by hand from the step's own numbers. */
static bool see_away(void *context, const hvi_step *step, const hvi_record *row) {
  (void)context, (void)row;
  if (!step) return true;
  const double now = sqrt(step->dist2), exact = now - step->error;
  check_near(step->error, 0.3 * step->change, 1e-12);
  /* the triangle inequality is an equality: the exact point lies between */
  assert_true(exact > 0.0);
  assert_true(exact * exact <= step->dist2 / step->contraction * (1.0 + 1e-9));
  return true;
}

static void away_is_the_worst_direction(void **state) {
  (void)state;
  hvi_problem *p = quadratic(false);
  hvi_info info;
  hvi_error err;
  double last[2] = {0.0, 0.0};
  for (int k = 0; k < 2; k++) {
    const hvi_placement place = {
        .problem = p, .direct = true, .bias = k ? HVI_BIAS_RANDOM : HVI_BIAS_AWAY, .alpha = 0.3};
    hvi_settings s = hvi_lab_settings(&place, 0.02, 50);
    if (k == 0) check_ok(hvi_steps_run(&info, p, &s, true, see_away, NULL, &err), &err);
    hvi_solver *solver;
    check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
    hvi_solver_run(solver);
    last[k] = hvi_solver_info(solver).last.dist2;
    hvi_solver_free(solver);
  }
  assert_true(last[0] > last[1]);
  hvi_problem_free(p);
}

static double quarter(size_t outer) { return outer % 2 ? 0.25 : 0.0; }

static bool see_length(void *context, const hvi_step *step, const hvi_record *row) {
  (void)context;
  if (step) check_near(step->error, quarter(row->outer - 1), 1e-12);
  return true;
}

static void errors_of_a_given_length(void **state) {
  (void)state;
  hvi_problem *p = quadratic(false);
  hvi_info info;
  hvi_error err;
  const hvi_placement place = {.problem = p, .direct = true, .length = quarter};
  const hvi_settings s = hvi_lab_settings(&place, 0.02, 50);
  check_ok(hvi_steps_run(&info, p, &s, true, see_length, NULL, &err), &err);
  hvi_problem_free(p);
}

typedef struct lottery {
  double steps, failing, sum; /* of alpha^2 as reached */
  double root, taken;         /* sums of alpha, and of |z_{t+1} - z_t|^2 / eta^2 |F|^2 */
} lottery;

static bool see_chance(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  lottery *l = context;
  if (!step) return true;
  l->steps++;
  l->sum += step->gap / step->gap0;
  l->root += step->alpha;
  l->taken += step->taken * step->taken / (step->change * step->change);
  l->failing += step->alpha > 0.3 * (1.0 + 1e-6);
  /* none, or alpha^2 / chance */
  if (step->alpha > 1e-6) check_near(step->gap / step->gap0, 0.09 / 0.2, 1e-9);
  return true;
}

/* Descent by alpha^2 on average, though one step in five fails it. */
static void errors_in_expectation(void **state) {
  (void)state;
  hvi_problem *p = quadratic(false);
  hvi_info info;
  hvi_error err;
  lottery l = {0};
  for (uint64_t seed = 1; seed <= 40; seed++) {
    const hvi_placement place = {
        .problem = p, .direct = true, .alpha = 0.3, .chance = 0.2, .seed = seed};
    const hvi_settings s = hvi_lab_settings(&place, 0.02, 100);
    check_ok(hvi_steps_run(&info, p, &s, true, see_chance, &l, &err), &err);
  }
  check_near(l.failing / l.steps, 0.2, 0.03); /* nearly five standard errors */
  check_near(l.sum / l.steps / 0.09, 1.0, 0.15);
  /* the two bounds of the stochastic proof: E |error| <= alpha eta |F|, and of the step's square */
  assert_true(l.root / l.steps <= 0.3);
  assert_true(l.taken / l.steps <= 2.0 * (1.0 + 0.09));
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_exactly_alpha),
      cmocka_unit_test(errors_stay_in_bounded_sets),
      cmocka_unit_test(constrained_problems_are_solved_inside),
      cmocka_unit_test(away_is_the_worst_direction),
      cmocka_unit_test(errors_of_a_given_length),
      cmocka_unit_test(errors_in_expectation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

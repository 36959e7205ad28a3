/* Steps as measured from outside: against losses worked out directly, and against the solver. */
#include "support/solve.h"
#include "theory/steps.h"

typedef struct pair {
  hvi_steps steps;
  double worst_alpha; /* difference between the solver's alpha and the measured one */
  size_t outside;
} pair;

static double half_square(const double *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += 0.5 * (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

static bool compare(void *context, const hvi_record *row) {
  pair *c = context;
  const hvi_problem *p = c->steps.problem;
  const size_t n = p->model->out;
  if (row->outer > 0) {
    const hvi_step s = hvi_steps_measure(&c->steps, row->z);
    const double floor = half_square(c->steps.exact, c->steps.target, n);
    check_near(s.gap, half_square(row->z, c->steps.target, n) - floor, 1e-15);
    check_near(s.gap0, half_square(c->steps.z, c->steps.target, n) - floor, 1e-15);
    check_near(s.error, sqrt(2.0 * half_square(row->z, c->steps.exact, n)), 1e-15);
    check_near(s.taken, sqrt(2.0 * half_square(row->z, c->steps.z, n)), 1e-15);
    check_near(s.dist2, row->dist2, 1e-15);
    c->worst_alpha = fmax(c->worst_alpha, fabs(s.alpha - row->alpha));
    c->outside += floor > 1e-12;
  }
  hvi_steps_stand(&c->steps, row->theta, row->z);
  return true;
}

static void measured_alpha_is_the_solvers(void **state) {
  (void)state;
  static const char *const names[] = {"pennies", "rps", "quadratic"};
  for (size_t k = 0; k < 3; k++) {
    hvi_problem *p = builtin(names[k], 0);
    hvi_settings s = settings_for("gd", k == 2 ? 0.01 : 0.1, 30);
    pair c = {.worst_alpha = 0.0};
    hvi_error err;
    s.inner.lr = k == 2 ? 0.1 : 1.0;
    s.inner_steps = 5;
    s.floor = HVI_FLOOR_KNOWN;
    s.observe = compare;
    s.observer_context = &c;
    check_ok(hvi_steps_new(&c.steps, p, s.eta, &err), &err);
    hvi_solver *solver = solver_for(p, &s);
    hvi_solver_run(solver);
    assert_true(c.worst_alpha < 1e-9);
    hvi_solver_free(solver);
    hvi_steps_free(&c.steps);
    hvi_problem_free(p);
  }
}

static void the_target_is_a_step_along_F(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_error err;
  hvi_steps steps;
  check_ok(hvi_steps_new(&steps, p, 0.1, &err), &err);
  const double z[] = {0.6, 0.6};
  hvi_steps_stand(&steps, p->theta0, z);
  /* F = (-4 0.1 + .75 0.1, 4 0.1 + .75 0.1) */
  check_near(steps.target[0], 0.6 - 0.1 * (-0.325), 1e-14);
  check_near(steps.target[1], 0.6 - 0.1 * 0.475, 1e-14);
  hvi_steps_free(&steps);
  hvi_problem_free(p);
}

/* F = w I + rotation on pennies: the exact step's rate is kappa^2 itself. */
static void the_exact_step_attains_kappa(void **state) {
  (void)state;
  static const double etas[] = {0.001, 0.02, 0.0453, 0.09, 0.1, 1.0};
  hvi_problem *p = builtin("pennies", 0);
  const hvi_settings s = hvi_method_settings("gd");
  for (size_t k = 0; k < 6; k++) {
    double rate;
    hvi_error err;
    check_ok(hvi_exact_rate(&rate, p, &s, etas[k], 1000, &err), &err);
    check_near(rate, 1.0 - 1.5 * etas[k] + 16.5625 * etas[k] * etas[k], 1e-5);
  }
  hvi_problem_free(p);
}

static void nothing_to_measure_at_the_solution(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  const double solved[] = {0.0, 0.0};
  hvi_settings s = hvi_method_settings("gd");
  double rate;
  hvi_error err;
  s.theta0 = solved;
  check_ok(hvi_exact_rate(&rate, p, &s, 0.01, 100, &err), &err);
  assert_true(isnan(rate));
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(measured_alpha_is_the_solvers),
      cmocka_unit_test(the_target_is_a_step_along_F),
      cmocka_unit_test(the_exact_step_attains_kappa),
      cmocka_unit_test(nothing_to_measure_at_the_solution),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

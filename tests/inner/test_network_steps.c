/*
 * Gauss-Newton and Levenberg-Marquardt on networks: through J J', by the Jacobian, matrix-free, and
 * by the same network in double precision; with and without weights; what is too large is refused.
 */
#include "support/networks.h"
#include "support/rig.h"

#include <hvi/problem.h>
#include <hvi/solver.h>

/* 300 rows, 1441 parameters */
static const network_case network = {"steps", 10, 3, {32, 32, 1}, HVI_TANH, HVI_IDENTITY, 300};

typedef struct setup {
  hvi_model *mlp, *stack;
  double *theta, *target, *weights;
} setup;

static setup set_up(void) {
  setup x = {.mlp = make_network(&network, 1, true), .stack = make_reference(&network)};
  const size_t n = x.mlp->out, d = x.mlp->dim;
  x.theta = malloc(d * sizeof *x.theta);
  x.target = malloc(n * sizeof *x.target);
  x.weights = malloc(n * sizeof *x.weights);
  fill_parameters(x.mlp, x.theta, 0);
  fill_normal(x.target, n, 1);
  hvi_rng rng = hvi_rng_new(1, "weights", 0);
  hvi_rng_fill_uniform(&rng, 0.25, 4.0, n, x.weights);
  return x;
}

static void tear_down(setup *x) {
  free(x->theta), free(x->target), free(x->weights);
  hvi_model_free(x->mlp), hvi_model_free(x->stack);
}

/* theta_{s+1} - theta_s of one step. */
static double *step_of(const setup *x, const hvi_model *m, const char *name, const double *w,
                       hvi_solve_form linear, double size) {
  rig r;
  rig_init(&r, m, w, x->theta, x->target);
  r.settings.linear = linear;
  r.settings.damping = size;
  r.settings.rank_tol = size;
  rig_use(&r, name);
  assert_true(rig_step(&r));
  double *delta = malloc(m->dim * sizeof *delta);
  for (size_t i = 0; i < m->dim; i++) delta[i] = r.l.now->theta[i] - x->theta[i];
  rig_free(&r);
  return delta;
}

/* How the residual changes along a step, in the norm of the double network: J delta. */
static double *effect_of(const setup *x, const double *delta) {
  const hvi_model *m = x->stack;
  double *cache = calloc(m->cache, sizeof *cache), *z = malloc(m->out * sizeof *z);
  m->ops->eval(m, cache, x->theta, z);
  m->ops->jvp(m, cache, x->theta, delta, z);
  free(cache);
  return z;
}

static void compare(const setup *x, const double *delta, const double *expected, double tolerance) {
  double *a = effect_of(x, delta), *b = effect_of(x, expected);
  check_relative(delta, expected, x->mlp->dim, tolerance);
  check_relative(a, b, x->mlp->out, tolerance);
  free(a), free(b);
}

static void check_damped(bool weighted, double damping, double tolerance) {
  setup x = set_up();
  const double *w = weighted ? x.weights : NULL;
  double *exact = step_of(&x, x.stack, "lm", w, HVI_SOLVE_DENSE, damping);
  static const hvi_solve_form forms[] = {HVI_SOLVE_GRAM, HVI_SOLVE_AUTO, HVI_SOLVE_DENSE,
                                         HVI_SOLVE_MATRIX_FREE};
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    double *delta = step_of(&x, x.mlp, "lm", w, forms[k], damping);
    compare(&x, delta, exact, tolerance);
    free(delta);
  }
  free(exact);
  tear_down(&x);
}

static void damped_steps_agree(void **state) {
  (void)state;
  check_damped(false, 1.0, 1e-4);
  check_damped(true, 1.0, 1e-4);
  check_damped(false, 0.03, 1e-3);
}

/* Singular values of J below the root of the rounding of floats, of which there are some here, are
 * damped in one form and cut off in another: what remains of the residual is small in all. */
static void undamped_steps_reach_the_target(void **state) {
  (void)state;
  setup x = set_up();
  for (int weighted = 0; weighted < 2; weighted++) {
    const double *w = weighted ? x.weights : NULL;
    double *dense = step_of(&x, x.stack, "gn", w, HVI_SOLVE_DENSE, 1e-10);
    double *gram = step_of(&x, x.mlp, "gn", w, HVI_SOLVE_GRAM, 1e-10);
    double *a = effect_of(&x, dense), *b = effect_of(&x, gram);
    /* n < d and J of full rank: J delta = -r */
    check_relative(b, a, x.mlp->out, 2e-3);
    free(a), free(b), free(dense), free(gram);
  }
  tear_down(&x);
}

/* Few rows: J is well conditioned and all forms are the same step. */
static void undamped_steps_agree_on_few_rows(void **state) {
  (void)state;
  setup x = set_up();
  network_case few = network;
  few.rows = 12;
  hvi_model_free(x.mlp), hvi_model_free(x.stack);
  x.mlp = make_network(&few, 1, true), x.stack = make_reference(&few);
  double *exact = step_of(&x, x.stack, "gn", NULL, HVI_SOLVE_DENSE, 1e-10);
  static const hvi_solve_form forms[] = {HVI_SOLVE_GRAM, HVI_SOLVE_DENSE, HVI_SOLVE_MATRIX_FREE};
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    double *delta = step_of(&x, x.mlp, "gn", NULL, forms[k], 1e-10);
    compare(&x, delta, exact, 1e-4);
    free(delta);
  }
  free(exact);
  tear_down(&x);
}

/* The linear map of a network is only known to its rounding: LSMR ends there, well before its limit
 * of iterations. */
static void matrix_free_steps_end_at_the_rounding(void **state) {
  (void)state;
  setup x = set_up();
  rig r;
  rig_init(&r, x.mlp, NULL, x.theta, x.target);
  r.settings.linear = HVI_SOLVE_MATRIX_FREE;
  r.settings.damping = 0.1;
  rig_use(&r, "lm");
  assert_true(rig_step(&r));
  assert_true(r.counts.grad_evals < x.mlp->out);
  rig_free(&r);
  tear_down(&x);
}

/* Adaptive damping brings a network to targets it can reach. */
static void adaptive_steps_fit_a_network(void **state) {
  (void)state;
  setup x = set_up();
  rig r;
  rig_init(&r, x.mlp, NULL, x.theta, x.target);
  r.settings.adapt_damping = true;
  r.settings.damping = 1.0;
  rig_use(&r, "lm");
  const double first = r.l.now->loss;
  for (int i = 0; i < 15 && rig_step(&r); i++) {
  }
  assert_true(r.l.now->loss < 1e-3 * first);
  rig_free(&r);
  tear_down(&x);
}

static void memory_is_n_squared_in_gram_form(void **state) {
  (void)state;
  setup x = set_up();
  hvi_optimizer_settings s = hvi_optimizer_defaults();
  const size_t n = x.mlp->out, d = x.mlp->dim;
  const size_t need = hvi_optimizer_find("lm")->state(&s, x.mlp);
  assert_true(need >= n * n + d);
  assert_true(need <= n * n + 2 * d + 10 * n + x.mlp->outer_work);
  tear_down(&x);
}

static void no_force(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                     double *f) {
  (void)sample, (void)theta;
  memcpy(f, z, p->model->out * sizeof *f);
}

static const hvi_problem_ops plain_ops = {.name = "plain", .operate = no_force};

static void solver_refused(hvi_model *m, hvi_solve_form linear, const char *words) {
  double *theta = calloc(m->dim, sizeof *theta);
  const hvi_set set = {.kind = HVI_SET_FREE, .len = m->out};
  const hvi_problem p = {
      .ops = &plain_ops, .model = m, .theta0 = theta, .set_count = 1, .sets = &set};
  hvi_settings s = hvi_method_settings("gd");
  hvi_solver *solver;
  hvi_error err;
  s.optimizer = hvi_optimizer_find("lm");
  s.inner.linear = linear;
  check_error(hvi_solver_new(&solver, &p, &s, &err), HVI_ERROR_UNSUPPORTED, &err, words);
  assert_null(solver);
  free(theta);
  hvi_model_free(m);
}

static void what_is_too_large_is_refused(void **state) {
  (void)state;
  network_case large = {"large", 4, 2, {64, 1}, HVI_RELU, HVI_IDENTITY, 30000};
  solver_refused(make_network(&large, 1, true), HVI_SOLVE_GRAM, "over 4 GiB");
  large.widths[0] = 4000;
  solver_refused(make_network(&large, 1, true), HVI_SOLVE_DENSE, "must be matrix-free");
  const network_case plain = {"plain loops", 4, 2, {64, 2}, HVI_RELU, HVI_IDENTITY, 3};
  solver_refused(make_reference(&plain), HVI_SOLVE_GRAM, "no Gram matrix");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damped_steps_agree),
      cmocka_unit_test(undamped_steps_reach_the_target),
      cmocka_unit_test(undamped_steps_agree_on_few_rows),
      cmocka_unit_test(matrix_free_steps_end_at_the_rounding),
      cmocka_unit_test(adaptive_steps_fit_a_network),
      cmocka_unit_test(memory_is_n_squared_in_gram_form),
      cmocka_unit_test(what_is_too_large_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

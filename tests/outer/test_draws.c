/*
 * Stochastic problems: draws that depend on theta, that several steps share, that the model is
 * bound to; and the step size that decays.
 */
#include "support/solve.h"
#include "support/toy.h"

enum { STEPS = 40 };

static trace rows;

static const double one[] = {1.0, 0.0, 0.0, 1.0}, zero[2], start[] = {3.0, -4.0};

/* z = (1 + c) theta, c the sample that the cache is bound to; zero is the mean. */
static void scaled_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  for (size_t i = 0; i < m->dim; i++) z[i] = (1.0 + cache[0]) * theta[i];
}

static void scaled_product(const hvi_model *m, double *cache, const double *theta, const double *x,
                           double *out) {
  (void)theta;
  for (size_t i = 0; i < m->dim; i++) out[i] = (1.0 + cache[0]) * x[i];
}

static void scaled_bind(const hvi_model *m, double *cache, const void *sample) {
  (void)m;
  cache[0] = sample ? *(const double *)sample : 0.0;
}

static const hvi_model_ops scaled_ops = {.name = "scaled",
                                         .eval = scaled_eval,
                                         .vjp = scaled_product,
                                         .jvp = scaled_product,
                                         .bind = scaled_bind};

static const hvi_block whole = {.dim = 2, .out = 2};

static hvi_model scaled_model(void) {
  return (hvi_model){
      .ops = &scaled_ops, .dim = 2, .out = 2, .cache = 1, .block_count = 1, .blocks = &whole};
}

/* F(z) = z, without the noise: here the sample belongs to the model. */
static void plain_operate(const hvi_problem *p, const void *sample, const double *theta,
                          const double *z, double *f) {
  (void)p, (void)sample, (void)theta;
  memcpy(f, z, 2 * sizeof *f);
}

static void draw_scale(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)p, (void)theta;
  *(double *)sample = hvi_rng_range(rng, -0.5, 0.5);
}

/* theta <- theta - eta lr (1 + c_t)^2 theta, with the draws in order. */
static void a_model_is_bound_to_its_draw(void **state) {
  (void)state;
  static const hvi_problem_ops ops = {
      .name = "bound", .operate = plain_operate, .draw = draw_scale};
  const hvi_set set = {.kind = HVI_SET_FREE, .len = 2};
  hvi_model m = scaled_model();
  const hvi_problem p = {.ops = &ops,
                         .model = &m,
                         .theta0 = start,
                         .sample_bytes = sizeof(double),
                         .set_count = 1,
                         .sets = &set};
  hvi_settings s = settings_for("gd", 0.1, STEPS);
  s.seed = 4;
  hvi_solver *solver = solve_traced(&p, s, &rows);
  hvi_rng rng = hvi_rng_new(4, "solver", 0);
  double theta[2] = {start[0], start[1]};
  for (size_t t = 0; t <= STEPS; t++) {
    const double scale = 1.0 + hvi_rng_range(&rng, -0.5, 0.5);
    check_close(rows.theta[t], theta, 2, 1e-14);
    for (size_t i = 0; i < 2; i++) {
      check_near(rows.z[t][i], scale * theta[i], 1e-14); /* the row's z is of the row's draw */
      theta[i] -= 0.1 * scale * scale * theta[i];
    }
  }
  hvi_solver_free(solver);
}

/* The same model in a problem that draws nothing is the mean model. */
static void a_model_without_draws_is_the_mean(void **state) {
  (void)state;
  static const hvi_problem_ops ops = {.name = "mean", .operate = plain_operate};
  const hvi_set set = {.kind = HVI_SET_FREE, .len = 2};
  hvi_model m = scaled_model();
  const hvi_problem p = {.ops = &ops, .model = &m, .theta0 = start, .set_count = 1, .sets = &set};
  hvi_solver *solver = solve_traced(&p, settings_for("gd", 0.1, STEPS), &rows);
  check_close(rows.z[0], start, 2, 0.0);
  check_near(rows.z[STEPS][0], start[0] * pow(0.9, STEPS), 1e-14);
  hvi_solver_free(solver);
}

/* A deployed theta makes its own data: the sample is theta's first element at the time. */
static void draw_theta(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)p, (void)rng;
  *(double *)sample = theta[0];
}

static const hvi_problem_ops deployed_ops = {
    .name = "deployed", .operate = toy_operate, .draw = draw_theta};

static void deployed_problem(toy *t) {
  toy_init(t, identity_model(2), one, zero, start);
  t->base.ops = &deployed_ops;
  t->base.sample_bytes = sizeof(double);
}

static void check_deployment(size_t every) {
  toy t;
  deployed_problem(&t);
  hvi_settings s = settings_for("gd", 0.1, STEPS);
  s.redraw_every = every;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  double z[2] = {start[0], start[1]}, sample = 0.0;
  for (size_t k = 0; k <= STEPS; k++) {
    check_close(rows.z[k], z, 2, 1e-13);
    if (k % (every ? every : 1) == 0) sample = z[0];
    for (size_t i = 0; i < 2; i++) z[i] -= 0.1 * (z[i] + sample);
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void a_draw_sees_the_theta_of_its_row(void **state) {
  (void)state;
  check_deployment(0);
  check_deployment(1);
}

static void steps_may_share_a_draw(void **state) {
  (void)state;
  check_deployment(3);
  check_deployment(1000);
}

/* Step t, from 0, uses eta / (1 + decay t), whatever the target. */
static void the_step_size_decays(void **state) {
  (void)state;
  for (int variant = 0; variant < 2; variant++) {
    toy t;
    toy_init(&t, identity_model(2), one, zero, start);
    hvi_settings s = settings_for(variant == 1 ? "ogda" : "projected", 0.5, STEPS);
    s.eta_decay = 0.25;
    hvi_solver *solver = solve_traced(&t.base, s, &rows);
    double z[2] = {start[0], start[1]}, last[2] = {start[0], start[1]};
    for (size_t k = 0; k <= STEPS; k++) {
      check_close(rows.z[k], z, 2, 1e-13);
      const double eta = 0.5 / (1.0 + 0.25 * (double)k);
      for (size_t i = 0; i < 2; i++) {
        const double f = z[i], used = variant == 1 ? 2.0 * f - last[i] : f;
        last[i] = f;
        z[i] -= eta * used;
      }
    }
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

static void decay_must_not_be_negative(void **state) {
  (void)state;
  static const double bad[] = {-0.1, NAN, INFINITY};
  hvi_problem *p = builtin("pennies", 0);
  for (size_t i = 0; i < 3; i++) {
    hvi_settings s = hvi_method_settings("gd");
    hvi_solver *solver;
    hvi_error err;
    s.eta_decay = bad[i];
    check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_ARGUMENT, &err,
                "eta_decay: must be a number at least 0, not '");
  }
  hvi_problem_free(p);
}

/* A problem that measures its distance itself is asked by solver and judge alike. */
static double own_distance(const hvi_problem *p, const double *theta) {
  (void)p;
  return 100.0 + theta[0];
}

static void a_problem_may_measure_its_own_distance(void **state) {
  (void)state;
  hvi_problem_ops ops = toy_affine_ops;
  hvi_certificate c;
  hvi_error err;
  toy t;
  toy_init(&t, identity_model(2), one, zero, start);
  ops.dist2 = own_distance;
  t.base.ops = &ops;
  hvi_solver *solver = solve_traced(&t.base, settings_for("gd", 0.1, 3), &rows);
  for (size_t k = 0; k <= 3; k++) check_near(rows.rows[k].dist2, 100.0 + rows.theta[k][0], 0.0);
  check_ok(hvi_problem_judge(&c, &t.base, start, &err), &err);
  check_near(c.dist2, 103.0, 0.0);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_is_bound_to_its_draw),
      cmocka_unit_test(a_model_without_draws_is_the_mean),
      cmocka_unit_test(a_draw_sees_the_theta_of_its_row),
      cmocka_unit_test(steps_may_share_a_draw),
      cmocka_unit_test(the_step_size_decays),
      cmocka_unit_test(decay_must_not_be_negative),
      cmocka_unit_test(a_problem_may_measure_its_own_distance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

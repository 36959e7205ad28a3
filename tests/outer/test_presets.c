/* Each preset against its closed form, step by step over 100 steps, to 1e-12. */
#include "support/basis.h"
#include "support/models.h"
#include "support/solve.h"
#include "support/toy.h"

#include <lapacke.h>

enum { STEPS = 100 };

static trace rows;

/* theta <- theta - eta V of a closed form `step`, beside the solver's rows. */
static void check_steps(const hvi_problem *p, const hvi_settings *s,
                        void (*step)(const hvi_problem *p, double scale, double *theta)) {
  double theta[TRACE_SIZE];
  hvi_solver *solver = solve_traced(p, *s, &rows);
  assert_int_equal(rows.count, STEPS + 1);
  memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
  for (size_t t = 0; t <= STEPS; t++) {
    check_close(rows.theta[t], theta, p->model->dim, 1e-12);
    step(p, s->eta, theta);
  }
  hvi_solver_free(solver);
}

/* theta - eta (J'J)^+ J'F, which is theta - eta J^+ F, of the whole J by LAPACK. */
static void phgd_step(const hvi_problem *p, double eta, double *theta) {
  const lapack_int n = (lapack_int)p->model->out, d = (lapack_int)p->model->dim;
  double s[TRACE_SIZE], x[TRACE_SIZE] = {0.0};
  lapack_int rank;
  field at;
  field_at(p, theta, &at);
  memcpy(x, at.f, p->model->out * sizeof *x);
  assert_int_equal(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, n, d, 1, at.J, d, x, 1, s, 1e-10, &rank), 0);
  for (size_t i = 0; i < p->model->dim; i++) theta[i] -= eta * x[i];
}

static void gda_step(const hvi_problem *p, double scale, double *theta) {
  double V[TRACE_SIZE];
  field at;
  field_at(p, theta, &at);
  pull_back(p->model, at.J, at.f, V);
  for (size_t i = 0; i < p->model->dim; i++) theta[i] -= scale * V[i];
}

/* On pennies J is a diagonal with a formula of its own: no product of the library's. */
static void pennies_phgd_step(const hvi_problem *p, double eta, double *theta) {
  static const double a[] = {0.5, 0.7};
  double z[2], J[2];
  (void)p;
  for (int i = 0; i < 2; i++) {
    const double x = a[i] * theta[i], celu = x > 0.0 ? x : expm1(x);
    z[i] = 1.0 / (1.0 + exp(-celu));
    J[i] = z[i] * (1.0 - z[i]) * (x > 0.0 ? 1.0 : exp(x)) * a[i];
  }
  theta[0] -= eta * (-2 * (2 * z[1] - 1) + 0.75 * (z[0] - 0.5)) / J[0];
  theta[1] -= eta * (2 * (2 * z[0] - 1) + 0.75 * (z[1] - 0.5)) / J[1];
}

/* Two players with seven parameters and three outputs each, J of full rank, F random and monotone
 * with a solution near the start. */
typedef struct random_game {
  toy t;
  double A[36], b[6], theta0[14];
} random_game;

static void random_game_init(random_game *g) {
  static const stack_case players[] = {
      {7, 0, 2, {{7, HVI_CELU, 'f', 'f'}, {3, HVI_SIGMOID, 'f', '-'}}},
      {7, 0, 2, {{7, HVI_TANH, 'f', 'f'}, {3, HVI_IDENTITY, 'f', 'f'}}}};
  hvi_rng rng = hvi_rng_new(5, "random game", 0);
  hvi_model *models[2], *joint;
  hvi_error err;
  for (int k = 0; k < 2; k++) models[k] = make_stack(&players[k], &rng);
  check_ok(hvi_players_new(&joint, 2, models, &err), &err);
  double raw[36], near[14];
  field at;
  fill_normal(raw, 36, 3);
  for (size_t i = 0; i < 6; i++) {
    for (size_t j = 0; j < 6; j++) g->A[i * 6 + j] = 0.3 * (raw[i * 6 + j] - raw[j * 6 + i]);
    g->A[i * 6 + i] = 1.0;
    g->b[i] = 0.0;
  }
  fill_normal(g->theta0, 14, 4);
  fill_normal(near, 14, 5);
  toy_init(&g->t, joint, g->A, g->b, g->theta0);
  for (size_t i = 0; i < 14; i++) near[i] = g->theta0[i] + 0.2 * near[i];
  field_at(&g->t.base, near, &at); /* F(z*) = A z* while b is zero */
  for (size_t i = 0; i < 6; i++) g->b[i] = -at.f[i];
}

static void phgd_on_pennies(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  const hvi_settings s = settings_for("phgd", 0.01, STEPS);
  check_steps(p, &s, pennies_phgd_step);
  hvi_problem_free(p);
}

/* z' = -F(z) on pennies to the time given, by small steps of the classical Runge-Kutta method. */
static void flow(double z[2], double time) {
  enum { SMALL = 2000 };
  const double h = time / SMALL;
  for (int t = 0; t < SMALL; t++) {
    double k[4][2], at[2] = {z[0], z[1]};
    for (int i = 0; i < 4; i++) {
      k[i][0] = 2 * (2 * at[1] - 1) - 0.75 * (at[0] - 0.5);
      k[i][1] = -2 * (2 * at[0] - 1) - 0.75 * (at[1] - 0.5);
      for (int j = 0; j < 2; j++) at[j] = z[j] + (i < 2 ? 0.5 : 1.0) * h * k[i][j];
    }
    for (int j = 0; j < 2; j++) z[j] += h / 6.0 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
  }
}

/* PHGD is an Euler method for the flow of the outputs: to the same time, half of eta has half of
 * the error. */
static void phgd_tends_to_the_flow(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  double exact[2], before = NAN;
  for (size_t steps = 25; steps <= 100; steps *= 2) {
    const hvi_settings s = settings_for("phgd", 0.25 / (double)steps, steps);
    hvi_solver *solver = solve_traced(p, s, &rows);
    memcpy(exact, rows.z[0], sizeof exact);
    flow(exact, 0.25);
    const double error = hypot(rows.z[steps][0] - exact[0], rows.z[steps][1] - exact[1]);
    assert_true(error < 0.05);
    if (steps > 25) check_near(before / error, 2.0, 0.15);
    before = error;
    hvi_solver_free(solver);
  }
  hvi_problem_free(p);
}

static void phgd_on_a_random_game(void **state) {
  (void)state;
  random_game g;
  random_game_init(&g);
  const hvi_settings s = settings_for("phgd", 0.02, STEPS);
  check_steps(&g.t.base, &s, phgd_step);
  hvi_problem_free(&g.t.base);
}

/* Matrix-free it is the same method. */
static void phgd_without_a_matrix(void **state) {
  (void)state;
  random_game g;
  random_game_init(&g);
  hvi_settings s = settings_for("phgd", 0.02, STEPS);
  s.inner.linear = HVI_SOLVE_MATRIX_FREE;
  check_steps(&g.t.base, &s, phgd_step);
  hvi_problem_free(&g.t.base);
}

static void gda_on_the_games(void **state) {
  (void)state;
  random_game g;
  random_game_init(&g);
  hvi_problem *problems[] = {builtin("pennies", 0), builtin("rps", 1), &g.t.base};
  for (size_t i = 0; i < 3; i++) {
    hvi_settings s = settings_for("gda", 0.1, STEPS);
    check_steps(problems[i], &s, gda_step);
    /* the two step sizes only ever appear as their product */
    s.eta = 0.05;
    s.inner.lr = 2.0;
    hvi_solver *solver = solve_traced(problems[i], s, &rows);
    double theta[TRACE_SIZE];
    memcpy(theta, problems[i]->theta0, problems[i]->model->dim * sizeof *theta);
    for (size_t t = 0; t <= STEPS; t++) {
      check_close(rows.theta[t], theta, problems[i]->model->dim, 1e-12);
      gda_step(problems[i], 0.1, theta);
    }
    hvi_solver_free(solver);
    hvi_problem_free(problems[i]);
  }
}

/* z = M theta + c, n x d. With d >= n and M of full rank everything can be reached. */
static void affine_problem(toy *t, size_t n, size_t d, double *A, double *b, double *theta0) {
  double M[TRACE_SIZE * TRACE_SIZE];
  hvi_model *m;
  hvi_error err;
  fill_normal(M, n * d, 21);
  fill_normal(A, n * n, 22);
  fill_normal(b, n, 23);
  fill_normal(theta0, d, 24);
  for (size_t i = 0; i < n; i++) A[i * n + i] += 6.0;
  check_ok(hvi_affine_new(&m, n, d, M, NULL, &err), &err);
  toy_init(t, m, A, b, theta0);
}

static void an_affine_model_takes_the_exact_step(void **state) {
  (void)state;
  static const size_t shapes[][2] = {{4, 4}, {4, 7}};
  for (size_t i = 0; i < 2; i++) {
    const size_t n = shapes[i][0];
    double A[49], b[7], theta0[7], z[7];
    toy t;
    field at;
    affine_problem(&t, n, shapes[i][1], A, b, theta0);
    const hvi_settings s = settings_for("projected", 0.05, STEPS);
    hvi_solver *solver = solve_traced(&t.base, s, &rows);
    field_at(&t.base, theta0, &at);
    memcpy(z, at.z, sizeof z);
    for (size_t k = 0; k <= STEPS; k++) {
      check_close(rows.z[k], z, n, 1e-12);
      toy_operate(&t.base, NULL, NULL, z, at.f);
      for (size_t j = 0; j < n; j++) z[j] -= s.eta * at.f[j];
    }
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

/* With fewer parameters than outputs the exact step is followed by the projection onto the range.
 */
static void a_tall_affine_model_takes_the_projected_step(void **state) {
  (void)state;
  enum { N = 6, D = 3 };
  double A[N * N], b[N], theta0[D], basis[N * D], z[N], v[N];
  toy t;
  field at;
  affine_problem(&t, N, D, A, b, theta0);
  field_at(&t.base, theta0, &at);
  fill_basis(basis, at.J, N, D);
  t.sets[0] = (hvi_set){.kind = HVI_SET_SUBSPACE, .len = N, .basis = basis, .rank = D};
  const hvi_settings s = settings_for("projected", 0.05, STEPS);
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  memcpy(z, at.z, sizeof z);
  for (size_t k = 0; k <= STEPS; k++) {
    check_close(rows.z[k], z, N, 1e-12);
    toy_operate(&t.base, NULL, NULL, z, at.f);
    for (size_t i = 0; i < N; i++) v[i] = z[i] - s.eta * at.f[i];
    for (size_t i = 0; i < N; i++) {
      z[i] = 0.0;
      for (size_t r = 0; r < D; r++) {
        double c = 0.0;
        for (size_t j = 0; j < N; j++) c += basis[j * D + r] * v[j];
        z[i] += c * basis[i * D + r];
      }
    }
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* With weights the step is z - eta Xi^-1 F. */
static void weights_divide_the_step(void **state) {
  (void)state;
  const double w[] = {1.0, 4.0, 0.5, 2.0};
  double A[16], b[4], theta0[4], z[4];
  toy t;
  field at;
  affine_problem(&t, 4, 4, A, b, theta0);
  t.base.weights = w;
  const hvi_settings s = settings_for("projected", 0.02, STEPS);
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  field_at(&t.base, theta0, &at);
  memcpy(z, at.z, sizeof z);
  for (size_t k = 0; k <= STEPS; k++) {
    check_close(rows.z[k], z, 4, 1e-12);
    toy_operate(&t.base, NULL, NULL, z, at.f);
    for (size_t j = 0; j < 4; j++) z[j] -= s.eta * at.f[j] / w[j];
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* A preset is settings and nothing else, whatever was set before it. */
static void a_preset_is_one_inner_step(void **state) {
  (void)state;
  static const char *const names[][2] = {{"phgd", "gn"}, {"gda", "gd"}, {"projected", "gn"}};
  for (size_t i = 0; i < 3; i++) {
    hvi_settings s = hvi_method_settings("gd");
    s.inner_steps = 7;
    s.inner_growth = 2.0;
    s.alpha = 0.5;
    s.baseline = HVI_BASELINE_ADAM_GDA;
    hvi_method_apply(&s, names[i][0], NULL);
    assert_int_equal(s.inner_steps, 1);
    assert_true(s.inner_growth == 0.0);
    assert_true(s.alpha == 0.0);
    assert_int_equal(s.baseline, HVI_BASELINE_NONE);
    assert_ptr_equal(s.optimizer, hvi_optimizer_find(names[i][1]));
  }
}

static void methods_are_found_by_name(void **state) {
  (void)state;
  size_t count = 0;
  for (const hvi_method *m = hvi_method_list(); m->name; m++, count++) {
    assert_ptr_equal(hvi_method_find(m->name), m);
    assert_non_null(m->summary);
    assert_true(m->summary[0]);
    /* auto alone leaves both open */
    const bool automatic = strcmp(m->name, "auto") == 0;
    assert_true((m->optimizer == NULL) == (automatic || m->baseline != HVI_BASELINE_NONE));
    assert_true(hvi_method_settings(m->name).automatic == automatic);
  }
  assert_int_equal(count, 16);
  assert_null(hvi_method_find("newton"));
  assert_null(hvi_method_find(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(phgd_on_pennies),
      cmocka_unit_test(phgd_tends_to_the_flow),
      cmocka_unit_test(phgd_on_a_random_game),
      cmocka_unit_test(phgd_without_a_matrix),
      cmocka_unit_test(gda_on_the_games),
      cmocka_unit_test(an_affine_model_takes_the_exact_step),
      cmocka_unit_test(a_tall_affine_model_takes_the_projected_step),
      cmocka_unit_test(weights_divide_the_step),
      cmocka_unit_test(a_preset_is_one_inner_step),
      cmocka_unit_test(methods_are_found_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Targets and turns: optimistic, averaged, alternating, a step size per player, kept state. */
#include "support/rig.h"
#include "support/solve.h"
#include "support/toy.h"

enum { STEPS = 100 };

static trace rows;

static const double A[] = {1.0, 2.0, 0.5, -2.0, 1.5, 0.3, -0.5, -0.3, 0.8};
static const double b[] = {0.3, -0.2, 0.1}, theta0[] = {1.0, -1.0, 2.0};

/* The identity as model: with gn the loop is its targets and nothing else. */
static void plain_problem(toy *t) { toy_init(t, identity_model(3), A, b, theta0); }

static void operate(const double *z, double *f) {
  for (size_t i = 0; i < 3; i++) f[i] = b[i] + dot(A + 3 * i, z, 3);
}

static void the_optimistic_target_is_its_formula(void **state) {
  (void)state;
  toy t;
  plain_problem(&t);
  hvi_settings s = settings_for("projected", 0.1, STEPS);
  s.target = HVI_TARGET_OPTIMISTIC;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  double z[3], f[3], last[3];
  memcpy(z, theta0, sizeof z);
  operate(z, last);
  for (size_t k = 0; k <= STEPS; k++) {
    check_close(rows.z[k], z, 3, 1e-12);
    operate(z, f);
    for (size_t i = 0; i < 3; i++) z[i] -= 0.1 * (2.0 * f[i] - last[i]);
    memcpy(last, f, sizeof f);
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* With the identity a step of gd at rate lr takes the share lr of the way to the target. */
static void the_inner_rate_decays(void **state) {
  (void)state;
  toy t;
  plain_problem(&t);
  hvi_settings s = settings_for("gd", 0.1, STEPS);
  s.inner.lr = 0.8;
  s.inner_lr_decay = 0.5;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  double z[3], f[3];
  memcpy(z, theta0, sizeof z);
  for (size_t k = 0; k <= STEPS; k++) {
    check_close(rows.z[k], z, 3, 1e-12);
    operate(z, f);
    for (size_t i = 0; i < 3; i++) z[i] -= 0.8 / (1.0 + 0.5 * (double)k) * 0.1 * f[i];
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void inner_steps_are_timed_where_asked(void **state) {
  (void)state;
  toy t;
  plain_problem(&t);
  hvi_settings s = settings_for("gd", 0.1, STEPS);
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  assert_true(isnan(rows.rows[STEPS].seconds_inner));
  hvi_solver_free(solver);
  s.time_inner = 1;
  solver = solve_traced(&t.base, s, &rows);
  for (size_t k = 0; k < STEPS; k++)
    assert_true(rows.rows[k + 1].seconds_inner >= rows.rows[k].seconds_inner);
  assert_true(rows.rows[0].seconds_inner == 0.0);
  assert_true(rows.rows[STEPS].seconds_inner > 0.0);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void the_averaged_target_is_the_mean_of_the_last(void **state) {
  (void)state;
  static const size_t taus[] = {1, 2, 7, 500};
  for (size_t c = 0; c < 4; c++) {
    const size_t tau = taus[c];
    toy t;
    plain_problem(&t);
    hvi_settings s = settings_for("projected", 0.1, STEPS);
    s.target = HVI_TARGET_AVERAGED;
    s.average = tau;
    hvi_solver *solver = solve_traced(&t.base, s, &rows);
    double plain[STEPS + 1][3], z[3], f[3];
    memcpy(z, theta0, sizeof z);
    for (size_t k = 0; k <= STEPS; k++) {
      check_close(rows.z[k], z, 3, 1e-12);
      operate(z, f);
      for (size_t i = 0; i < 3; i++) plain[k][i] = z[i] - 0.1 * f[i];
      const size_t first = k + 1 > tau ? k + 1 - tau : 0;
      for (size_t i = 0; i < 3; i++) {
        z[i] = 0.0;
        for (size_t j = first; j <= k; j++) z[i] += plain[j][i] / (double)(k + 1 - first);
      }
    }
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

/* gd(3) on player k's part of the surrogate, everybody else's output being what it is now. */
static void take_turn(const hvi_problem *p, size_t k, double eta, double *theta) {
  const hvi_block *block = &p->model->blocks[k];
  const hvi_model *one = p->model->ops->player(p->model, k);
  double v[TRACE_SIZE], g[TRACE_SIZE];
  field at;
  field_at(p, theta, &at);
  for (size_t i = 0; i < block->out; i++) v[i] = at.z[block->z + i] - eta * at.f[block->z + i];
  for (int step = 0; step < 3; step++) {
    gradient_of(one, theta + block->theta, v, NULL, g);
    for (size_t i = 0; i < block->dim; i++) theta[block->theta + i] -= 0.7 * g[i];
  }
}

static void alternating_players_see_each_other(void **state) {
  (void)state;
  for (int variant = 0; variant < 2; variant++) {
    hvi_problem *p = variant ? builtin("rps", 1) : builtin("pennies", 0);
    hvi_settings s = settings_for("gd", 0.1, STEPS);
    s.inner_steps = 3;
    s.inner.lr = 0.7;
    s.alternating = true;
    hvi_solver *solver = solve_traced(p, s, &rows);
    double theta[TRACE_SIZE];
    memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
    for (size_t t = 0; t <= STEPS; t++) {
      check_close(rows.theta[t], theta, p->model->dim, 1e-11);
      for (size_t k = 0; k < 2; k++) take_turn(p, k, 0.1, theta);
    }
    /* F once for each player in turn; the last serves the record and the first */
    assert_int_equal(rows.rows[STEPS].counts.f_evals, 1 + 2 * STEPS);
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
}

/* F_{t-1} is that of theta_{t-1} on the sample of step t, for the second player as for the first.
 */
static void alternating_players_look_back_at_one_iterate(void **state) {
  (void)state;
  hvi_model *players[] = {identity_model(1), identity_model(2)}, *both;
  hvi_error err;
  toy t;
  check_ok(hvi_players_new(&both, 2, players, &err), &err);
  toy_init(&t, both, A, b, theta0);
  t.base.ops = &toy_noisy_ops;
  t.base.sample_bytes = sizeof(double);
  t.noise = 0.5;
  hvi_settings s = settings_for("projected", 0.1, STEPS);
  s.alternating = true;
  s.target = HVI_TARGET_OPTIMISTIC;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  hvi_rng rng = hvi_rng_new(s.seed, "solver", 0);
  double z[3], last[3], f[3], before[3];
  memcpy(z, theta0, sizeof z);
  for (size_t k = 0; k <= STEPS; k++) {
    const double drawn = 0.5 * hvi_rng_normal(&rng);
    check_close(rows.z[k], z, 3, 1e-12);
    operate(k == 0 ? z : last, before);
    memcpy(last, z, sizeof z);
    operate(z, f);
    z[0] -= 0.1 * (2.0 * f[0] - before[0] + drawn);
    operate(z, f);
    if (k == 0) memcpy(before, f, sizeof f); /* nothing to look back at: the plain target */
    for (size_t i = 1; i < 3; i++) z[i] -= 0.1 * (2.0 * f[i] - before[i] + drawn);
  }
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* Both players' losses are added up in the record of an alternating step. */
static void an_alternating_row_adds_up(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.1, 30);
  s.alternating = true;
  s.alpha = 0.6;
  s.inner_steps = 100000;
  hvi_solver *solver = solve_traced(p, s, &rows);
  for (size_t t = 1; t < rows.count; t++) {
    const hvi_record *row = &rows.rows[t];
    assert_true(row->ratio <= 0.36);
    assert_true(row->alpha <= 0.6);
    /* loss0 = eta^2 / 2 (F_1(x, y)^2 + F_2(x', y)^2) */
    field before, between;
    double theta[2] = {rows.theta[t][0], rows.theta[t - 1][1]};
    field_at(p, rows.theta[t - 1], &before);
    field_at(p, theta, &between);
    const double expected = 0.005 * (before.f[0] * before.f[0] + between.f[1] * between.f[1]);
    check_near(row->loss0, expected, 1e-13);
  }
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* Adam with two inner steps, whose averages live on across targets or not. */
static void check_state(bool keep) {
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("adam", 0.1, STEPS);
  s.inner_steps = 2;
  s.inner.lr = 0.05;
  s.keep_state = keep;
  hvi_solver *solver = solve_traced(p, s, &rows);
  double theta[2], v[2], g[2], m[2] = {0}, q[2] = {0};
  int k = 0;
  memcpy(theta, p->theta0, sizeof theta);
  for (size_t t = 0; t <= STEPS; t++) {
    check_close(rows.theta[t], theta, 2, 1e-11);
    field at;
    field_at(p, theta, &at);
    for (size_t i = 0; i < 2; i++) v[i] = at.z[i] - 0.1 * at.f[i];
    if (!keep) {
      memset(m, 0, sizeof m);
      memset(q, 0, sizeof q);
      k = 0;
    }
    for (int step = 0; step < 2; step++) {
      gradient_of(p->model, theta, v, NULL, g);
      k++;
      for (size_t i = 0; i < 2; i++) {
        m[i] = 0.9 * m[i] + 0.1 * g[i];
        q[i] = 0.999 * q[i] + 0.001 * g[i] * g[i];
        theta[i] -= 0.05 * m[i] / (1 - pow(0.9, k)) / (sqrt(q[i] / (1 - pow(0.999, k))) + 1e-8);
      }
    }
  }
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

static void state_is_kept_or_forgotten(void **state) {
  (void)state;
  check_state(true);
  check_state(false);
}

/* Adaptive damping, kept or not, gets there: it must survive surrogates that are solved. */
static void adaptive_damping_lives_through_targets(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    hvi_problem *p = variant % 2 ? builtin("rps", 1) : builtin("pennies", 0);
    hvi_settings s = settings_for("lm", 0.04, 1000);
    s.inner_steps = variant % 2 ? 5 : 2;
    s.inner.adapt_damping = true;
    s.keep_state = variant / 2;
    hvi_solver *solver = solver_for(p, &s);
    hvi_solver_run(solver);
    assert_true(hvi_solver_info(solver).last.residual < (variant % 2 ? 1e-2 : 1e-6));
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_optimistic_target_is_its_formula),
      cmocka_unit_test(the_inner_rate_decays),
      cmocka_unit_test(inner_steps_are_timed_where_asked),
      cmocka_unit_test(the_averaged_target_is_the_mean_of_the_last),
      cmocka_unit_test(alternating_players_see_each_other),
      cmocka_unit_test(alternating_players_look_back_at_one_iterate),
      cmocka_unit_test(an_alternating_row_adds_up),
      cmocka_unit_test(state_is_kept_or_forgotten),
      cmocka_unit_test(adaptive_damping_lives_through_targets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The inner stop: alpha-descent against a written-out loop, its cap, its floors, and growth. */
#include "support/basis.h"
#include "support/models.h"
#include "support/rig.h"
#include "support/solve.h"
#include "support/toy.h"

static trace rows;

/* Pennies under gd by hand: the number of steps until the loss has come down to alpha^2. */
static size_t count_by_hand(const hvi_problem *p, const double *theta, const hvi_settings *s,
                            double *reached) {
  const size_t n = p->model->out, d = p->model->dim;
  double x[TRACE_SIZE], v[TRACE_SIZE], g[TRACE_SIZE];
  field at;
  field_at(p, theta, &at);
  for (size_t i = 0; i < n; i++) v[i] = at.z[i] - s->eta * at.f[i];
  memcpy(x, theta, d * sizeof *x);
  const double loss0 = gradient_of(p->model, x, v, NULL, g);
  double loss = loss0;
  size_t steps = 0;
  while (steps < s->inner_steps && loss > s->alpha * s->alpha * loss0) {
    gradient_of(p->model, x, v, NULL, g);
    for (size_t i = 0; i < d; i++) x[i] -= s->inner.lr * g[i];
    loss = gradient_of(p->model, x, v, NULL, g);
    steps++;
  }
  *reached = sqrt(loss / loss0);
  return steps;
}

static void check_against_hand(double alpha, size_t cap) {
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.05, 60);
  s.alpha = alpha;
  s.inner_steps = cap;
  hvi_solver *solver = solve_traced(p, s, &rows);
  double worst = 0.0;
  size_t total = 0;
  for (size_t t = 1; t < rows.count; t++) {
    double reached;
    const size_t steps = count_by_hand(p, rows.theta[t - 1], &s, &reached);
    assert_int_equal(rows.rows[t].inner, steps);
    check_near(rows.rows[t].alpha, reached, 1e-10);
    check_near(rows.rows[t].ratio, reached * reached, 1e-10);
    check_near(rows.rows[t].ratio, rows.rows[t].loss / rows.rows[t].loss0, 1e-15);
    if (steps < cap) assert_true(rows.rows[t].ratio <= alpha * alpha);
    worst = fmax(worst, reached);
    total += steps;
  }
  const hvi_info info = hvi_solver_info(solver);
  check_near(info.alpha_worst, worst, 1e-10);
  assert_int_equal(info.inner_total, total);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

static void it_stops_as_soon_as_the_loss_is_low_enough(void **state) {
  (void)state;
  check_against_hand(0.5, 10000);
  check_against_hand(0.05, 10000);
}

static void the_cap_ends_it(void **state) {
  (void)state;
  check_against_hand(0.05, 7);
  for (size_t t = 1; t < rows.count; t++) {
    assert_int_equal(rows.rows[t].inner, 7);
    assert_true(rows.rows[t].alpha > 0.05);
  }
}

static void a_fixed_count_is_kept(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.05, 20);
  s.inner_steps = 13;
  hvi_solver *solver = solve_traced(p, s, &rows);
  for (size_t t = 1; t < rows.count; t++) assert_int_equal(rows.rows[t].inner, 13);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* M_t = M + floor(growth (t - 1)) */
static void the_count_grows(void **state) {
  (void)state;
  static const size_t expected[] = {0, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5};
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.05, 10);
  s.inner_steps = 2;
  s.inner_growth = 0.35;
  hvi_solver *solver = solve_traced(p, s, &rows);
  for (size_t t = 1; t <= 10; t++) assert_int_equal(rows.rows[t].inner, expected[t]);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* Once there is nothing left to solve the ratio of two losses is rounding, and no alpha. Here every
 * step leaves 0.1 of the way, as long as there is one. */
static void the_worst_alpha_is_not_made_of_rounding(void **state) {
  (void)state;
  static const double A[] = {1, 2.3, -2.3, 1.1}, b[] = {-1.0 / 3, -1.0 / 7}, start[] = {3, -4};
  toy t;
  toy_init(&t, identity_model(2), A, b, start);
  hvi_settings s = settings_for("gd", 0.2, 1000);
  s.inner.lr = 0.9;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  double noisiest = 0.0;
  for (size_t k = 1; k < rows.count; k++) noisiest = fmax(noisiest, rows.rows[k].alpha);
  assert_true(noisiest > 0.15);
  check_near(hvi_solver_info(solver).alpha_worst, 0.1, 0.01);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* z = M theta with d < n: what of the target lies outside the range cannot be reached. */
typedef struct tall {
  toy t;
  double A[16], b[4], theta0[2], basis[8];
} tall;

static void tall_init(tall *x, const double *weights) {
  const double M[] = {1, 0, 0.5, 1, 0, 2, 1, -1};
  double scaled[8];
  hvi_model *m;
  hvi_error err;
  fill_normal(x->A, 16, 31);
  fill_normal(x->b, 4, 32);
  for (size_t i = 0; i < 4; i++) x->A[5 * i] += 4.0;
  x->theta0[0] = 1.0, x->theta0[1] = -2.0;
  check_ok(hvi_affine_new(&m, 4, 2, M, NULL, &err), &err);
  toy_init(&x->t, m, x->A, x->b, x->theta0);
  /* orthonormal in the norm of the weights: Xi^-1/2 times a basis of Xi^1/2 M */
  for (size_t i = 0; i < 8; i++) scaled[i] = M[i] * (weights ? sqrt(weights[i / 2]) : 1.0);
  fill_basis(x->basis, scaled, 4, 2);
  for (size_t i = 0; weights && i < 8; i++) x->basis[i] /= sqrt(weights[i / 2]);
  x->t.sets[0] = (hvi_set){.kind = HVI_SET_SUBSPACE, .len = 4, .basis = x->basis, .rank = 2};
  x->t.base.weights = weights;
}

/* Rows' alphas under a floor; the iterates do not depend on it while the count is fixed. */
static void record_alphas(const hvi_problem *p, hvi_settings s, hvi_floor floor, double *alphas) {
  s.floor = floor;
  hvi_solver *solver = solve_traced(p, s, &rows);
  for (size_t t = 1; t < rows.count; t++) alphas[t - 1] = rows.rows[t].alpha;
  hvi_solver_free(solver);
}

static void known_and_estimated_floors_agree(void **state) {
  (void)state;
  const double w[] = {1.0, 2.0, 0.5, 4.0};
  for (int weighted = 0; weighted < 2; weighted++) {
    tall x;
    double zero[30], known[30], estimated[30];
    tall_init(&x, weighted ? w : NULL);
    hvi_settings s = settings_for("gd", 0.05, 30);
    s.inner.lr = 0.05;
    s.inner_steps = 5;
    record_alphas(&x.t.base, s, HVI_FLOOR_ZERO, zero);
    record_alphas(&x.t.base, s, HVI_FLOOR_KNOWN, known);
    record_alphas(&x.t.base, s, HVI_FLOOR_ESTIMATED, estimated);
    check_close(estimated, known, 30, 1e-6);
    for (size_t i = 0; i < 30; i++) {
      assert_true(known[i] < zero[i]);
      assert_true(known[i] > 0.0);
    }
    hvi_problem_free(&x.t.base);
  }
}

/* One player in a box whose target leaves it: z = sigmoid(theta) in (0, 1), F(z) = z - 3/2, eta 1.
 * The target is 3/2 throughout and the floor 1/2 (1/2)^2. */
static void a_target_outside_the_box(void **state) {
  (void)state;
  static const double one[] = {1.0}, b[] = {-1.5}, theta0[] = {0.5}, lower[] = {0}, upper[] = {1};
  const hvi_layer layer = {.out = 1, .matrix = one, .activation = HVI_SIGMOID};
  const hvi_stack_spec spec = {.in = 1, .rows = 1, .layer_count = 1, .layers = &layer};
  hvi_model *m;
  hvi_error err;
  toy t;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  toy_init(&t, m, one, b, theta0);
  t.sets[0] = (hvi_set){.kind = HVI_SET_BOX, .len = 1, .lower = lower, .upper = upper};
  hvi_settings s = settings_for("gd", 1.0, 5);
  s.alpha = 0.8;
  s.inner_steps = 1000;

  s.floor = HVI_FLOOR_KNOWN;
  hvi_solver *solver = solve_traced(&t.base, s, &rows);
  for (size_t k = 1; k < rows.count; k++) {
    const hvi_record *row = &rows.rows[k];
    check_near(row->alpha, sqrt((row->loss - 0.125) / (row->loss0 - 0.125)), 1e-12);
    assert_true(row->alpha <= 0.8);
    assert_true(row->inner < 1000);
  }
  hvi_solver_free(solver);

  s.floor = HVI_FLOOR_ESTIMATED;
  solver = solve_traced(&t.base, s, &rows);
  for (size_t k = 1; k < rows.count; k++) {
    const hvi_record *row = &rows.rows[k];
    /* what the side solve found, from alpha^2 (loss0 - l*) = loss - l* */
    const double a2 = row->alpha * row->alpha, floor = (row->loss - a2 * row->loss0) / (1.0 - a2);
    assert_true(floor >= 0.125 - 1e-12);
    check_near(floor, 0.125, 1e-5);
    assert_true(row->alpha <= 0.8);
    assert_true(row->inner < 1000);
  }
  hvi_solver_free(solver);

  /* a longer solve by the same steps: from above, and near after 4,000 of them */
  s.floor = HVI_FLOOR_RUNNING;
  s.optimizer = hvi_method_find("gd")->optimizer;
  solver = solve_traced(&t.base, s, &rows);
  for (size_t k = 1; k < rows.count; k++) {
    const hvi_record *row = &rows.rows[k];
    const double a2 = row->alpha * row->alpha, floor = (row->loss - a2 * row->loss0) / (1.0 - a2);
    assert_true(floor >= 0.125 - 1e-12);
    check_near(floor, 0.125, 2e-3);
    assert_true(row->alpha <= 0.8);
    assert_true(row->inner >= 1);
    assert_true(row->inner < 1000);
  }
  hvi_solver_free(solver);

  /* against zero the goal cannot be reached, and the cap ends every step */
  s.floor = HVI_FLOOR_ZERO;
  s.inner_steps = 50;
  s.alpha = 0.5;
  solver = solve_traced(&t.base, s, &rows);
  for (size_t k = 2; k < rows.count; k++) assert_int_equal(rows.rows[k].inner, 50);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

/* Where the target can be reached all three agree. */
static void floors_agree_where_the_target_is_reachable(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  double zero[30], known[30], estimated[30];
  hvi_settings s = settings_for("gd", 0.02, 30);
  s.inner_steps = 5;
  record_alphas(p, s, HVI_FLOOR_ZERO, zero);
  record_alphas(p, s, HVI_FLOOR_KNOWN, known);
  record_alphas(p, s, HVI_FLOOR_ESTIMATED, estimated);
  check_close(known, zero, 30, 1e-12);
  check_close(estimated, zero, 30, 1e-6);
  hvi_problem_free(p);
}

/* The side solve is sized for whoever takes a turn: here the whole model is matrix-free because of
 * its first player, while the second alone is dense. */
static void the_side_solve_fits_every_player(void **state) {
  (void)state;
  enum { LARGE_OUT = 1025, LARGE_IN = 1024, SMALL = 120, N = LARGE_OUT + SMALL };
  hvi_model *players[2], *joint;
  hvi_error err;
  double *M = calloc(LARGE_OUT * LARGE_IN, sizeof *M);
  double *zero = calloc(N, sizeof *zero), *one = calloc((size_t)N * N, sizeof *one);
  for (size_t i = 0; i < LARGE_IN; i++) M[i * LARGE_IN + i] = 1.0;
  for (size_t i = 0; i < N; i++) one[i * N + i] = 1.0;
  check_ok(hvi_affine_new(&players[0], LARGE_OUT, LARGE_IN, M, NULL, &err), &err);
  players[1] = identity_model(SMALL);
  check_ok(hvi_players_new(&joint, 2, players, &err), &err);
  toy t;
  toy_init(&t, joint, one, zero, zero);
  double *theta0 = calloc(joint->dim, sizeof *theta0);
  fill_normal(theta0, joint->dim, 1);
  t.base.theta0 = theta0;
  hvi_settings s = settings_for("gd", 0.5, 2);
  s.alternating = true;
  s.floor = HVI_FLOOR_ESTIMATED;
  s.alpha = 0.5;
  s.inner_steps = 20;
  hvi_solver *solver = solver_for(&t.base, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_LIMIT);
  assert_true(hvi_solver_info(solver).alpha_worst <= 0.5);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
  free(theta0);
  free(one);
  free(zero);
  free(M);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_stops_as_soon_as_the_loss_is_low_enough),
      cmocka_unit_test(the_cap_ends_it),
      cmocka_unit_test(a_fixed_count_is_kept),
      cmocka_unit_test(the_count_grows),
      cmocka_unit_test(the_worst_alpha_is_not_made_of_rounding),
      cmocka_unit_test(known_and_estimated_floors_agree),
      cmocka_unit_test(a_target_outside_the_box),
      cmocka_unit_test(floors_agree_where_the_target_is_reachable),
      cmocka_unit_test(the_side_solve_fits_every_player),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * gn and dgn against the pseudo-inverse of the whole Jacobian, multiplied out and handed to LAPACK;
 * the dense against the matrix-free step; Armijo.
 */
#include "support/models.h"
#include "support/rig.h"

#include <lapacke.h>

/* delta = J^+ r of the whole sqrt(Xi) J with one relative cut-off; returns the condition number of
 * what the cut-off leaves. */
static double pseudo_step(const hvi_model *m, const double *theta, const double *target,
                          const double *w, double cutoff, double *delta) {
  const size_t n = m->out, d = m->dim, most = n > d ? n : d;
  linearised at = linearise(m, theta, target);
  double *b = calloc(most, sizeof *b), *s = malloc(most * sizeof *s);
  for (size_t i = 0; i < n; i++) {
    const double root = w ? sqrt(w[i]) : 1.0;
    for (size_t j = 0; j < d; j++) at.J[i * d + j] *= root;
    b[i] = root * at.r[i];
  }
  lapack_int rank;
  assert_int_equal(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, (lapack_int)n, (lapack_int)d, 1, at.J,
                                  (lapack_int)d, b, 1, s, cutoff, &rank),
                   0);
  memcpy(delta, b, d * sizeof *delta);
  const double condition = s[0] / s[rank - 1];
  free(s);
  free(b);
  free(at.memory);
  return condition;
}

typedef struct setup {
  hvi_model *m;
  double *theta, *target, *weights, *delta, *memory;
  rig r;
} setup;

static void set_up(setup *x, const model_case *c, bool weighted) {
  x->m = make_model(c);
  const size_t n = x->m->out, d = x->m->dim;
  x->memory = calloc(2 * d + 2 * n, sizeof *x->memory);
  x->theta = x->memory, x->delta = x->theta + d, x->target = x->delta + d;
  x->weights = x->target + n;
  fill_normal(x->theta, d, 1);
  fill_normal(x->target, n, 2);
  for (size_t i = 0; i < n; i++) x->weights[i] = 0.5 + (double)(i % 4);
  if (!weighted) x->weights = NULL;
  rig_init(&x->r, x->m, x->weights, x->theta, x->target);
}

static void tear_down(setup *x) {
  rig_free(&x->r);
  free(x->memory);
  hvi_model_free(x->m);
}

/* The step from x->theta is factor * delta, as nearly as its condition allows. */
static void check_step(setup *x, double factor) {
  const size_t d = x->m->dim;
  double *moved = malloc(d * sizeof *moved);
  const double condition =
      pseudo_step(x->m, x->theta, x->target, x->weights, x->r.settings.rank_tol, x->delta);
  for (size_t i = 0; i < d; i++) moved[i] = (x->theta[i] - x->r.l.now->theta[i]) / factor;
  check_relative(moved, x->delta, d, 1e-13 * condition);
  free(moved);
}

/* Every model that is not too large to multiply out, square or not, of full rank or not. */
static void the_dense_step_is_the_pseudo_inverse(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * MODEL_CASES; i++) {
    setup x;
    set_up(&x, &model_cases[i / 2], i % 2);
    x.r.settings.linear = HVI_SOLVE_DENSE;
    rig_use(&x.r, "gn");
    assert_true(rig_step(&x.r));
    check_step(&x, 1.0);
    tear_down(&x);
  }
}

static void dgn_takes_its_share_of_the_step(void **state) {
  (void)state;
  setup x;
  set_up(&x, &model_cases[12], true);
  x.r.settings.factor = 0.125;
  rig_use(&x.r, "dgn");
  assert_true(rig_step(&x.r));
  check_step(&x, 0.125);
  tear_down(&x);
}

/* Both forms, step after step, from the same points: well-posed, rank-deficient (a softmax player
 * has rank 2 of 3 x 5), tall, wide, several players, with and without weights. */
static void matrix_free_is_dense(void **state) {
  (void)state;
  static const size_t cases[] = {0, 1, 2, 3, 4, 12, 13, 18, 19, 24, 25};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
    setup x, y;
    set_up(&x, &model_cases[cases[i / 2]], i % 2);
    set_up(&y, &model_cases[cases[i / 2]], i % 2);
    x.r.settings.linear = HVI_SOLVE_DENSE;
    y.r.settings.linear = HVI_SOLVE_MATRIX_FREE;
    rig_use(&x.r, "gn");
    rig_use(&y.r, "gn");
    print_message("%s\n", model_cases[cases[i / 2]].name);
    assert_true(rig_step(&x.r));
    assert_true(rig_step(&y.r));
    for (size_t k = 0; k < x.m->dim; k++) {
      x.delta[k] = x.theta[k] - x.r.l.now->theta[k];
      y.delta[k] = y.theta[k] - y.r.l.now->theta[k];
    }
    check_relative(y.delta, x.delta, x.m->dim, 1e-8);
    tear_down(&x);
    tear_down(&y);
  }
}

/* The cut-off is relative to the largest singular value over all players: a player whose Jacobian
 * is 1e-12 of another's stands still, and moves when it is alone. */
static void players_share_one_cut_off(void **state) {
  (void)state;
  const double large[] = {2, 0, 1, 1}, small[] = {2e-12, 0, 1e-12, 1e-12};
  const double theta[] = {1, 2, 3, 4}, target[] = {0.5, 0.5, 1e-12, 1e-12};
  hvi_model *players[2], *joint, *alone;
  hvi_error err;
  rig r;
  check_ok(hvi_affine_new(&players[0], 2, 2, large, NULL, &err), &err);
  check_ok(hvi_affine_new(&players[1], 2, 2, small, NULL, &err), &err);
  check_ok(hvi_affine_new(&alone, 2, 2, small, NULL, &err), &err);
  check_ok(hvi_players_new(&joint, 2, players, &err), &err);
  rig_init(&r, joint, NULL, theta, target);
  rig_use(&r, "gn");
  assert_true(rig_step(&r));
  check_close(r.l.now->theta, (double[]){0.25, 0.25, 3, 4}, 4, 1e-14);
  rig_free(&r);
  rig_init(&r, alone, NULL, theta + 2, target + 2);
  rig_use(&r, "gn");
  assert_true(rig_step(&r));
  check_close(r.l.now->theta, (double[]){0.5, 0.5}, 2, 1e-3);
  rig_free(&r);
  hvi_model_free(joint);
  hvi_model_free(alone);
}

/* The same for players of one number each, whose Jacobian is a diagonal. */
static void numbers_share_the_cut_off_too(void **state) {
  (void)state;
  const double large[] = {2.0}, small[] = {1e-12}, theta[] = {1, 1}, target[] = {0.5, 0.0};
  hvi_model *players[2], *joint;
  hvi_error err;
  rig r;
  check_ok(hvi_affine_new(&players[0], 1, 1, large, NULL, &err), &err);
  check_ok(hvi_affine_new(&players[1], 1, 1, small, NULL, &err), &err);
  check_ok(hvi_players_new(&joint, 2, players, &err), &err);
  rig_init(&r, joint, NULL, theta, target);
  rig_use(&r, "gn");
  assert_true(rig_step(&r));
  check_close(r.l.now->theta, (double[]){0.25, 1.0}, 2, 1e-15);
  rig_free(&r);
  hvi_model_free(joint);
}

/* On a surrogate whose full step overshoots, the line search still comes down every time. */
static void armijo_comes_down(void **state) {
  (void)state;
  static const size_t cases[] = {3, 4, 13, 14, 24, 25};
  bool overshot = false;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (uint64_t start = 0; start < 8; start++) {
      setup x;
      set_up(&x, &model_cases[cases[i]], start % 2);
      fill_normal(x.theta, x.m->dim, 100 + start);
      hvi_surrogate_start(&x.r.l, x.theta, NULL);
      hvi_surrogate_freeze(&x.r.l);
      x.r.settings.line_search = true;
      rig_use(&x.r, "dgn");
      for (int k = 0; k < 20; k++) {
        const double before = x.r.l.now->loss;
        const size_t passes = x.r.counts.model_passes;
        if (!rig_step(&x.r)) break;
        assert_true(x.r.l.now->loss <= before);
        overshot = overshot || x.r.counts.model_passes > passes + 1;
      }
      assert_true(x.r.l.now->loss < x.r.l.loss0);
      tear_down(&x);
    }
  }
  assert_true(overshot); /* otherwise nothing was tested */
}

/* Where the minimum is reached there is nothing to gain, and the loss stays where it is. */
static void armijo_stops_at_the_minimum(void **state) {
  (void)state;
  const double A[] = {1, 0, 0, 1, 1, 1}, theta[] = {0, 0}, target[] = {1, 2, 4};
  hvi_model *m;
  hvi_error err;
  rig r;
  check_ok(hvi_affine_new(&m, 3, 2, A, NULL, &err), &err);
  rig_init(&r, m, NULL, theta, target);
  r.settings.line_search = true;
  rig_use(&r, "dgn");
  for (int k = 0; k < 5; k++) rig_step(&r);
  /* least squares: theta = (4/3, 7/3), residuals 1/3 */
  check_close(r.l.now->theta, (double[]){4.0 / 3, 7.0 / 3}, 2, 1e-14);
  check_near(r.l.now->loss, 1.0 / 6, 1e-15);
  rig_free(&r);
  hvi_model_free(m);
}

/* One step: as many products as the widest player needs, and one evaluation. */
static void the_jacobian_is_counted(void **state) {
  (void)state;
  setup x;
  set_up(&x, &model_cases[12], false); /* 3 x 5: by rows */
  rig_use(&x.r, "gn");
  rig_step(&x.r);
  assert_int_equal(x.r.counts.grad_evals, 3);
  assert_int_equal(x.r.counts.model_passes, 1 + 1);
  tear_down(&x);
  set_up(&x, &model_cases[1], false); /* 7 x 2: by columns */
  rig_use(&x.r, "gn");
  rig_step(&x.r);
  assert_int_equal(x.r.counts.grad_evals, 0);
  assert_int_equal(x.r.counts.model_passes, 1 + 2 + 1);
  tear_down(&x);
}

/* Where the residual vanishes at the minimum each step squares the error, up to a factor. */
static void the_error_is_squared_where_the_residual_vanishes(void **state) {
  (void)state;
  setup x;
  double least[3], off[3], cache[64];
  set_up(&x, &model_cases[7], false); /* tanh, four outputs of three parameters */
  assert_true(x.m->dim == 3 && x.m->cache <= 64);
  fill_normal(least, 3, 1);
  x.m->ops->eval(x.m, cache, least, x.target);
  fill_normal(off, 3, 5);
  for (int j = 0; j < 3; j++) x.theta[j] = least[j] + 0.03 * off[j];
  rig_free(&x.r);
  rig_init(&x.r, x.m, NULL, x.theta, x.target);
  rig_use(&x.r, "gn");
  double before = 0.0, error = 0.0;
  int squared = 0;
  for (int k = 0; k < 6; k++, before = error) {
    error = 0.0;
    for (int j = 0; j < 3; j++) error = hypot(error, x.r.l.now->theta[j] - least[j]);
    if (k && error > 1e-12) {
      assert_true(error < 10.0 * before * before);
      squared++;
    }
    rig_step(&x.r);
  }
  assert_true(squared >= 2);
  assert_true(error < 1e-12);
  tear_down(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_dense_step_is_the_pseudo_inverse),
      cmocka_unit_test(dgn_takes_its_share_of_the_step),
      cmocka_unit_test(matrix_free_is_dense),
      cmocka_unit_test(players_share_one_cut_off),
      cmocka_unit_test(numbers_share_the_cut_off_too),
      cmocka_unit_test(the_error_is_squared_where_the_residual_vanishes),
      cmocka_unit_test(armijo_comes_down),
      cmocka_unit_test(armijo_stops_at_the_minimum),
      cmocka_unit_test(the_jacobian_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

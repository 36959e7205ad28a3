/*
 * lm against (J'J + lambda I)^-1 J'r of the whole Jacobian, by LAPACK; the dense against the
 * matrix-free step; gain-ratio control against Nielsen's rule written out.
 */
#include "support/models.h"
#include "support/rig.h"

#include <lapacke.h>

enum { ROOM = 64 };

/* delta = (J'Xi J + lambda I)^-1 J'Xi r; returns 1/2 <delta, lambda delta + J'Xi r>. */
static double damped_step(const hvi_model *m, const double *theta, const double *target,
                          const double *w, double lambda, double *delta) {
  const size_t n = m->out, d = m->dim;
  linearised at = linearise(m, theta, target);
  double *M = calloc(d * d, sizeof *M), g[ROOM], gain = 0.0;
  lapack_int pivots[ROOM];
  gradient_of(m, theta, target, w, g);
  for (size_t a = 0; a < d; a++) {
    for (size_t b = 0; b < d; b++)
      for (size_t i = 0; i < n; i++)
        M[a * d + b] += at.J[i * d + a] * (w ? w[i] : 1.0) * at.J[i * d + b];
    M[a * d + a] += lambda;
  }
  memcpy(delta, g, d * sizeof *delta);
  assert_int_equal(
      LAPACKE_dgesv(LAPACK_ROW_MAJOR, (lapack_int)d, 1, M, (lapack_int)d, pivots, delta, 1), 0);
  for (size_t i = 0; i < d; i++) gain += 0.5 * delta[i] * (lambda * delta[i] + g[i]);
  free(M);
  free(at.memory);
  return gain;
}

typedef struct setup {
  hvi_model *m;
  double theta[ROOM], target[ROOM], weights[ROOM], *w;
  rig r;
} setup;

static void set_up(setup *x, size_t index, bool weighted) {
  x->m = make_model(&model_cases[index]);
  assert_true(x->m->dim <= ROOM);
  assert_true(x->m->out <= ROOM);
  fill_normal(x->theta, x->m->dim, 1);
  fill_normal(x->target, x->m->out, 2);
  for (size_t i = 0; i < x->m->out; i++) x->weights[i] = 0.5 + (double)(i % 4);
  x->w = weighted ? x->weights : NULL;
  rig_init(&x->r, x->m, x->w, x->theta, x->target);
}

static void tear_down(setup *x) {
  rig_free(&x->r);
  hvi_model_free(x->m);
}

static const size_t cases[] = {0, 1, 2, 3, 4, 12, 13, 18, 19, 24, 25};
enum { CASES = sizeof cases / sizeof cases[0] };

static void check_fixed(hvi_solve_form linear, double tolerance) {
  for (size_t i = 0; i < 4 * CASES; i++) {
    setup x;
    double delta[ROOM];
    set_up(&x, cases[i / 4], i % 2);
    x.r.settings.damping = i / 2 % 2 ? 0.01 : 3.0;
    x.r.settings.linear = linear;
    rig_use(&x.r, "lm");
    for (int k = 0; k < 5; k++) {
      memcpy(x.theta, x.r.l.now->theta, x.m->dim * sizeof *x.theta);
      damped_step(x.m, x.theta, x.target, x.w, x.r.settings.damping, delta);
      assert_true(rig_step(&x.r));
      for (size_t j = 0; j < x.m->dim; j++) x.theta[j] -= delta[j];
      check_relative(x.r.l.now->theta, x.theta, x.m->dim, tolerance);
    }
    tear_down(&x);
  }
}

static void the_dense_step_is_its_formula(void **state) {
  (void)state;
  check_fixed(HVI_SOLVE_DENSE, 1e-11);
}

static void the_matrix_free_step_is_its_formula(void **state) {
  (void)state;
  check_fixed(HVI_SOLVE_MATRIX_FREE, 1e-10);
}

/* Nielsen's rule by hand, from the same start: the same points, step by step. */
static void gain_ratio_control_is_nielsens(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) {
    setup x;
    double delta[ROOM], next[ROOM], g[ROOM], lambda = 0.5, nu = 2.0;
    set_up(&x, cases[i], i % 2);
    x.r.settings.damping = lambda;
    x.r.settings.adapt_damping = true;
    rig_use(&x.r, "lm");
    for (int k = 0; k < 6; k++) {
      const double loss = gradient_of(x.m, x.theta, x.target, x.w, g);
      /* below this the gain is a difference of rounding errors */
      if (damped_step(x.m, x.theta, x.target, x.w, lambda, delta) < 1e-6 * loss) break;
      for (int tries = 0; tries < 40; tries++) {
        const double expected = damped_step(x.m, x.theta, x.target, x.w, lambda, delta);
        for (size_t j = 0; j < x.m->dim; j++) next[j] = x.theta[j] - delta[j];
        const double gain = loss - gradient_of(x.m, next, x.target, x.w, g);
        if (gain > 0.0) {
          lambda *= fmax(1.0 / 3.0, 1.0 - pow(2.0 * gain / expected - 1.0, 3.0));
          nu = 2.0;
          memcpy(x.theta, next, sizeof next);
          break;
        }
        lambda *= nu;
        nu *= 2.0;
      }
      assert_true(rig_step(&x.r));
      check_relative(x.r.l.now->theta, x.theta, x.m->dim, 1e-8);
    }
    tear_down(&x);
  }
}

static void adaptive_damping_never_goes_up(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) {
    for (uint64_t start = 0; start < 8; start++) {
      setup x;
      set_up(&x, cases[i], start % 2);
      fill_normal(x.theta, x.m->dim, 100 + start);
      hvi_surrogate_start(&x.r.l, x.theta, NULL);
      hvi_surrogate_freeze(&x.r.l);
      x.r.settings.damping = 1e-6; /* bold enough to be refused now and then */
      x.r.settings.adapt_damping = true;
      rig_use(&x.r, "lm");
      double last = x.r.l.now->loss;
      for (int k = 0; k < 60; k++) {
        const bool moved = rig_step(&x.r);
        assert_true(moved ? x.r.l.now->loss < last : x.r.l.now->loss == last);
        last = x.r.l.now->loss;
      }
      assert_true(last < x.r.l.loss0);
      tear_down(&x);
    }
  }
}

/* Freezes the target that theta_index reaches. */
static void aim_at(setup *x, uint64_t index) {
  double theta[ROOM];
  fill_normal(theta, x->m->dim, index);
  linearised at = linearise(x->m, theta, x->target);
  memcpy(x->r.l.target, at.z, x->m->out * sizeof *at.z);
  hvi_surrogate_freeze(&x->r.l);
  free(at.memory);
}

/* After a surrogate with nothing left to gain, a new target finds the optimizer alive: what it has
 * learned about lambda may stay, the refusals may not. */
static void a_finished_surrogate_does_not_spoil_the_next(void **state) {
  (void)state;
  static const size_t some[] = {0, 2, 3, 24};
  for (size_t i = 0; i < 4; i++) {
    setup x;
    set_up(&x, some[i], false);
    x.r.settings.adapt_damping = true;
    rig_use(&x.r, "lm");
    for (uint64_t target = 0; target < 5; target++) {
      aim_at(&x, 10 + target);
      bool more = true;
      for (int k = 0; k < 500 && more; k++) more = rig_step(&x.r);
      assert_false(more); /* it gave up, at the bottom */
      assert_true(x.r.l.now->loss < 1e-20 * x.r.l.loss0);
    }
    tear_down(&x);
  }
}

/* J'J is singular, and lambda shrinks with every good step until the factorisation fails: then it
 * must grow again. */
static void a_singular_jacobian_does_not_end_it(void **state) {
  (void)state;
  const double A[] = {1, 0, 1, 0, 1, 1, 1, 1, 2}, theta[] = {0, 0, 0};
  hvi_model *m;
  hvi_error err;
  rig r;
  check_ok(hvi_affine_new(&m, 3, 3, A, NULL, &err), &err);
  rig_init(&r, m, NULL, theta, theta);
  r.settings.adapt_damping = true;
  r.settings.linear = HVI_SOLVE_DENSE;
  rig_use(&r, "lm");
  for (int k = 0; k < 200; k++) {
    const double x = k % 2, y = 1.0 + k % 3;
    memcpy(r.l.target, (double[]){x, y, x + y}, sizeof A / 3);
    hvi_surrogate_freeze(&r.l);
    assert_true(rig_step(&r));
    if (k > 5) assert_true(r.l.now->loss < 1e-6);
  }
  rig_free(&r);
  hvi_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_dense_step_is_its_formula),
      cmocka_unit_test(the_matrix_free_step_is_its_formula),
      cmocka_unit_test(gain_ratio_control_is_nielsens),
      cmocka_unit_test(adaptive_damping_never_goes_up),
      cmocka_unit_test(a_finished_surrogate_does_not_spoil_the_next),
      cmocka_unit_test(a_singular_jacobian_does_not_end_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

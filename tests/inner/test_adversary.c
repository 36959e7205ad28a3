/* The adversary errs by exactly alpha: loss = alpha^2 loss0, in the direction asked for. */
#include "support/rig.h"
#include "support/toy.h"

enum { SIDE = 5 };

/* z = A theta with a square A that is far from singular. */
static hvi_model *drawn_model(size_t n) {
  double A[SIDE * SIDE];
  hvi_model *m;
  hvi_error err;
  fill_normal(A, n * n, 50 + n);
  for (size_t i = 0; i < n; i++) A[i * n + i] += 4.0;
  check_ok(hvi_affine_new(&m, n, n, A, NULL, &err), &err);
  return m;
}

static void check_alpha(size_t n, const double *w, double alpha, double angle) {
  double theta[SIDE], target[SIDE];
  hvi_model *m = drawn_model(n);
  rig r;
  fill_normal(theta, n, 1);
  fill_normal(target, n, 2);
  rig_init(&r, m, w, theta, target);
  r.settings.error_alpha = alpha;
  r.settings.error_angle = angle;
  rig_use(&r, "adversary");
  assert_true(rig_step(&r));
  check_near(r.l.now->loss, alpha * alpha * r.l.loss0, 1e-13 * r.l.loss0);
  rig_free(&r);
  hvi_model_free(m);
}

static void the_loss_is_alpha_squared(void **state) {
  (void)state;
  static const double alphas[] = {0.01, 0.5, 0.9}, angles[] = {0.0, 0.7, 3.0, -1.5};
  for (size_t n = 1; n <= SIDE; n++) {
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 4; j++) check_alpha(n, NULL, alphas[i], angles[j]);
  }
}

static void in_the_norm_of_the_weights_too(void **state) {
  (void)state;
  static const double w[] = {1.0, 4.0, 0.25, 2.0, 3.0};
  for (size_t n = 1; n <= SIDE; n++) check_alpha(n, w, 0.6, 0.7);
}

/* With the defaults it turns F(z) = [[1, 1], [-1, 1]] z into descent-ascent on x y. */
static void the_counterexample_step(void **state) {
  (void)state;
  const double eta = 0.3, z[] = {1.0, 0.5};
  const double target[] = {z[0] - eta * (z[0] + z[1]), z[1] - eta * (-z[0] + z[1])};
  const double expected[] = {z[0] - eta * z[1], z[1] + eta * z[0]};
  hvi_model *m = identity_model(2);
  rig r;
  rig_init(&r, m, NULL, z, target);
  rig_use(&r, "adversary");
  assert_true(rig_step(&r));
  check_close(r.l.now->z, expected, 2, 1e-15);
  rig_free(&r);
  hvi_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_loss_is_alpha_squared),
      cmocka_unit_test(in_the_norm_of_the_weights_too),
      cmocka_unit_test(the_counterexample_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

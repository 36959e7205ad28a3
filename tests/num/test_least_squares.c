/* The pseudo-inverse step and damped least squares, against LAPACK and the equations that define
 * them. */
#include "num/dense.h"

#include "base/memory.h"
#include "num/vec.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 70, ROOM = SIDE * SIDE };

/* Both sides of every switch: one number, one row or column, small, large. */
static const size_t shapes[][2] = {{1, 1},   {1, 6},   {6, 1},   {2, 2},   {2, 5},   {3, 5},
                                   {5, 3},   {8, 8},   {12, 12}, {13, 13}, {7, 70},  {70, 8},
                                   {2, 70},  {12, 30}, {30, 12}, {32, 32}, {33, 33}, {33, 70},
                                   {70, 33}, {40, 70}, {70, 64}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static bool refuse;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  return !refuse;
}

static size_t smaller(size_t m, size_t n) { return m < n ? m : n; }

static void fill(double *x, size_t n, uint64_t index) {
  hvi_rng rng = hvi_rng_new(1, "least squares", index);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, x);
}

/* J[m][n] of rank r with singular values between 1/2 and about r. */
static void fill_rank(double *J, size_t m, size_t n, size_t r, uint64_t index) {
  static double left[ROOM], right[ROOM];
  fill(left, m * r, index);
  fill(right, r * n, index + 1);
  hvi_dense_matmul(J, left, right, m, r, n);
}

static void assert_close(const double *x, const double *y, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= tolerance))
      fail_msg("element %zu: %.17g is not within %g of %.17g", i, x[i], tolerance, y[i]);
}

/* x = J^+ b as users call it; returns the largest singular value. */
static double pseudo_solve(double *x, const double *J, const double *b, double relative, size_t m,
                           size_t n) {
  double *work = hvi_alloc_doubles(hvi_dense_svd_work(m, n));
  assert_non_null(work);
  double largest = hvi_dense_svd_factor(J, m, n, work);
  hvi_dense_svd_solve(x, b, relative * largest, m, n, work);
  hvi_free(work);
  return largest;
}

static bool damped_solve(double *x, const double *J, const double *b, double lambda, size_t m,
                         size_t n) {
  double *work = hvi_alloc_doubles(hvi_dense_damped_work(m, n));
  assert_non_null(work);
  bool good = hvi_dense_damped_solve(x, J, b, lambda, m, n, work);
  hvi_free(work);
  return good;
}

/* LAPACK's minimum-norm solution; s gets the singular values. */
static void lapack_solve(double *x, double *s, const double *J, const double *b, double relative,
                         size_t m, size_t n) {
  double copy[ROOM], right[SIDE] = {0};
  lapack_int rank;
  memcpy(copy, J, m * n * sizeof *copy);
  memcpy(right, b, m * sizeof *right);
  assert_int_equal(LAPACKE_dgelss(LAPACK_ROW_MAJOR, (lapack_int)m, (lapack_int)n, 1, copy,
                                  (lapack_int)n, right, 1, s, relative, &rank),
                   0);
  memcpy(x, right, n * sizeof *x);
}

static void the_step_agrees_with_lapack(void **state) {
  (void)state;
  double J[ROOM], b[SIDE], x[SIDE], expected[SIDE], s[SIDE], ours[SIDE];
  for (size_t i = 0; i < SHAPES; i++) {
    size_t m = shapes[i][0], n = shapes[i][1];
    fill(J, m * n, i);
    fill(b, m, 100 + i);
    lapack_solve(expected, s, J, b, 1e-12, m, n);
    double largest = pseudo_solve(x, J, b, 1e-12, m, n);
    assert_true(fabs(largest - s[0]) < 1e-13 * s[0]);
    assert_close(x, expected, n, 1e-13 * s[0] / s[smaller(m, n) - 1] * hvi_vec_norm(expected, n));
    assert_int_equal(hvi_dense_singular_values(ours, J, m, n, NULL), HVI_OK);
    assert_close(ours, s, smaller(m, n), 1e-13 * s[0]);
  }
}

static void the_step_handles_missing_rank(void **state) {
  (void)state;
  double J[ROOM], b[SIDE], x[SIDE], expected[SIDE], s[SIDE];
  for (size_t i = 0; i < SHAPES; i++) {
    size_t m = shapes[i][0], n = shapes[i][1], k = smaller(m, n);
    if (k < 2) continue;
    for (uint64_t draw = 0; draw < 20; draw++) {
      fill_rank(J, m, n, k / 2 + (k == 3), 1000 * i + 2 * draw);
      fill(b, m, 500 + draw);
      lapack_solve(expected, s, J, b, 1e-10, m, n);
      pseudo_solve(x, J, b, 1e-10, m, n);
      double small = s[k / 2 + (k == 3) - 1];
      assert_close(x, expected, n, 1e-12 * s[0] / small * hvi_vec_norm(expected, n) + 1e-15);
    }
  }
}

/* With one row the pseudo-inverse is J' / |J|^2. */
static void one_row_and_one_column(void **state) {
  (void)state;
  const double J[] = {3.0, 0.0, -4.0}, b[] = {2.0, 7.0, 1.0};
  double x[3];
  assert_true(pseudo_solve(x, J, b, 1e-12, 1, 3) == 5.0);
  assert_close(x, (double[]){6.0 / 25.0, 0.0, -8.0 / 25.0}, 3, 1e-16);
  assert_true(pseudo_solve(x, J, b, 1e-12, 3, 1) == 5.0);
  assert_close(x, (double[]){2.0 / 25.0}, 1, 1e-16);
  const double minus[] = {-0.5};
  assert_true(pseudo_solve(x, minus, b, 1e-12, 1, 1) == 0.5);
  assert_true(x[0] == -4.0);
}

static void a_cutoff_drops_what_is_at_or_below_it(void **state) {
  (void)state;
  const double J[] = {4.0, 0.0, 0.0, 2.0}, b[] = {4.0, 4.0};
  double work[64], x[2];
  assert_true(hvi_dense_svd_work(2, 2) <= 64);
  assert_true(hvi_dense_svd_factor(J, 2, 2, work) == 4.0);
  hvi_dense_svd_solve(x, b, 1.999, 2, 2, work);
  assert_true(x[0] == 1.0);
  assert_true(x[1] == 2.0);
  hvi_dense_svd_solve(x, b, 2.0, 2, 2, work);
  assert_true(x[0] == 1.0);
  assert_true(x[1] == 0.0);
  hvi_dense_svd_solve(x, b, 4.0, 2, 2, work);
  assert_true(x[0] == 0.0);
  assert_true(x[1] == 0.0);
  hvi_dense_svd_solve(x, b, NAN, 2, 2, work);
  assert_true(x[0] == 0.0);
  assert_true(x[1] == 0.0);
}

static void the_step_scales_with_the_matrix(void **state) {
  (void)state;
  const double scales[] = {1e-300, 1e-200, 1e-120, 1e-60, 1e60, 1e120, 1e200, 1e300};
  double J[ROOM], scaled[ROOM], b[SIDE], b_scaled[SIDE], x[SIDE], expected[SIDE];
  for (size_t i = 0; i < SHAPES; i++) {
    size_t m = shapes[i][0], n = shapes[i][1];
    fill(J, m * n, i);
    fill(b, m, 100 + i);
    double largest = pseudo_solve(expected, J, b, 1e-12, m, n);
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
      for (size_t e = 0; e < m * n; e++) scaled[e] = J[e] * scales[k];
      for (size_t e = 0; e < m; e++) b_scaled[e] = b[e] * scales[k];
      double found = pseudo_solve(x, scaled, b_scaled, 1e-12, m, n);
      assert_true(fabs(found / scales[k] / largest - 1.0) < 1e-13);
      assert_close(x, expected, n, 1e-9 * hvi_vec_norm(expected, n));
    }
  }
}

static void a_zero_matrix_gives_a_zero_step(void **state) {
  (void)state;
  double J[ROOM] = {0}, b[SIDE], x[SIDE];
  for (size_t i = 0; i < SHAPES; i++) {
    size_t m = shapes[i][0], n = shapes[i][1];
    fill(b, m, i);
    for (size_t j = 0; j < n; j++) x[j] = NAN;
    assert_true(pseudo_solve(x, J, b, 1e-12, m, n) == 0.0);
    for (size_t j = 0; j < n; j++) assert_true(x[j] == 0.0);
  }
}

static void rows_of_zeros_are_harmless(void **state) {
  (void)state;
  const double J[] = {0, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0}, b[] = {5.0, 9.0, 5.0};
  double x[4];
  assert_true(fabs(pseudo_solve(x, J, b, 0.0, 3, 4) - 3.0) < 1e-15);
  assert_close(x, (double[]){1.0, 2.0, 2.0, 0.0}, 4, 1e-15);
}

static void what_is_not_finite_is_seen(void **state) {
  (void)state;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  double J[ROOM], b[SIDE], x[SIDE];
  for (size_t i = 0; i < SHAPES; i++) {
    size_t m = shapes[i][0], n = shapes[i][1];
    fill(J, m * n, i);
    fill(b, m, i);
    J[m * n - 1] = bad[i % 3];
    assert_true(isnan(pseudo_solve(x, J, b, 1e-12, m, n)));
    for (size_t j = 0; j < n; j++) assert_true(x[j] == 0.0);
    x[0] = 1.0;
    assert_false(damped_solve(x, J, b, 0.1, m, n));
    for (size_t j = 0; j < n; j++) assert_true(x[j] == 0.0);
  }
}

/* The gradient of |J x - b|^2 + lambda |x|^2 vanishes at x. */
static void damped_steps_solve_the_normal_equations(void **state) {
  (void)state;
  const double lambdas[] = {1e-4, 0.01, 1.0, 100.0};
  double J[ROOM], b[SIDE], x[SIDE], residual[SIDE], gradient[SIDE];
  for (size_t i = 0; i < SHAPES; i++) {
    size_t m = shapes[i][0], n = shapes[i][1];
    fill(J, m * n, i);
    fill(b, m, 100 + i);
    for (size_t k = 0; k < 4; k++) {
      assert_true(damped_solve(x, J, b, lambdas[k], m, n));
      hvi_dense_mul(residual, J, x, m, n);
      hvi_vec_add(residual, -1.0, b, m);
      hvi_dense_mul_t(gradient, J, residual, m, n);
      hvi_vec_add(gradient, lambdas[k], x, n);
      assert_true(hvi_vec_norm(gradient, n) < 1e-9);
    }
  }
}

/* As lambda tends to zero the damped step tends to the pseudo-inverse's. */
static void little_damping_gives_the_undamped_step(void **state) {
  (void)state;
  double J[15], b[3], damped[5], undamped[5];
  fill(J, 15, 7);
  fill(b, 3, 8);
  pseudo_solve(undamped, J, b, 1e-12, 3, 5);
  assert_true(damped_solve(damped, J, b, 1e-11, 3, 5));
  assert_close(damped, undamped, 5, 1e-9);
}

/* b's part outside the range of J leaves no trace in x. */
static void damping_makes_up_for_missing_rank(void **state) {
  (void)state;
  double J[15], b[3], x[5], undamped[5];
  fill_rank(J, 3, 5, 2, 40);
  fill(b, 3, 41);
  pseudo_solve(undamped, J, b, 1e-10, 3, 5);
  assert_true(damped_solve(x, J, b, 1e-8, 3, 5));
  assert_close(x, undamped, 5, 1e-6);
  assert_true(damped_solve(x, J, b, 0.1, 3, 5));
  assert_true(hvi_vec_norm(x, 5) < hvi_vec_norm(undamped, 5));
}

static void a_hopeless_damping_is_refused(void **state) {
  (void)state;
  double J[ROOM], b[SIDE], x[SIDE];
  for (size_t k = 2; k <= 64; k *= 2) {
    for (size_t i = 0; i < k * k; i++) J[i] = 1.0;
    fill(b, k, k);
    for (size_t j = 0; j < k; j++) x[j] = 1.0;
    assert_false(damped_solve(x, J, b, 1e-18, k, k));
    for (size_t j = 0; j < k; j++) assert_true(x[j] == 0.0);
  }
  const double huge[] = {1e200, 1e200, 0.0, 1e200};
  assert_false(damped_solve(x, huge, b, 1.0, 2, 2));
  const double zero[] = {0.0, 0.0};
  assert_false(damped_solve(x, zero, b, 0.0, 1, 2));
  assert_true(damped_solve(x, zero, b, 1.0, 1, 2));
  assert_true(x[0] == 0.0);
  assert_true(x[1] == 0.0);
}

static void one_number_is_damped_in_closed_form(void **state) {
  (void)state;
  const double J[] = {3.0, 4.0}, b[] = {10.0, 5.0};
  double x[2];
  assert_true(damped_solve(x, J, b, 1.0, 1, 1));
  assert_true(fabs(x[0] - 3.0) < 1e-15);
  assert_true(damped_solve(x, J, b, 25.0, 1, 2));
  assert_close(x, (double[]){0.6, 0.8}, 2, 1e-15);
  assert_true(damped_solve(x, J, b, 25.0, 2, 1));
  assert_true(fabs(x[0] - 1.0) < 1e-15);
}

static void empty_matrices_are_fine(void **state) {
  (void)state;
  double work[8], x[2] = {1.0, 1.0};
  assert_true(hvi_dense_svd_factor(NULL, 0, 2, work) == 0.0);
  hvi_dense_svd_solve(x, NULL, 0.0, 0, 2, work);
  assert_true(x[0] == 0.0);
  assert_true(x[1] == 0.0);
  x[0] = 1.0;
  assert_true(hvi_dense_damped_solve(x, NULL, NULL, 1.0, 0, 2, work));
  assert_true(x[0] == 0.0);
}

static void decompositions_report_errors(void **state) {
  (void)state;
  const double A[] = {1.0, NAN};
  double s[1];
  hvi_error err;
  assert_int_equal(hvi_dense_singular_values(s, A, 1, 2, &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "the matrix (1 by 2) is not finite");
  refuse = true;
  hvi_status values = hvi_dense_singular_values(s, A, 1, 1, NULL);
  refuse = false;
  assert_int_equal(values, HVI_ERROR_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_step_agrees_with_lapack),
      cmocka_unit_test(the_step_handles_missing_rank),
      cmocka_unit_test(one_row_and_one_column),
      cmocka_unit_test(a_cutoff_drops_what_is_at_or_below_it),
      cmocka_unit_test(the_step_scales_with_the_matrix),
      cmocka_unit_test(a_zero_matrix_gives_a_zero_step),
      cmocka_unit_test(rows_of_zeros_are_harmless),
      cmocka_unit_test(what_is_not_finite_is_seen),
      cmocka_unit_test(damped_steps_solve_the_normal_equations),
      cmocka_unit_test(little_damping_gives_the_undamped_step),
      cmocka_unit_test(damping_makes_up_for_missing_rank),
      cmocka_unit_test(a_hopeless_damping_is_refused),
      cmocka_unit_test(one_number_is_damped_in_closed_form),
      cmocka_unit_test(empty_matrices_are_fine),
      cmocka_unit_test(decompositions_report_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

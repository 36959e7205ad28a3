/* LSMR against the dense solvers. */
#include "num/lsmr.h"

#include "base/memory.h"
#include "num/dense.h"
#include "num/vec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIDE = 40, ROOM = SIDE * SIDE };

typedef struct matrix {
  size_t m, n, products;
  double A[ROOM];
} matrix;

static void apply(void *context, const double *x, double *y) {
  matrix *M = context;
  M->products++;
  hvi_dense_mul(y, M->A, x, M->m, M->n);
}

static void apply_t(void *context, const double *y, double *x) {
  matrix *M = context;
  M->products++;
  hvi_dense_mul_t(x, M->A, y, M->m, M->n);
}

static size_t solve(double *x, matrix *M, const double *b, double damp, double tol, size_t limit) {
  hvi_linear_map map = {M->m, M->n, apply, apply_t, M};
  double *work = hvi_alloc_doubles(hvi_lsmr_work(M->m, M->n));
  assert_non_null(work);
  size_t count = hvi_lsmr_solve(x, &map, b, damp, tol, limit, work);
  hvi_free(work);
  return count;
}

static void fill(double *x, size_t n, uint64_t index) {
  hvi_rng rng = hvi_rng_new(1, "lsmr", index);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, x);
}

static void assert_close(const double *x, const double *y, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= tolerance))
      fail_msg("element %zu: %.17g is not within %g of %.17g", i, x[i], tolerance, y[i]);
}

static void pseudo_solve(double *x, const matrix *M, const double *b) {
  double *work = hvi_alloc_doubles(hvi_dense_svd_work(M->m, M->n));
  double largest = hvi_dense_svd_factor(M->A, M->m, M->n, work);
  hvi_dense_svd_solve(x, b, 1e-10 * largest, M->m, M->n, work);
  hvi_free(work);
}

static const size_t shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {3, 5}, {20, 40}, {40, 20}};

static void the_undamped_solution_is_the_pseudo_inverse(void **state) {
  (void)state;
  static matrix M;
  double b[SIDE], x[SIDE], expected[SIDE];
  for (size_t i = 0; i < 6; i++) {
    M.m = shapes[i][0], M.n = shapes[i][1];
    fill(M.A, M.m * M.n, i);
    fill(b, M.m, 10 + i);
    pseudo_solve(expected, &M, b);
    size_t count = solve(x, &M, b, 0.0, 1e-14, 500);
    assert_true(count > 0);
    assert_true(count < 500);
    assert_close(x, expected, M.n, 1e-10 * hvi_vec_norm(expected, M.n));
  }
}

static void the_damped_solution_agrees_with_the_dense_one(void **state) {
  (void)state;
  static matrix M;
  const double damps[] = {0.01, 0.3, 3.0};
  double b[SIDE], x[SIDE], expected[SIDE];
  for (size_t i = 0; i < 18; i++) {
    double damp = damps[i % 3];
    M.m = shapes[i / 3][0], M.n = shapes[i / 3][1];
    fill(M.A, M.m * M.n, i);
    fill(b, M.m, 30 + i);
    double *work = hvi_alloc_doubles(hvi_dense_damped_work(M.m, M.n));
    assert_true(hvi_dense_damped_solve(expected, M.A, b, damp * damp, M.m, M.n, work));
    hvi_free(work);
    solve(x, &M, b, damp, 1e-14, 500);
    assert_close(x, expected, M.n, 1e-9 * hvi_vec_norm(expected, M.n));
  }
}

static void missing_rank_gives_the_minimum_norm(void **state) {
  (void)state;
  static matrix M;
  double left[SIDE * 4], right[4 * SIDE], b[SIDE], x[SIDE], expected[SIDE];
  for (size_t i = 3; i < 6; i++) {
    size_t rank = i == 3 ? 2 : 4;
    M.m = shapes[i][0], M.n = shapes[i][1];
    fill(left, M.m * rank, 2 * i);
    fill(right, rank * M.n, 2 * i + 1);
    hvi_dense_matmul(M.A, left, right, M.m, rank, M.n);
    fill(b, M.m, 50 + i);
    pseudo_solve(expected, &M, b);
    size_t count = solve(x, &M, b, 0.0, 1e-13, 500);
    assert_true(count <= 3 * rank); /* rank steps in exact arithmetic */
    assert_close(x, expected, M.n, 1e-9 * hvi_vec_norm(expected, M.n));
  }
}

/* The promised test on |A'r| / (|A| |r|), recomputed from the solution. */
static void the_tolerance_is_met(void **state) {
  (void)state;
  static matrix M = {.m = 40, .n = 20};
  double b[SIDE], x[SIDE], r[SIDE], g[SIDE];
  fill(M.A, 800, 1);
  fill(b, 40, 2);
  for (double tol = 1e-2; tol > 1e-11; tol *= 0.1) {
    solve(x, &M, b, 0.0, tol, 500);
    hvi_dense_mul(r, M.A, x, 40, 20);
    hvi_vec_add(r, -1.0, b, 40);
    hvi_dense_mul_t(g, M.A, r, 40, 20);
    assert_true(hvi_vec_norm(g, 20) <= 1.01 * tol * hvi_vec_norm(M.A, 800) * hvi_vec_norm(r, 40));
  }
}

static void iterations_are_limited_and_counted(void **state) {
  (void)state;
  static matrix M = {.m = 40, .n = 40};
  double b[SIDE], x[SIDE];
  fill(M.A, 1600, 3);
  fill(b, 40, 4);
  assert_int_equal(solve(x, &M, b, 0.0, 1e-14, 5), 5);
  assert_int_equal(M.products, 1 + 2 * 5);
  assert_int_equal(solve(x, &M, b, 0.0, 1e-14, 0), 0);
  assert_true(hvi_vec_norm2(x, 40) == 0.0);
}

static void without_work_the_answer_is_zero(void **state) {
  (void)state;
  static matrix M = {.m = 3, .n = 2, .A = {1, 0, 0, 1, 0, 0}};
  const double zero[] = {0, 0, 0}, outside[] = {0, 0, 1}, bad[] = {NAN, 0, 0};
  double x[2];
  assert_int_equal(solve(x, &M, zero, 0.0, 1e-12, 10), 0);
  assert_true(x[0] == 0.0);
  assert_true(x[1] == 0.0);
  assert_int_equal(solve(x, &M, outside, 0.0, 1e-12, 10), 0);
  assert_true(x[0] == 0.0);
  assert_true(x[1] == 0.0);
  assert_int_equal(solve(x, &M, bad, 0.0, 1e-12, 10), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_undamped_solution_is_the_pseudo_inverse),
      cmocka_unit_test(the_damped_solution_agrees_with_the_dense_one),
      cmocka_unit_test(missing_rank_gives_the_minimum_norm),
      cmocka_unit_test(the_tolerance_is_met),
      cmocka_unit_test(iterations_are_limited_and_counted),
      cmocka_unit_test(without_work_the_answer_is_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

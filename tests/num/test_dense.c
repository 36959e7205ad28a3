/* Products, eigenvalues, linear systems and orthogonal matrices. */
#include "num/dense.h"

#include "num/vec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 130, ROOM = SIDE * SIDE };

static double A[ROOM], B[ROOM], C[ROOM], expected[ROOM];
static bool refuse;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  return !refuse;
}

static void fill(double *x, size_t n, uint64_t index) {
  hvi_rng rng = hvi_rng_new(1, "dense", index);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, x);
}

static void assert_close(const double *x, const double *y, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= tolerance))
      fail_msg("element %zu: %.17g is not within %g of %.17g", i, x[i], tolerance, y[i]);
}

/* Sizes on both sides of the switch to BLAS. */
static const size_t shapes[][2] = {{1, 1},   {1, 7},    {7, 1},    {3, 5},    {5, 3},
                                   {13, 14}, {14, 14},  {192, 1},  {1, 193},  {45, 45},
                                   {46, 45}, {2000, 1}, {1, 2049}, {120, 130}};

static void products_with_a_vector(void **state) {
  (void)state;
  static double x[ROOM], y[ROOM], add[ROOM], reference[ROOM];
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    size_t m = shapes[s][0], n = shapes[s][1];
    fill(A, m * n, s);
    fill(x, n, 100 + s);
    for (size_t i = 0; i < m; i++) y[i] = NAN; /* overwritten, not scaled by zero */
    hvi_dense_mul(y, A, x, m, n);
    for (size_t i = 0; i < m; i++) {
      reference[i] = 0.0;
      for (size_t j = 0; j < n; j++) reference[i] += A[i * n + j] * x[j];
      add[i] = (double)i;
    }
    assert_close(y, reference, m, 1e-12);
    hvi_dense_mul_add(add, A, x, m, n);
    for (size_t i = 0; i < m; i++) reference[i] += (double)i;
    assert_close(add, reference, m, 1e-12);
  }
}

static void products_with_the_transpose(void **state) {
  (void)state;
  static double x[ROOM], y[ROOM], add[ROOM], reference[ROOM];
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    size_t m = shapes[s][0], n = shapes[s][1];
    fill(A, m * n, s);
    fill(x, m, 200 + s);
    for (size_t j = 0; j < n; j++) y[j] = NAN;
    hvi_dense_mul_t(y, A, x, m, n);
    for (size_t j = 0; j < n; j++) {
      reference[j] = 0.0;
      for (size_t i = 0; i < m; i++) reference[j] += A[i * n + j] * x[i];
      add[j] = -(double)j;
    }
    assert_close(y, reference, n, 1e-12);
    hvi_dense_mul_t_add(add, A, x, m, n);
    for (size_t j = 0; j < n; j++) reference[j] -= (double)j;
    assert_close(add, reference, n, 1e-12);
  }
}

static void check_matmul(size_t m, size_t k, size_t n) {
  fill(A, m * k, m);
  fill(B, k * n, n);
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      expected[i * n + j] = 0.0;
      for (size_t p = 0; p < k; p++) expected[i * n + j] += A[i * k + p] * B[p * n + j];
      C[i * n + j] = NAN;
    }
  }
  hvi_dense_matmul(C, A, B, m, k, n);
  assert_close(C, expected, m * n, 1e-12);
}

static void products_of_matrices(void **state) {
  (void)state;
  check_matmul(1, 1, 1);
  check_matmul(2, 3, 4);
  check_matmul(4, 1, 5);
  check_matmul(3, 0, 2);
  check_matmul(17, 23, 19);
  check_matmul(90, 110, 70);
}

/* The second-difference matrix has eigenvalues 2 - 2 cos(i pi / (n + 1)). */
static void eigenvalues_of_the_second_difference(void **state) {
  (void)state;
  const size_t sizes[] = {1, 2, 5, 100};
  for (size_t s = 0; s < 4; s++) {
    size_t n = sizes[s];
    double w[100], known[100];
    memset(A, 0, sizeof A);
    for (size_t i = 0; i < n; i++) {
      A[i * n + i] = 2.0;
      if (i > 0) A[i * n + i - 1] = A[(i - 1) * n + i] = -1.0;
      known[i] = 2.0 - 2.0 * cos((double)(i + 1) * 3.14159265358979323846 / (double)(n + 1));
    }
    assert_int_equal(hvi_dense_eigenvalues(w, A, n, NULL), HVI_OK);
    assert_close(w, known, n, 1e-13);
  }
  A[3] = NAN;
  double w[2];
  hvi_error err;
  assert_int_equal(hvi_dense_eigenvalues(w, A, 2, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "not finite"));
}

static void linear_systems_are_solved(void **state) {
  (void)state;
  const size_t sizes[] = {1, 2, 3, 40, 130};
  for (size_t s = 0; s < 5; s++) {
    size_t n = sizes[s];
    double truth[SIDE], b[SIDE], x[SIDE];
    fill(A, n * n, s);
    for (size_t i = 0; i < n; i++) A[i * n + i] += 20.0;
    fill(truth, n, 300 + s);
    hvi_dense_mul(b, A, truth, n, n);
    assert_int_equal(hvi_dense_solve(x, A, b, n, NULL), HVI_OK);
    assert_close(x, truth, n, 1e-11);
    assert_int_equal(hvi_dense_solve(b, A, b, n, NULL), HVI_OK);
    assert_close(b, x, n, 0.0);
  }
}

static void singular_systems_are_refused(void **state) {
  (void)state;
  const double zero[] = {0.0}, third[] = {1.0, 1.0 / 3.0, 3.0, 1.0}, b[] = {1.0, 2.0, 3.0};
  const double rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bad[] = {1.0, INFINITY, 0.0, 1.0};
  double x[3];
  hvi_error err;
  assert_int_equal(hvi_dense_solve(x, zero, b, 1, &err), HVI_ERROR_INPUT);
  assert_int_equal(hvi_dense_solve(x, third, b, 2, &err), HVI_ERROR_INPUT);
  assert_int_equal(hvi_dense_solve(x, rows, b, 3, &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "the matrix (3 by 3) is singular");
  assert_int_equal(hvi_dense_solve(x, bad, b, 2, &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "the matrix (2 by 2) is not finite");
}

static void random_orthogonal_matrices(void **state) {
  (void)state;
  const size_t sizes[] = {1, 2, 7, 100};
  for (size_t s = 0; s < 4; s++) {
    size_t n = sizes[s];
    hvi_rng rng = hvi_rng_new(2, "haar", s);
    assert_int_equal(hvi_dense_random_orthogonal(A, n, &rng, NULL), HVI_OK);
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j <= i; j++) {
        double dot = hvi_vec_dot(A + i * n, A + j * n, n);
        assert_true(fabs(dot - (i == j ? 1.0 : 0.0)) < 1e-13);
      }
    }
  }
}

/* Under the Haar measure an element of a 3 by 3 matrix has mean 0 and variance 1/3, the trace mean
 * 0 and variance 1: within five standard errors. Without the signs of R the trace's mean is off. */
static void orthogonal_matrices_are_haar(void **state) {
  (void)state;
  enum { DRAWS = 20000 };
  hvi_rng rng = hvi_rng_new(3, "haar", 0);
  double element = 0.0, square = 0.0, trace = 0.0, trace2 = 0.0, Q[9];
  for (int i = 0; i < DRAWS; i++) {
    assert_int_equal(hvi_dense_random_orthogonal(Q, 3, &rng, NULL), HVI_OK);
    double t = Q[0] + Q[4] + Q[8];
    element += Q[0] / DRAWS;
    square += Q[0] * Q[0] / DRAWS;
    trace += t / DRAWS;
    trace2 += t * t / DRAWS;
  }
  assert_true(fabs(element) < 5.0 * sqrt(1.0 / 3.0 / DRAWS));
  assert_true(fabs(square - 1.0 / 3.0) < 5.0 * sqrt(4.0 / 45.0 / DRAWS));
  assert_true(fabs(trace) < 5.0 / sqrt(DRAWS));
  assert_true(fabs(trace2 - 1.0) < 5.0 * sqrt(2.0 / DRAWS));
}

static void no_memory_is_reported(void **state) {
  (void)state;
  const double one[] = {1.0};
  double x[1];
  hvi_rng rng = hvi_rng_new(1, "x", 0);
  refuse = true;
  hvi_status eigen = hvi_dense_eigenvalues(x, one, 1, NULL);
  hvi_status solve = hvi_dense_solve(x, one, one, 1, NULL);
  hvi_status haar = hvi_dense_random_orthogonal(x, 1, &rng, NULL);
  refuse = false;
  assert_int_equal(eigen, HVI_ERROR_MEMORY);
  assert_int_equal(solve, HVI_ERROR_MEMORY);
  assert_int_equal(haar, HVI_ERROR_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_with_a_vector),
      cmocka_unit_test(products_with_the_transpose),
      cmocka_unit_test(products_of_matrices),
      cmocka_unit_test(eigenvalues_of_the_second_difference),
      cmocka_unit_test(linear_systems_are_solved),
      cmocka_unit_test(singular_systems_are_refused),
      cmocka_unit_test(random_orthogonal_matrices),
      cmocka_unit_test(orthogonal_matrices_are_haar),
      cmocka_unit_test(no_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Sparse matrices: tidied copies, products against the dense ones, what is refused. */
#include "support/check.h"

#include "num/dense.h"
#include "num/sparse.h"

#include <stdlib.h>

enum { ROWS = 30, COLUMNS = 70 };

/* Random entries in random order, some of them twice; A gets their sums. */
static size_t draw(uint32_t *row, uint32_t *column, double *value, double *A, size_t per_row) {
  hvi_rng rng = hvi_rng_new(5, "tests", per_row);
  size_t count = 0;
  memset(A, 0, ROWS * COLUMNS * sizeof *A);
  for (size_t k = 0; k < per_row * ROWS; k++) {
    /* row 3 stays empty */
    row[count] = hvi_rng_u32(&rng) % ROWS;
    column[count] = hvi_rng_u32(&rng) % COLUMNS;
    value[count] = hvi_rng_normal(&rng);
    if (row[count] == 3) continue;
    A[row[count] * COLUMNS + column[count]] += value[count];
    count++;
  }
  return count;
}

static void gathered_entries_multiply_like_a_dense_matrix(void **state) {
  (void)state;
  static uint32_t row[3000], column[3000];
  static double value[3000], A[ROWS * COLUMNS];
  static const size_t per_row[] = {1, 5, 100}; /* short rows and long ones */
  for (int c = 0; c < 3; c++) {
    const size_t count = draw(row, column, value, A, per_row[c]);
    hvi_sparse S;
    hvi_error err = {HVI_OK, ""};
    check_ok(hvi_sparse_gather(&S, ROWS, COLUMNS, count, row, column, value, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
      for (size_t k = S.start[i]; k < S.start[i + 1]; k++) {
        assert_true(k == S.start[i] || S.column[k - 1] < S.column[k]);
        check_near(S.value[k], A[i * COLUMNS + S.column[k]], 1e-14);
      }
    }
    assert_int_equal(S.start[3], S.start[4]);
    double x[COLUMNS], y[ROWS], expected[COLUMNS], back[COLUMNS];
    fill_normal(x, COLUMNS, 1);
    hvi_sparse_mul(y, &S, x);
    hvi_dense_mul(expected, A, x, ROWS, COLUMNS);
    check_close(y, expected, ROWS, 1e-12);
    hvi_sparse_mul_t(back, &S, y);
    hvi_dense_mul_t(expected, A, y, ROWS, COLUMNS);
    check_close(back, expected, COLUMNS, 1e-12);
    hvi_sparse copy;
    check_ok(hvi_sparse_copy(&copy, &S, &err), &err);
    check_same_bits(copy.value, S.value, S.start[ROWS]);
    hvi_sparse_free(&copy);
    hvi_sparse_free(&S);
  }
}

static void refused_matrices(void **state) {
  (void)state;
  size_t start[] = {0, 2, 3};
  uint32_t column[] = {0, 1, 1};
  double value[] = {1, 2, 3};
  const hvi_sparse S = {2, 2, start, column, value};
  hvi_sparse out;
  hvi_error err = {HVI_OK, ""};
  column[2] = 2;
  check_error(hvi_sparse_copy(&out, &S, &err), HVI_ERROR_INPUT, &err, "column 3 of 2");
  column[2] = 1;
  value[1] = NAN;
  check_error(hvi_sparse_copy(&out, &S, &err), HVI_ERROR_INPUT, &err, "row 1, column 2");
  value[1] = 2;
  start[1] = 4;
  check_error(hvi_sparse_copy(&out, &S, &err), HVI_ERROR_INPUT, &err, "before its start");
  start[0] = start[1] = 1;
  check_error(hvi_sparse_copy(&out, &S, &err), HVI_ERROR_INPUT, &err, "starts at entry 1");
  const hvi_sparse none = {2, 2, NULL, NULL, NULL};
  check_error(hvi_sparse_copy(&out, &none, &err), HVI_ERROR_ARGUMENT, &err, "null");
  const uint32_t row[] = {5};
  check_error(hvi_sparse_gather(&out, 2, 2, 1, row, column, value, &err), HVI_ERROR_INPUT, &err,
              "row 6 of 2");
  check_error(hvi_sparse_new(&out, 1, (size_t)1 << 33, 1, &err), HVI_ERROR_INPUT, &err, "32 bits");
  hvi_sparse_free(&out);
  hvi_sparse_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gathered_entries_multiply_like_a_dense_matrix),
      cmocka_unit_test(refused_matrices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

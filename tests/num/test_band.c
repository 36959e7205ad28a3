/* Elimination within a band, and BiCGSTAB, against known answers. */
#include "support/check.h"

#include "num/band.h"
#include "num/bicgstab.h"
#include "num/dense.h"

#include <stdlib.h>

enum { N = 40 };

/* A random band matrix; also written out in full. */
static hvi_band draw(double *A, size_t width, double diagonal, uint64_t index) {
  hvi_band band = {N, width, calloc(N * (2 * width + 1), 8)};
  hvi_rng rng = hvi_rng_new(9, "tests", index);
  assert_non_null(band.entries);
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < N; j++) {
      const size_t far = i > j ? i - j : j - i;
      const double x = hvi_rng_uniform(&rng);
      A[i * N + j] = far > width ? 0.0 : x + (i == j ? diagonal : 0.0);
      if (far <= width) hvi_band_row(&band, i)[(ptrdiff_t)j - (ptrdiff_t)i] = A[i * N + j];
    }
  }
  return band;
}

static void factors_solve(void **state) {
  (void)state;
  static double A[N * N];
  static const size_t widths[] = {0, 1, 3, N - 1};
  for (int c = 0; c < 4; c++) {
    hvi_band band = draw(A, widths[c], 2.0 * N, (uint64_t)c);
    double x[N], b[N];
    fill_normal(x, N, 4);
    hvi_dense_mul(b, A, x, N, N);
    hvi_band_factor(&band);
    hvi_band_solve(b, &band);
    check_close(b, x, N, 1e-12);
    free(band.entries);
  }
}

/* Birth and death with birth probability p and death probability q: weights (p / q)^i. */
static void laws_are_accurate_entry_by_entry(void **state) {
  (void)state;
  const double p = 0.1, q = 0.4;
  hvi_band band = {N, 1, calloc(N * 3, 8)};
  double x[N], sum = 0.0;
  assert_non_null(band.entries);
  for (size_t i = 0; i < N; i++) {
    double *row = hvi_band_row(&band, i);
    if (i > 0) row[-1] = q;
    if (i + 1 < N) row[1] = p;
    row[0] = 1.0 - (i > 0 ? q : 0.0) - (i + 1 < N ? p : 0.0);
  }
  assert_true(hvi_band_stationary(x, &band));
  for (size_t i = 0; i < N; i++) sum += pow(p / q, (double)i);
  for (size_t i = 0; i < N; i++) check_near(x[i] / (pow(p / q, (double)i) / sum), 1.0, 1e-13);
  free(band.entries);
}

/* So strong a drift that the first weights are below any double. */
static void a_law_that_cannot_be_held_is_refused(void **state) {
  (void)state;
  hvi_band band = {N, 1, calloc(N * 3, 8)};
  double x[N];
  assert_non_null(band.entries);
  for (size_t i = 0; i < N; i++) {
    double *row = hvi_band_row(&band, i);
    if (i > 0) row[-1] = 1e-12;
    if (i + 1 < N) row[1] = 1.0 - 1e-12;
  }
  assert_false(hvi_band_stationary(x, &band));
  free(band.entries);
}

static void apply(void *context, const double *x, double *y) { hvi_dense_mul(y, context, x, N, N); }

static void bicgstab_solves(void **state) {
  (void)state;
  static double A[N * N], work[6 * N];
  assert_int_equal(hvi_bicgstab_work(N), 6 * N);
  for (uint64_t c = 0; c < 5; c++) {
    hvi_band band = draw(A, N - 1, 25.0, 20 + c);
    free(band.entries);
    const hvi_linear_map map = {N, N, apply, NULL, A};
    double x[N], b[N], y[N] = {0}, zero[N] = {0};
    fill_normal(x, N, c);
    hvi_dense_mul(b, A, x, N, N);
    assert_true(hvi_bicgstab_solve(y, &map, b, 1e-15, 2000, work) <= 1e-14);
    check_close(y, x, N, 1e-12);
    /* too few products: it says how far it came */
    memset(y, 0, sizeof y);
    const double reached = hvi_bicgstab_solve(y, &map, b, 1e-15, 6, work);
    assert_true(reached > 1e-14);
    assert_true(reached < 1.0);
    check_near(hvi_bicgstab_solve(y, &map, zero, 1e-12, 100, work), 0.0, 0.0);
    check_close(y, zero, N, 0.0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_solve),
      cmocka_unit_test(laws_are_accurate_entry_by_entry),
      cmocka_unit_test(a_law_that_cannot_be_held_is_refused),
      cmocka_unit_test(bicgstab_solves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

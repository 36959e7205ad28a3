/* BLAS and LAPACK called from several chunks at once give the bits they give alone. */
#include "base/memory.h"
#include "base/parallel.h"
#include "num/dense.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 20000, COLUMNS = 11, CHUNKS = 400 };

typedef struct sums {
  double product[COLUMNS], damped[COLUMNS];
} sums;

typedef struct work {
  const double *A, *x;
  sums results[CHUNKS];
} work;

static hvi_status compute(void *context, size_t chunk, size_t worker, hvi_error *err) {
  work *w = context;
  sums *to = &w->results[chunk];
  double *room = hvi_alloc_doubles(hvi_dense_damped_work(ROWS, COLUMNS));
  (void)worker, (void)err;
  if (!room) return HVI_ERROR_MEMORY;
  hvi_dense_mul_t(to->product, w->A, w->x, ROWS, COLUMNS);
  const bool solved = hvi_dense_damped_solve(to->damped, w->A, w->x, 1e-3, ROWS, COLUMNS, room);
  hvi_free(room);
  return solved ? HVI_OK : HVI_ERROR_INPUT;
}

static void threads_do_not_change_a_bit(void **state) {
  (void)state;
  double *A = hvi_alloc_doubles(ROWS * COLUMNS), *x = hvi_alloc_doubles(ROWS);
  work *w = hvi_alloc(1, sizeof *w);
  hvi_error err;
  assert_true(A);
  assert_true(x);
  assert_true(w);
  for (size_t i = 0; i < ROWS * COLUMNS; i++) A[i] = cos(0.1 * (double)i);
  for (size_t i = 0; i < ROWS; i++) x[i] = sin((double)i);
  w->A = A;
  w->x = x;
  assert_int_equal(hvi_parallel_run(CHUNKS, 4, compute, w, &err), HVI_OK);
  work alone = *w;
  assert_int_equal(compute(&alone, 0, 0, &err), HVI_OK);
  for (size_t k = 0; k < CHUNKS; k++)
    assert_memory_equal(&w->results[k], &alone.results[0], sizeof(sums));
  hvi_free(A), hvi_free(x), hvi_free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_change_a_bit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

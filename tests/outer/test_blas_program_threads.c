/* A program's own BLAS threads change no bit of a solve, and a solve does not change them. */
#include "base/blas.h"
#include "base/parallel.h"
#include "num/dense.h"
#include "support/check.h"

#include <hvi/builtin.h>
#include <hvi/solver.h>

#include <cblas.h>

enum { N = 300, STEPS = 3, PROGRAM = 4 };

static bool sees_the_programs_threads(void *context, const hvi_record *row) {
  (void)row;
  assert_int_equal(openblas_get_num_threads(), *(const int *)context);
  return true;
}

/* theta[N] after a few steps, in a program whose BLAS has so many threads */
static void solve(double *theta, const char *method, hvi_solve_form linear, int threads) {
  const hvi_option options[] = {{"n", "300"}, {"g", "linear"}};
  hvi_problem *p;
  hvi_solver *solver;
  hvi_error err;
  openblas_set_num_threads(threads);
  check_ok(hvi_builtin_new(&p, "quadratic", options, 2, 1, 0, &err), &err);
  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, method, NULL);
  s.inner.linear = linear;
  s.max_outer = STEPS;
  s.observe = sees_the_programs_threads;
  s.observer_context = &threads;
  check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
  hvi_solver_run(solver);
  assert_int_equal(p->model->dim, N);
  memcpy(theta, hvi_solver_info(solver).last.theta, N * sizeof *theta);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  assert_int_equal(openblas_get_num_threads(), threads);
}

static void check_method(const char *method, hvi_solve_form linear) {
  double alone[N], shared[N];
  solve(alone, method, linear, 1);
  solve(shared, method, linear, PROGRAM);
  check_same_bits(alone, shared, N);
}

static void a_solve_has_the_same_bits_whatever_the_program_sets(void **state) {
  (void)state;
  check_method("gn", HVI_SOLVE_DENSE);
  check_method("gn", HVI_SOLVE_MATRIX_FREE);
  check_method("lm", HVI_SOLVE_DENSE);
  check_method("gda", HVI_SOLVE_AUTO);
}

/* What is too small to be shared is not held: this is where OpenBLAS begins to share. */
static void products_of_every_size_have_the_same_bits(void **state) {
  (void)state;
  static double A[512 * 512], x[512], alone[512 * 64], shared[512 * 64];
  hvi_rng rng = hvi_rng_new(1, "blas", 0);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, 512 * 512, A);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, 512, x);
  for (size_t n = 4; n <= 512; n += 12) {
    double *const results[] = {alone, shared};
    for (int k = 0; k < 2; k++) {
      openblas_set_num_threads(k == 0 ? 1 : PROGRAM);
      memset(results[k], 0, sizeof alone);
      hvi_dense_mul(results[k], A, x, n, n);
      hvi_dense_mul_t_add(results[k], A, x, n, n);
      hvi_dense_matmul_t_add(results[k] + n, A, A, n, 8, n < 64 ? n : 64);
    }
    check_same_bits(alone, shared, 512 * 64);
  }
}

typedef struct seen {
  size_t wrong[64];
} seen;

static hvi_status hold_and_look(void *context, size_t chunk, size_t worker, hvi_error *err) {
  seen *s = context;
  (void)worker, (void)err;
  for (int i = 0; i < 2000; i++) {
    const bool outer = hvi_blas_hold(), inner = hvi_blas_hold();
    s->wrong[chunk] += openblas_get_num_threads() != 1;
    hvi_blas_release(inner);
    s->wrong[chunk] += openblas_get_num_threads() != 1;
    hvi_blas_release(outer);
  }
  return HVI_OK;
}

static void whoever_holds_sees_one_thread(void **state) {
  (void)state;
  for (int threads = 1; threads <= PROGRAM; threads++) {
    seen s = {0};
    hvi_error err;
    openblas_set_num_threads(threads);
    check_ok(hvi_parallel_run(64, 4, hold_and_look, &s, &err), &err);
    for (size_t i = 0; i < 64; i++) assert_int_equal(s.wrong[i], 0);
    assert_int_equal(openblas_get_num_threads(), threads);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_solve_has_the_same_bits_whatever_the_program_sets),
      cmocka_unit_test(products_of_every_size_have_the_same_bits),
      cmocka_unit_test(whoever_holds_sees_one_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

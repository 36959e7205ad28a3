/* Transposes, sums of rows, slopes and the border to doubles, in every build of the kernels. */
#include "net/builds.h"

static void transposes_are_right(void **state) {
  (void)state;
  const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 35, 64};
  enum { N = sizeof sizes / sizeof *sizes };
  FOR_KERNELS(k) {
    for (size_t t = 0; t < N * N; t++) {
      const size_t rows = sizes[t / N], cols = sizes[t % N];
      number *in = random_numbers(rows * cols, t), *out = numbers(rows * cols);
      k->transpose(out, in, rows, cols);
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) assert_true(out[j * rows + i] == in[i * cols + j]);
      free(in);
      free(out);
    }
  }
}

/* In order, so that the bits are given. */
static void rows_are_summed_in_order(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    for (size_t n = 1; n < 150; n += n < 40 ? 1 : 17) {
      const size_t rows = 1 + n % 19, row = n + n % 3;
      number *d = random_numbers((rows - 1) * row + n, 1), *out = random_numbers(n, 2),
             *old = random_numbers(n, 2);
      k->add_rows(out, d, rows, n, row);
      for (size_t j = 0; j < n; j++) {
        number sum = 0;
        for (size_t i = 0; i < rows; i++) sum += d[i * row + j];
        assert_true(out[j] == old[j] + sum);
      }
      free(d);
      free(out);
      free(old);
    }
  }
}

/* y (u - <u, y>) row by row, and u s' elsewhere: by the outputs, or by slopes where they are kept. */
static void slopes_are_pulled(void **state) {
  (void)state;
  enum { ROWS = 3 };
  FOR_KERNELS(k) {
    for (size_t n = 1; n < 40; n += 6) {
      number *y = random_numbers(ROWS * n, 1), *u = random_numbers(ROWS * n, 2);
      number *old = random_numbers(ROWS * n, 2);
      k->pull(HVI_IDENTITY, u, y, ROWS, n);
      assert_memory_equal(u, old, ROWS * n * sizeof *u);
      k->pull(HVI_GELU, u, y, ROWS, n);
      for (size_t i = 0; i < ROWS * n; i++) assert_true(u[i] == old[i] * y[i]);
      memcpy(u, old, ROWS * n * sizeof *u);
      k->pull(HVI_SOFTMAX, u, y, ROWS, n);
      for (size_t i = 0; i < ROWS * n; i++) {
        const size_t first = i / n * n;
        double mean = 0.0, size = 1.0;
        for (size_t j = first; j < first + n; j++) {
          mean += (double)old[j] * (double)y[j];
          size += fabs((double)old[j] * (double)y[j]);
        }
        const double exact = (double)y[i] * ((double)old[i] - mean);
        check_near((double)u[i], exact, 4.0 * UNIT * (double)n * size * (1.0 + fabs((double)y[i])));
      }
      free(y), free(u), free(old);
    }
  }
}

static void doubles_are_taken_and_given(void **state) {
  (void)state;
  enum { N = 37 };
  double x[N], given[N], K[2 * N], more[N];
  number p[N], q[N];
  fill_normal(x, N, 1);
  FOR_KERNELS(k) {
    k->take(p, x, N);
    for (size_t i = 0; i < N; i++) assert_true(p[i] == (number)x[i]);
    k->give(given, p, N);
    for (size_t i = 0; i < N; i++) assert_true(given[i] == (double)p[i]);
    for (size_t i = 0; i < N; i++) q[i] = (number)x[N - 1 - i];
    k->multiples(more, p, q, N);
    for (size_t i = 0; i < N; i++) assert_true(more[i] == (double)(number)(q[0] * p[i]));
    memset(K, 0, sizeof K);
    k->add_gram(K, p, q, 1.0, N, 2);
    for (size_t i = 0; i < N; i++) {
      assert_true(K[2 * i] == (double)(number)(p[i] * (number)(q[i] + 1)));
      assert_true(K[2 * i + 1] == 0.0);
    }
    k->add(p, q, N);
    for (size_t i = 0; i < N; i++) assert_true(p[i] == (number)x[i] + q[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transposes_are_right),
      cmocka_unit_test(rows_are_summed_in_order),
      cmocka_unit_test(slopes_are_pulled),
      cmocka_unit_test(doubles_are_taken_and_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

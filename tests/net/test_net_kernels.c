/* Products with their finishes, in every build of the kernels that this CPU runs: against plain
 * loops in double precision, and against the order of summation that the contract promises. */
#include "net/builds.h"

static const number guard = 12345;

typedef struct shape {
  size_t m, n, k;
} shape;

static const shape shapes[] = {{1, 1, 1},    {1, 12, 17}, {2, 6, 8},   {3, 8, 256}, {4, 16, 23},
                               {5, 17, 27},  {6, 1, 35},  {7, 35, 12}, {8, 23, 1},  {70, 3, 17},
                               {64, 64, 64}, {31, 4, 8},  {9, 32, 3},  {11, 33, 5}, {12, 64, 2},
                               {13, 31, 64}, {3, 129, 7}, {1, 144, 9}, {2, 100, 4}, {17, 48, 100},
                               {8, 8, 0},    {23, 1, 7},  {6, 4, 300}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Everything one product touches; C, y and slopes in rows of n + gap numbers. */
typedef struct bench {
  shape s;
  size_t c_row;
  number *a, *b, *bias, *y, *slope, *old, *c;
} bench;

static bench bench_new(shape s, bool down, size_t gap) {
  bench t = {.s = s, .c_row = s.n + gap};
  const size_t size = (s.m - 1) * t.c_row + s.n;
  t.a = random_numbers(down ? s.k * (s.m + gap) : s.m * (s.k + gap), 1);
  t.b = random_numbers(s.k * (s.n + gap) + HVI_NET_SLACK, 2);
  for (size_t i = 0; i < HVI_NET_SLACK; i++) t.b[s.k * (s.n + gap) + i] = NAN;
  t.bias = random_numbers(s.n, 3);
  t.y = random_numbers(size, 4);
  t.slope = random_numbers(size, 5);
  t.old = random_numbers(size, 6);
  t.c = numbers(size);
  for (size_t i = 0; i < size; i++)
    if (i % t.c_row >= s.n) t.old[i] = t.slope[i] = guard;
  memcpy(t.c, t.old, size * sizeof *t.c);
  return t;
}

static void bench_free(bench *t) {
  number *all[] = {t->a, t->b, t->bias, t->y, t->slope, t->old, t->c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static hvi_product as_product(const bench *t, bool down, size_t gap) {
  const shape s = t->s;
  return (hvi_product){.m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .a = t->a,
                       .a_row = down ? 1 : s.k + gap,
                       .a_step = down ? s.m + gap : 1,
                       .b = t->b,
                       .b_row = s.n + gap,
                       .c = t->c,
                       .c_row = t->c_row,
                       .bias = t->bias,
                       .slope = t->slope,
                       .y = t->y,
                       .y_slope = t->slope};
}

/* (AB)[i][j], and the sum of magnitudes that its rounding errors are measured by */
static double element(const hvi_product *p, size_t i, size_t j, double *size) {
  const number *a = p->a, *b = p->b;
  long double sum = 0.0L;
  *size = 0.0;
  for (size_t l = 0; l < p->k; l++) {
    const long double term =
        (long double)a[i * p->a_row + l * p->a_step] * (long double)b[l * p->b_row + j];
    sum += term;
    *size += fabs((double)term);
  }
  return (double)sum;
}

static void check_element(const char *name, const hvi_product *p, size_t i, size_t j, double exact,
                          double tolerance) {
  const number got = ((const number *)p->c)[i * p->c_row + j];
  if (!(fabs((double)got - exact) <= tolerance)) {
    fail_msg("%s: %zux%zux%zu, finish %d, activation %d, element (%zu, %zu): %.17g, not %.17g",
             name, p->m, p->n, p->k, (int)p->finish, (int)p->activation, i, j, (double)got, exact);
  }
}

static void check_gaps(const number *x, const hvi_product *p) {
  for (size_t i = 0; i + 1 < p->m; i++)
    for (size_t j = p->n; j < p->c_row; j++) assert_true(x[i * p->c_row + j] == guard);
}

static void check_plain(const hvi_net_kernels *k, shape s, bool down, size_t gap, bool add) {
  bench t = bench_new(s, down, gap);
  hvi_product p = as_product(&t, down, gap);
  p.finish = add ? HVI_FINISH_ADD : HVI_FINISH_STORE;
  k->product(&p);
  for (size_t i = 0; i < s.m; i++) {
    for (size_t j = 0; j < s.n; j++) {
      double size, exact = element(&p, i, j, &size);
      if (add) exact += (double)t.old[i * t.c_row + j];
      check_element(k->name, &p, i, j, exact, (double)(s.k + 1) * UNIT * (size + 4.0));
    }
  }
  check_gaps(t.c, &p);
  bench_free(&t);
}

static void products_are_right(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    for (size_t i = 0; i < SHAPES; i++)
      for (int form = 0; form < 8; form++)
        check_plain(k, shapes[i], form & 1, form & 2 ? 5 : 0, form & 4);
    check_plain(k, (shape){128, 256, 130}, false, 0, false);
    check_plain(k, (shape){130, 256, 64}, true, 0, true);
  }
}

/* One FMA a step, in the order of l. */
static void sums_are_chains_of_fma(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    if (strncmp(k->name, "avx", 3) != 0) continue;
    for (size_t i = 0; i < SHAPES; i++) {
      if (shapes[i].n == 1) continue;
      for (int down = 0; down < 2; down++) {
        bench t = bench_new(shapes[i], down, 3);
        const hvi_product p = as_product(&t, down, 3);
        k->product(&p);
        for (size_t e = 0; e < p.m * p.n; e++) {
          const number *a = (const number *)p.a + e / p.n * p.a_row;
          const number *b = (const number *)p.b + e % p.n;
          number sum = 0;
          for (size_t l = 0; l < p.k; l++)
            sum = sizeof(number) == sizeof(float)
                      ? (number)fmaf((float)a[l * p.a_step], (float)b[l * p.b_row], (float)sum)
                      : (number)fma(a[l * p.a_step], b[l * p.b_row], sum);
          assert_true(sum == t.c[e / p.n * p.c_row + e % p.n]);
        }
        bench_free(&t);
      }
    }
  }
}

/* Rows one by one, in threes, and all at once: the same bits, whatever the finish. */
static void check_rows_alone(const hvi_net_kernels *k, shape s, hvi_finish finish,
                             hvi_activation activation) {
  bench t = bench_new(s, false, 0);
  number *all = numbers(s.m * s.n);
  hvi_product p = as_product(&t, false, 0);
  p.finish = finish;
  p.activation = activation;
  k->product(&p);
  memcpy(all, t.c, s.m * s.n * sizeof *all);
  for (size_t step = 1; step <= 3; step += 2) {
    memcpy(t.c, t.old, s.m * s.n * sizeof *t.c);
    for (size_t i = 0; i < s.m; i += step) {
      hvi_product part = p;
      part.m = s.m - i < step ? s.m - i : step;
      part.a = t.a + i * p.a_row;
      part.c = t.c + i * p.c_row;
      part.y = t.y + i * p.c_row;
      part.slope = t.slope + i * p.c_row;
      part.y_slope = t.slope + i * p.c_row;
      k->product(&part);
    }
    assert_memory_equal(t.c, all, s.m * s.n * sizeof *all);
  }
  free(all);
  bench_free(&t);
}

static void a_row_does_not_know_the_others(void **state) {
  (void)state;
  const shape few[] = {{23, 35, 19}, {9, 1, 37}, {13, 100, 3}, {25, 12, 9}, {21, 6, 17}};
  FOR_KERNELS(k) {
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
      check_rows_alone(k, few[i], HVI_FINISH_STORE, HVI_IDENTITY);
      check_rows_alone(k, few[i], HVI_FINISH_ADD, HVI_IDENTITY);
      for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
        check_rows_alone(k, few[i], HVI_FINISH_ACTIVATE, (hvi_activation)a);
        check_rows_alone(k, few[i], HVI_FINISH_PULL, (hvi_activation)a);
      }
    }
  }
}

/* s' from the output y, or from the slope that was kept */
static double slope_at(const hvi_net_kernels *k, hvi_activation a, double y, double kept) {
  if (hvi_net_keeps(k, a)) return kept;
  switch (a) {
  case HVI_CELU:
    return y > 0.0 ? 1.0 : y + 1.0;
  case HVI_SIGMOID:
    return y * (1.0 - y);
  case HVI_TANH:
    return 1.0 - y * y;
  case HVI_RELU:
    return y > 0.0 ? 1.0 : 0.0;
  case HVI_LEAKY_RELU:
    return y > 0.0 ? 1.0 : 0.01;
  default:
    return 1.0;
  }
}

static void check_softmax_row(const char *name, const hvi_product *p, size_t i) {
  double x[256], sum = 0.0, top = -INFINITY, size, worst = 0.0;
  for (size_t j = 0; j < p->n; j++) {
    x[j] = element(p, i, j, &size) + (p->bias ? (double)((const number *)p->bias)[j] : 0.0);
    top = fmax(top, x[j]);
    worst = fmax(worst, size);
  }
  for (size_t j = 0; j < p->n; j++) sum += exp(x[j] - top);
  for (size_t j = 0; j < p->n; j++) {
    check_element(name, p, i, j, exp(x[j] - top) / sum,
                  (double)(p->k + 8) * 4.0 * UNIT * (worst + 4.0));
  }
}

static void check_activated_row(const hvi_net_kernels *k, const hvi_product *p, size_t i) {
  for (size_t j = 0; j < p->n; j++) {
    double size,
        x = element(p, i, j, &size) + (p->bias ? (double)((const number *)p->bias)[j] : 0.0);
    const double tolerance = (double)(p->k + 4) * 2.0 * UNIT * (size + 4.0);
    check_element(k->name, p, i, j, (double)activated(p->activation, x), tolerance);
    if (hvi_net_keeps(k, p->activation))
      check_near((double)((const number *)p->slope)[i * p->c_row + j],
                 (double)slope_exactly(p->activation, x), tolerance);
  }
}

static void check_activation(const hvi_net_kernels *k, shape s, hvi_activation a, bool biased,
                             size_t gap) {
  bench t = bench_new(s, false, gap);
  hvi_product p = as_product(&t, false, gap);
  p.finish = HVI_FINISH_ACTIVATE;
  p.activation = a;
  if (!biased) p.bias = NULL;
  k->product(&p);
  for (size_t i = 0; i < s.m; i++)
    if (a == HVI_SOFTMAX)
      check_softmax_row(k->name, &p, i);
    else
      check_activated_row(k, &p, i);
  check_gaps(t.c, &p);
  check_gaps(t.slope, &p);
  bench_free(&t);
}

static void activations_are_right(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    for (size_t i = 0; i < SHAPES; i++) {
      for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
        check_activation(k, shapes[i], (hvi_activation)a, true, 0);
        check_activation(k, shapes[i], (hvi_activation)a, false, 7);
      }
    }
  }
}

/* u s' elementwise, or y (u - <u, y>), where u = AB */
static void check_pull(const hvi_net_kernels *k, shape s, hvi_activation a, bool down, size_t gap) {
  bench t = bench_new(s, down, gap);
  hvi_product p = as_product(&t, down, gap);
  p.finish = HVI_FINISH_PULL;
  p.activation = a;
  k->product(&p);
  for (size_t i = 0; i < s.m; i++) {
    double size, mean = 0.0, sizes = 0.0;
    for (size_t j = 0; j < s.n; j++) {
      const double y = (double)t.y[i * t.c_row + j];
      mean += element(&p, i, j, &size) * y;
      sizes += size * fabs(y);
    }
    for (size_t j = 0; j < s.n; j++) {
      const size_t at = i * t.c_row + j;
      const double u = element(&p, i, j, &size), y = (double)t.y[at];
      const double slope = slope_at(k, a, y, (double)t.slope[at]);
      const double exact = a == HVI_SOFTMAX ? y * (u - mean) : u * slope;
      const double scale =
          a == HVI_SOFTMAX ? fabs(y) * (size + sizes) : size * (1.0 + y * y + fabs(slope));
      check_element(k->name, &p, i, j, exact,
                    (double)(s.k + s.n + 4) * 2.0 * UNIT * (scale + 1e-30));
    }
  }
  check_gaps(t.c, &p);
  bench_free(&t);
}

static void pulls_are_right(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    for (size_t i = 0; i < SHAPES; i++) {
      for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
        check_pull(k, shapes[i], (hvi_activation)a, false, 0);
        check_pull(k, shapes[i], (hvi_activation)a, true, 4);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_right),
      cmocka_unit_test(sums_are_chains_of_fma),
      cmocka_unit_test(a_row_does_not_know_the_others),
      cmocka_unit_test(activations_are_right),
      cmocka_unit_test(pulls_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

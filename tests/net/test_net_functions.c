/* The elementary functions and activations of every build of the kernels, against the C library. */
#include "net/builds.h"

/* y[n] = s(x[n]), as the product of a column with 1 */
static void activate_column(const hvi_net_kernels *k, hvi_activation a, number *y, number *slope,
                            const number *x, size_t n) {
  number one[1 + HVI_NET_SLACK] = {1};
  const hvi_product p = {.m = n,
                         .n = 1,
                         .k = 1,
                         .a = x,
                         .a_row = 1,
                         .a_step = 1,
                         .b = one,
                         .b_row = 1,
                         .c = y,
                         .c_row = 1,
                         .finish = HVI_FINISH_ACTIVATE,
                         .activation = a,
                         .slope = slope};
  k->product(&p);
}

enum { POINTS = 40003 };

/* Where exp leaves the numbers. */
#define HIGHEST log((double)LARGEST)
#define LOWEST  log((double)SMALLEST)

/* Over [low, high], and over magnitudes from the smallest to the largest number. */
static number *points(double low, double high) {
  number *x = numbers(POINTS);
  hvi_rng rng = hvi_rng_new(12, "points", 0);
  for (size_t i = 0; i < POINTS; i++) {
    const double wide =
        pow(10.0, hvi_rng_range(&rng, log10((double)SMALLEST), log10((double)LARGEST)));
    const double signed_wide = i % 4 == 1 ? wide : -wide;
    x[i] = (number)(i % 2 ? fmin(fmax(signed_wide, low), high) : hvi_rng_range(&rng, low, high));
  }
  return x;
}

static void check_function(const hvi_net_kernels *k, const char *title, const number *y,
                           const number *x, long double (*f)(long double), double bound) {
  for (size_t i = 0; i < POINTS; i++) {
    const long double exact = f((long double)x[i]);
    if (!(ulps(y[i], exact) <= bound))
      fail_msg("%s: %s(%.17g) = %.17g, not %.20Lg", k->name, title, (double)x[i], (double)y[i],
               exact);
  }
}

static void functions_are_accurate(void **state) {
  (void)state;
  if (!has_exact()) skip();
  number *y = numbers(POINTS), *wide = points(1.06 * LOWEST, 1.06 * HIGHEST),
         *near = points(-2.0, 2.0), *positive = points((double)SMALLEST, (double)LARGEST),
         *middle = points(-20.0, 20.0);
  FOR_KERNELS(k) {
    k->exp(y, wide, POINTS);
    check_function(k, "exp", y, wide, expl, 1.5);
    k->exp(y, near, POINTS);
    check_function(k, "exp", y, near, expl, 1.5);
    k->tanh(y, middle, POINTS);
    check_function(k, "tanh", y, middle, tanhl, 3.0);
    k->tanh(y, near, POINTS);
    check_function(k, "tanh", y, near, tanhl, 3.0);
    k->log(y, positive, POINTS);
    check_function(k, "log", y, positive, logl, 1.5);
    for (size_t i = 0; i < POINTS; i++) positive[i] = (number)(0.5 + 1.5 * (double)i / POINTS);
    k->log(y, positive, POINTS);
    check_function(k, "log", y, positive, logl, 1.5);
  }
  number *all[] = {y, wide, near, positive, middle};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static long double sigmoid_exactly(long double x) { return activated(HVI_SIGMOID, x); }
static long double softplus_exactly(long double x) { return activated(HVI_SOFTPLUS, x); }
static long double celu_exactly(long double x) { return activated(HVI_CELU, x); }
static long double gelu_exactly(long double x) { return activated(HVI_GELU, x); }

static long double sigmoid_slope(long double x) { return slope_exactly(HVI_SIGMOID, x); }
static long double softplus_slope(long double x) { return slope_exactly(HVI_SOFTPLUS, x); }
static long double celu_slope(long double x) { return slope_exactly(HVI_CELU, x); }
static long double tanh_slope(long double x) { return slope_exactly(HVI_TANH, x); }

/* Those that are kept have their digits in the tails too. */
static void check_slopes(const hvi_net_kernels *k, number *y, const number *x,
                         const number *middle) {
  static const struct {
    hvi_activation s;
    long double (*exactly)(long double);
    double bound;
  } all[] = {{HVI_SIGMOID, sigmoid_slope, 5.0},
             {HVI_SOFTPLUS, softplus_slope, 3.0},
             {HVI_CELU, celu_slope, 1.5},
             {HVI_TANH, tanh_slope, 5.0}};
  number *slope = numbers(POINTS);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!hvi_net_keeps(k, all[i].s)) continue;
    const number *at = all[i].s == HVI_TANH ? middle : x;
    activate_column(k, all[i].s, y, slope, at, POINTS);
    check_function(k, "slope", slope, at, all[i].exactly, all[i].bound);
  }
  free(slope);
}

static void activations_are_accurate(void **state) {
  (void)state;
  if (!has_exact()) skip();
  number *y = numbers(POINTS), *x = points(fmax(LOWEST, -699.0), fmin(HIGHEST, 699.0)),
         *middle = points(-12.5, 12.5);
  FOR_KERNELS(k) {
    activate_column(k, HVI_SIGMOID, y, NULL, x, POINTS);
    check_function(k, "sigmoid", y, x, sigmoid_exactly, 3.0);
    activate_column(k, HVI_SOFTPLUS, y, NULL, x, POINTS);
    check_function(k, "softplus", y, x, softplus_exactly, 3.0);
    activate_column(k, HVI_CELU, y, NULL, x, POINTS);
    check_function(k, "celu", y, x, celu_exactly, 1.5);
    activate_column(k, HVI_GELU, y, NULL, middle, POINTS);
    check_function(k, "gelu", y, middle, gelu_exactly, 12.0);
    check_slopes(k, y, x, middle);
  }
  free(y);
  free(x);
  free(middle);
}

/* Finite in, finite or infinite out; the largest values are those of the limits. */
static void extremes_are_tame(void **state) {
  (void)state;
  const number x[] = {0,  -0.0F, SMALLEST, -SMALLEST, LARGEST, -LARGEST,
                      20, -20,   1e10F,    -1e10F,    88.7F,   -103.9F};
  enum { N = sizeof x / sizeof *x };
  number y[N], slope[N];
  FOR_KERNELS(k) {
    k->exp(y, x, N);
    assert_true(y[0] == 1);
    assert_true(y[1] == 1);
    assert_true(isinf(y[4]));
    assert_true(y[5] == 0);
    assert_true(isfinite(y[10]));
    k->tanh(y, x, N);
    for (size_t i = 0; i < N; i++) assert_true(fabs((double)y[i]) <= 1.0);
    assert_true(y[4] == 1);
    assert_true(y[5] == -1);
    assert_true(y[6] == 1);
    assert_true(y[2] == x[2]);
    assert_true(y[3] == x[3]);
    assert_true(signbit(y[1]));
    assert_true(!signbit(y[0]));
    k->log(y, x, N);
    assert_true(y[0] == -INFINITY);
    assert_true(y[1] == -INFINITY);
    assert_true(isnan(y[3]));
    assert_true(isnan(y[5]));
    assert_true(ulps(y[2], logl(SMALLEST)) <= 1.0);
    assert_true(ulps(y[4], logl(LARGEST)) <= 1.0);
    for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
      activate_column(k, (hvi_activation)a, y, slope, x, N);
      for (size_t i = 0; i < N; i++) {
        assert_true(isfinite(y[i]));
        assert_true(!hvi_net_keeps(k, (hvi_activation)a) || isfinite(slope[i]));
      }
    }
  }
}

/* What is not a number stays so; infinities have their limits. */
static void what_is_not_finite_passes(void **state) {
  (void)state;
  const number x[] = {NAN, INFINITY, -INFINITY};
  number y[3];
  FOR_KERNELS(k) {
    k->exp(y, x, 3);
    assert_true(isnan(y[0]));
    assert_true(y[1] == INFINITY);
    assert_true(y[2] == 0);
    k->tanh(y, x, 3);
    assert_true(isnan(y[0]));
    assert_true(y[1] == 1);
    assert_true(y[2] == -1);
    k->log(y, x, 3);
    assert_true(isnan(y[0]));
    assert_true(y[1] == INFINITY);
    assert_true(isnan(y[2]));
    for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
      activate_column(k, (hvi_activation)a, y, NULL, x, 1);
      assert_true(isnan(y[0]));
    }
  }
}

static void tanh_is_odd(void **state) {
  (void)state;
  enum { N = 4001 };
  number x[N], y[N], turned[N];
  for (size_t i = 0; i < N; i++) x[i] = 12 * (number)i / (number)N;
  FOR_KERNELS(k) {
    k->tanh(y, x, N);
    for (size_t i = 0; i < N; i++) turned[i] = -x[i];
    k->tanh(turned, turned, N);
    for (size_t i = 0; i < N; i++) {
      assert_true(turned[i] == -y[i]);
      assert_true(y[i] <= 1);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_accurate),
      cmocka_unit_test(activations_are_accurate),
      cmocka_unit_test(extremes_are_tame),
      cmocka_unit_test(what_is_not_finite_passes),
      cmocka_unit_test(tanh_is_odd),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

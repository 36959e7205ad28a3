/* The elementary functions and activations of every build of the kernels, against the C library. */
#include "net/builds.h"

/* y[n] = s(x[n]), as the product of a column with 1 */
static void activate_column(const hvi_net_kernels *k, hvi_activation a, float *y, float *slope,
                            const float *x, size_t n) {
  float one[1 + HVI_NET_SLACK] = {1.0f};
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

/* Over [low, high], and over magnitudes from the smallest to the largest float. */
static float *points(double low, double high) {
  float *x = floats(POINTS);
  hvi_rng rng = hvi_rng_new(12, "points", 0);
  for (size_t i = 0; i < POINTS; i++) {
    const double wide = pow(10.0, hvi_rng_range(&rng, -44.0, 38.5));
    const double signed_wide = i % 4 == 1 ? wide : -wide;
    x[i] = (float)(i % 2 ? fmin(fmax(signed_wide, low), high) : hvi_rng_range(&rng, low, high));
  }
  return x;
}

static void check_function(const hvi_net_kernels *k, const char *title, const float *y,
                           const float *x, double (*f)(double), double bound) {
  for (size_t i = 0; i < POINTS; i++) {
    const double exact = f((double)x[i]);
    if (!(float_ulps(y[i], exact) <= bound))
      fail_msg("%s: %s(%.9g) = %.9g, not %.9g", k->name, title, (double)x[i], (double)y[i], exact);
  }
}

static void functions_are_accurate(void **state) {
  (void)state;
  float *y = floats(POINTS), *wide = points(-110.0, 95.0), *near = points(-2.0, 2.0),
        *positive = points(1e-45, 3.4e38), *middle = points(-12.0, 12.0);
  FOR_KERNELS(k) {
    k->exp(y, wide, POINTS);
    check_function(k, "exp", y, wide, exp, 1.5);
    k->exp(y, near, POINTS);
    check_function(k, "exp", y, near, exp, 1.5);
    k->tanh(y, middle, POINTS);
    check_function(k, "tanh", y, middle, tanh, 3.0);
    k->tanh(y, near, POINTS);
    check_function(k, "tanh", y, near, tanh, 3.0);
    k->log(y, positive, POINTS);
    check_function(k, "log", y, positive, log, 1.5);
    for (size_t i = 0; i < POINTS; i++) positive[i] = 0.5f + 1.5f * (float)i / (float)POINTS;
    k->log(y, positive, POINTS);
    check_function(k, "log", y, positive, log, 1.5);
  }
  float *all[] = {y, wide, near, positive, middle};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static double sigmoid_exactly(double x) { return activated(HVI_SIGMOID, x); }
static double softplus_exactly(double x) { return activated(HVI_SOFTPLUS, x); }
static double celu_exactly(double x) { return activated(HVI_CELU, x); }
static double gelu_exactly(double x) { return activated(HVI_GELU, x); }

static void activations_are_accurate(void **state) {
  (void)state;
  float *y = floats(POINTS), *x = points(-110.0, 110.0), *middle = points(-12.5, 12.5);
  FOR_KERNELS(k) {
    activate_column(k, HVI_SIGMOID, y, NULL, x, POINTS);
    check_function(k, "sigmoid", y, x, sigmoid_exactly, 3.0);
    activate_column(k, HVI_SOFTPLUS, y, NULL, x, POINTS);
    check_function(k, "softplus", y, x, softplus_exactly, 3.0);
    activate_column(k, HVI_CELU, y, NULL, x, POINTS);
    check_function(k, "celu", y, x, celu_exactly, 1.5);
    activate_column(k, HVI_GELU, y, NULL, middle, POINTS);
    check_function(k, "gelu", y, middle, gelu_exactly, 12.0);
  }
  free(y);
  free(x);
  free(middle);
}

/* Finite in, finite or infinite out; the largest values are those of the limits. */
static void extremes_are_tame(void **state) {
  (void)state;
  const float x[] = {0.0f,  -0.0f,  0x1p-149f, -0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f,
                     20.0f, -20.0f, 1e10f,     -1e10f,     88.7f,           -103.9f};
  enum { N = sizeof x / sizeof *x };
  float y[N], slope[N];
  FOR_KERNELS(k) {
    k->exp(y, x, N);
    assert_true(y[0] == 1.0f);
    assert_true(y[1] == 1.0f);
    assert_true(isinf(y[4]));
    assert_true(y[5] == 0.0f);
    assert_true(isfinite(y[10]));
    k->tanh(y, x, N);
    for (size_t i = 0; i < N; i++) assert_true(fabsf(y[i]) <= 1.0f);
    assert_true(y[4] == 1.0f);
    assert_true(y[5] == -1.0f);
    assert_true(y[6] == 1.0f);
    assert_true(y[2] == x[2]);
    assert_true(y[3] == x[3]);
    assert_true(signbit(y[1]));
    assert_true(!signbit(y[0]));
    k->log(y, x, N);
    assert_true(y[0] == -INFINITY);
    assert_true(y[1] == -INFINITY);
    assert_true(isnan(y[3]));
    assert_true(isnan(y[5]));
    assert_true(float_ulps(y[2], log(0x1p-149)) <= 1.0);
    assert_true(float_ulps(y[4], log(0x1.fffffep127)) <= 1.0);
    for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
      activate_column(k, (hvi_activation)a, y, slope, x, N);
      for (size_t i = 0; i < N; i++) {
        assert_true(isfinite(y[i]));
        assert_true(!hvi_activation_keeps((hvi_activation)a) || isfinite(slope[i]));
      }
    }
  }
}

/* What is not a number stays so; infinities have their limits. */
static void what_is_not_finite_passes(void **state) {
  (void)state;
  const float x[] = {NAN, INFINITY, -INFINITY};
  float y[3];
  FOR_KERNELS(k) {
    k->exp(y, x, 3);
    assert_true(isnan(y[0]));
    assert_true(y[1] == INFINITY);
    assert_true(y[2] == 0.0f);
    k->tanh(y, x, 3);
    assert_true(isnan(y[0]));
    assert_true(y[1] == 1.0f);
    assert_true(y[2] == -1.0f);
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
  float x[N], y[N], turned[N];
  for (size_t i = 0; i < N; i++) x[i] = 12.0f * (float)i / (float)N;
  FOR_KERNELS(k) {
    k->tanh(y, x, N);
    for (size_t i = 0; i < N; i++) turned[i] = -x[i];
    k->tanh(turned, turned, N);
    for (size_t i = 0; i < N; i++) {
      assert_true(turned[i] == -y[i]);
      assert_true(y[i] <= 1.0f);
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

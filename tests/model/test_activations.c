/* Activations and their slopes against reference values, and their names. */
#include "support/check.h"

#include <hvi/model.h>

#include <float.h>

/* A layer that does nothing but activate: y[n] = s(a), slope[n] = s'(a) * (1, ..., 1). */
static void activate(hvi_activation kind, const double *a, size_t n, double *y, double *slope) {
  double identity[16] = {0.0}, cache[64], ones[4];
  for (size_t i = 0; i < n; i++) identity[i * n + i] = ones[i] = 1.0;
  const hvi_layer layer = {.out = n, .matrix = identity, .activation = kind};
  const hvi_stack_spec spec = {.in = n, .rows = 1, .layer_count = 1, .layers = &layer};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  assert_true(m->cache <= 64);
  m->ops->eval(m, cache, a, y);
  m->ops->jvp(m, cache, a, ones, slope);
  hvi_model_free(m);
}

/* In long double, by formulas that lose no digits. */
static long double reference(hvi_activation kind, long double a) {
  switch (kind) {
  case HVI_CELU:
    return a > 0 ? a : expm1l(a);
  case HVI_SIGMOID:
    return 1 / (1 + expl(-a));
  case HVI_TANH:
    return tanhl(a);
  case HVI_RELU:
    return a > 0 ? a : 0;
  case HVI_LEAKY_RELU:
    return a > 0 ? a : a / 100;
  case HVI_GELU:
    return a * erfcl(-a / sqrtl(2.0L)) / 2;
  case HVI_SOFTPLUS:
    return a > 0 ? a + log1pl(expl(-a)) : log1pl(expl(a));
  default:
    return a;
  }
}

static long double reference_slope(hvi_activation kind, long double a) {
  const long double e = expl(-fabsl(a)), pi = 3.14159265358979323846264338327950288L;
  switch (kind) {
  case HVI_CELU:
    return a > 0 ? 1 : expl(a);
  case HVI_SIGMOID:
    return e / ((1 + e) * (1 + e));
  case HVI_TANH:
    return 4 * e * e / ((1 + e * e) * (1 + e * e));
  case HVI_RELU:
    return a > 0 ? 1 : 0;
  case HVI_LEAKY_RELU:
    return a > 0 ? 1 : 0.01L;
  case HVI_GELU:
    return erfcl(-a / sqrtl(2.0L)) / 2 + a * expl(-a * a / 2) / sqrtl(2 * pi);
  case HVI_SOFTPLUS:
    return a > 0 ? 1 / (1 + e) : e / (1 + e);
  default:
    return 1;
  }
}

static const hvi_activation elementwise[] = {HVI_CELU,       HVI_SIGMOID, HVI_TANH,    HVI_RELU,
                                             HVI_LEAKY_RELU, HVI_GELU,    HVI_SOFTPLUS};
enum { ELEMENTWISE = sizeof elementwise / sizeof elementwise[0] };

static void values_and_slopes_match_long_double(void **state) {
  (void)state;
  for (size_t k = 0; k < ELEMENTWISE; k++) {
    for (double a = -40.0; a <= 40.0; a += 0.0625) {
      double y, slope;
      activate(elementwise[k], &a, 1, &y, &slope);
      const double value = (double)reference(elementwise[k], a);
      /* erfc multiplies the rounding of its argument by its square, twice over where long double is
       * emulated in double */
      const double room = (elementwise[k] == HVI_GELU ? 4 * a * a + 8 : 8) * DBL_EPSILON;
      check_near(y, value, room * fabs(value) + DBL_MIN);
      check_near(slope, (double)reference_slope(elementwise[k], a), 4 * DBL_EPSILON);
    }
  }
}

/* Where a second-order method divides by the slope, a share of it counts. */
static void slopes_keep_their_digits_where_they_are_small(void **state) {
  (void)state;
  static const hvi_activation kinds[] = {HVI_CELU, HVI_SOFTPLUS, HVI_SIGMOID};
  for (size_t k = 0; k < 3; k++) {
    for (double a = -30.0; a <= 0.0; a += 0.5) {
      double y, slope;
      activate(kinds[k], &a, 1, &y, &slope);
      const double expected = (double)reference_slope(kinds[k], a);
      check_near(slope, expected, 8 * DBL_EPSILON * expected);
    }
  }
}

static void extremes_are_finite_and_monotone_where_they_should(void **state) {
  (void)state;
  static const double points[] = {-1e308, -1e3, -745.2, -1e-320, -0.0, 0.0, 1e-320, 709.9, 1e3};
  for (size_t k = 0; k < ELEMENTWISE; k++) {
    double last = -INFINITY;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
      double y, slope;
      activate(elementwise[k], &points[i], 1, &y, &slope);
      check_finite(&y, 1);
      check_finite(&slope, 1);
      if (elementwise[k] != HVI_GELU) {
        assert_true(y >= last);
        assert_true(slope >= 0.0);
        assert_true(slope <= 1.0);
      }
      last = y;
    }
  }
}

static void a_number_that_is_none_stays_visible(void **state) {
  (void)state;
  const double a[] = {0.0, NAN, 1.0};
  double y[3], slope[3];
  for (size_t k = 0; k < ELEMENTWISE; k++) {
    activate(elementwise[k], &a[1], 1, y, slope);
    assert_true(isnan(y[0]));
  }
  activate(HVI_SOFTMAX, a, 3, y, slope);
  for (size_t i = 0; i < 3; i++) assert_true(isnan(y[i]));
}

static void softmax_is_a_distribution(void **state) {
  (void)state;
  const double a[] = {0.3, -1.2, 2.0, 0.0};
  double y[4], slope[4];
  activate(HVI_SOFTMAX, a, 4, y, slope);
  long double sum = 0, total = 0;
  for (size_t i = 0; i < 4; i++) sum += expl(a[i]);
  for (size_t i = 0; i < 4; i++) {
    const double expected = (double)(expl(a[i]) / sum);
    check_near(y[i], expected, 4 * DBL_EPSILON * expected);
    check_near(slope[i], 0.0, 4 * DBL_EPSILON); /* a shift of all changes nothing */
    total += y[i];
  }
  check_near((double)total, 1.0, 4 * DBL_EPSILON);

  const double far[] = {1e3, -1e3, 1e3}, ends[] = {0.5, 0.0, 0.5};
  activate(HVI_SOFTMAX, far, 3, y, slope);
  check_close(y, ends, 3, 0.0);
}

static void names_lead_back(void **state) {
  (void)state;
  for (int i = 0; i < HVI_ACTIVATION_COUNT; i++) {
    const char *name = hvi_activation_name((hvi_activation)i);
    assert_non_null(name);
    assert_int_equal(hvi_activation_find(name), i);
  }
  assert_null(hvi_activation_name(HVI_ACTIVATION_COUNT));
  assert_int_equal(hvi_activation_find("swish"), HVI_ACTIVATION_COUNT);
  assert_int_equal(hvi_activation_find(""), HVI_ACTIVATION_COUNT);
  assert_int_equal(hvi_activation_find(NULL), HVI_ACTIVATION_COUNT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_and_slopes_match_long_double),
      cmocka_unit_test(slopes_keep_their_digits_where_they_are_small),
      cmocka_unit_test(extremes_are_finite_and_monotone_where_they_should),
      cmocka_unit_test(a_number_that_is_none_stays_visible),
      cmocka_unit_test(softmax_is_a_distribution),
      cmocka_unit_test(names_lead_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

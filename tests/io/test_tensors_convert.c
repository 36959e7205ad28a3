#include <hvi/tensors.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hvi_tensor tensor(hvi_tensor_type type, size_t count, const void *data) {
  return (hvi_tensor){"w", type, 1, {count}, data};
}

static void assert_numbers(const hvi_tensor *t, const double *expected) {
  double as_double[8];
  float as_float[8];
  size_t n = hvi_tensor_count(t);
  assert_int_equal(hvi_tensor_doubles(as_double, t, NULL), HVI_OK);
  assert_int_equal(hvi_tensor_floats(as_float, t, NULL), HVI_OK);
  assert_memory_equal(as_double, expected, n * sizeof *expected);
  for (size_t i = 0; i < n; i++) {
    float rounded = (float)expected[i];
    assert_memory_equal(&as_float[i], &rounded, sizeof rounded);
  }
}

static void every_type_is_converted(void **state) {
  (void)state;
  const unsigned char truths[] = {0, 1}, octets[] = {7, 255};
  const int8_t tiny[] = {-128, 127};
  const uint16_t words[] = {0, 65535};
  const int16_t shorts[] = {-32768, 32767};
  const uint32_t naturals[] = {1, UINT32_C(1) << 31};
  const uint64_t large[] = {7, UINT64_C(1) << 63};
  const int32_t ints[] = {-16777216, INT32_MIN};
  const int64_t longs[] = {INT64_MIN, -(INT64_C(1) << 24)};
  const uint16_t halves[] = {0x3c00, 0xc000}, brains[] = {0x3f80, 0xc2f7};
  const float floats[] = {0.1f, -0.0f};
  const double doubles[] = {0.1, -1e-300};
  const struct {
    hvi_tensor t;
    double expected[2];
  } cases[] = {
      {tensor(HVI_TENSOR_BOOL, 2, truths), {0, 1}},
      {tensor(HVI_TENSOR_U8, 2, octets), {7, 255}},
      {tensor(HVI_TENSOR_I8, 2, tiny), {-128, 127}},
      {tensor(HVI_TENSOR_U16, 2, words), {0, 65535}},
      {tensor(HVI_TENSOR_I16, 2, shorts), {-32768, 32767}},
      {tensor(HVI_TENSOR_U32, 2, naturals), {1, 0x1p31}},
      {tensor(HVI_TENSOR_I32, 2, ints), {-16777216, -2147483648.0}},
      {tensor(HVI_TENSOR_U64, 2, large), {7, 0x1p63}},
      {tensor(HVI_TENSOR_I64, 2, longs), {-0x1p63, -0x1p24}},
      {tensor(HVI_TENSOR_F16, 2, halves), {1, -2}},
      {tensor(HVI_TENSOR_BF16, 2, brains), {1, -123.5}},
      {tensor(HVI_TENSOR_F32, 2, floats), {(double)0.1f, -0.0}},
      {tensor(HVI_TENSOR_F64, 2, doubles), {0.1, -1e-300}},
  };
  for (size_t i = 0; i < HVI_TENSOR_TYPE_COUNT; i++) {
    assert_int_equal(cases[i].t.type, i);
    assert_numbers(&cases[i].t, cases[i].expected);
    hvi_tensor scalar = cases[i].t, empty = tensor(cases[i].t.type, 0, NULL);
    scalar.dims = 0;
    assert_numbers(&scalar, cases[i].expected);
    assert_numbers(&empty, NULL);
  }
}

/* A caller's numbers may lie anywhere. */
static void unaligned_numbers_are_converted(void **state) {
  (void)state;
  const double x[] = {1.5, -2.25};
  unsigned char room[sizeof x + 3];
  memcpy(room + 3, x, sizeof x);
  hvi_tensor t = tensor(HVI_TENSOR_F64, 2, room + 3);
  assert_numbers(&t, x);
}

/* The halves from 0 up are reached by steps of 2^-24, which double every 1,024 from 2,048 on. */
static void halves_climb_as_they_should(void **state) {
  (void)state;
  double value = 0.0, step = 0x1p-24, got, negative;
  for (unsigned bits = 0; bits < 0x7c00; bits++) {
    const uint16_t plus = (uint16_t)bits, minus = (uint16_t)(bits | 0x8000);
    const hvi_tensor p = tensor(HVI_TENSOR_F16, 1, &plus), m = tensor(HVI_TENSOR_F16, 1, &minus);
    assert_int_equal(hvi_tensor_doubles(&got, &p, NULL), HVI_OK);
    assert_int_equal(hvi_tensor_doubles(&negative, &m, NULL), HVI_OK);
    assert_true(got == value);
    assert_true(negative == -value);
    assert_true(signbit(negative));
    if (bits >= 2048 && bits % 1024 == 0) step *= 2.0;
    value += step;
  }
  assert_true(value == 65536.0);
}

/* Blocks are taken of a few hundred numbers; the ends of all of them count. */
static void long_tensors_are_converted(void **state) {
  (void)state;
  enum { N = 2049 };
  static int32_t x[N];
  static double d[N];
  static float f[N];
  for (int32_t i = 0; i < N; i++) x[i] = i * i - 1000000;
  for (size_t n = N - 2; n <= N; n++) {
    const hvi_tensor t = tensor(HVI_TENSOR_I32, n, x);
    memset(d, 0, sizeof d);
    memset(f, 0, sizeof f);
    assert_int_equal(hvi_tensor_doubles(d, &t, NULL), HVI_OK);
    assert_int_equal(hvi_tensor_floats(f, &t, NULL), HVI_OK);
    for (size_t i = 0; i < N; i++) {
      assert_true(d[i] == (i < n ? x[i] : 0));
      assert_true((int32_t)f[i] == (i < n ? x[i] : 0));
    }
  }
}

static void assert_unfit(const hvi_tensor *t, bool as_double, const char *reason) {
  static double d[1024];
  static float f[1024];
  hvi_error err = {0};
  hvi_status status = as_double ? hvi_tensor_doubles(d, t, &err) : hvi_tensor_floats(f, t, &err);
  assert_int_equal(status, HVI_ERROR_INPUT);
  assert_int_equal(err.status, HVI_ERROR_INPUT);
  if (!strstr(err.text, reason)) fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void what_is_not_finite_is_refused(void **state) {
  (void)state;
  static float x[1000];
  const float bad[] = {NAN, INFINITY, -INFINITY};
  const hvi_tensor t = tensor(HVI_TENSOR_F32, 1000, x);
  for (int i = 0; i < 3; i++) {
    const char *reason = i ? "tensor 'w' has an infinity at index 777; its numbers must be finite"
                           : "tensor 'w' has nan at index 777; its numbers must be finite";
    x[777] = bad[i];
    assert_unfit(&t, true, reason);
    assert_unfit(&t, false, reason);
  }
  const uint16_t halves[] = {0x7c00, 0xfc00, 0x7e00}, brains[] = {0x7f80, 0xff80, 0x7fc0};
  const double doubles[] = {INFINITY, -INFINITY, NAN};
  for (size_t i = 0; i < 3; i++) {
    const hvi_tensor f16 = tensor(HVI_TENSOR_F16, 1, halves + i);
    const hvi_tensor bf16 = tensor(HVI_TENSOR_BF16, 1, brains + i);
    const hvi_tensor f64 = tensor(HVI_TENSOR_F64, 1, doubles + i);
    const char *reason = i == 2 ? "has nan at index 0" : "has an infinity at index 0";
    assert_unfit(&f16, true, reason);
    assert_unfit(&bf16, false, reason);
    assert_unfit(&f64, true, reason);
    assert_unfit(&f64, false, reason);
  }
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  const double large = 3.5e38, fits = (double)FLT_MAX * (1.0 + 0x1p-26);
  hvi_tensor t = tensor(HVI_TENSOR_F64, 1, &large);
  assert_unfit(&t, false, "tensor 'w' has 3.5e+38 at index 0, which a float cannot");
  assert_numbers(&(hvi_tensor){"w", HVI_TENSOR_F64, 1, {1}, &fits}, &fits);
  const int32_t odd[] = {0, 16777217};
  t = tensor(HVI_TENSOR_I32, 2, odd);
  assert_unfit(&t, false, "has 16777217 at index 1, which a float cannot hold exactly");
  const int64_t longs[] = {(INT64_C(1) << 53) + 1, -(INT64_C(1) << 53) - 1, INT64_MAX};
  for (size_t i = 0; i < 3; i++) {
    t = tensor(HVI_TENSOR_I64, 1, longs + i);
    assert_unfit(&t, true, "at index 0, which a double cannot hold exactly");
    assert_unfit(&t, false, "at index 0, which a double cannot hold exactly");
  }
  const int64_t even[] = {INT64_C(1) << 53, -(INT64_C(1) << 62)};
  assert_numbers(&(hvi_tensor){"w", HVI_TENSOR_I64, 1, {2}, even},
                 (const double[]){0x1p53, -0x1p62});
  t = tensor(HVI_TENSOR_TYPE_COUNT, 1, even);
  double d;
  float f;
  assert_int_equal(hvi_tensor_doubles(&d, &t, NULL), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_tensor_floats(&f, &t, NULL), HVI_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_is_converted),
      cmocka_unit_test(unaligned_numbers_are_converted),
      cmocka_unit_test(halves_climb_as_they_should),
      cmocka_unit_test(long_tensors_are_converted),
      cmocka_unit_test(what_is_not_finite_is_refused),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

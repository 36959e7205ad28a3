#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "io/npy.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[128];
static bool refuse;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  return !refuse;
}

static int enter(void **state) {
  (void)state;
  strcpy(folder, "/tmp/hvi-npy-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/array.npy", folder);
  return 0;
}

static int leave(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

/* A file under construction in memory. */
typedef struct bytes {
  unsigned char data[70000];
  size_t size;
} bytes;

static void append(bytes *b, const void *data, size_t size) {
  assert_true(b->size + size <= sizeof b->data);
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

/* Starts a version 1.0 file with this dictionary. */
static bytes *start(const char *dictionary) {
  static bytes b;
  size_t length = strlen(dictionary);
  const unsigned char prefix[] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, (unsigned char)(length >> 8)};
  b.size = 0;
  append(&b, prefix, sizeof prefix);
  append(&b, dictionary, length);
  return &b;
}

static hvi_status decode(hvi_array *a, const bytes *b, hvi_error *err) {
  /* a copy of the exact size lets a sanitizer see every read beyond it */
  unsigned char *exact = malloc(b->size ? b->size : 1);
  memcpy(exact, b->data, b->size);
  hvi_status status = hvi_npy_decode(a, exact, b->size, "a.npy", err);
  free(exact);
  return status;
}

static void assert_refused(const bytes *b, const char *reason) {
  hvi_array a;
  hvi_error err = {0};
  assert_int_equal(decode(&a, b, &err), HVI_ERROR_INPUT);
  assert_null(a.data);
  if (!strstr(err.text, reason) || !strstr(err.text, "'a.npy'"))
    fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void assert_header_refused(const char *dictionary, const char *reason) {
  const double numbers[] = {1, 2, 3, 4, 5, 6};
  bytes *b = start(dictionary);
  append(b, numbers, sizeof numbers);
  assert_refused(b, reason);
}

static void assert_numbers(const bytes *b, const double *expected, size_t n) {
  hvi_array a;
  hvi_error err = {0};
  hvi_status status = decode(&a, b, &err);
  if (status != HVI_OK) fail_msg("%s", err.text);
  assert_int_equal(a.size, n);
  assert_memory_equal(a.data, expected, n * sizeof *expected);
  hvi_array_free(&a);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  const double x[] = {0.1,      -0.0, 5e-324, 1.7976931348623157e308,
                      INFINITY, NAN,  1,      2,
                      3,        4,    5,      6,
                      7,        8,    9,      10,
                      11,       12,   13,     14,
                      15,       16,   17,     18};
  const size_t shapes[][8] = {{0}, {24}, {6, 4}, {2, 3, 4}, {1, 2, 1, 3, 1, 4, 1, 1}, {5, 0}};
  const size_t dims[] = {0, 1, 2, 3, 8, 2}, sizes[] = {1, 24, 24, 24, 24, 0};
  for (size_t i = 0; i < 6; i++) {
    hvi_array a;
    assert_int_equal(hvi_npy_write(path, x, dims[i], shapes[i], HVI_NPY_ROWS, NULL), HVI_OK);
    assert_int_equal(hvi_npy_read(&a, path, 0, NULL), HVI_OK);
    assert_int_equal(a.dims, dims[i]);
    assert_int_equal(a.size, sizes[i]);
    assert_memory_equal(a.shape, shapes[i], dims[i] * sizeof(size_t));
    assert_memory_equal(a.data, x, sizes[i] * sizeof *x);
    hvi_array_free(&a);
    hvi_array_free(&a);
  }
  hvi_array_free(NULL);
}

static void many_numbers_are_written(void **state) {
  (void)state;
  const size_t n = 1301;
  double *x = hvi_alloc_doubles(n);
  for (size_t i = 0; i < n; i++) x[i] = sqrt((double)i);
  hvi_array a;
  assert_int_equal(hvi_npy_write(path, x, 1, &n, HVI_NPY_ROWS, NULL), HVI_OK);
  assert_int_equal(hvi_npy_read(&a, path, 0, NULL), HVI_OK);
  assert_memory_equal(a.data, x, n * sizeof *x);
  hvi_array_free(&a);
  hvi_free(x);
}

/* The bytes numpy.save writes for numpy.array([[1., 2.]]), but for the mark, which is of blanks. */
static void the_header_is_numpys(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0};
  const size_t shape[] = {1, 2};
  unsigned char *file;
  size_t size;
  assert_int_equal(hvi_npy_write(path, x, 2, shape, HVI_NPY_ROWS, NULL), HVI_OK);
  assert_int_equal(hvi_file_read_bytes(&file, &size, path, 1000, NULL), HVI_OK);
  assert_int_equal(size, 128 + 16);
  assert_memory_equal(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  const char *text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
  assert_memory_equal(file + 10, text, strlen(text));
  const size_t mark = 128 - strlen(HVI_NPY_ROWS);
  for (size_t i = 10 + strlen(text); i < mark; i++) assert_int_equal(file[i], ' ');
  assert_memory_equal(file + mark, HVI_NPY_ROWS, 128 - mark);
  for (const char *c = HVI_NPY_ROWS; *c; c++) assert_non_null(strchr(" \t\n", *c));
  assert_int_equal(file[127], '\n');
  hvi_free(file);
}

static void every_type_is_read(void **state) {
  (void)state;
  const float f4[] = {1.5f, -2.25f};
  const int64_t i8[] = {-3, INT64_C(1) << 53};
  const int32_t i4[] = {-7, INT32_MAX};
  const unsigned char b1[] = {0, 1},
                      be8[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 2, 0, 0, 0, 0, 0, 0};
  const unsigned char be4[] = {0x3f, 0xc0, 0, 0, 0xc0, 0x10, 0, 0};
  const struct {
    const char *type;
    const void *data;
    size_t size;
    double expected[2];
  } cases[] = {
      {"<f4", f4, sizeof f4, {1.5, -2.25}},      {"<i8", i8, sizeof i8, {-3.0, 0x1p53}},
      {"<i4", i4, sizeof i4, {-7.0, INT32_MAX}}, {"|b1", b1, sizeof b1, {0.0, 1.0}},
      {">f8", be8, sizeof be8, {1.5, -2.25}},    {">f4", be4, sizeof be4, {1.5, -2.25}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[100];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }\n",
             cases[i].type);
    bytes *b = start(text);
    append(b, cases[i].data, cases[i].size);
    assert_numbers(b, cases[i].expected, 2);
  }
}

static void fortran_order_is_turned(void **state) {
  (void)state;
  double file[24], expected[24];
  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; j < 3; j++)
      for (size_t k = 0; k < 4; k++)
        file[i + 2 * j + 6 * k] = expected[12 * i + 4 * j + k] = (double)(100 * i + 10 * j + k);
  }
  bytes *b = start("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 4), }\n");
  append(b, file, sizeof file);
  assert_numbers(b, expected, 24);
  b = start("{'descr': '<f8', 'fortran_order': True, 'shape': (24,), }\n");
  append(b, file, sizeof file);
  assert_numbers(b, file, 24);
  b = start("{'descr': '<f8', 'fortran_order': True, 'shape': (4, 0, 3), }\n");
  assert_numbers(b, file, 0);
}

static void other_spellings_are_understood(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0, 3.0};
  const char *const texts[] = {
      "{\"shape\":(3,),\"descr\":\"<f8\",\"fortran_order\":False}",
      " { 'fortran_order' : False , 'shape' : ( 3 , ) , 'descr':'<f8' } \n",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3,), }"};
  for (size_t i = 0; i < 3; i++) {
    bytes *b = start(texts[i]);
    append(b, x, sizeof x);
    assert_numbers(b, x, 3);
  }
}

static void versions_two_and_three_are_read(void **state) {
  (void)state;
  const char *text = "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n";
  const double x = 4.5;
  for (unsigned char version = 2; version <= 3; version++) {
    static bytes b;
    const unsigned char prefix[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', version, 0, (unsigned char)strlen(text), 0, 0, 0};
    b.size = 0;
    append(&b, prefix, sizeof prefix);
    append(&b, text, strlen(text));
    append(&b, &x, sizeof x);
    assert_numbers(&b, &x, 1);
  }
}

static void wrong_beginnings_are_refused(void **state) {
  (void)state;
  bytes *b = start("{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
  b->data[0] = 'x';
  assert_refused(b, "does not start with");
  b = start("{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
  b->data[6] = 4;
  assert_refused(b, "version 4.0; 1.0, 2.0 and 3.0 are read");
  b->data[6] = 1;
  b->data[7] = 1;
  assert_refused(b, "version 1.1");
  b->data[6] = 2;
  b->data[7] = 0;
  memset(b->data + 8, 0xff, 4);
  assert_refused(b, "header of 4294967295 bytes; at most 65536 are read");
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0};
  bytes *b = start("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n");
  append(b, x, sizeof x);
  size_t full = b->size;
  for (size_t size = 0; size < full; size++) {
    b->size = size;
    assert_refused(b, size < 6           ? "does not start with"
                      : size < full - 16 ? "ends within"
                                         : "truncated");
  }
  b->size = full;
  assert_numbers(b, x, 2);
  append(b, "", 1);
  assert_refused(b,
                 "has 17 bytes of numbers; its shape and type need 16 (something was appended?)");
}

static void wrong_headers_are_refused(void **state) {
  (void)state;
  const char *const broken[] = {
      "",
      "{",
      "{}",
      "[]",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), ",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), } x",
      "{'descr': '<f8', 'fortran_order': False}",
      "{'descr': '<f8', 'shape': (6,), 'fortran_order': Maybe}",
      "{'descr': '<f8', 'fortran_order': False 'shape': (6,), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (6), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (2 3), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (-6,), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (6.,), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (,), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': 6, }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }",
      "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (6,), }",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), 'more': 1, }",
      "{'descr': [('x', '<f8'), 'fortran_order': False, 'shape': (6,), }",
      "{'descr': '<f8\\'', 'fortran_order': False, 'shape': (6,), }",
      "{'descr': '<f8, 'fortran_order': False, 'shape': (6,), }",
      "{'descr': '<f88888888888888888888888888888888888888888', 'fortran_order': False}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
  };
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
    assert_header_refused(broken[i], "header that is not understood");
  assert_header_refused("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (6,), }",
                        "of type 'structure'");
}

static void wrong_types_are_refused(void **state) {
  (void)state;
  const char *const types[] = {"<c16", "|S8", "=f8", "f8",  "O",  "",
                               "<f16", "<b1", "|f8", "<u1", "<i3"};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    char text[100], reason[100];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (6,), }",
             types[i]);
    snprintf(reason, sizeof reason, "of type '%s'; f2 to f8, i1 to i8, u1 to u8 and b1 are read",
             types[i]);
    assert_header_refused(text, reason);
  }
}

static void impossible_shapes_are_refused(void **state) {
  (void)state;
  const char *const shapes[] = {"(4294967296, 4294967296)", "(18446744073709551615,)",
                                "(2305843009213693952,)", "(3, 6148914691236517206)"};
  for (size_t i = 0; i < 4; i++) {
    char text[150];
    snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }",
             shapes[i]);
    assert_header_refused(text, "too large for any memory");
  }
  assert_header_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 100), }",
                        "need 800000000000 (truncated?)");
}

static void files_have_limits(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0, 3.0};
  const size_t shape[] = {3};
  hvi_array a;
  hvi_error err;
  assert_int_equal(hvi_npy_write(path, x, 1, shape, HVI_NPY_ROWS, NULL), HVI_OK);
  assert_int_equal(hvi_npy_read(&a, path, 151, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "has 152 bytes; at most 151 are read"));
  assert_null(a.data);
  assert_int_equal(hvi_npy_read(&a, path, 152, &err), HVI_OK);
  hvi_array_free(&a);
  assert_int_equal(hvi_npy_read(&a, folder, 0, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_npy_read(&a, "/nowhere.npy", 0, &err), HVI_ERROR_IO);
  refuse = true;
  hvi_status status = hvi_npy_read(&a, path, 0, NULL);
  refuse = false;
  assert_int_equal(status, HVI_ERROR_MEMORY);
  assert_null(a.data);
}

static void writing_reports_errors(void **state) {
  (void)state;
  const double x[] = {1.0};
  const size_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[] = {SIZE_MAX, 2};
  const size_t one[] = {1};
  hvi_error err;
  unlink(path);
  assert_int_equal(hvi_npy_write(path, x, 9, nine, HVI_NPY_ROWS, &err), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_npy_write(path, x, 2, huge, HVI_NPY_ROWS, &err), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_npy_write("/dev/full", x, 1, one, HVI_NPY_ROWS, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_npy_write("/nowhere/x.npy", x, 1, one, HVI_NPY_ROWS, &err), HVI_ERROR_IO);
  assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(many_numbers_are_written),
      cmocka_unit_test(the_header_is_numpys),
      cmocka_unit_test(every_type_is_read),
      cmocka_unit_test(fortran_order_is_turned),
      cmocka_unit_test(other_spellings_are_understood),
      cmocka_unit_test(versions_two_and_three_are_read),
      cmocka_unit_test(wrong_beginnings_are_refused),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(wrong_headers_are_refused),
      cmocka_unit_test(wrong_types_are_refused),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(files_have_limits),
      cmocka_unit_test(writing_reports_errors),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}

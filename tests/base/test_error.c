#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_status_has_its_own_text(void **state) {
  (void)state;
  for (int i = 0; i < HVI_STATUS_COUNT; i++) {
    assert_true(strlen(hvi_status_text((hvi_status)i)) > 0);
    for (int j = 0; j < i; j++)
      assert_string_not_equal(hvi_status_text((hvi_status)i), hvi_status_text((hvi_status)j));
  }
  assert_string_equal(hvi_status_text(HVI_STATUS_COUNT), "unknown status");
}

static void set_stores_and_returns(void **state) {
  (void)state;
  hvi_error err = {0};
  assert_int_equal(hvi_error_set(&err, HVI_ERROR_INPUT, "row %d of %s", 3, "A"), HVI_ERROR_INPUT);
  assert_int_equal(err.status, HVI_ERROR_INPUT);
  assert_string_equal(err.text, "row 3 of A");
  assert_int_equal(hvi_error_set(NULL, HVI_ERROR_IO, "nobody listens"), HVI_ERROR_IO);
}

static void a_text_can_be_added_to(void **state) {
  (void)state;
  hvi_error err = {0};
  hvi_error_set(&err, HVI_ERROR_INPUT, "eta is negative");
  hvi_error_set(&err, err.status, "game.yaml: %s", err.text);
  assert_string_equal(err.text, "game.yaml: eta is negative");
}

static void a_long_text_is_cut(void **state) {
  (void)state;
  char name[2000];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  hvi_error err;
  hvi_error_set(&err, HVI_ERROR_IO, "%s", name);
  assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void a_text_is_one_line(void **state) {
  (void)state;
  hvi_error err;
  hvi_error_set(&err, HVI_ERROR_IO, "cannot open '%s'", "a\nb\x1b[31m");
  assert_string_equal(err.text, "cannot open 'a?b?[31m'");
}

static void memory_and_system_errors(void **state) {
  (void)state;
  hvi_error err;
  assert_int_equal(hvi_error_memory(&err, "a trace"), HVI_ERROR_MEMORY);
  assert_string_equal(err.text, "out of memory for a trace");
  errno = ENOENT;
  assert_int_equal(hvi_error_system(&err, "open", "x.npy"), HVI_ERROR_IO);
  assert_string_equal(err.text, "cannot open 'x.npy': No such file or directory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_its_own_text),
      cmocka_unit_test(set_stores_and_returns),
      cmocka_unit_test(a_text_can_be_added_to),
      cmocka_unit_test(a_long_text_is_cut),
      cmocka_unit_test(a_text_is_one_line),
      cmocka_unit_test(memory_and_system_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The level of instructions: the machine's, or what the environment asks for, never more. */
#include "support/check.h"

#include "base/cpu.h"

#include <stdlib.h>

static const char variable[] = "HVI_CPU_LEVEL";

static void the_environment_lowers_the_level_and_never_raises_it(void **state) {
  (void)state;
  unsetenv(variable);
  const enum hvi_cpu_level most = hvi_cpu_level();
  for (int level = HVI_CPU_BASELINE; level <= HVI_CPU_AVX512; level++) {
    setenv(variable, hvi_cpu_level_name((enum hvi_cpu_level)level), 1);
    assert_int_equal(hvi_cpu_level(), level < (int)most ? level : (int)most);
  }
  setenv(variable, "sse9", 1);
  assert_int_equal(hvi_cpu_level(), most);
  unsetenv(variable);
}

static void a_level_that_is_none_is_told(void **state) {
  (void)state;
  hvi_error err;
  const enum hvi_cpu_level most = hvi_cpu_level();
  assert_int_equal(hvi_cpu_level_check(&err), HVI_OK);
  for (int level = HVI_CPU_BASELINE; level <= HVI_CPU_AVX512; level++) {
    setenv(variable, hvi_cpu_level_name((enum hvi_cpu_level)level), 1);
    const hvi_status status = hvi_cpu_level_check(&err);
    if (level <= (int)most)
      check_ok(status, &err);
    else
      check_error(status, HVI_ERROR_UNSUPPORTED, &err, hvi_cpu_level_name(most));
  }
  setenv(variable, "AVX2", 1);
  check_error(hvi_cpu_level_check(&err), HVI_ERROR_ARGUMENT, &err, "not 'AVX2'");
  unsetenv(variable);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_environment_lowers_the_level_and_never_raises_it),
      cmocka_unit_test(a_level_that_is_none_is_told),
  };
  unsetenv(variable);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The nearest known name, against distances counted by hand. */
#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void distances(void **state) {
  (void)state;
  assert_int_equal(hvi_suggest_distance("", ""), 0);
  assert_int_equal(hvi_suggest_distance("", "abc"), 3);
  assert_int_equal(hvi_suggest_distance("kitten", "sitting"), 3);
  assert_int_equal(hvi_suggest_distance("ab", "ba"), 1);
  assert_int_equal(hvi_suggest_distance("matrix", "matrxi"), 1);
  assert_int_equal(hvi_suggest_distance("Pennies", "pennies"), 0);
  assert_int_equal(hvi_suggest_distance("ca", "abc"), 3);
}

static void long_words_are_far(void **state) {
  (void)state;
  char word[200];
  for (size_t i = 0; i < sizeof word - 1; i++) word[i] = 'a';
  word[sizeof word - 1] = '\0';
  const char *const names[] = {"aaa", NULL};
  assert_null(hvi_suggest(word, names));
}

static void suggestions(void **state) {
  (void)state;
  const char *const names[] = {"pennies", "rps", "quadratic", "counterexample", NULL};
  assert_string_equal(hvi_suggest("penies", names), "pennies");
  assert_string_equal(hvi_suggest("quadratik", names), "quadratic");
  assert_string_equal(hvi_suggest("rp", names), "rps");
  assert_string_equal(hvi_suggest("RPS", names), "rps");
  assert_null(hvi_suggest("chess", names));
  assert_null(hvi_suggest("", names));
  assert_null(hvi_suggest("x", (const char *const[]){NULL}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances),
      cmocka_unit_test(long_words_are_far),
      cmocka_unit_test(suggestions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

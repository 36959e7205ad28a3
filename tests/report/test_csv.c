/* CSV tables: what is in them, and that they appear whole or not at all. */
#include "report/folder.h"

#include "report/csv.h"

#include <math.h>

static void cells_are_written_as_they_should(void **state) {
  hvi_csv csv;
  hvi_error err;
  const char *path = in(*state, "table.csv");
  assert_int_equal(hvi_csv_open(&csv, path, "name,count,x,y", &err), HVI_OK);
  hvi_csv_text(&csv, "GD(10)");
  hvi_csv_number(&csv, 7);
  hvi_csv_number(&csv, 0.1);
  hvi_csv_number(&csv, NAN);
  hvi_csv_end(&csv);
  hvi_csv_text(&csv, "a \"b\", c");
  hvi_csv_number(&csv, INFINITY);
  hvi_csv_end(&csv);
  assert_false(exists(path));
  assert_int_equal(hvi_csv_close(&csv, &err), HVI_OK);
  char *text = slurp(path);
  assert_string_equal(text, "name,count,x,y\nGD(10),7,0.1,\n\"a \"\"b\"\", c\",inf\n");
  hvi_free(text);
}

static void given_up_leaves_nothing(void **state) {
  hvi_csv csv;
  assert_int_equal(hvi_csv_open(&csv, in(*state, "gone.csv"), "x", NULL), HVI_OK);
  hvi_csv_number(&csv, 1);
  hvi_csv_discard(&csv);
  hvi_csv_discard(&csv);
  assert_false(exists(in(*state, "gone.csv")));
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
  hvi_csv csv;
  hvi_error err;
  assert_int_equal(hvi_csv_open(&csv, in(*state, "no/such/table.csv"), "x", &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "no/such"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_are_written_as_they_should),
      cmocka_unit_test(given_up_leaves_nothing),
      cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

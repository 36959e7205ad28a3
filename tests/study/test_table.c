/* Tables: rows that go in, come out of the CSV; words, empty places, filters. */
#include "support/check.h"

#include "study/table.h"
#include "support/starve.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const colours[] = {"red", "green, pale", "blue", NULL};
static const hvi_column columns[] = {
    {"colour", colours}, {"size", NULL}, {"empty", NULL}, {"weight", NULL}};

static void fill(hvi_table *t) {
  static const double rows[][4] = {
      {0, 1, NAN, 0.1}, {1, 2, NAN, INFINITY}, {NAN, 1, NAN, NAN}, {2, 2, NAN, NAN}};
  check_ok(hvi_table_new(t, "things", columns, 4, NULL), NULL);
  for (size_t i = 0; i < 4; i++) check_ok(hvi_table_add(t, rows[i], NULL), NULL);
}

static void grows(void **state) {
  (void)state;
  hvi_table t;
  fill(&t);
  for (size_t i = 4; i < 1000; i++)
    check_ok(hvi_table_add(&t, (const double[]){0, (double)i, NAN, 0}, NULL), NULL);
  assert_int_equal(t.rows, 1000);
  for (size_t i = 4; i < 1000; i++) check_near(hvi_table_get(&t, i, 1), (double)i, 0.0);
  assert_int_equal(hvi_table_find(&t, "weight"), 3);
  assert_int_equal(hvi_table_find(&t, "wait"), t.columns);
  assert_string_equal(hvi_table_word(&t, 1, 0), "green, pale");
  assert_null(hvi_table_word(&t, 2, 0));
  assert_null(hvi_table_word(&t, 1, 1));
  hvi_table_free(&t);
  hvi_table_free(&t);
}

static void refused(void **state) {
  (void)state;
  static const double wrong[] = {3.0, -1.0, 0.5, INFINITY};
  hvi_table t;
  hvi_error err = {HVI_OK, ""};
  fill(&t);
  for (size_t i = 0; i < 4; i++) {
    const double row[] = {wrong[i], 1, 1, 1};
    check_error(hvi_table_add(&t, row, &err), HVI_ERROR_ARGUMENT, &err,
                "table 'things': column 'colour' has no word");
  }
  assert_int_equal(t.rows, 4);
  hvi_table_free(&t);
  const char *name = "a name that is much too long for a table, since it has more than 63 letters";
  check_error(hvi_table_new(&t, name, columns, 4, &err), HVI_ERROR_ARGUMENT, &err, "too long");
  hvi_table_free(&t);
}

static void filters(void **state) {
  (void)state;
  hvi_table t;
  fill(&t);
  const hvi_table_filter f[] = {{.column = "size", .number = 1.0},
                                {.column = "colour", .word = "red"},
                                {.column = "taste", .word = "sweet"}}; /* of another table */
  static const bool by_size[] = {true, false, true, false};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(hvi_table_matches(&t, i, f, 1), by_size[i]);
    assert_int_equal(hvi_table_matches(&t, i, f, 3), i == 0);
    assert_true(hvi_table_matches(&t, i, NULL, 0));
  }
  hvi_table_free(&t);
}

static void expect_file(const hvi_table *t, const hvi_table_filter *f, size_t count,
                        const char *wanted) {
  char path[] = "/tmp/hvi-table-XXXXXX", text[400] = "";
  hvi_error err = {HVI_OK, ""};
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  unlink(path);
  check_ok(hvi_table_write(t, path, f, count, &err), &err);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  unlink(path);
  assert_string_equal(text, wanted);
}

static void written(void **state) {
  (void)state;
  hvi_table t;
  fill(&t);
  expect_file(&t, NULL, 0, "colour,size,weight\nred,1,0.1\n\"green, pale\",2,inf\n,1,\nblue,2,\n");
  const hvi_table_filter one = {.column = "size", .number = 1.0};
  expect_file(&t, &one, 1, "colour,weight\nred,0.1\n,\n");
  const hvi_table_filter blue = {.column = "colour", .word = "blue"};
  expect_file(&t, &blue, 1, "size\n2\n");
  const hvi_table_filter none = {.column = "size", .number = 7.0};
  expect_file(&t, &none, 1, "colour,empty,weight\n");
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_table_write(&t, "/nowhere/at/all.csv", NULL, 0, &err);
  check_error(status, HVI_ERROR_IO, &err, "/nowhere/at/all.csv");
  hvi_table_free(&t);
}

static void memory_runs_out(void **state) {
  (void)state;
  for (size_t allowed = 0; allowed < 3; allowed++) {
    hvi_table t;
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed;
    hvi_status status = hvi_table_new(&t, "things", columns, 4, &err);
    if (!status) status = hvi_table_add(&t, (const double[]){0, 1, 2, 3}, &err);
    if (!status) status = hvi_table_write(&t, "/tmp/hvi-table-starved.csv", NULL, 0, &err);
    allocations_left = (size_t)-1;
    check_error(status, HVI_ERROR_MEMORY, &err, "");
    hvi_table_free(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(grows), cmocka_unit_test(refused),
                                     cmocka_unit_test(filters), cmocka_unit_test(written),
                                     cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tables from CSV files: what is read, and one clear line for everything else. */
#include "io/csv_table.h"

#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/hvi-csv-XXXXXX";

static int make_file(void **state) {
  (void)state;
  const int fd = mkstemp(path);
  return fd < 0 ? -1 : (close(fd), 0);
}

static int remove_file(void **state) {
  (void)state;
  return remove(path);
}

static hvi_status read_as(hvi_table *t, hvi_table_form form, const char *text, hvi_error *err) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  assert_int_equal(fclose(f), 0);
  return hvi_table_read(t, path, form, 1 << 20, err);
}

static hvi_status read_text(hvi_table *t, const char *text, hvi_error *err) {
  return read_as(t, HVI_TABLE_NAMED, text, err);
}

static void good_files(void **state) {
  (void)state;
  static const char *const texts[] = {
      "\"\",\"a, b\",c\n1,2.5,NA\n\"2\",-3e2,\n",           /* quoted names, missing values */
      "\xEF\xBB\xBF,\"a, b\",c\r\n1,2.5,NA\r\n2,-3e2,\r\n", /* byte order mark, CRLF */
      ",\"a, b\",c\n1,2.5,NA\n2,-300,\"\"",                 /* no end of line at the end */
      ",\"a, b\",c\n1,+2.5,NA\n2,-300.0,NA\n\n\n",          /* empty lines at the end */
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    hvi_table t;
    hvi_error err;
    check_ok(read_text(&t, texts[i], &err), &err);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.columns, 3);
    assert_string_equal(t.names[0], "");
    assert_string_equal(t.names[1], "a, b");
    assert_int_equal(hvi_table_column(&t, "c"), 2);
    assert_int_equal(hvi_table_column(&t, "d"), 3);
    assert_true(t.data[0] == 1);
    assert_true(t.data[1] == 2.5);
    assert_true(isnan(t.data[2]));
    assert_true(t.data[3] == 2);
    assert_true(t.data[4] == -300);
    assert_true(isnan(t.data[5]));
    hvi_table_clear(&t);
    hvi_table_clear(&t);
  }
}

static void quotes_inside_quotes(void **state) {
  (void)state;
  hvi_table t;
  hvi_error err;
  check_ok(read_text(&t, "\"the \"\"best\"\" one\"\n7\n", &err), &err);
  assert_string_equal(t.names[0], "the \"best\" one");
  hvi_table_clear(&t);
}

static void many_rows(void **state) {
  (void)state;
  enum { ROWS = 5000 };
  char *text = malloc(16 * ROWS), *at = text + sprintf(text, "a,b\n");
  for (int i = 0; i < ROWS; i++) at += sprintf(at, "%d,%d\n", i, 2 * i);
  hvi_table t;
  hvi_error err;
  check_ok(read_text(&t, text, &err), &err);
  assert_int_equal(t.rows, ROWS);
  for (int i = 0; i < ROWS; i++) {
    assert_true(t.data[2 * i] == i);
    assert_true(t.data[2 * i + 1] == 2 * i);
  }
  hvi_table_clear(&t);
  free(text);
}

static void bad_files(void **state) {
  (void)state;
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"", ":1: the file is empty"},
      {"\n\n", ":1: the file is empty"},
      {"a,b\n", "the file has a first line and no data"},
      {"a,b\n1,2\n3,x\n", ":3: column 2 ('b'): 'x' is not a number"},
      {"a,b\n1,inf\n", "'inf' is not a number"},
      {"a,b\n1,nan\n", "'nan' is not a number"},
      {"a,b\n1,0x10\n", "'0x10' is not a number"},
      {"a,b\n1,1e400\n", "'1e400' is not a number"},
      {"a,b\n1, 2\n", "' 2' is not a number"},
      {"a,b\n1\n", ":2: 1 field, and the first line has 2"},
      {"a,b\n1,2,3\n", ":2: 3 fields, and the first line has 2"},
      {"a,b\n1,2\n\n3,4\n", ":3: 1 field"},
      {"a,b\n\"1,2\n", ":2: a quoted field is not closed"},
      {"\"a,b", ":1: a quoted field is not closed"},
      {"a,b\n\"1\"x,2\n", ":2: a quoted field is followed by 'x' instead of a comma"},
      {"a,b\n1,2\rx\n", ":2: a control character"},
      {"a,\"b\x01\"\n1,2\n", ":1: a control character"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hvi_table t;
    hvi_error err;
    check_error(read_text(&t, cases[i].text, &err), HVI_ERROR_INPUT, &err, cases[i].words);
    assert_null(t.data);
    assert_null(t.names);
    assert_null(t.text);
  }
}

/* Numbers alone: with or without names, between remarks. */
static void matrices(void **state) {
  (void)state;
  static const char *const texts[] = {"1,2\n3,4\n", "a,b\n1,2\n3,4",
                                      "# m\n\n 1 ,\t2\r\n# n\n\"3\",4\n\n"};
  hvi_table t;
  hvi_error err;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    check_ok(read_as(&t, HVI_TABLE_PLAIN, texts[i], &err), &err);
    assert_true(t.rows == 2 && t.columns == 2);
    check_close(t.data, (double[]){1, 2, 3, 4}, 4, 0.0);
    hvi_table_clear(&t);
  }
  static const struct {
    const char *text, *words;
  } bad[] = {{"# nothing\n\n", ":3: the file is empty"},
             {"a,b\n", "no data"},
             {"1,x\n", ":1: column 2: 'x' is not a number"},
             {"#\n1,2\n\n3,\n", ":4: column 2: '' is not a number"},
             {"1,2\n3,NA\n", "'NA' is not a number"},
             {"1,2\n3,nan\n", "'nan' is not a number"},
             {"1,2\n3\n", ":2: 1 field, and the first line has 2"},
             {"1 2\n", "no data"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    check_error(read_as(&t, HVI_TABLE_PLAIN, bad[i].text, &err), HVI_ERROR_INPUT, &err,
                bad[i].words);
}

/* Words beside numbers. */
static void words(void **state) {
  (void)state;
  hvi_table t;
  hvi_error err;
  check_ok(read_as(&t, HVI_TABLE_MIXED, "name,x\n\"a, b\",inf\nc,\n", &err), &err);
  assert_int_equal(t.rows, 2);
  assert_string_equal(t.cells[0], "a, b");
  assert_string_equal(t.cells[2], "c");
  assert_true(isnan(t.data[0]) && t.data[1] == INFINITY && isnan(t.data[3]));
  hvi_table_clear(&t);
  check_ok(read_as(&t, HVI_TABLE_MIXED, "name,x\n", &err), &err);
  assert_int_equal(t.rows, 0);
  hvi_table_clear(&t);
}

static void hostile_files(void **state) {
  (void)state;
  hvi_table t;
  hvi_error err;
  enum { COLUMNS = 500000 };
  char *text = malloc(2 * COLUMNS + 1);
  for (size_t i = 0; i < COLUMNS; i++) text[2 * i] = 'a', text[2 * i + 1] = ',';
  text[2 * COLUMNS - 1] = '\0';
  check_error(read_text(&t, text, &err), HVI_ERROR_INPUT, &err, "no data");
  /* a name of a megabyte does not get into the message */
  memset(text, 'x', 2 * COLUMNS);
  strcpy(text + 2 * COLUMNS - 3, "\ny");
  check_error(read_text(&t, text, &err), HVI_ERROR_INPUT, &err, ":2: column 1 ('xxx");
  assert_true(strlen(err.text) < 250);
  free(text);
  assert_int_equal(hvi_table_read(&t, "/nowhere/at/all.csv", HVI_TABLE_NAMED, 100, &err),
                   HVI_ERROR_IO);
  check_ok(read_text(&t, "a\n1\n", &err), &err);
  hvi_table_clear(&t);
  assert_int_not_equal(hvi_table_read(&t, path, HVI_TABLE_NAMED, 2, &err), HVI_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_files),    cmocka_unit_test(quotes_inside_quotes),
      cmocka_unit_test(many_rows),     cmocka_unit_test(bad_files),
      cmocka_unit_test(hostile_files), cmocka_unit_test(matrices),
      cmocka_unit_test(words),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}

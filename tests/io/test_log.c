/* Logs that grow: what a line is, that it can be followed, and what a run that goes on keeps. */
#include "report/folder.h"

#include "io/log.h"

#include <math.h>

static void put(hvi_log *log, size_t outer) {
  hvi_log_put(log, V("outer", outer), V("residual", 1.0 / (double)(outer + 3)));
}

static void assert_text(const char *path, const char *expected) {
  char *text = slurp(path);
  assert_string_equal(text, expected);
  hvi_free(text);
}

static void a_line_can_be_read_as_soon_as_it_is_there(void **state) {
  const char *path = in(*state, "run.jsonl");
  const double z[] = {0.5, NAN};
  hvi_log log;
  assert_int_equal(hvi_log_open(&log, path, NULL, HVI_LOG_NEW, NULL), HVI_OK);
  assert_int_equal(log.last, HVI_LOG_NEW);
  hvi_log_put(&log, V("outer", 0ul), V("x", 0.1), V("gap", (double)INFINITY),
              V("word", "a \"b\"\n\xff"), V("flag", (bool)true), V("none", (char *)NULL),
              hvi_value_numbers("z", z, 2));
  assert_text(path, "{\"outer\": 0, \"x\": 0.1, \"gap\": null, \"word\": \"a \\\"b\\\"\\u000a?\", "
                    "\"flag\": true, \"none\": null, \"z\": [0.5, null]}\n");
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
}

static void no_path_no_log(void **state) {
  (void)state;
  hvi_log log;
  assert_int_equal(hvi_log_open(&log, NULL, NULL, 3, NULL), HVI_OK);
  put(&log, 1);
  assert_int_equal(hvi_log_flush(&log, NULL), HVI_OK);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
}

static void a_resumed_log_is_that_of_one_run(void **state) {
  const char *whole = in(*state, "whole.jsonl"), *path = in(*state, "cut.jsonl");
  hvi_log log;
  assert_int_equal(hvi_log_open(&log, whole, NULL, HVI_LOG_NEW, NULL), HVI_OK);
  for (size_t i = 0; i < 20; i++) put(&log, i);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  char *expected = slurp(whole);

  assert_int_equal(hvi_log_open(&log, path, NULL, HVI_LOG_NEW, NULL), HVI_OK);
  for (size_t i = 0; i < 17; i++) put(&log, i);
  fputs("{\"outer\": 17, \"resi", log.file.stream); /* killed here */
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_int_equal(hvi_log_open(&log, path, NULL, 11, NULL), HVI_OK);
  assert_int_equal(log.last, 11);
  for (size_t i = 12; i < 20; i++) put(&log, i);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_text(path, expected);
  /* from beyond its end, all that is whole stays; anew, nothing does */
  assert_int_equal(hvi_log_open(&log, path, NULL, 100, NULL), HVI_OK);
  assert_int_equal(log.last, 19);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_text(path, expected);
  assert_int_equal(hvi_log_open(&log, path, NULL, HVI_LOG_NEW, NULL), HVI_OK);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_text(path, "");
  hvi_free(expected);
}

static void rows_of_a_table_keep_their_header(void **state) {
  const char *path = in(*state, "rows.csv");
  hvi_log log;
  assert_int_equal(hvi_file_write_text(path, "outer,x\n0,1\n1,2\n2,3\n", NULL), HVI_OK);
  assert_int_equal(hvi_log_open(&log, path, "outer,x", 1, NULL), HVI_OK);
  assert_int_equal(log.last, 1);
  hvi_log_put(&log, V("outer", 2ul), V("x", 0.1));
  hvi_log_put(&log, V("outer", 3ul), V("x", (double)NAN));
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_text(path, "outer,x\n0,1\n1,2\n2,0.1\n3,\n");
  /* a header alone is no row to go on from */
  assert_int_equal(hvi_file_write_text(path, "outer,x\n", NULL), HVI_OK);
  assert_int_equal(hvi_log_open(&log, path, "outer,x", 1, NULL), HVI_OK);
  assert_int_equal(log.last, HVI_LOG_NEW);
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_text(path, "outer,x\n");
  /* other columns are not gone on with, and not touched */
  hvi_error err;
  assert_int_equal(hvi_file_write_text(path, "outer,x,y\n0,1,2\n", NULL), HVI_OK);
  assert_int_equal(hvi_log_open(&log, path, "outer,x", 1, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "other columns"));
  assert_text(path, "outer,x,y\n0,1,2\n");
}

/* An array is a cell for each number, and none at all when it is empty. */
static void arrays_are_cells(void **state) {
  const char *path = in(*state, "cells.csv");
  const double x[] = {1.5, NAN, -INFINITY};
  hvi_log log;
  assert_int_equal(hvi_log_open(&log, path, "n,a,b,c,d", HVI_LOG_NEW, NULL), HVI_OK);
  hvi_log_put(&log, V("n", 1000000ul), hvi_value_numbers("x", x, 3), hvi_value_numbers("y", x, 0),
              V("d", 1e-300));
  assert_int_equal(hvi_log_close(&log, NULL), HVI_OK);
  assert_text(path, "n,a,b,c,d\n1000000,1.5,,-inf,1e-300\n");
}

static void two_runs_do_not_share_a_log(void **state) {
  const char *path = in(*state, "shared.jsonl");
  hvi_log first, second;
  hvi_error err;
  assert_int_equal(hvi_log_open(&first, path, NULL, HVI_LOG_NEW, NULL), HVI_OK);
  put(&first, 0);
  assert_int_equal(hvi_log_open(&second, path, NULL, HVI_LOG_NEW, &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "in use"));
  put(&first, 1);
  assert_int_equal(hvi_log_close(&first, NULL), HVI_OK);
  assert_int_equal(hvi_log_open(&second, path, NULL, 0, NULL), HVI_OK);
  assert_int_equal(second.last, 0);
  assert_int_equal(hvi_log_close(&second, NULL), HVI_OK);
}

static void a_full_disk_is_told(void **state) {
  (void)state;
  hvi_log log;
  hvi_error err;
  assert_int_equal(hvi_log_open(&log, "/dev/full", NULL, HVI_LOG_NEW, NULL), HVI_OK);
  put(&log, 0);
  assert_int_equal(hvi_log_flush(&log, &err), HVI_ERROR_IO);
  put(&log, 1);
  assert_int_equal(hvi_log_close(&log, &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "/dev/full"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_can_be_read_as_soon_as_it_is_there),
      cmocka_unit_test(no_path_no_log),
      cmocka_unit_test(a_resumed_log_is_that_of_one_run),
      cmocka_unit_test(rows_of_a_table_keep_their_header),
      cmocka_unit_test(arrays_are_cells),
      cmocka_unit_test(two_runs_do_not_share_a_log),
      cmocka_unit_test(a_full_disk_is_told),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* CSV tables and traces: what is in them, and that they appear whole or not at all. */
#include "report/folder.h"

#include "report/csv.h"
#include "report/trace.h"

#include <hvi/builtin.h>

#include <math.h>

static void cells_are_written_as_they_should(void **state) {
  hvi_csv csv;
  hvi_error err;
  const char *path = in(*state, "table.csv");
  assert_int_equal(hvi_csv_open(&csv, path, "name,count,x,y", &err), HVI_OK);
  hvi_csv_text(&csv, "GD(10)");
  hvi_csv_count(&csv, 7);
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

static bool count_rows(void *context, const hvi_record *row) {
  (void)row;
  ++*(size_t *)context;
  return true;
}

/* Solves pennies for ten iterations with a trace, and returns the file's text. */
static char *trace_pennies(const char *path, hvi_trace_settings s) {
  hvi_problem *p = NULL;
  hvi_trace *trace = NULL;
  hvi_solver *solver = NULL;
  hvi_settings settings = hvi_method_settings("gd");
  assert_int_equal(hvi_builtin_new(&p, "pennies", NULL, 0, 0, 0, NULL), HVI_OK);
  assert_int_equal(hvi_trace_open(&trace, path, &s, NULL), HVI_OK);
  settings.max_outer = 10;
  settings.observe = hvi_trace_observe;
  settings.observer_context = trace;
  assert_int_equal(hvi_solver_new(&solver, p, &settings, NULL), HVI_OK);
  hvi_solver_run(solver);
  hvi_info info = hvi_solver_info(solver);
  assert_int_equal(hvi_trace_close(trace, &info.last, NULL), HVI_OK);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return slurp(path);
}

static size_t count_lines(const char *text) {
  size_t n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

static void a_trace_has_a_row_per_iteration(void **state) {
  size_t seen = 0;
  char *text = trace_pennies(in(*state, "trace.csv"),
                             (hvi_trace_settings){.next = count_rows, .next_context = &seen});
  static const char header[] = "outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,"
                               "grad_evals,env_steps,seconds,alpha\n0,0,,,,";
  assert_memory_equal(text, header, sizeof header - 1);
  assert_int_equal(count_lines(text), 12);
  assert_int_equal(seen, 11);
  hvi_free(text);
}

static void a_thinned_trace_keeps_the_end(void **state) {
  char *text =
      trace_pennies(in(*state, "thin.csv"), (hvi_trace_settings){.every = 4, .theta = 2, .z = 2});
  assert_int_equal(count_lines(text), 5); /* header, 0, 4, 8 and the last, 10 */
  assert_non_null(strstr(text, ",alpha,theta1,theta2,z1,z2\n"));
  assert_non_null(strstr(text, "\n8,"));
  assert_non_null(strstr(text, "\n10,"));
  assert_non_null(strstr(text, ",1.25,2.25,")); /* the start, in row 0 */
  hvi_free(text);
}

static void a_discarded_trace_leaves_nothing(void **state) {
  hvi_trace *trace = NULL;
  hvi_trace_settings s = {0};
  assert_int_equal(hvi_trace_open(&trace, in(*state, "never.csv"), &s, NULL), HVI_OK);
  hvi_trace_discard(trace);
  hvi_trace_discard(NULL);
  assert_false(exists(in(*state, "never.csv")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_are_written_as_they_should),
      cmocka_unit_test(given_up_leaves_nothing),
      cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
      cmocka_unit_test(a_trace_has_a_row_per_iteration),
      cmocka_unit_test(a_thinned_trace_keeps_the_end),
      cmocka_unit_test(a_discarded_trace_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

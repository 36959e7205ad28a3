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

/* Solves a game for ten iterations with a trace, or goes on with one from a step, and returns the
 * file's text. */
static char *trace_game(const char *path, const char *problem, bool points, size_t step) {
  hvi_problem *p = NULL;
  hvi_solver *solver = NULL;
  hvi_settings settings = hvi_method_settings("gd");
  assert_int_equal(hvi_builtin_new(&p, problem, NULL, 0, 0, 0, NULL), HVI_OK);
  hvi_trace trace = {.theta = points, .z = points, .problem = p};
  assert_int_equal(hvi_trace_open(&trace, path, step > 0 ? step : HVI_LOG_NEW, NULL), HVI_OK);
  if (step > 0) assert_int_equal(trace.log.last, step);
  settings.max_outer = 10;
  assert_int_equal(hvi_solver_new(&solver, p, &settings, NULL), HVI_OK);
  for (size_t t = 0; t <= 10; t++) {
    hvi_record row = hvi_solver_info(solver).last;
    if (t > 0) {
      hvi_solver_step(solver);
      row = hvi_solver_info(solver).last;
    }
    row.theta = row.theta ? row.theta : p->theta0;
    row.z = row.z ? row.z : p->solution;
    row.seconds = 0;
    if (t > step || step == 0) hvi_trace_row(&trace, &row);
  }
  assert_int_equal(hvi_log_close(&trace.log, NULL), HVI_OK);
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
  char *text = trace_game(in(*state, "trace.csv"), "pennies", false, 0);
  static const char header[] = "outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,"
                               "grad_evals,env_steps,seconds,alpha\n0,0,,,,";
  assert_memory_equal(text, header, sizeof header - 1);
  assert_int_equal(count_lines(text), 12);
  hvi_free(text);
}

static void columns_have_the_names_of_players(void **state) {
  char *text = trace_game(in(*state, "named.csv"), "pennies", true, 0);
  assert_non_null(strstr(text, ",alpha,theta_even_1,theta_odd_1,z_even_1,z_odd_1\n"));
  assert_non_null(strstr(text, ",1.25,2.25,")); /* the start, in row 0 */
  hvi_free(text);
  text = trace_game(in(*state, "numbered.csv"), "counterexample", true, 0);
  assert_non_null(strstr(text, ",alpha,theta1,theta2,z1,z2\n"));
  hvi_free(text);
}

static void a_resumed_trace_is_that_of_one_run(void **state) {
  const char *path = in(*state, "resumed.csv");
  char *whole = trace_game(path, "pennies", true, 0);
  for (size_t step = 1; step <= 10; step += 3) {
    char *text = trace_game(path, "pennies", true, step);
    assert_string_equal(text, whole);
    hvi_free(text);
  }
  hvi_free(whole);
}

/* It can be followed: the header and the first row are there before the end. */
static void a_trace_grows_in_place(void **state) {
  hvi_trace trace = {0};
  const char *path = in(*state, "grows.csv");
  const hvi_record row = {0};
  assert_int_equal(hvi_trace_open(&trace, path, HVI_LOG_NEW, NULL), HVI_OK);
  hvi_trace_row(&trace, &row);
  char *text = slurp(path);
  assert_int_equal(count_lines(text), 2);
  hvi_free(text);
  assert_int_equal(hvi_log_close(&trace.log, NULL), HVI_OK);
  assert_int_equal(hvi_log_close(&trace.log, NULL), HVI_OK);
  assert_true(exists(path));
}

static void a_full_disk_is_told_at_once(void **state) {
  (void)state;
  hvi_trace trace = {0};
  hvi_error err;
  assert_int_equal(hvi_trace_open(&trace, "/dev/full", HVI_LOG_NEW, &err), HVI_ERROR_IO);
  assert_null(trace.log.file.stream);
  hvi_trace_row(&trace, &(hvi_record){0}); /* does nothing */
  trace.extra = HVI_TRACE_EXTRA + 1;
  assert_int_equal(hvi_trace_open(&trace, "/dev/null", HVI_LOG_NEW, NULL), HVI_ERROR_ARGUMENT);
  assert_non_null(strstr(err.text, "/dev/full"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_are_written_as_they_should),
      cmocka_unit_test(given_up_leaves_nothing),
      cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
      cmocka_unit_test(a_trace_has_a_row_per_iteration),
      cmocka_unit_test(columns_have_the_names_of_players),
      cmocka_unit_test(a_resumed_trace_is_that_of_one_run),
      cmocka_unit_test(a_trace_grows_in_place),
      cmocka_unit_test(a_full_disk_is_told_at_once),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

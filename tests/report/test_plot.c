/* Figures: gnuplot accepts what is written, and its absence is no error. */
#include "report/folder.h"
#include "support/check.h"

#include "report/plot.h"

#include <math.h>

static hvi_status write_sample(const char *folder, const char *title) {
  static const hvi_series lines[] = {
      {"it's one", "data.csv", "t", "low", NULL, HVI_MARK_LINE, 0},
      {"two_{x}", "data.csv", "t", "high", NULL, HVI_MARK_DASHED, 1},
      {NULL, "data.csv", "t", "low", "high", HVI_MARK_BAND, 2},
      {"path", "data.csv", "low", "high", NULL, HVI_MARK_PATH, 3},
      {"points", "data.csv", "t", "high", NULL, HVI_MARK_POINTS, 14}};
  static const hvi_series bars = {NULL, "data.csv", "name", "high", NULL, HVI_MARK_BARS, 0};
  static const hvi_mark_point point = {"z*", 1, 0.5};
  hvi_panel panels[] = {
      {.title = "Lines",
       .x = {.label = "t"},
       .y = {.label = "y^2", .log = true, .low = 1e-3, .high = 10},
       .series_count = 5,
       .series = lines,
       .point = &point},
      {.title = "Bars_{2}^",
       .plain = true,
       .y = {.label = "value"},
       .series_count = 1,
       .series = &bars},
  };
  hvi_plot plot = {
      .name = "sample", .title = title, .columns = 2, .panel_count = 2, .panels = panels};
  write_file(in(folder, "data.csv"),
             "name,t,low,high\na,0,0.1,1\nb_c,1,0,2\nd,2,,3\ne,3,0.5,inf\n");
  return hvi_plot_write(folder, &plot, NULL);
}

static void the_script_names_its_files_relatively(void **state) {
  assert_int_equal(write_sample(*state, "A title's quote"), HVI_OK);
  char *script = slurp(in(*state, "sample.gp"));
  assert_null(strstr(script, *state));
  assert_non_null(strstr(script, "'A title'.\"\\047\".'s quote'"));
  assert_non_null(strstr(script, "label 'it'.\"\\047\".'s one'"));
  assert_non_null(strstr(script, "logscale y"));
  assert_non_null(strstr(script, "10^{%T}"));
  hvi_free(script);
}

static void gnuplot_draws_it(void **state) {
  char note[HVI_PLOT_NOTE];
  assert_int_equal(write_sample(*state, "Figure"), HVI_OK);
  assert_int_equal(hvi_plot_draw(*state, &(hvi_plot){.name = "sample"}, note, NULL), HVI_OK);
  if (strstr(note, "not installed")) skip();
  assert_string_equal(note, "");
  char *svg = slurp(in(*state, "sample.svg"));
  assert_non_null(strstr(svg, "it's one"));
  assert_non_null(strstr(svg, "two_{x}")); /* labels are plain text */
  hvi_free(svg);
  unsigned char *png = NULL;
  size_t size = 0;
  assert_int_equal(hvi_file_read_bytes(&png, &size, in(*state, "sample.png"), 1 << 24, NULL),
                   HVI_OK);
  assert_true(size > 1000);
  assert_memory_equal(png, "\x89PNG\r\n", 6);
  hvi_free(png);
}

static void a_script_that_fails_is_told(void **state) {
  char note[HVI_PLOT_NOTE];
  hvi_error err;
  write_file(in(*state, "broken.gp"), "plot 'no such file' with nonsense\n");
  const hvi_status status = hvi_plot_draw(*state, &(hvi_plot){.name = "broken"}, note, &err);
  if (strstr(note, "not installed")) skip();
  check_error(status, HVI_ERROR_IO, &err, "broken.gp is written but not drawn");
}

static void without_gnuplot_the_note_says_what_to_install(void **state) {
  char note[HVI_PLOT_NOTE], *path = hvi_copy_text(getenv("PATH"));
  assert_non_null(path);
  setenv("PATH", *state, 1);
  assert_int_equal(hvi_plot_draw(*state, &(hvi_plot){.name = "sample"}, note, NULL), HVI_OK);
  setenv("PATH", path, 1);
  hvi_free(path);
  assert_non_null(strstr(note, "gnuplot-nox"));
}

/* Names of files and columns hold anything, and none is run. */
static void names_are_no_commands(void **state) {
  static const char *const names[] = {"a'.system(\"touch ran\").'",
                                      "<touch ran;",
                                      "b\nsystem(\"touch ran\")\n#",
                                      "-e system('touch ran')",
                                      "`touch ran`",
                                      "|touch ran",
                                      "$x",
                                      "c{d",
                                      "bob's",
                                      "-",
                                      "\x7f\ttab\\"};
  char note[HVI_PLOT_NOTE], here[1024];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(*state), 0); /* where a command would leave its mark */
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char csv[64], png[64];
    hvi_error err;
    snprintf(csv, sizeof csv, "%s.csv", names[i]);
    snprintf(png, sizeof png, "%s.png", names[i]);
    write_file(csv, "x,'y'\n1,2\n2,3\n");
    const hvi_series series = {names[i], csv, "x", "'y'", NULL, HVI_MARK_PATH, 0};
    const hvi_panel panel = {.title = names[i], .series_count = 1, .series = &series};
    const hvi_plot plot = {.name = names[i], .title = names[i], .panel_count = 1, .panels = &panel};
    for (int time = 0; time < 2; time++)
      if (hvi_plot_make(".", &plot, note, &err)) fail_msg("%s: %s", names[i], err.text);
    if (strstr(note, "not installed")) break;
    if (!exists(png)) fail_msg("'%s' is not drawn", names[i]);
  }
  const bool ran = exists("ran");
  assert_int_equal(chdir(here), 0);
  assert_false(ran);
}

/* A script or a picture that somebody else made stays. */
static void other_pictures_are_not_replaced(void **state) {
  static const char *const files[] = {"sample.gp", "sample.png", "sample.svg"};
  hvi_error err;
  static const hvi_panel panel = {0};
  const hvi_plot plot = {.name = "sample", .panel_count = 1, .panels = &panel};
  for (size_t i = 0; i < 3; i++) {
    for (size_t k = 0; k < 3; k++) remove(in(*state, files[k]));
    write_file(in(*state, files[i]), "precious");
    check_error(hvi_plot_write(*state, &plot, &err), HVI_ERROR_IO, &err, "hvi did not make it");
    char *text = slurp(in(*state, files[i]));
    assert_string_equal(text, "precious");
    hvi_free(text);
    hvi_plot forced = plot;
    forced.replace = true;
    assert_int_equal(hvi_plot_write(*state, &forced, &err), HVI_OK);
    assert_int_equal(hvi_plot_check(*state, "sample", NULL, &err), HVI_OK);
    remove(in(*state, files[i]));
  }
}

/* One format alone, and by force over what others made. */
static void one_format_is_drawn(void **state) {
  const hvi_series series = {NULL, "one.csv", "x", "y", NULL, HVI_MARK_SOLID, 0};
  const hvi_panel panel = {.title = "t", .series_count = 1, .series = &series};
  hvi_plot plot = {.name = "one", .panel_count = 1, .panels = &panel, .format = "svg"};
  char note[HVI_PLOT_NOTE];
  hvi_error err;
  write_file(in(*state, "one.csv"), "x,y\n1,2\n2,3\n");
  write_file(in(*state, "one.png"), "precious");
  check_ok(hvi_plot_make(*state, &plot, note, &err), &err);
  char *text = slurp(in(*state, "one.png"));
  assert_string_equal(text, "precious");
  hvi_free(text);
  if (*note) return;
  assert_true(exists(in(*state, "one.svg")));
  remove(in(*state, "one.gp"));
  check_error(hvi_plot_check(*state, "one", "svg", &err), HVI_ERROR_IO, &err, "one.svg");
  plot.replace = true;
  check_ok(hvi_plot_make(*state, &plot, note, &err), &err);
}

static void log_axes_end_at_decades(void **state) {
  (void)state;
  hvi_axis a = hvi_axis_log("y", 3e-5, 0.2);
  assert_true(a.log);
  assert_true(fabs(a.low - 1e-5) < 1e-18);
  assert_true(fabs(a.high - 1) < 1e-12);
  assert_true(fabs(hvi_axis_log("y", 1e-40, 1).low - 1e-16) < 1e-28);
  a = hvi_axis_log("y", 1, 1);
  assert_true(a.low == 1);
  assert_true(a.high == 10);
  a = hvi_axis_log("y", INFINITY, 0); /* there was nothing to look at */
  assert_true(a.low == 0);
  assert_true(a.high == 0);
}

static void a_figure_needs_a_panel(void **state) {
  hvi_error err;
  hvi_plot empty = {.name = "empty"};
  assert_int_equal(hvi_plot_write(*state, &empty, &err), HVI_ERROR_ARGUMENT);
  assert_false(exists(in(*state, "empty.gp")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_script_names_its_files_relatively),
      cmocka_unit_test(gnuplot_draws_it),
      cmocka_unit_test(a_script_that_fails_is_told),
      cmocka_unit_test(without_gnuplot_the_note_says_what_to_install),
      cmocka_unit_test(names_are_no_commands),
      cmocka_unit_test(other_pictures_are_not_replaced),
      cmocka_unit_test(one_format_is_drawn),
      cmocka_unit_test(log_axes_end_at_decades),
      cmocka_unit_test(a_figure_needs_a_panel),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

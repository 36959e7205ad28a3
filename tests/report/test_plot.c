/* Figures: gnuplot accepts what is written, and its absence is no error. */
#include "report/folder.h"
#include "support/check.h"

#include "report/plot_data.h"

#include <jansson.h>
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

/* Halfway between levels, by ratios on a logarithmic axis. */
static void cells_of_maps_meet_halfway(void **state) {
  const hvi_series map = {NULL, "map.csv", "x", "y", "z", HVI_MARK_MAP, 0};
  write_file(in(*state, "map.csv"), "x,y,z\n1,2,3\n1,6,\n100,2,inf\n100,6,1\n10000,2,5\n");
  static const double expected[2][4] = {{0.1, 10, 1000, 100000}, {0, 4, 8}};
  const hvi_panel panel = {.series_count = 1, .series = &map};
  const hvi_plot plot = {.panel_count = 1, .panels = &panel};
  hvi_plot_data data;
  assert_int_equal(hvi_plot_read(&data, *state, &plot, NULL), HVI_OK);
  for (int y = 0; y < 2; y++) {
    double *edges = NULL;
    size_t count;
    const hvi_axis axis = {.log = y == 0};
    assert_int_equal(hvi_plot_edges(&edges, &count, data.series, &axis, y, NULL), HVI_OK);
    assert_int_equal(count, y ? 3 : 4);
    for (size_t i = 0; i < count; i++)
      assert_true(fabs(edges[i] - expected[y][i]) <= 1e-12 * expected[y][i]);
    hvi_free(edges);
  }
  hvi_plot_data_clear(&data);
}

static double member(const json_t *series, const char *name, size_t i) {
  return json_number_value(json_array_get(json_object_get(series, name), i));
}

/* Ends and extremes stay, and what is between is at most 400 points in their order. A number that is
 * not finite is null, and text is escaped. */
static void the_json_is_thin_and_complete(void **state) {
  enum { ROWS = 5000 };
  char *csv = hvi_alloc(ROWS + 1, 32), note[HVI_PLOT_NOTE];
  size_t used = (size_t)sprintf(csv, "x,y,z\n");
  for (int i = 1; i <= ROWS; i++)
    used += (size_t)sprintf(csv + used, "%d,%d,%s\n", i,
                            i == 7      ? -3
                            : i == 4321 ? 9
                                        : i % 3,
                            i == 2 ? "inf" : "1");
  write_file(in(*state, "long.csv"), csv);
  hvi_free(csv);
  write_file(in(*state, "short.csv"), "x,y\n1,1\n2,inf\n3,\n");
  const hvi_series series[] = {{"a \"b\"", "long.csv", "x", "y", NULL, HVI_MARK_LINE, 3},
                               {NULL, "short.csv", "x", "y", NULL, HVI_MARK_LINE, 1},
                               {"at", NULL, "2.5", NULL, NULL, HVI_MARK_VERTICAL, 0}};
  for (int log_x = 0; log_x < 2; log_x++) {
    const hvi_panel panel = {.x = {.log = log_x}, .series_count = 3, .series = series};
    const hvi_plot plot = {.name = "thin", .panel_count = 1, .panels = &panel, .replace = true};
    assert_int_equal(hvi_plot_make(*state, &plot, note, NULL), HVI_OK);
    json_t *root = json_load_file(in(*state, "thin.json"), 0, NULL);
    const json_t *all =
        json_object_get(json_array_get(json_object_get(root, "panels"), 0), "series");
    const json_t *s = json_array_get(all, 0), *x = json_object_get(s, "x");
    const size_t n = json_array_size(x);
    assert_string_equal(json_string_value(json_object_get(s, "label")), "a \"b\"");
    assert_in_range(n, 100, 400);
    assert_true(member(s, "x", 0) == 1 && member(s, "x", n - 1) == ROWS);
    bool low = false, high = false;
    for (size_t i = 0; i < n; i++) {
      low |= member(s, "y", i) == -3 && member(s, "x", i) == 7;
      high |= member(s, "y", i) == 9 && member(s, "x", i) == 4321;
      assert_true(i == 0 || member(s, "x", i) > member(s, "x", i - 1));
    }
    assert_true(low && high);
    s = json_array_get(all, 1);
    assert_true(json_is_null(json_array_get(json_object_get(s, "y"), 1)));
    assert_true(json_is_null(json_array_get(json_object_get(s, "y"), 2)));
    assert_true(member(s, "diverged", 0) == 1); /* infinity follows */
    s = json_array_get(all, 2);
    assert_string_equal(json_string_value(json_object_get(s, "mark")), "vertical");
    assert_true(member(s, "x", 0) == 2.5);
    json_decref(root);
  }
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

/* Two labels at least, also where 1, 2 and 5 have but one within the axis. */
static void narrow_log_axes_have_two_labels(void **state) {
  static const hvi_series line = {NULL, "data.csv", "t", "low", NULL, HVI_MARK_LINE, 0};
  const hvi_panel panel = {.x = {.log = true, .low = 1.1e-3, .high = 2.8e-3},
                           .y = {.low = 0, .high = 1},
                           .series_count = 1,
                           .series = &line};
  const hvi_plot plot = {.name = "narrow", .panel_count = 1, .panels = &panel};
  assert_int_equal(hvi_plot_write(*state, &plot, NULL), HVI_OK);
  char *script = slurp(in(*state, "narrow.gp"));
  assert_non_null(strstr(script, "set xtics ('0.0015' 0.0015, '0.002' 0.002, '0.0025' 0.0025)"));
  hvi_free(script);
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
      cmocka_unit_test(cells_of_maps_meet_halfway),
      cmocka_unit_test(the_json_is_thin_and_complete),
      cmocka_unit_test(log_axes_end_at_decades),
      cmocka_unit_test(narrow_log_axes_have_two_labels),
      cmocka_unit_test(a_figure_needs_a_panel),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

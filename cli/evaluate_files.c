/* The files of an evaluation: network, trace, learning curve, calibration. */
#include "base/error.h"
#include "base/memory.h"
#include "evaluate_parts.h"
#include "report/csv.h"
#include "report/plot.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of a row, and the noise that the error cannot fall below. */
static char *trace_header(void) {
  hvi_text t = {0};
  for (size_t j = 0; hvi_evaluation_column(j); j++)
    hvi_text_add(&t, "%s,", hvi_evaluation_column(j));
  hvi_text_add(&t, "noise");
  return hvi_text_take(&t);
}

static double noise_floor(const hvi_probe *p) {
  double sum = 0.0;
  if (!p) return NAN;
  for (size_t i = 0; i < p->states; i++) sum += p->standard_error[i] * p->standard_error[i];
  return sum / (double)p->states;
}

hvi_status hvi_evaluate_trace(const hvi_evaluate *e, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  const double noise = noise_floor(e->probe);
  char *header = trace_header();
  hvi_csv csv = {0};
  if (!header) return hvi_error_memory(err, "a trace");
  hvi_status status = hvi_csv_open(&csv, e->trace, header, err);
  hvi_free(header);
  if (status) return status;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; hvi_evaluation_column(j); j++) {
      hvi_csv_number(&csv, hvi_evaluation_cell(&rows[i], j));
    }
    hvi_csv_number(&csv, noise);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

hvi_status hvi_evaluate_save(const hvi_evaluate *e, hvi_error *err) {
  const hvi_status status = hvi_value_save(hvi_evaluation_problem(e->evaluation),
                                           hvi_evaluation_theta(e->evaluation), e->network, err);
  return status ? status : hvi_evaluate_trace(e, err);
}

static char *csv_of(const char *name) {
  hvi_text t = {0};
  hvi_text_add(&t, "%s.csv", name);
  return hvi_text_take(&t);
}

/* folder and name of the files */
static bool split(char **folder, char **name, const char *stem) {
  const char *slash = strrchr(stem, '/');
  hvi_text f = {0}, n = {0};
  if (slash) {
    hvi_text_add(&f, "%.*s", slash == stem ? 1 : (int)(slash - stem), stem);
  } else {
    hvi_text_add(&f, ".");
  }
  hvi_text_add(&n, "%s", slash ? slash + 1 : stem);
  *folder = hvi_text_take(&f);
  *name = hvi_text_take(&n);
  return *folder && *name;
}

static hvi_status draw_plot(const hvi_evaluate *e, const char *folder, const hvi_plot *plot,
                            hvi_error *err) {
  char note[400];
  bool drawn = false;
  hvi_status status = hvi_plot_write(folder, plot, err);
  if (!status) status = hvi_plot_draw(folder, plot->name, &drawn, note, sizeof note, err);
  if (!status && !drawn) hvi_say(&e->talk, "hvi: %s\n", note);
  return status;
}

/* The range of the error and of its floor over the rows but the first, which has no place on a
 * logarithmic axis. */
static hvi_axis error_axis(const hvi_evaluate *e, const char *label) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  double low = INFINITY, high = 0.0;
  const double noise = noise_floor(e->probe);
  if (noise > 0.0) low = noise;
  for (size_t i = 1; i < count; i++) {
    const double y = e->probe ? rows[i].error : rows[i].loss;
    low = fmin(low, y);
    high = fmax(high, y);
  }
  return hvi_axis_log(label, low, high);
}

/* Over outer steps and over seconds: the error with the noise it cannot see below, or the loss. */
static hvi_status draw_curve(const hvi_evaluate *e, const char *folder, const char *name,
                             hvi_error *err) {
  char *csv = csv_of(name), title[160];
  if (!csv) return hvi_error_memory(err, "file names");
  const char *y = e->probe ? "error" : "loss";
  const size_t count = noise_floor(e->probe) > 0.0 ? 2 : 1;
  const hvi_axis axis = error_axis(e, e->probe ? "mean squared error of the values" : "loss");
  const char *const over[] = {"outer", "seconds"};
  hvi_series series[2][2];
  hvi_panel panels[2];
  for (size_t k = 0; k < 2; k++) {
    series[k][0] = (hvi_series){k ? NULL : y, csv, over[k], y, NULL, HVI_MARK_LINE, 0};
    series[k][1] = (hvi_series){
        k ? NULL : "Monte-Carlo noise", csv, over[k], "noise", NULL, HVI_MARK_DASHED, 7};
    panels[k] = (hvi_panel){
        .x = {.label = k ? "seconds (collection and optimisation)" : "outer steps", .log = true},
        .y = axis,
        .series_count = count,
        .series = series[k]};
  }
  snprintf(title, sizeof title, "value of %s, gamma %g",
           e->env_name ? e->env_name : "the data's policy", e->gamma);
  const hvi_plot plot = {
      .name = name, .title = title, .columns = 2, .panel_count = 2, .panels = panels};
  const hvi_status status = draw_plot(e, folder, &plot, err);
  hvi_free(csv);
  return status;
}

typedef struct state_pair {
  double predicted, value, standard_error;
} state_pair;

static int by_value(const void *a, const void *b) {
  const double x = ((const state_pair *)a)->value, y = ((const state_pair *)b)->value;
  return (x > y) - (x < y);
}

/* Rows in the order of their values, along which the diagonal is drawn. */
static hvi_status write_pairs(const char *path, state_pair *pairs, size_t count, hvi_error *err) {
  hvi_csv csv = {0};
  const hvi_status status = hvi_csv_open(&csv, path, "predicted,value,standard_error", err);
  if (status) return status;
  qsort(pairs, count, sizeof *pairs, by_value);
  for (size_t i = 0; i < count; i++) {
    hvi_csv_number(&csv, pairs[i].predicted);
    hvi_csv_number(&csv, pairs[i].value);
    hvi_csv_number(&csv, pairs[i].standard_error);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static hvi_status write_calibration(const hvi_evaluate *e, const char *path, hvi_error *err) {
  const hvi_probe *p = e->probe;
  hvi_score score;
  double *predicted = hvi_alloc_doubles(p->states);
  state_pair *pairs = hvi_alloc(p->states, sizeof *pairs);
  hvi_status status = predicted && pairs ? HVI_OK : hvi_error_memory(err, "predicted values");
  if (!status) {
    status = hvi_probe_score(&score, p, hvi_evaluation_problem(e->evaluation),
                             hvi_evaluation_theta(e->evaluation), predicted, err);
  }
  for (size_t i = 0; !status && i < p->states; i++) {
    pairs[i] = (state_pair){predicted[i], p->value[i], p->standard_error[i]};
  }
  if (!status) status = write_pairs(path, pairs, p->states, err);
  hvi_free(predicted);
  hvi_free(pairs);
  return status;
}

static hvi_status draw_calibration(const hvi_evaluate *e, const char *folder, const char *name,
                                   hvi_error *err) {
  char *path = hvi_path_join(folder, name, ".csv"), *csv = csv_of(name);
  hvi_status status =
      path && csv ? write_calibration(e, path, err) : hvi_error_memory(err, "file names");
  if (!status) {
    const hvi_series series[] = {
        {"states", csv, "predicted", "value", NULL, HVI_MARK_CLOUD, 0},
        {"predicted = Monte-Carlo", csv, "value", "value", NULL, HVI_MARK_LINE, 1}};
    const hvi_panel panel = {.x = {.label = "predicted value"},
                             .y = {.label = "Monte-Carlo value"},
                             .series_count = 2,
                             .series = series};
    const hvi_plot plot = {.name = name,
                           .title = "predicted and Monte-Carlo values",
                           .panel_count = 1,
                           .panels = &panel};
    status = draw_plot(e, folder, &plot, err);
  }
  hvi_free(path);
  hvi_free(csv);
  return status;
}

hvi_status hvi_evaluate_draw(const hvi_evaluate *e, hvi_error *err) {
  char *folder = NULL, *name = NULL;
  hvi_text calibration = {0};
  size_t count;
  hvi_evaluation_rows(e->evaluation, &count);
  hvi_status status = split(&folder, &name, e->stem) ? HVI_OK : hvi_error_memory(err, "file names");
  if (!status && count > 1) status = draw_curve(e, folder, name, err);
  if (!status && e->probe) {
    hvi_text_add(&calibration, "%s-calibration", name);
    status = calibration.failed ? hvi_error_memory(err, "file names")
                                : draw_calibration(e, folder, calibration.data, err);
  }
  hvi_text_free(&calibration);
  hvi_free(folder);
  hvi_free(name);
  return status;
}

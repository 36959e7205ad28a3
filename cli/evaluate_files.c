/* The files of an evaluation: network, trace, learning curve, calibration. */
#include "base/error.h"
#include "base/memory.h"
#include "evaluate_parts.h"
#include "exit_codes.h"
#include "io/kept.h"
#include "report/csv.h"
#include "report/plot.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The columns of a row, and the noise that the error cannot fall below. */
static char *trace_header(void) {
  hvi_text t = {0};
  for (size_t j = 0; hvi_evaluation_column(j); j++)
    hvi_text_add(&t, "%s,", hvi_evaluation_column(j));
  hvi_text_add(&t, "noise");
  return hvi_text_take(&t);
}

hvi_status hvi_evaluate_trace(const hvi_evaluate *e, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  const double noise = e->probe ? hvi_probe_noise(e->probe) : NAN;
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

/* A trace that is there is one of hvi's, by its header. */
static hvi_status check_trace(const hvi_evaluate *e, hvi_error *err) {
  char *text = NULL, *header = trace_header();
  hvi_status status = header ? HVI_OK : hvi_error_memory(err, "a trace");
  struct stat st;
  if (!status && stat(e->trace, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    status = hvi_file_read_text(&text, e->trace, (size_t)st.st_size, err);
  if (text && strncmp(text, header, strlen(header)) != 0) {
    status = hvi_error_set(
        err, HVI_ERROR_IO,
        "'%s' is there and is no trace of an evaluation: --out takes another name", e->trace);
  }
  hvi_free(text);
  hvi_free(header);
  return status;
}

int hvi_evaluate_claim(hvi_evaluate *e, bool *there) {
  hvi_error err = {HVI_OK, ""};
  if (hvi_lock_take(&e->lock, e->checkpoint, &err)) return hvi_complain_error(&err);
  *there = access(e->checkpoint, F_OK) == 0;
  if (*there && !e->resume && !e->fresh) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "'%s' is there: --resume goes on from it, --fresh begins anew",
                        e->checkpoint);
  }
  if (!*there && !e->resume && !e->fresh && access(e->network, F_OK) == 0) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "'%s' is there and its checkpoint is not: --fresh makes another one in its "
                        "place",
                        e->network);
  }
  if (check_trace(e, &err) || (e->fresh && hvi_kept_check(e->checkpoint, &err)))
    return hvi_complain_error(&err);
  return HVI_EXIT_DONE;
}

static hvi_status draw_plot(const hvi_evaluate *e, const char *folder, const hvi_plot *plot,
                            hvi_error *err) {
  char note[HVI_PLOT_NOTE];
  const hvi_status status = hvi_plot_make(folder, plot, note, err);
  if (!status && *note) hvi_say(&e->talk, "hvi: %s\n", note);
  return status;
}

/* What a learning curve can show: the error, where there is a test set, or else the Bellman gap, or
 * else the loss of the surrogate, which learners without one do not have. */
typedef struct measured {
  const char *name, *label;
  double (*of)(const hvi_evaluation_row *row);
} measured;

static double error_of(const hvi_evaluation_row *row) { return row->error; }
static double gap_of(const hvi_evaluation_row *row) { return row->gap; }
static double loss_of(const hvi_evaluation_row *row) { return row->loss; }

/* The range of it over the rows but the first, which has no place on a logarithmic axis. */
static bool find_range(double range[2], const hvi_evaluate *e, const measured *m) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  range[0] = INFINITY, range[1] = 0.0;
  for (size_t i = 1; i < count; i++) {
    range[0] = fmin(range[0], m->of(&rows[i]));
    range[1] = fmax(range[1], m->of(&rows[i]));
  }
  return range[1] > 0.0;
}

static const measured *choose(double range[2], const hvi_evaluate *e) {
  static const measured kinds[] = {{"error", "mean squared error of the values", error_of},
                                   {"gap", "Bellman gap", gap_of},
                                   {"loss", "loss", loss_of}};
  for (size_t k = e->probe ? 0 : 1; k < sizeof kinds / sizeof *kinds; k++)
    if (find_range(range, e, &kinds[k])) return &kinds[k];
  return NULL;
}

/* Over outer steps and over seconds; an error with the noise that it cannot see below. */
static hvi_status draw_curve(const hvi_evaluate *e, const char *folder, const char *name,
                             hvi_error *err) {
  double range[2];
  const measured *what = choose(range, e);
  if (!what) {
    hvi_say(&e->talk, "no learning curve: --testset, or --gap with --data, gives one to draw\n");
    return HVI_OK;
  }
  char *csv = hvi_join_texts(name, ".csv"), title[160];
  if (!csv) return hvi_error_memory(err, "file names");
  const char *y = what->name;
  const double noise = e->probe ? hvi_probe_noise(e->probe) : 0.0;
  const size_t count = noise > 0.0 ? 2 : 1;
  const hvi_axis axis =
      hvi_axis_log(what->label, noise > 0.0 ? fmin(noise, range[0]) : range[0], range[1]);
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
           e->env_name ? e->env_name : "the data's policy", e->spec.value.gamma);
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
  char *path = hvi_path_join(folder, name, ".csv"), *csv = hvi_join_texts(name, ".csv");
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
  size_t count;
  hvi_evaluation_rows(e->evaluation, &count);
  hvi_status status =
      hvi_path_split(&folder, &name, e->stem, "") ? HVI_OK : hvi_error_memory(err, "file names");
  if (!status && count > 1) status = draw_curve(e, folder, name, err);
  if (!status && e->probe) {
    char *calibration = hvi_join_texts(name, "-calibration");
    status = calibration ? draw_calibration(e, folder, calibration, err)
                         : hvi_error_memory(err, "file names");
    hvi_free(calibration);
  }
  hvi_free(folder);
  hvi_free(name);
  return status;
}

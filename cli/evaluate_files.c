/* The files of an evaluation: their names, trace, learning curve, calibration. */
#include "evaluate_parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/kept.h"
#include "report/csv.h"
#include "report/plot.h"
#include "report/text.h"
#include "rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the names begin with. */
static char *make_stem(const hvi_evaluate *e) {
  static const char ending[] = ".safetensors";
  const char *name = e->out ? e->out : e->env_name;
  size_t length = name ? strlen(name) : 0;
  if (!name) {
    name = hvi_rollout_base_name(e->data_path);
    length = strcspn(name, ".");
  }
  const size_t tail = strlen(ending);
  if (e->out && length > tail && strcmp(name + length - tail, ending) == 0) length -= tail;
  hvi_text stem = {0};
  hvi_text_add(&stem, "%.*s%s", (int)length, name, e->out ? "" : "-value");
  return hvi_text_take(&stem);
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

hvi_status hvi_evaluate_names(hvi_evaluate *e, hvi_error *err) {
  static const char *const endings[] = {".safetensors", ".csv", ".checkpoint",
                                        "-testset.safetensors"};
  const char *const read[] = {e->policy_path, e->data_path, e->testset_path};
  const bool makes = e->env_name && !e->testset_path && e->test_states > 0;
  e->stem = make_stem(e);
  for (size_t k = 0; k < (makes ? HVI_FILES : HVI_FILE_TESTSET); k++) {
    e->file[k] = e->stem ? hvi_join_texts(e->stem, endings[k]) : NULL;
    if (!e->file[k]) return hvi_error_memory(err, "file names");
    /* a network written over the policy that it judges would be a loss */
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
      if (read[i] && same_file(read[i], e->file[k]))
        return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                             "'%s' would be overwritten: --out takes another name", read[i]);
  }
  return HVI_OK;
}

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
  char *header = trace_header();
  hvi_csv csv = {0};
  if (!header) return hvi_error_memory(err, "a trace");
  hvi_status status = hvi_csv_open(&csv, e->file[HVI_FILE_TRACE], header, err);
  hvi_free(header);
  if (status) return status;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; hvi_evaluation_column(j); j++) {
      hvi_csv_number(&csv, hvi_evaluation_cell(&rows[i], j));
    }
    hvi_csv_number(&csv, e->task.noise);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* A trace that is there is one of hvi's, by its header. */
static hvi_status check_trace(const hvi_evaluate *e, hvi_error *err) {
  const char *path = e->file[HVI_FILE_TRACE];
  char *text = NULL, *header = trace_header();
  hvi_status status = header ? HVI_OK : hvi_error_memory(err, "a trace");
  struct stat st;
  if (!status && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    status = hvi_file_read_text(&text, path, (size_t)st.st_size, err);
  if (text && strncmp(text, header, strlen(header)) != 0) {
    status = hvi_error_set(
        err, HVI_ERROR_IO,
        "'%s' is there and is no trace of an evaluation: --out takes another name", path);
  }
  hvi_free(text);
  hvi_free(header);
  return status;
}

hvi_status hvi_evaluate_claim(hvi_evaluate *e, bool *there, hvi_error *err) {
  const char *checkpoint = e->file[HVI_FILE_CHECKPOINT], *network = e->file[HVI_FILE_NETWORK];
  hvi_status status = hvi_lock_take(&e->lock, checkpoint, err);
  if (status) return status;
  *there = access(checkpoint, F_OK) == 0;
  const bool told = e->resume || e->fresh;
  if (*there && !told)
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "'%s' is there: --resume goes on from it, --fresh begins anew",
                         checkpoint);
  if (!told && access(network, F_OK) == 0)
    return hvi_error_set(
        err, HVI_ERROR_ARGUMENT,
        "'%s' is there and its checkpoint is not: --fresh makes another one in its place", network);
  status = check_trace(e, err);
  return !status && e->fresh ? hvi_kept_check(checkpoint, err) : status;
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
  double least, most; /* over the rows but the first, which has no place on a logarithmic axis */
} measured;

static void find_range(measured *m, const hvi_evaluate *e) {
  size_t count, column = 0;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  while (strcmp(hvi_evaluation_column(column), m->name) != 0) column++;
  m->least = INFINITY, m->most = 0.0;
  for (size_t i = 1; i < count; i++) {
    m->least = fmin(m->least, hvi_evaluation_cell(&rows[i], column));
    m->most = fmax(m->most, hvi_evaluation_cell(&rows[i], column));
  }
}

static measured choose(const hvi_evaluate *e) {
  measured m[] = {{.name = "error", .label = "mean squared error of the values"},
                  {.name = "gap", .label = "Bellman gap"},
                  {.name = "loss", .label = "loss"},
                  {0}};
  size_t k = e->task.probe ? 0 : 1;
  for (; m[k].name; k++) {
    find_range(&m[k], e);
    if (m[k].most > 0.0) break;
  }
  return m[k];
}

/* Over outer steps and over seconds; an error with the noise that it cannot see below. */
static hvi_status draw_curve(const hvi_evaluate *e, const char *folder, const char *name,
                             hvi_error *err) {
  const measured what = choose(e);
  if (!what.name) {
    hvi_say(&e->talk, "no learning curve: --testset, or --gap with --data, gives one to draw\n");
    return HVI_OK;
  }
  char *csv = hvi_join_texts(name, ".csv"), title[160];
  if (!csv) return hvi_error_memory(err, "file names");
  const char *y = what.name;
  const double noise = e->task.noise > 0.0 ? e->task.noise : NAN;
  const hvi_axis axis = hvi_axis_log(what.label, fmin(noise, what.least), what.most);
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
        .series_count = isnan(noise) ? 1 : 2,
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
  const hvi_probe *p = e->task.probe;
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
  if (!status && e->task.probe) {
    char *calibration = hvi_join_texts(name, "-calibration");
    status = calibration ? draw_calibration(e, folder, calibration, err)
                         : hvi_error_memory(err, "file names");
    hvi_free(calibration);
  }
  hvi_free(folder);
  hvi_free(name);
  return status;
}

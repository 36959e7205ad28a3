/* The tables and figures of the linear experiment. */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/linear_stats.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>

/* In the order of HVI_LINEAR_THETA .. HVI_LINEAR_CURVES. */
static const char *const columns[HVI_LINEAR_CURVES] = {
    "theta_1",  "theta_5",  "theta_10",  "theta_50", "theta_100", "value_1",           "value_5",
    "value_10", "value_50", "value_100", "surr_1",   "surr_5",    "surr_10",           "surr_50",
    "surr_100", "lspe",     "td0",       "tdc",      "gtd2",      "residual_gradient", "lstd"};

typedef struct learner {
  size_t curve;
  const char *label;
  size_t style;
} learner;

static const learner learners[] = {
    {HVI_LINEAR_GOAL + HVI_LEARNER_SURR_10, "Surr-GD, M = 10", 2},
    {HVI_LINEAR_GOAL + HVI_LEARNER_LSPE, "LSPE", 0},
    {HVI_LINEAR_LSTD, "LSTD", 6},
    {HVI_LINEAR_GOAL + HVI_LEARNER_TD0, "TD(0)", 1},
    {HVI_LINEAR_GOAL + HVI_LEARNER_TDC, "TDC", 4},
    {HVI_LINEAR_GOAL + HVI_LEARNER_GTD2, "GTD2", 3},
    {HVI_LINEAR_GOAL + HVI_LEARNER_RESIDUAL, "residual gradient", 5},
};

enum { LEARNERS = sizeof learners / sizeof *learners };

/* Edges of the interval on the scale of the axes: m exp(-+ half / m) never reaches zero. */
static void write_estimate(hvi_csv *csv, hvi_estimate e) {
  hvi_csv_number(csv, e.value);
  hvi_csv_number(csv, e.value * exp(-e.half / e.value));
  hvi_csv_number(csv, e.value * exp(e.half / e.value));
}

static char *header(void) {
  hvi_text t = {0};
  hvi_text_add(&t, "t");
  for (size_t k = 0; k < HVI_LINEAR_CURVES; k++)
    hvi_text_add(&t, ",%s,%s_low,%s_high", columns[k], columns[k], columns[k]);
  hvi_text_add(&t, ",residual_limit");
  return hvi_text_take(&t);
}

hvi_status hvi_linear_write(const hvi_run *run, const hvi_linear_summary *s, hvi_error *err) {
  hvi_csv csv;
  char name[32], *top = header();
  snprintf(name, sizeof name, "linear-%s", s->chain);
  char *path = hvi_run_path(run, name, ".csv");
  hvi_status status =
      path && top ? hvi_csv_open(&csv, path, top, err) : hvi_error_memory(err, "a table");
  hvi_free(path);
  hvi_free(top);
  if (status) return status;
  for (size_t row = 0; row < s->runs.rows; row++) {
    hvi_csv_count(&csv, s->time[row]);
    for (size_t k = 0; k < HVI_LINEAR_CURVES; k++) write_estimate(&csv, hvi_linear_mean(s, row, k));
    hvi_csv_number(&csv, s->residual_limit);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* The names that series point to: column, its two edges, file, label. */
typedef struct names {
  char low[HVI_LINEAR_CURVES][32], high[HVI_LINEAR_CURVES][32];
  char file[2][32], label[HVI_SURR_COUNT][32], title[4][96];
} names;

static void fill_names(names *n, const hvi_linear_summary *s) {
  for (size_t k = 0; k < HVI_LINEAR_CURVES; k++) {
    snprintf(n->low[k], sizeof n->low[k], "%s_low", columns[k]);
    snprintf(n->high[k], sizeof n->high[k], "%s_high", columns[k]);
  }
  for (size_t m = 0; m < HVI_SURR_COUNT; m++)
    snprintf(n->label[m], sizeof n->label[m], "M = %zu", hvi_linear_inner[m]);
  for (size_t c = 0; c < 2; c++) {
    snprintf(n->file[c], sizeof n->file[c], "linear-%s.csv", s[c].chain);
    snprintf(n->title[c], sizeof n->title[c], "Chain '%s', parameters", s[c].chain);
    snprintf(n->title[2 + c], sizeof n->title[2 + c], "Chain '%s', values", s[c].chain);
  }
}

/* A line and its band: two series, the band first so that it lies behind. */
static void add_curve(hvi_series *band, hvi_series *line, const names *n, size_t chain,
                      size_t curve, const char *label, size_t style) {
  const char *file = n->file[chain];
  *band = (hvi_series){NULL, file, "t", n->low[curve], n->high[curve], HVI_MARK_BAND, style};
  *line = (hvi_series){label, file, "t", columns[curve], NULL, HVI_MARK_LINE, style};
}

static hvi_axis time_axis(const hvi_linear_summary *s) {
  return (hvi_axis){.label = "transitions t",
                    .log = true,
                    .low = (double)s->time[0],
                    .high = (double)s->time[s->runs.rows - 1]};
}

static hvi_axis axis_of(const char *label, const hvi_linear_summary *s, size_t first,
                        size_t count) {
  double low = INFINITY, high = 0.0;
  for (size_t c = 0; c < 2; c++)
    for (size_t row = 0; row < s[c].runs.rows; row++)
      for (size_t k = first; k < first + count; k++) {
        low = fmin(low, hvi_linear_mean(&s[c], row, k).value);
        high = fmax(high, hvi_linear_mean(&s[c], row, k).value);
      }
  return hvi_axis_log(label, low, high);
}

/* The paper's figure: Surr-GD to the exact update, by inner steps; both chains, in parameters and
 * in values. */
static hvi_status draw_updates(hvi_run *run, const hvi_linear_summary *s, const names *n,
                               hvi_error *err) {
  static const size_t firsts[2] = {HVI_LINEAR_THETA, HVI_LINEAR_VALUE};
  static const char *const labels[2] = {"mean |θ_t − θ_t^{LSPE}|", "mean |Φθ_t − Φθ_t^{LSPE}|_Ξ"};
  static const size_t styles[HVI_SURR_COUNT] = {5, 4, 2, 1, 0};
  hvi_series series[4][2 * HVI_SURR_COUNT];
  hvi_panel panels[4];
  for (size_t k = 0; k < 4; k++) {
    for (size_t m = 0; m < HVI_SURR_COUNT; m++)
      add_curve(&series[k][m], &series[k][HVI_SURR_COUNT + m], n, k % 2, firsts[k / 2] + m,
                n->label[m], styles[m]);
    panels[k] = (hvi_panel){.title = n->title[k],
                            .x = time_axis(s),
                            .y = axis_of(labels[k / 2], s, firsts[k / 2], HVI_SURR_COUNT),
                            .series_count = 2 * HVI_SURR_COUNT,
                            .series = series[k]};
  }
  const hvi_plot plot = {.name = run->experiment->id,
                         .title = "Surr-GD with M inner steps against the exact update (LSPE)",
                         .columns = 2,
                         .panel_count = 4,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

/* Everybody to the projected fixed point. */
static hvi_status draw_learners(hvi_run *run, const hvi_linear_summary *s, const names *n,
                                hvi_error *err) {
  hvi_series series[2][2 * LEARNERS + 1];
  hvi_panel panels[2];
  char name[64], title[2][64];
  for (size_t c = 0; c < 2; c++) {
    for (size_t k = 0; k < LEARNERS; k++)
      add_curve(&series[c][k], &series[c][LEARNERS + k], n, c, learners[k].curve, learners[k].label,
                learners[k].style);
    series[c][2 * LEARNERS] = (hvi_series){"limit of the residual gradient",
                                           n->file[c],
                                           "t",
                                           "residual_limit",
                                           NULL,
                                           HVI_MARK_DASHED,
                                           5};
    snprintf(title[c], sizeof title[c], "Chain '%s'", s[c].chain);
    panels[c] = (hvi_panel){.title = title[c],
                            .x = time_axis(s),
                            .y = axis_of("mean |Φθ_t − Φθ*|_Ξ", s, HVI_LINEAR_GOAL,
                                         HVI_LINEAR_CURVES - HVI_LINEAR_GOAL),
                            .series_count = 2 * LEARNERS + 1,
                            .series = series[c]};
  }
  snprintf(name, sizeof name, "%.40s-learners", run->experiment->id);
  const hvi_plot plot = {.name = name,
                         .title = "Distance to the projected fixed point on the same trajectories",
                         .panel_count = 2,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

hvi_status hvi_linear_draw(hvi_run *run, const hvi_linear_summary *s, hvi_error *err) {
  names *n = hvi_alloc(1, sizeof *n);
  if (!n) return hvi_error_memory(err, "a figure");
  fill_names(n, s);
  hvi_status status = draw_updates(run, s, n, err);
  if (!status) status = draw_learners(run, s, n, err);
  hvi_free(n);
  return status;
}

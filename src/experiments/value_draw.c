/* The figure of a study: for every place the panels of the plan, and for some the exact chain. */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/value_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SERIES = 160, PANELS = HVI_MOST_PLACES * HVI_MOST_PANELS + 1, GREY = 7, BLACK = 6 };

/* Everything that a figure points to. */
typedef struct drawing {
  hvi_run *run;
  const hvi_study_results *r;
  size_t panel_count;
  hvi_panel panels[PANELS];
  hvi_series series[PANELS][MOST_SERIES];
  char files[PANELS][MOST_SERIES][HVI_STUDY_NAME + 4];
  char columns[HVI_STUDY_MEASURES][2][16]; /* of the ends of a band */
  char titles[PANELS][80];
} drawing;

/* A panel that is being put together. */
typedef struct sheet {
  drawing *d;
  size_t index, place, count;
  hvi_study_panel what;
  double x[2], y[2]; /* smallest and largest positive */
} sheet;

static void widen(double range[2], double x) {
  if (!(x > 0.0) || isinf(x)) return;
  range[0] = fmin(range[0], x);
  range[1] = fmax(range[1], x);
}

static void add(sheet *s, const char *label, const char *file, const char *y, const char *y2,
                hvi_mark mark, size_t style) {
  drawing *d = s->d;
  const char *x = hvi_study_axis_names[s->what.x];
  if (s->count == MOST_SERIES) return;
  char *kept = d->files[s->index][s->count];
  snprintf(kept, sizeof d->files[0][0], "%s.csv", file);
  d->series[s->index][s->count++] = (hvi_series){label, kept, x, y, y2, mark, style};
}

/* What the means reach; the ends of a band may leave the panel, and so may a mean that has risen
 * far above its start: one lost seed would press all other lines together. */
static void see_curve(sheet *s, size_t contender) {
  const hvi_study_results *r = s->d->r;
  const hvi_study_curve *first = hvi_study_at(r, s->place, contender, 0);
  const double start = first->count ? first->rows[0].error : NAN;
  const double ceiling = s->what.y == HVI_OF_ERROR ? 2.0 * start : INFINITY;
  for (size_t k = 0; k < r->seeds; k++) {
    const hvi_study_curve *c = hvi_study_at(r, s->place, contender, k);
    for (size_t i = 0; i < c->count; i++) {
      const double x = hvi_study_x(&c->rows[i], s->what.x);
      if (isnan(hvi_study_y(&c->rows[i], s->what.y))) continue;
      widen(s->x, x);
      const double mean = hvi_study_mean_at(r, s->place, contender, s->what.x, s->what.y, x).value;
      if (isfinite(mean)) widen(s->y, fmin(mean, ceiling));
    }
  }
}

/* Bands of the methods that are highlighted, or of all when none is. */
static bool has_band(const hvi_experiment *e, size_t contender) {
  bool any = false;
  for (size_t m = 0; m < e->contender_count; m++) any = any || e->contenders[m].highlight;
  return !any || e->contenders[contender].highlight;
}

/* Bands first, to lie behind the lines. */
static hvi_status add_curves(sheet *s, hvi_error *err) {
  drawing *d = s->d;
  const hvi_study_results *r = d->r;
  const char *y = hvi_study_measure_names[s->what.y];
  hvi_status status = HVI_OK;
  char name[HVI_STUDY_NAME];
  for (size_t m = 0; m < r->contenders && !status; m++) {
    hvi_study_curve_name(name, r, s->place, m, s->what.x);
    if (has_band(r->experiment, m))
      add(s, NULL, name, d->columns[s->what.y][0], d->columns[s->what.y][1], HVI_MARK_BAND,
          r->experiment->contenders[m].style);
    status = hvi_study_write_curve(d->run, r, s->place, m, s->what.x, err);
    see_curve(s, m);
  }
  for (size_t m = 0; m < r->contenders && !status; m++) {
    const hvi_contender *c = &r->experiment->contenders[m];
    hvi_study_curve_name(name, r, s->place, m, s->what.x);
    add(s, c->label, name, y, NULL, HVI_MARK_LINE, c->style);
  }
  return status;
}

static hvi_status add_thresholds(sheet *s, hvi_error *err) {
  drawing *d = s->d;
  char name[HVI_STUDY_NAME], slug[48];
  const char *y = hvi_study_measure_names[s->what.y];
  hvi_study_slug(slug, sizeof slug, d->r->names[s->place]);
  snprintf(name, sizeof name, "%s-thresholds-%s", slug, y);
  add(s, NULL, name, d->columns[s->what.y][0], d->columns[s->what.y][1], HVI_MARK_BAND, BLACK);
  add(s, NULL, name, y, NULL, HVI_MARK_LINE, BLACK);
  add(s, NULL, name, y, NULL, HVI_MARK_POINTS, BLACK);
  for (size_t m = 0; m < d->r->contenders; m++) {
    const double alpha = d->r->experiment->contenders[m].settings.alpha;
    if (!(alpha > 0.0)) continue;
    const hvi_study_mean end =
        hvi_study_mean_at(d->r, s->place, m, HVI_BY_OUTER, s->what.y, INFINITY);
    widen(s->x, alpha * alpha);
    widen(s->y, end.value);
    widen(s->y, end.value + end.half);
    widen(s->y, end.value - end.half);
  }
  return hvi_study_write_thresholds(d->run, d->r, s->place, s->what.y, err);
}

/* The lowest mean of any method, and what the true values would score. */
static hvi_status add_levels(sheet *s, hvi_error *err) {
  const hvi_study_results *r = s->d->r;
  const bool error = s->what.y == HVI_OF_ERROR;
  char name[HVI_STUDY_NAME], slug[48];
  double lowest = INFINITY;
  if (!error && s->what.y != HVI_OF_GAP) return HVI_OK;
  for (size_t m = 0; m < r->contenders; m++)
    if (!r->experiment->contenders[m].value.returns)
      lowest = fmin(lowest, hvi_study_least_of(r, s->place, m, s->what.y).value);
  hvi_study_slug(slug, sizeof slug, r->names[s->place]);
  snprintf(name, sizeof name, "%s-levels-%s-%s", slug, hvi_study_axis_names[s->what.x],
           hvi_study_measure_names[s->what.y]);
  const bool from_zero = s->what.x == HVI_BY_OUTER || s->what.x == HVI_BY_GRADIENTS;
  const double x[2] = {from_zero ? 0.0 : s->x[0], s->x[1]};
  add(s, "lowest of all", name, "lowest", NULL, HVI_MARK_DASHED, BLACK);
  if (error) add(s, "Monte-Carlo noise", name, "noise", NULL, HVI_MARK_THIN, GREY);
  for (size_t i = s->count - (error ? 2 : 1); i < s->count; i++) s->d->series[s->index][i].x = "x";
  if (error) widen(s->y, r->noise[s->place]);
  return hvi_study_write_levels(s->d->run, name, x, isfinite(lowest) ? lowest : NAN,
                                error && r->noise[s->place] > 0.0 ? r->noise[s->place] : NAN, err);
}

static void finish_panel(sheet *s) {
  static const char *const x_labels[] = {"outer iteration t", "seconds, collection included",
                                         "gradient computations", "threshold α^2"};
  static const char *const y_labels[] = {"value prediction error", "Bellman gap",
                                         "loss ratio reached", "inner steps"};
  drawing *d = s->d;
  hvi_panel *p = &d->panels[s->index];
  char *title = d->titles[s->index];
  snprintf(title, sizeof d->titles[0], "%s", d->r->names[s->place]);
  for (char *c = title; *c; c++)
    if (*c == '_') *c = ' ';
  *p = (hvi_panel){.title = title,
                   .x = {.label = x_labels[s->what.x]},
                   .y = hvi_axis_log(y_labels[s->what.y], s->y[0], s->y[1]),
                   .series_count = s->count,
                   .series = d->series[s->index]};
  if (s->what.x == HVI_BY_SECONDS && s->x[1] > 0.0)
    p->x = (hvi_axis){.label = d->run->scale->offline ? "seconds" : x_labels[s->what.x],
                      .log = true,
                      .low = s->x[0],
                      .high = s->x[1]};
  if (s->what.y == HVI_OF_INNER) p->y = (hvi_axis){.label = y_labels[HVI_OF_INNER]};
}

static hvi_status add_panel(drawing *d, size_t place, hvi_study_panel what, hvi_error *err) {
  sheet s = {.d = d,
             .index = d->panel_count++,
             .place = place,
             .what = what,
             .x = {INFINITY, 0.0},
             .y = {INFINITY, 0.0}};
  hvi_status status = what.x == HVI_BY_THRESHOLD ? add_thresholds(&s, err) : add_curves(&s, err);
  if (!status) status = add_levels(&s, err);
  finish_panel(&s);
  return status;
}

/* The table that hvi_study_chain has written. */
static void add_chain(drawing *d) {
  static const char *const names[] = {"plain", "mode", "anderson"};
  const size_t index = d->panel_count++;
  for (size_t k = 0; k < 3; k++)
    d->series[index][k] =
        (hvi_series){names[k], "chain.csv", "outer", names[k], NULL, HVI_MARK_LINE, k};
  d->panels[index] = (hvi_panel){.title = "a chain of 100 states, exactly",
                                 .x = {.label = "outer iteration t"},
                                 .y = hvi_axis_log("|z_t − z*|^2", 1e-12, 1e4),
                                 .series_count = 3,
                                 .series = d->series[index]};
}

static hvi_status draw(drawing *d, hvi_error *err) {
  const hvi_study_plan *plan = d->r->experiment->study;
  const hvi_experiment *e = d->r->experiment;
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < HVI_STUDY_MEASURES; k++) {
    const char *y = hvi_study_measure_names[(hvi_study_measure)k];
    snprintf(d->columns[k][0], sizeof d->columns[k][0], "%s_low", y);
    snprintf(d->columns[k][1], sizeof d->columns[k][1], "%s_high", y);
  }
  for (size_t p = 0; p < d->r->places; p++)
    for (size_t i = 0; i < plan->panel_count && !d->r->missing[p] && !status; i++)
      status = add_panel(d, p, plan->panels[i], err);
  if (status) return status;
  if (plan->chain) add_chain(d);
  if (!d->panel_count) return HVI_OK;
  const hvi_plot plot = {e->id, e->title, plan->panel_count, d->panel_count, d->panels};
  return hvi_run_figure(d->run, &plot, err);
}

hvi_status hvi_value_study_draw(hvi_run *run, const hvi_study_results *r, hvi_error *err) {
  drawing *d = hvi_alloc(1, sizeof *d);
  if (!d) return hvi_error_memory(err, "a figure");
  d->run = run;
  d->r = r;
  hvi_status status = draw(d, err);
  if (!status) status = hvi_study_write_summary(run, r, err);
  hvi_free(d);
  return status;
}

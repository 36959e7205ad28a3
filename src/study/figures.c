/*
 * The figures of a study, as its file (or its kind) describes them.
 *
 *   figures:
 *     - name: theory-bounds         # the study's id where there is none
 *       title: ...                  # the study's title
 *       columns: 2                  # panels side by side; all of them
 *       each: environment           # all panels for each level of a factor
 *       panels:
 *         - title: "eps = {eps}"    # levels in braces
 *           each: eps               # a panel for each level of a factor
 *           x: {label: t, log: true, fit: true}
 *           y: {label: error, log: true, least: 1e-6, most: 10, ceiling: 2}
 *           series:
 *             - {table: trace, x: outer, y: dist2, each: method}
 *             - {table: rate, x: rho, y: away, label: away from z*, mark: points, style: 1}
 *             - {table: outer, x: outer, low: error_low, high: error_high, each: method}
 *           point: {table: solution, x: z1, y: z2, label: z*}
 *           unless: z3              # left out where the tables of its series have this column
 *
 * A logarithmic axis spans the decades of its data: of those from `least` to `most`, and without
 * what rises above `ceiling` times its start. `fit` makes an axis end where the data do. With `floor`
 * what falls below a logarithmic axis runs along its end.
 */
#include "base/base.h"
#include "study/fields.h"
#include "study/grid.h"

enum { MOST_PANELS = 32, MOST_SERIES = 160, TEXT = 160, SPLITS = 4 };

static const char *const marks[] = {"line", "thin", "dashed", "points", "cloud",
                                    "path", "band", "bars",   NULL};

/* A panel that is being put together, with all the text that it points to: the level it is for, and
 * what its data span. */
typedef struct sheet {
  struct drawing *d;
  hvi_panel *panel;
  hvi_table_filter level; /* of the panel's `each`; column NULL: none */
  const hvi_node *axis[2];
  double low[2], high[2];
  hvi_mark_point point;
  char title[TEXT], labels[2][TEXT];
  hvi_series series[MOST_SERIES];
  char files[MOST_SERIES][TEXT];
} sheet;

/* One figure. */
typedef struct drawing {
  hvi_study *study;
  hvi_error *err;
  size_t panel_count;
  hvi_panel panels[MOST_PANELS];
  sheet sheets[MOST_PANELS];
} drawing;

static hvi_status wrong(const drawing *d, const hvi_node *n, const char *what, const char *word) {
  return hvi_error_input(d->err, "%s:%u: %s '%s'", d->study->origin, n->line, what, word);
}

static double number_of(const hvi_node *map, const char *key, double otherwise) {
  const char *text = hvi_field_text(map, key, NULL);
  return text ? strtod(text, NULL) : otherwise;
}

static bool flag_of(const hvi_node *map, const char *key) {
  return strcmp(hvi_field_text(map, key, "false"), "true") == 0;
}

/* half_cheetah becomes half cheetah. Returns the length. */
static size_t put_words(char *out, const char *word) {
  const int n = snprintf(out, 40, "%.39s", word);
  for (; *out; out++)
    if (*out == '_') *out = ' ';
  return (size_t)n;
}

/* Words in braces are levels, or sizes of the study. */
static void fill_in(char *out, const char *text, const sheet *s) {
  const hvi_part *p = &s->d->study->parts[0];
  size_t used = 0;
  while (*text && used + 40 < TEXT) {
    const size_t name = *text == '{' ? strcspn(text + 1, "}") : 0;
    const bool level = name && s->level.column && strncmp(text + 1, s->level.column, name) == 0;
    const bool steps = name && strncmp(text + 1, "iterations", name) == 0;
    if (level && s->level.word)
      used += put_words(out + used, s->level.word);
    else if (level)
      used += (size_t)snprintf(out + used, 40, "%g", s->level.number);
    else if (steps)
      used += (size_t)snprintf(out + used, 40, "%zu", p->scale.iterations);
    else
      out[used++] = *text;
    text += level || steps ? name + 2 : 1;
  }
  out[used] = '\0';
}

static const hvi_table *table_of(const drawing *d, const hvi_node *n) {
  return hvi_study_table_named(d->study, hvi_field_text(n, "table", NULL));
}

static bool has_numbers(const hvi_table *t, const char *column) {
  const size_t c = column ? hvi_table_find(t, column) : t->columns;
  for (size_t i = 0; c < t->columns && i < t->rows; i++)
    if (!isnan(hvi_table_get(t, i, c))) return true;
  return false;
}

static void widen(sheet *s, size_t axis, double x, double ceiling) {
  const hvi_node *a = s->axis[axis];
  const bool log = flag_of(a, "log");
  if (!isfinite(x) || (log && !(x > 0.0) && !flag_of(a, "floor"))) return;
  x = fmin(fmin(x, ceiling), number_of(a, "most", INFINITY));
  x = fmax(x, number_of(a, "least", -INFINITY));
  s->low[axis] = fmin(s->low[axis], x);
  s->high[axis] = fmax(s->high[axis], x);
}

static void see_rows(sheet *s, const hvi_table *t, const hvi_series *series,
                     const hvi_table_filter *filters, size_t count) {
  const size_t x = hvi_table_find(t, series->x), y = hvi_table_find(t, series->y);
  const double limit = number_of(s->axis[1], "ceiling", INFINITY);
  double first = NAN;
  for (size_t i = 0; i < t->rows; i++) {
    if (!hvi_table_matches(t, i, filters, count)) continue;
    const double value = hvi_table_get(t, i, y);
    if (isnan(value)) continue;
    if (isnan(first)) first = value;
    if (x < t->columns) widen(s, 0, hvi_table_get(t, i, x), INFINITY);
    widen(s, 1, value, isfinite(limit) ? limit * first : INFINITY);
  }
}

/* Adds a series of the rows that match; a split table has a file for each combination. */
static hvi_status add_series(sheet *s, const hvi_node *n, const hvi_table *t,
                             hvi_table_filter *filters, size_t count, const hvi_arm *method) {
  hvi_panel *p = s->panel;
  const char *low = hvi_field_text(n, "low", NULL), *label = hvi_field_text(n, "label", NULL);
  const char *mark = hvi_field_text(n, "mark", low ? "band" : "line");
  size_t m = 0;
  while (marks[m] && strcmp(marks[m], mark) != 0) m++;
  if (!marks[m]) return wrong(s->d, n, "unknown mark", mark);
  if (p->series_count == MOST_SERIES) return wrong(s->d, n, "too many series in", p->title);
  char *file = s->files[p->series_count];
  hvi_split_name(file, TEXT - 4, t, filters, count);
  strcat(file, ".csv");
  if (method && !low && !label) label = method->label;
  hvi_series *series = &s->series[p->series_count];
  *series =
      (hvi_series){.label = low ? NULL : label,
                   .file = file,
                   .x = hvi_field_text(n, "x", "outer"),
                   .y = hvi_field_text(n, "y", low ? low : ""),
                   .y2 = hvi_field_text(n, "high", NULL),
                   .mark = (hvi_mark)m,
                   .style = (size_t)number_of(n, "style", method ? (double)method->style : 0)};
  if (!has_numbers(t, series->y)) return HVI_OK;
  p->series_count++;
  if (!low) see_rows(s, t, series, filters, count);
  return HVI_OK;
}

/* Bands are those of the methods that are highlighted, or of all when none is; so are paths. */
static bool is_shown(const hvi_part *p, size_t method, const hvi_node *n) {
  const bool path = strcmp(hvi_field_text(n, "mark", ""), "path") == 0;
  bool any = path;
  if (!path && !hvi_node_get(n, "low")) return true;
  for (size_t m = 0; m < p->method_count; m++) any = any || p->methods[m].highlight;
  return !any || p->methods[method].highlight;
}

/* A series, or one for each level of its factor, in the level of its panel. */
static hvi_status add_node(sheet *s, const hvi_node *n) {
  drawing *d = s->d;
  const hvi_table *t = table_of(d, n);
  const char *each = hvi_field_text(n, "each", NULL);
  const hvi_node *at = hvi_node_get(n, "at");
  hvi_table_filter filters[SPLITS];
  size_t count = 0;
  if (!t) return wrong(d, n, "unknown table", hvi_field_text(n, "table", ""));
  if (s->level.column) filters[count++] = s->level;
  for (const hvi_node *a = at ? at->first : NULL; a && count + 1 < SPLITS; a = a->next) {
    char *end;
    const double x = strtod(a->text, &end);
    filters[count++] = (hvi_table_filter){a->key, *end ? a->text : NULL, x};
  }
  if (!each) return add_series(s, n, t, filters, count, NULL);
  const size_t c = hvi_table_find(t, each);
  if (c == t->columns) return wrong(d, n, "unknown factor", each);
  const bool methods = strcmp(each, "method") == 0;
  const hvi_part *p = &d->study->parts[t->part];
  for (size_t i = 0; t->column[c].words && t->column[c].words[i]; i++) {
    filters[count] = (hvi_table_filter){.column = each, .word = t->column[c].words[i]};
    if (methods && !is_shown(p, i, n)) continue;
    HVI_TRY(add_series(s, n, t, filters, count + 1, methods ? &p->methods[i] : NULL));
  }
  return HVI_OK;
}

static hvi_axis finish_axis(sheet *s, size_t axis) {
  const hvi_node *n = s->axis[axis];
  const double low = s->low[axis], high = s->high[axis];
  char *label = s->labels[axis];
  fill_in(label, n && n->kind == HVI_NODE_SCALAR ? n->text : hvi_field_text(n, "label", ""), s);
  hvi_axis a = {.label = label,
                .log = flag_of(n, "log"),
                .floor = flag_of(n, "floor"),
                .thousands = flag_of(n, "thousands"),
                .low = number_of(n, "low", 0.0),
                .high = number_of(n, "high", 0.0)};
  if (a.low != 0.0 || a.high != 0.0 || !(high >= low)) return a;
  if (flag_of(n, "fit")) {
    a.low = low / number_of(n, "below", 1.0);
    a.high = high * number_of(n, "above", 1.0);
  } else if (a.log) {
    const bool floor = a.floor;
    a = hvi_axis_log(label, low, high);
    a.floor = floor;
  }
  return a;
}

static void add_point(sheet *s, const hvi_node *n) {
  const hvi_table *t = n ? table_of(s->d, n) : NULL;
  if (!t || !t->rows) return;
  const size_t x = hvi_table_find(t, hvi_field_text(n, "x", "")),
               y = hvi_table_find(t, hvi_field_text(n, "y", ""));
  if (x == t->columns || y == t->columns) return;
  s->point = (hvi_mark_point){hvi_field_text(n, "label", ""), hvi_table_get(t, 0, x),
                              hvi_table_get(t, 0, y)};
  s->panel->point = &s->point;
}

static hvi_status add_panel(drawing *d, const hvi_node *node, hvi_table_filter level) {
  static const char keys[] = "title each x y point series unless";
  HVI_TRY(hvi_field_map(&(hvi_field_part){0}, keys, node, d->study->origin, d->err));
  const hvi_node *list = hvi_node_get(node, "series");
  if (!list || list->kind != HVI_NODE_LIST) return wrong(d, node, "a panel needs", "series");
  if (d->panel_count == MOST_PANELS) return wrong(d, node, "too many panels in", d->study->id);
  hvi_panel *p = &d->panels[d->panel_count];
  sheet *s = &d->sheets[d->panel_count];
  s->d = d;
  s->panel = p;
  s->level = level;
  *p = (hvi_panel){.series = s->series};
  for (size_t k = 0; k < 2; k++) {
    s->axis[k] = hvi_node_get(node, k ? "y" : "x");
    s->low[k] = INFINITY;
    s->high[k] = -INFINITY;
  }
  for (const hvi_node *n = list->first; n; n = n->next) {
    const hvi_table *t = table_of(d, n);
    if (t && has_numbers(t, hvi_field_text(node, "unless", NULL))) return HVI_OK;
    HVI_TRY(add_node(s, n));
  }
  if (!p->series_count) return HVI_OK;
  fill_in(s->title, hvi_field_text(node, "title", ""), s);
  if (*s->title) p->title = s->title;
  p->x = finish_axis(s, 0);
  p->y = finish_axis(s, 1);
  add_point(s, hvi_node_get(node, "point"));
  d->panel_count++;
  return HVI_OK;
}

typedef hvi_status (*add_fn)(drawing *d, const hvi_node *n, hvi_table_filter level);

/* The part that the first series of a panel, or of a figure, is of. */
static const hvi_part *part_of(const drawing *d, const hvi_node *n) {
  const hvi_node *panels = hvi_node_get(n, "panels");
  const hvi_node *panel = panels && panels->first ? panels->first : n;
  const hvi_node *list = panel->kind == HVI_NODE_MAP ? hvi_node_get(panel, "series") : NULL;
  const hvi_table *t = list && list->first ? table_of(d, list->first) : NULL;
  return &d->study->parts[t ? t->part : 0];
}

/* Once, or for each level of the factor that `each` names. */
static hvi_status add_each(drawing *d, const hvi_node *n, add_fn add) {
  const char *each = hvi_field_text(n, "each", NULL);
  if (!each) return add(d, n, (hvi_table_filter){0});
  const hvi_factor *by = hvi_part_factor(part_of(d, n), each);
  if (!by) return wrong(d, n, "unknown factor", each);
  for (size_t k = 0; k < by->levels; k++) HVI_TRY(add(d, n, hvi_factor_level(by, k)));
  return HVI_OK;
}

/* The panels of a figure, in one level where it has one. */
static hvi_status add_panels(drawing *d, const hvi_node *figure, hvi_table_filter level) {
  const hvi_node *list = hvi_node_get(figure, "panels");
  if (!list || list->kind != HVI_NODE_LIST) return wrong(d, figure, "a figure needs", "panels");
  for (const hvi_node *p = list->first; p; p = p->next)
    HVI_TRY(level.column ? add_panel(d, p, level) : add_each(d, p, add_panel));
  return HVI_OK;
}

static hvi_status draw_one(drawing *d, const hvi_node *n) {
  static const char keys[] = "name title columns each panels";
  hvi_study *study = d->study;
  char note[HVI_PLOT_NOTE];
  HVI_TRY(hvi_field_map(&(hvi_field_part){0}, keys, n, study->origin, d->err));
  d->panel_count = 0;
  HVI_TRY(add_each(d, n, add_panels));
  if (!d->panel_count) return HVI_OK;
  const hvi_plot plot = {.name = hvi_field_text(n, "name", study->id),
                         .title = hvi_field_text(n, "title", study->title),
                         .columns = (size_t)number_of(n, "columns", 0),
                         .panel_count = d->panel_count,
                         .panels = d->panels};
  HVI_TRY(hvi_plot_make(study->folder, &plot, note, d->err));
  if (*note) hvi_study_tell(study, "%s", note);
  hvi_claims_figure(study->claims, plot.name);
  return HVI_OK;
}

hvi_status hvi_study_draw(hvi_study *study, hvi_error *err) {
  if (!study->figures) return HVI_OK;
  HVI_OWN drawing *d = hvi_alloc(1, sizeof *d);
  if (!d) return hvi_error_memory(err, "a figure");
  d->study = study;
  d->err = err;
  if (study->figures->kind != HVI_NODE_LIST)
    return wrong(d, study->figures, "a list is needed for", "figures");
  for (const hvi_node *n = study->figures->first; n; n = n->next) HVI_TRY(draw_one(d, n));
  return HVI_OK;
}

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

/* One figure that is being put together, with all the text that it points to. */
typedef struct drawing {
  hvi_study *study;
  hvi_error *err;
  size_t panel_count;
  hvi_panel panels[MOST_PANELS];
  hvi_series series[MOST_PANELS][MOST_SERIES];
  hvi_mark_point points[MOST_PANELS];
  char titles[MOST_PANELS][TEXT], labels[MOST_PANELS][2][TEXT];
  char files[MOST_PANELS][MOST_SERIES][TEXT];
} drawing;

/* A panel that is being put together: the level it is for, and what its data span. */
typedef struct sheet {
  drawing *d;
  size_t index;
  const hvi_node *node;
  hvi_table_filter level; /* of the panel's `each`; column NULL: none */
  const hvi_node *axis[2];
  double low[2], high[2];
} sheet;

static hvi_status wrong(const drawing *d, const hvi_node *n, const char *what, const char *word) {
  return hvi_error_input(d->err, "%s:%u: %s '%s'", d->study->origin, n->line, what, word);
}

static const char *text_of(const hvi_node *map, const char *key, const char *otherwise) {
  const hvi_node *n = map && map->kind == HVI_NODE_MAP ? hvi_node_get(map, key) : NULL;
  return n && n->kind == HVI_NODE_SCALAR ? n->text : otherwise;
}

static double number_of(const hvi_node *map, const char *key, double otherwise) {
  const char *text = text_of(map, key, NULL);
  return text ? strtod(text, NULL) : otherwise;
}

static bool flag_of(const hvi_node *map, const char *key) {
  return strcmp(text_of(map, key, "false"), "true") == 0;
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

/* The table that a series names; where it names none, the first. */
static const hvi_table *table_of(const drawing *d, const hvi_node *n) {
  const char *name = text_of(n, "table", NULL);
  for (size_t i = 0; i < d->study->table_count; i++)
    if (!name || strcmp(d->study->tables[i].name, name) == 0) return &d->study->tables[i];
  return NULL;
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
  const char *names[2] = {series->x, series->y};
  const double limit = number_of(s->axis[1], "ceiling", INFINITY);
  for (size_t axis = 0; axis < 2; axis++) {
    const size_t c = hvi_table_find(t, names[axis]), y = hvi_table_find(t, series->y);
    double first = NAN;
    for (size_t i = 0; c < t->columns && i < t->rows; i++) {
      const double x = hvi_table_get(t, i, c);
      if (!hvi_table_matches(t, i, filters, count)) continue;
      if (axis == 1 && isnan(first)) first = x;
      if (y < t->columns && !isnan(hvi_table_get(t, i, y)))
        widen(s, axis, x, axis && isfinite(limit) ? limit * first : INFINITY);
    }
  }
}

/* Adds a series of the rows that match; a split table has a file for each combination. */
static hvi_status add_series(sheet *s, const hvi_node *n, const hvi_table *t,
                             hvi_table_filter *filters, size_t count, const hvi_arm *method) {
  drawing *d = s->d;
  hvi_panel *p = &d->panels[s->index];
  const char *low = text_of(n, "low", NULL), *label = text_of(n, "label", NULL);
  const char *mark = text_of(n, "mark", low ? "band" : "line");
  size_t m = 0;
  while (marks[m] && strcmp(marks[m], mark) != 0) m++;
  if (!marks[m]) return wrong(d, n, "unknown mark", mark);
  if (p->series_count == MOST_SERIES) return wrong(d, n, "too many series in", p->title);
  char *file = d->files[s->index][p->series_count];
  hvi_split_name(file, TEXT - 4, t, filters, count);
  strcat(file, ".csv");
  if (method && !low && !label) label = method->label;
  hvi_series *series = &d->series[s->index][p->series_count];
  *series =
      (hvi_series){.label = low ? NULL : label,
                   .file = file,
                   .x = text_of(n, "x", "outer"),
                   .y = text_of(n, "y", low ? low : ""),
                   .y2 = text_of(n, "high", NULL),
                   .mark = (hvi_mark)m,
                   .style = (size_t)number_of(n, "style", method ? (double)method->style : 0)};
  if (!has_numbers(t, series->y)) return HVI_OK;
  p->series_count++;
  if (!low) see_rows(s, t, series, filters, count);
  return HVI_OK;
}

/* Bands are those of the methods that are highlighted, or of all when none is; so are paths. */
static bool is_shown(const hvi_part *p, size_t method, const hvi_node *n) {
  const bool path = strcmp(text_of(n, "mark", ""), "path") == 0;
  bool any = path;
  if (!path && !hvi_node_get(n, "low")) return true;
  for (size_t m = 0; m < p->method_count; m++) any = any || p->methods[m].highlight;
  return !any || p->methods[method].highlight;
}

/* A series, or one for each level of its factor, in the level of its panel. */
static hvi_status add_node(sheet *s, const hvi_node *n) {
  drawing *d = s->d;
  const hvi_table *t = table_of(d, n);
  const char *each = text_of(n, "each", NULL);
  const hvi_node *at = hvi_node_get(n, "at");
  hvi_table_filter filters[SPLITS];
  size_t count = 0;
  if (!t) return wrong(d, n, "unknown table", text_of(n, "table", ""));
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
  hvi_status status = HVI_OK;
  for (size_t i = 0; t->column[c].words && t->column[c].words[i] && !status; i++) {
    const hvi_part *p = &d->study->parts[t->part];
    filters[count] = (hvi_table_filter){.column = each, .word = t->column[c].words[i]};
    if (methods && !is_shown(p, i, n)) continue;
    status = add_series(s, n, t, filters, count + 1, methods ? &p->methods[i] : NULL);
  }
  return status;
}

static hvi_axis finish_axis(const sheet *s, size_t axis) {
  const hvi_node *n = s->axis[axis];
  char *label = s->d->labels[s->index][axis];
  const char *plain = n && n->kind == HVI_NODE_SCALAR ? n->text : text_of(n, "label", "");
  fill_in(label, plain, s);
  hvi_axis a = {.label = label,
                .log = flag_of(n, "log"),
                .floor = flag_of(n, "floor"),
                .thousands = flag_of(n, "thousands"),
                .low = number_of(n, "low", 0.0),
                .high = number_of(n, "high", 0.0)};
  const bool seen = s->high[axis] >= s->low[axis];
  if (a.low != 0.0 || a.high != 0.0 || !seen) return a;
  if (flag_of(n, "fit")) {
    a.low = s->low[axis] / number_of(n, "below", 1.0);
    a.high = s->high[axis] * number_of(n, "above", 1.0);
  } else if (a.log) {
    a = hvi_axis_log(label, s->low[axis], s->high[axis]);
    a.floor = flag_of(n, "floor");
  }
  return a;
}

static void add_point(sheet *s, const hvi_node *n) {
  const hvi_table *t = n ? table_of(s->d, n) : NULL;
  if (!t || !t->rows) return;
  const size_t x = hvi_table_find(t, text_of(n, "x", "")),
               y = hvi_table_find(t, text_of(n, "y", ""));
  if (x == t->columns || y == t->columns) return;
  s->d->points[s->index] =
      (hvi_mark_point){text_of(n, "label", ""), hvi_table_get(t, 0, x), hvi_table_get(t, 0, y)};
  s->d->panels[s->index].point = &s->d->points[s->index];
}

static hvi_status add_panel(drawing *d, const hvi_node *node, hvi_table_filter level) {
  static const char keys[] = "title each x y point series unless";
  sheet s = {.d = d,
             .index = d->panel_count,
             .node = node,
             .level = level,
             .low = {INFINITY, INFINITY},
             .high = {-INFINITY, -INFINITY}};
  hvi_status status = hvi_field_map(&(hvi_field_part){0}, keys, node, d->study->origin, d->err);
  if (status) return status;
  const hvi_node *list = hvi_node_get(node, "series");
  if (!list || list->kind != HVI_NODE_LIST) return wrong(d, node, "a panel needs", "series");
  if (s.index == MOST_PANELS) return wrong(d, node, "too many panels in", d->study->id);
  hvi_panel *p = &d->panels[s.index];
  *p = (hvi_panel){.series = d->series[s.index]};
  s.axis[0] = hvi_node_get(node, "x");
  s.axis[1] = hvi_node_get(node, "y");
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    const hvi_table *t = table_of(d, n);
    if (t && has_numbers(t, text_of(node, "unless", NULL))) return HVI_OK;
    status = add_node(&s, n);
  }
  if (status || !p->series_count) return status;
  fill_in(d->titles[s.index], text_of(node, "title", ""), &s);
  if (*d->titles[s.index]) p->title = d->titles[s.index];
  p->x = finish_axis(&s, 0);
  p->y = finish_axis(&s, 1);
  add_point(&s, hvi_node_get(node, "point"));
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
  const char *each = text_of(n, "each", NULL);
  if (!each) return add(d, n, (hvi_table_filter){0});
  const hvi_part *p = part_of(d, n);
  hvi_status status = HVI_OK;
  for (size_t f = 0; f < p->factor_count; f++) {
    const hvi_factor *by = &p->factors[f];
    if (strcmp(by->name, each) != 0) continue;
    for (size_t k = 0; k < by->levels && !status; k++)
      status =
          add(d, n, (hvi_table_filter){each, by->words[0] ? by->text[k] : NULL, by->number[k]});
    return status;
  }
  return wrong(d, n, "unknown factor", each);
}

/* The panels of a figure, in one level where it has one. */
static hvi_status add_panels(drawing *d, const hvi_node *figure, hvi_table_filter level) {
  const hvi_node *list = hvi_node_get(figure, "panels");
  hvi_status status = HVI_OK;
  if (!list || list->kind != HVI_NODE_LIST) return wrong(d, figure, "a figure needs", "panels");
  for (const hvi_node *p = list->first; p && !status; p = p->next)
    status = level.column ? add_panel(d, p, level) : add_each(d, p, add_panel);
  return status;
}

static hvi_status draw_one(drawing *d, const hvi_node *n) {
  static const char keys[] = "name title columns each panels";
  hvi_study *study = d->study;
  hvi_status status = hvi_field_map(&(hvi_field_part){0}, keys, n, study->origin, d->err);
  if (status) return status;
  d->panel_count = 0;
  status = add_each(d, n, add_panels);
  if (status || !d->panel_count) return status;
  const hvi_plot plot = {.name = text_of(n, "name", study->id),
                         .title = text_of(n, "title", study->title),
                         .columns = (size_t)number_of(n, "columns", 0),
                         .panel_count = d->panel_count,
                         .panels = d->panels};
  char note[HVI_PLOT_NOTE];
  HVI_TRY(hvi_plot_make(study->folder, &plot, note, d->err));
  if (*note) hvi_study_tell(study, "%s", note);
  hvi_claims_figure(study->claims, plot.name);
  return HVI_OK;
}

hvi_status hvi_study_draw(hvi_study *study, hvi_error *err) {
  if (!study->figures) return HVI_OK;
  drawing *d = hvi_alloc(1, sizeof *d);
  if (!d) return hvi_error_memory(err, "a figure");
  d->study = study;
  d->err = err;
  hvi_status status = study->figures->kind == HVI_NODE_LIST
                          ? HVI_OK
                          : wrong(d, study->figures, "a list is needed for", "figures");
  for (const hvi_node *n = status ? NULL : study->figures->first; n && !status; n = n->next)
    status = draw_one(d, n);
  hvi_free(d);
  return status;
}

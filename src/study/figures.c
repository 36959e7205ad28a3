/*
 * The figures of a study, as its file (or its kind) describes them: `figures` in docs/experiments.md.
 *
 * A logarithmic axis spans the decades of its data: of those from `least` to `most`, and without
 * what rises above `ceiling` times its start. `fit` makes an axis end where the data do. With `floor`
 * what falls below a logarithmic axis runs along its end. A panel with `unless` is left out where the
 * tables of its series have that column.
 */
#include "base/base.h"
#include "study/fields.h"
#include "study/grid.h"

enum { MOST_PANELS = 32, MOST_SERIES = 160, TEXT = 160, AXES = 3 };

/* Of a figure, or of a panel. */
typedef struct page_keys {
  const char *name, *title, *each, *unless, *paper, *shows;
  size_t columns;
} page_keys;

typedef struct axis_keys {
  const char *label;
  bool log, floor, fit;
  double low, high, least, most, ceiling, below, above; /* least, most, ceiling: NaN for none */
} axis_keys;

typedef struct series_keys {
  const char *table, *x, *y, *z, *low, *high, *label, *each;
  hvi_mark mark;
  size_t style;
} series_keys;

#define NONE         HVI_SETTING_NAN_IS_NONE, .fallback = "none"
#define PAGE(member) .offset = offsetof(page_keys, member)
HVI_TABLE(static const hvi_setting_table page_table, "figure", page_keys,
    {"name", HVI_SETTING_TEXT, PAGE(name)}, {"title", HVI_SETTING_TEXT, PAGE(title)},
    {"each", HVI_SETTING_TEXT, PAGE(each)}, {"unless", HVI_SETTING_TEXT, PAGE(unless)},
    {"paper", HVI_SETTING_TEXT, PAGE(paper), .most = HVI_CLAIM_WORDS - 1},
    {"shows", HVI_SETTING_TEXT, PAGE(shows), .most = HVI_CLAIM_WORDS - 1},
    {"columns", HVI_SETTING_COUNT, PAGE(columns), .range = "[1,32]"}, {0});
#define AXIS(member) .offset = offsetof(axis_keys, member)
HVI_TABLE(static const hvi_setting_table axis_table, "axis", axis_keys,
    {"label", HVI_SETTING_TEXT, AXIS(label), .fallback = ""},
    {"log", HVI_SETTING_FLAG, AXIS(log)}, {"floor", HVI_SETTING_FLAG, AXIS(floor)},
    {"fit", HVI_SETTING_FLAG, AXIS(fit)}, {"low", HVI_SETTING_REAL, AXIS(low)}, {"high", HVI_SETTING_REAL, AXIS(high)},
    {"least", HVI_SETTING_REAL, NONE, AXIS(least)}, {"most", HVI_SETTING_REAL, NONE, AXIS(most)},
    {"ceiling", HVI_SETTING_REAL, NONE, AXIS(ceiling), .range = "(0,inf)"},
    {"below", HVI_SETTING_REAL, AXIS(below), .fallback = "1", .range = "(0,inf)"},
    {"above", HVI_SETTING_REAL, AXIS(above), .fallback = "1", .range = "(0,inf)"},
    {0});
#define AT(member) .offset = offsetof(series_keys, member)
HVI_TABLE(static const hvi_setting_table series_table, "series", series_keys,
    {"table", HVI_SETTING_TEXT, AT(table)}, {"x", HVI_SETTING_TEXT, AT(x), .fallback = "outer"},
    {"y", HVI_SETTING_TEXT, AT(y)}, {"z", HVI_SETTING_TEXT, AT(z)}, {"low", HVI_SETTING_TEXT, AT(low)},
    {"high", HVI_SETTING_TEXT, AT(high)}, {"label", HVI_SETTING_TEXT, AT(label)},
    {"each", HVI_SETTING_TEXT, AT(each)},
    {"mark", HVI_SETTING_CHOICE, AT(mark), .choices = hvi_mark_choices},
    {"style", HVI_SETTING_COUNT, AT(style), .range = "[0,1000]"},
    {0});

/* A panel that is being put together, with all the text that it points to: the level it is for, and
 * what its data span. */
typedef struct sheet {
  struct drawing *d;
  hvi_panel *panel;
  hvi_table_filter level; /* of the panel's `each`; column NULL: none */
  axis_keys axis[AXES];
  double low[AXES], high[AXES];
  hvi_mark_point point;
  char title[TEXT], labels[AXES][TEXT];
  hvi_series series[MOST_SERIES];
  char files[MOST_SERIES][TEXT];
} sheet;

typedef struct drawing {
  hvi_study *study;
  hvi_error *err;
  size_t panel_count;
  hvi_panel panels[MOST_PANELS];
  sheet sheets[MOST_PANELS];
} drawing;

#define fail(d, n, ...) hvi_error_line((d)->err, (d)->study->origin, (n)->line, __VA_ARGS__)

static hvi_status wrong(const drawing *d, const hvi_node *n, const char *what, const char *word) {
  return fail(d, n, "%s '%s'", what, word);
}

/* `only` some rows of a table, NULL: all; `others` are read by the caller. */
static hvi_status read_keys(const drawing *d, const hvi_setting_table *t, void *keys,
                            const char *only, const char *others, const hvi_node *n) {
  const hvi_field_part parts[] = {{.table = t, .settings = keys, .only = only}, {0}};
  hvi_setting_defaults(t, keys);
  return hvi_field_map(parts, others, n, d->study->origin, d->err);
}

/* A column that a key of the node names; of words only where these will do. */
static hvi_status need_column(const drawing *d, const hvi_node *n, const char *key,
                              const hvi_table *t, bool words) {
  const hvi_node *given = hvi_node_get(n, key);
  const char *name = given ? given->text : strcmp(key, "x") == 0 ? "outer" : "";
  char where[400];
  size_t c;
  snprintf(where, sizeof where, "%.300s:%u", d->study->origin, given ? given->line : n->line);
  HVI_TRY(hvi_table_need(&c, t, "column", name, where, d->err));
  if (words || !t->column[c].words) return HVI_OK;
  return hvi_error_input(d->err, "%s: %s: '%s' is a column of words", where, key, name);
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
    const bool seeds = name && strncmp(text + 1, "instances", name) == 0;
    if (level && s->level.word)
      used += put_words(out + used, s->level.word);
    else if (level)
      used += (size_t)snprintf(out + used, 40, "%g", s->level.number);
    else if (steps || seeds)
      used +=
          (size_t)snprintf(out + used, 40, "%zu", seeds ? p->scale.instances : p->scale.iterations);
    else
      out[used++] = *text;
    text += level || steps || seeds ? name + 2 : 1;
  }
  out[used] = '\0';
}

static const hvi_table *table_of(const drawing *d, const hvi_node *n) {
  return hvi_study_table_named(d->study, hvi_field_text(n, "table", NULL));
}

static hvi_status need_table(const hvi_table **t, const drawing *d, const hvi_node *n) {
  *t = table_of(d, n);
  return *t ? HVI_OK
            : hvi_study_refuse_table(d->study, hvi_field_text(n, "table", NULL), n, d->err);
}

static bool has_numbers(const hvi_table *t, const char *column) {
  const size_t c = column ? hvi_table_find(t, column) : t->columns;
  for (size_t i = 0; c < t->columns && i < t->rows; i++)
    if (!isnan(hvi_table_get(t, i, c))) return true;
  return false;
}

static void widen(sheet *s, size_t axis, double x, double ceiling) {
  const axis_keys *a = &s->axis[axis];
  if (!isfinite(x) || (a->log && !(x > 0.0) && !a->floor)) return;
  x = fmin(fmin(x, ceiling), a->most);
  x = fmax(x, a->least);
  s->low[axis] = fmin(s->low[axis], x);
  s->high[axis] = fmax(s->high[axis], x);
}

static void see_rows(sheet *s, const hvi_table *t, const hvi_series *series,
                     const hvi_table_filter *filters, size_t count) {
  const size_t x = hvi_table_find(t, series->x), y = hvi_table_find(t, series->y);
  const bool map = series->mark == HVI_MARK_MAP;
  const size_t z = map ? hvi_table_find(t, series->y2) : t->columns;
  const double limit = s->axis[1].ceiling;
  /* where an axis ends with the data, these are bounds and levels along it */
  const bool level =
      s->axis[0].fit && (series->mark == HVI_MARK_DASHED || series->mark == HVI_MARK_THIN);
  double first = NAN;
  for (size_t i = 0; i < t->rows; i++) {
    if (!hvi_table_matches(t, i, filters, count)) continue;
    const double value = hvi_table_get(t, i, y);
    if (isnan(value)) continue;
    if (isnan(first)) first = value;
    if (x < t->columns && !level) widen(s, 0, hvi_table_get(t, i, x), INFINITY);
    widen(s, 1, value, isfinite(limit) ? limit * first : INFINITY);
    if (z < t->columns) widen(s, 2, hvi_table_get(t, i, z), INFINITY);
  }
}

/* What one series is of: its keys, its table, and the rows of it. */
typedef struct pick {
  series_keys keys;
  const hvi_table *table;
  hvi_table_filter filters[HVI_MOST_SPLITS + 2];
  size_t count;
} pick;

/* A series is a whole CSV: what splits the table must be told, and nothing else can be. */
static hvi_status check_split(const sheet *s, const hvi_node *n, const pick *k) {
  const hvi_table *t = k->table;
  for (size_t c = 0; c < t->columns; c++) {
    const char *name = t->column[c].name;
    size_t i = 0;
    while (i < k->count && strcmp(k->filters[i].column, name) != 0) i++;
    const bool told = i < k->count, split = hvi_words_have(t->split, name);
    if (told && !split)
      return fail(s->d, n, "table '%s' has all levels of '%s' in one CSV; name it in split",
                  t->name, name);
    if (split && !told)
      return fail(s->d, n, "table '%s' has a CSV for each %s: each: %s, or at, says which", t->name,
                  name, name);
  }
  return HVI_OK;
}

/* The label of a map is that of its cells without a number, where there are any. */
static void name_missing(hvi_series *series, const pick *k) {
  const hvi_table *t = k->table;
  const size_t z = hvi_table_find(t, k->keys.z);
  bool whole = true;
  for (size_t i = 0; i < t->rows; i++)
    if (hvi_table_matches(t, i, k->filters, k->count))
      whole = whole && isfinite(hvi_table_get(t, i, z));
  series->label = whole ? NULL : k->keys.label ? k->keys.label : "diverged";
}

/* A number, or a column of a table, which gives a line for each of its values; the first is labelled. */
static hvi_status add_verticals(sheet *s, const hvi_node *n, const pick *k) {
  const hvi_table *t = k->table;
  const size_t c = t ? hvi_table_find(t, k->keys.x) : 0, old = s->panel->series_count;
  size_t style = 6; /* black, then others that few methods have */
  for (size_t i = 0; i < old; i++)
    style += s->series[i].mark == HVI_MARK_VERTICAL && s->series[i].label && style < 9;
  if (hvi_node_get(n, "style")) style = k->keys.style;
  for (size_t i = 0; i < (t ? t->rows : 1); i++) {
    const size_t at = s->panel->series_count;
    if (t && !hvi_table_matches(t, i, k->filters, k->count)) continue;
    if (at == MOST_SERIES) return wrong(s->d, n, "too many series in", s->d->study->id);
    const double x = t ? hvi_table_get(t, i, c) : strtod(k->keys.x, NULL);
    if (!isfinite(x) || (at > old && strtod(s->series[at - 1].x, NULL) == x)) continue;
    hvi_number_format(s->files[at], x);
    s->series[at] = (hvi_series){.label = at > old ? NULL : k->keys.label,
                                 .x = s->files[at],
                                 .mark = HVI_MARK_VERTICAL,
                                 .style = style};
    s->panel->series_count++;
    widen(s, 0, x, INFINITY);
  }
  return HVI_OK;
}

/* Adds a series of the rows that match; a split table has a file for each combination. */
static hvi_status add_series(sheet *s, const hvi_node *n, const pick *k, const char *label,
                             size_t style) {
  hvi_panel *p = s->panel;
  const series_keys *keys = &k->keys;
  HVI_TRY(check_split(s, n, k));
  if (p->series_count == MOST_SERIES) return wrong(s->d, n, "too many series in", s->d->study->id);
  char *file = s->files[p->series_count];
  hvi_split_name(file, TEXT - 4, k->table, k->filters, k->count);
  strcat(file, ".csv");
  if (keys->label) label = keys->label;
  hvi_series *series = &s->series[p->series_count];
  *series = (hvi_series){.label = keys->low ? NULL : label,
                         .file = file,
                         .x = keys->x,
                         .y = keys->y ? keys->y : keys->low,
                         .y2 = keys->z ? keys->z : keys->high,
                         .mark = keys->mark,
                         .style = hvi_node_get(n, "style") ? keys->style : style};
  if (keys->z) name_missing(series, k);
  if (!has_numbers(k->table, series->y)) return HVI_OK;
  p->series_count++;
  if (!keys->low) see_rows(s, k->table, series, k->filters, k->count);
  return HVI_OK;
}

/* Bands are those of the methods that are highlighted, or of all when none is; so are paths. */
static bool is_shown(const hvi_part *p, size_t method, const series_keys *keys) {
  const bool path = keys->mark == HVI_MARK_PATH;
  bool any = path;
  if (!path && !keys->low) return true;
  for (size_t m = 0; m < p->method_count; m++) any = any || p->methods[m].highlight;
  return !any || p->methods[method].highlight;
}

/* Whether a column can have what `at` says: a word of its own, or a level of its factor. */
static hvi_status check_at(const sheet *s, const hvi_node *a, const hvi_table *t) {
  const hvi_study *study = s->d->study;
  const hvi_part *p = &study->parts[t->part];
  char where[400];
  size_t c;
  snprintf(where, sizeof where, "%.300s:%u: at", study->origin, a->line);
  HVI_TRY(hvi_table_need(&c, t, "column", a->key, where, s->d->err));
  if (a->kind == HVI_NODE_SCALAR) {
    const char *const *word = t->column[c].words;
    while (word && *word && strcmp(*word, a->text) != 0) word++;
    if ((word && *word) || hvi_part_has_level(p, study->settings->full, a)) return HVI_OK;
  }
  return hvi_error_input(s->d->err, "%s: '%.60s' is no level of %s", where,
                         a->kind == HVI_NODE_SCALAR ? a->text : "[...]", a->key);
}

static hvi_status read_at(const sheet *s, pick *k, const hvi_node *at) {
  if (at && (at->kind != HVI_NODE_MAP || at->count > HVI_MOST_SPLITS))
    return fail(s->d, at, "at must be a map of 1 to %d levels", HVI_MOST_SPLITS);
  for (const hvi_node *a = at ? at->first : NULL; a; a = a->next) {
    char *end;
    HVI_TRY(check_at(s, a, k->table));
    const double x = strtod(a->text, &end);
    k->filters[k->count++] = (hvi_table_filter){a->key, *end ? a->text : NULL, x};
  }
  return HVI_OK;
}

static hvi_status read_series(sheet *s, pick *k, const hvi_node *n) {
  series_keys *keys = &k->keys;
  HVI_TRY(read_keys(s->d, &series_table, keys, NULL, "at", n));
  const bool vertical = keys->mark == HVI_MARK_VERTICAL, map = keys->mark == HVI_MARK_MAP;
  double x;
  if (vertical && !hvi_node_get(n, "x")) return wrong(s->d, n, "a vertical line needs", "x");
  if (vertical && hvi_parse_real(&x, keys->x)) return HVI_OK;
  HVI_TRY(need_table(&k->table, s->d, n));
  if (keys->low && !hvi_node_get(n, "mark")) keys->mark = HVI_MARK_BAND;
  if (!keys->z != !map) return wrong(s->d, n, map ? "a map needs" : "only a map has", "z");
  if (!keys->y && !keys->low && !vertical) return wrong(s->d, n, "a series needs", "y");
  if (!keys->low != !keys->high) return wrong(s->d, n, "a band needs", keys->low ? "high" : "low");
  HVI_TRY(need_column(s->d, n, "x", k->table, keys->mark == HVI_MARK_BARS));
  static const char *const others[] = {"y", "low", "high", "z"};
  for (size_t i = 0; i < 4; i++)
    if (hvi_node_get(n, others[i])) HVI_TRY(need_column(s->d, n, others[i], k->table, false));
  if (s->level.column) k->filters[k->count++] = s->level;
  return read_at(s, k, hvi_node_get(n, "at"));
}

/* A series, or one for each level of its factor, in the level of its panel. */
static hvi_status add_node(sheet *s, const hvi_node *n) {
  drawing *d = s->d;
  pick k = {0};
  HVI_TRY(read_series(s, &k, n));
  if (k.keys.mark == HVI_MARK_VERTICAL) return add_verticals(s, n, &k);
  const hvi_table *t = k.table;
  const char *each = k.keys.each;
  if (!each) return add_series(s, n, &k, NULL, 0);
  const hvi_part *p = &d->study->parts[t->part];
  const size_t c = hvi_table_find(t, each);
  const char *const *words = c < t->columns ? t->column[c].words : NULL;
  const hvi_factor *by = NULL;
  if (!words) HVI_TRY(hvi_part_each(&by, p, each, n, d->study->origin, d->err));
  if (c == t->columns) return need_column(d, n, "each", t, true);
  const bool methods = strcmp(each, "method") == 0;
  hvi_table_filter *level = &k.filters[k.count++];
  for (size_t i = 0; words ? words[i] != NULL : i < by->levels; i++) {
    *level = words ? (hvi_table_filter){.column = each, .word = words[i]} : hvi_factor_level(by, i);
    if (methods && !is_shown(p, i, &k.keys)) continue;
    HVI_TRY(
        add_series(s, n, &k, words ? words[i] : by->text[i], methods ? p->methods[i].style : i));
  }
  return HVI_OK;
}

static hvi_axis finish_axis(sheet *s, size_t axis) {
  const axis_keys *k = &s->axis[axis];
  const double low = s->low[axis], high = s->high[axis];
  char *label = s->labels[axis];
  fill_in(label, k->label, s);
  hvi_axis a = {.label = label, .log = k->log, .floor = k->floor, .low = k->low, .high = k->high};
  if (a.low != 0.0 || a.high != 0.0 || !(high >= low)) return a;
  if (k->fit && low / k->below < high * k->above) { /* one number is no range */
    a.low = low / k->below;
    a.high = high * k->above;
  } else if (a.log) {
    const bool floor = a.floor;
    a = hvi_axis_log(label, low, high);
    a.floor = floor;
  }
  return a;
}

static hvi_status add_point(sheet *s, const hvi_node *n) {
  series_keys keys;
  const hvi_table *t;
  if (!n) return HVI_OK;
  HVI_TRY(read_keys(s->d, &series_table, &keys, "table x y label", NULL, n));
  HVI_TRY(need_table(&t, s->d, n));
  HVI_TRY(need_column(s->d, n, "x", t, false));
  HVI_TRY(need_column(s->d, n, "y", t, false));
  if (!t->rows) return HVI_OK;
  s->point =
      (hvi_mark_point){keys.label ? keys.label : "", hvi_table_get(t, 0, hvi_table_find(t, keys.x)),
                       hvi_table_get(t, 0, hvi_table_find(t, keys.y))};
  s->panel->point = &s->point;
  return HVI_OK;
}

/* A map of keys, or the label alone. */
static hvi_status read_axis(sheet *s, size_t axis, const hvi_node *n) {
  axis_keys *k = &s->axis[axis];
  s->low[axis] = INFINITY;
  s->high[axis] = -INFINITY;
  hvi_setting_defaults(&axis_table, k);
  if (!n || n->kind != HVI_NODE_SCALAR)
    return n ? read_keys(s->d, &axis_table, k, NULL, NULL, n) : HVI_OK;
  k->label = n->text;
  return HVI_OK;
}

/* Its series; `*left_out`: a table of theirs has numbers in the column of `unless`. */
static hvi_status add_all(sheet *s, const hvi_node *node, const char *unless, bool *left_out) {
  const hvi_node *list = hvi_node_get(node, "series");
  if (!list || list->kind != HVI_NODE_LIST) return wrong(s->d, node, "a panel needs", "series");
  for (const hvi_node *n = list->first; n; n = n->next) {
    const hvi_table *t = n->kind == HVI_NODE_MAP ? table_of(s->d, n) : NULL;
    if (t && unless) HVI_TRY(need_column(s->d, node, "unless", t, true));
    *left_out = t && has_numbers(t, unless);
    if (*left_out) return HVI_OK;
    HVI_TRY(add_node(s, n));
  }
  return HVI_OK;
}

static hvi_status add_panel(drawing *d, const hvi_node *node, hvi_table_filter level) {
  page_keys keys;
  bool left_out = false, data = false;
  HVI_TRY(read_keys(d, &page_table, &keys, "title each unless", "x y z point series", node));
  if (d->panel_count == MOST_PANELS) return wrong(d, node, "too many panels in", d->study->id);
  hvi_panel *p = &d->panels[d->panel_count];
  sheet *s = &d->sheets[d->panel_count];
  s->d = d;
  s->panel = p;
  s->level = level;
  *p = (hvi_panel){.series = s->series};
  static const char *const axes[AXES] = {"x", "y", "z"};
  for (size_t k = 0; k < AXES; k++) HVI_TRY(read_axis(s, k, hvi_node_get(node, axes[k])));
  HVI_TRY(add_all(s, node, keys.unless, &left_out));
  HVI_TRY(add_point(s, hvi_node_get(node, "point")));
  for (size_t i = 0; i < p->series_count; i++) data |= s->series[i].mark != HVI_MARK_VERTICAL;
  if (left_out || !data) return HVI_OK;
  fill_in(s->title, keys.title ? keys.title : "", s);
  if (*s->title) p->title = s->title;
  p->x = finish_axis(s, 0);
  p->y = finish_axis(s, 1);
  if (s->high[2] >= s->low[2]) p->z = finish_axis(s, 2);
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
  const hvi_factor *by;
  HVI_TRY(hvi_part_each(&by, part_of(d, n), each, n, d->study->origin, d->err));
  for (size_t k = 0; k < by->levels; k++) HVI_TRY(add(d, n, hvi_factor_level(by, k)));
  return HVI_OK;
}

/* The panels of a figure, in one level where it has one. */
static hvi_status add_panels(drawing *d, const hvi_node *figure, hvi_table_filter level) {
  const hvi_node *list = hvi_node_get(figure, "panels");
  if (!list || list->kind != HVI_NODE_LIST) return wrong(d, figure, "a figure needs", "panels");
  for (const hvi_node *p = list->first; p; p = p->next) {
    if (level.column && hvi_field_text(p, "each", NULL))
      return wrong(d, p, "the figure has an each already; a panel of it cannot have", "each");
    HVI_TRY(level.column ? add_panel(d, p, level) : add_each(d, p, add_panel));
  }
  return HVI_OK;
}

static hvi_status draw_one(drawing *d, const hvi_node *n) {
  hvi_study *study = d->study;
  char note[HVI_PLOT_NOTE];
  page_keys keys;
  HVI_TRY(read_keys(d, &page_table, &keys, "name title each columns paper shows", "panels", n));
  if (!keys.name) keys.name = study->id;
  for (const hvi_node *o = study->figures->first; o != n; o = o->next)
    if (strcmp(hvi_field_text(o, "name", study->id), keys.name) == 0)
      return wrong(d, n, "there is already a figure", keys.name);
  d->panel_count = 0;
  HVI_TRY(add_each(d, n, add_panels));
  if (!d->panel_count) return HVI_OK;
  const hvi_plot plot = {.name = keys.name,
                         .title = keys.title ? keys.title : study->title,
                         .columns = keys.columns,
                         .panel_count = d->panel_count,
                         .panels = d->panels,
                         .replace = study->settings->force};
  HVI_TRY(hvi_plot_make(study->folder, &plot, note, d->err));
  if (*note) hvi_study_tell(study, "%s", note);
  hvi_claims_figure(study->claims, plot.name, keys.paper, keys.shows);
  return HVI_OK;
}

hvi_status hvi_study_draw(hvi_study *study, hvi_error *err) {
  if (!study->figures && study->default_figures)
    hvi_study_tell(study, "%s: no figures: those of kind %s do not fit its split, give it its own",
                   study->id, study->parts[0].kind->name);
  if (!study->figures) return HVI_OK;
  HVI_NEW(drawing, d, 1, "a figure", err);
  d->study = study;
  d->err = err;
  if (study->figures->kind != HVI_NODE_LIST)
    return wrong(d, study->figures, "a list is needed for", "figures");
  for (const hvi_node *n = study->figures->first; n; n = n->next) HVI_TRY(draw_one(d, n));
  return HVI_OK;
}

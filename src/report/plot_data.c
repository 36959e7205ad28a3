#include "report/plot_data.h"

#include "base/base.h"
#include "io/json.h"
#include "num/stats.h"

enum { COLUMNS = 3, MOST_POINTS = 400, BUCKETS = (MOST_POINTS - 2) / 4 };

static const size_t MOST_BYTES = (size_t)1 << 30;
static const char *const members[] = {"x", "y", "y2"};

static hvi_status read_series(hvi_points *p, const char *folder, const hvi_series *s,
                              hvi_error *err) {
  const char *const wanted[COLUMNS] = {s->x, s->y, s->y2};
  HVI_OWN char *path = hvi_path_join(folder, s->file ? s->file : "", "");
  if (!path) return hvi_error_memory(err, "a path");
  if (!s->file || access(path, F_OK) != 0) return HVI_OK;
  HVI_TRY(hvi_table_read(&p->table, path, HVI_TABLE_MIXED, MOST_BYTES, err));
  const hvi_table *t = &p->table;
  HVI_TRY(hvi_new(&p->names, t->rows, "a figure", err));
  HVI_TRY(hvi_new(&p->at[0], COLUMNS * t->rows, "a figure", err));
  p->count = t->rows;
  for (size_t c = 0; c < COLUMNS; c++) {
    const size_t k = wanted[c] ? hvi_table_column(t, wanted[c]) : t->columns;
    p->at[c] = p->at[0] + c * t->rows;
    for (size_t i = 0; i < t->rows; i++) {
      p->at[c][i] = k < t->columns ? t->data[i * t->columns + k] : NAN;
      if (c == 0 && k < t->columns) p->names[i] = t->cells[i * t->columns + k];
    }
  }
  return HVI_OK;
}

hvi_points *hvi_plot_points(const hvi_plot_data *data, const hvi_plot *plot, size_t panel) {
  hvi_points *first = data->series;
  for (size_t i = 0; i < panel; i++) first += plot->panels[i].series_count;
  return first;
}

void hvi_plot_data_clear(hvi_plot_data *data) {
  for (size_t i = 0; i < data->count; i++) {
    hvi_free(data->series[i].at[0]);
    hvi_free(data->series[i].names);
    hvi_table_clear(&data->series[i].table);
  }
  hvi_free(data->series);
}

static hvi_shape look(const hvi_points *p, const hvi_panel *panel, hvi_mark mark) {
  const double *x = p->at[0], *y = p->at[1];
  const double top = panel->y.low != 0 || panel->y.high != 0 ? panel->y.high : INFINITY;
  const double end = panel->x.high != 0 ? panel->x.high : INFINITY;
  const bool line = mark == HVI_MARK_LINE || mark == HVI_MARK_SOLID || mark == HVI_MARK_THIN;
  size_t count = 0, first = 0, last = 0;
  for (size_t i = 0; line && i < p->count; i++) {
    if (!isfinite(y[i]) || x[i] > end) continue;
    if (!count++) first = i;
    last = i;
  }
  if (!count) return (hvi_shape){0};
  size_t k = last;
  while (k > first && !(y[k - 1] <= top)) k--;
  double at = x[k];
  if (k > first && y[k] > top && y[k - 1] > 0) /* where the line meets the top */
    at = x[k - 1] + (x[k] - x[k - 1]) * (panel->y.log ? log(top / y[k - 1]) / log(y[k] / y[k - 1])
                                                      : (top - y[k - 1]) / (y[k] - y[k - 1]));
  return (hvi_shape){.few = count < 15 && mark != HVI_MARK_THIN,
                     .diverged = y[last] > top ||
                                 (last + 1 < p->count && isinf(y[last + 1]) && x[last + 1] <= end),
                     .rose = y[last] > 100 * fabs(y[first]),
                     .end = x[last],
                     .x = at,
                     .y = fmin(y[k], top)};
}

static hvi_status read_panel(hvi_points *p, const char *folder, const hvi_panel *panel,
                             hvi_error *err) {
  double end = -INFINITY;
  for (size_t i = 0; i < panel->series_count; i++) {
    HVI_TRY(read_series(&p[i], folder, &panel->series[i], err));
    p[i].shape = look(&p[i], panel, panel->series[i].mark);
    if (p[i].shape.end > end) end = p[i].shape.end;
  }
  for (size_t i = 0; i < panel->series_count; i++)
    p[i].shape.diverged |= p[i].shape.rose && p[i].shape.end < end;
  return HVI_OK;
}

hvi_status hvi_plot_read(hvi_plot_data *data, const char *folder, const hvi_plot *plot,
                         hvi_error *err) {
  size_t count = 0;
  for (size_t i = 0; i < plot->panel_count; i++) count += plot->panels[i].series_count;
  *data = (hvi_plot_data){.series = hvi_alloc(count + 1, sizeof *data->series)};
  if (!data->series) return hvi_error_memory(err, "a figure");
  data->count = count;
  for (size_t i = 0; i < plot->panel_count; i++)
    HVI_TRY(read_panel(hvi_plot_points(data, plot, i), folder, &plot->panels[i], err));
  return HVI_OK;
}

hvi_status hvi_plot_edges(double **edges, size_t *count, const hvi_points *map,
                          const hvi_axis *axis, bool of_y, hvi_error *err) {
  HVI_OWN double *levels = hvi_copy_doubles(map->at[of_y], map->count);
  double *e = *edges = hvi_alloc_doubles(map->count + 1);
  if (!levels || !e) return hvi_error_memory(err, "a map");
  const size_t n = map->count ? hvi_stats_distinct(levels, map->count) : 0;
  *count = n ? n + 1 : 0;
  for (size_t i = 0; axis->log && i < n; i++) levels[i] = log(levels[i]);
  for (size_t i = 1; i < n; i++) e[i] = (levels[i - 1] + levels[i]) / 2;
  if (n > 1) e[0] = 2 * levels[0] - e[1], e[n] = 2 * levels[n - 1] - e[n - 1];
  if (n == 1) e[0] = levels[0] - 0.5, e[1] = levels[0] + 0.5;
  for (size_t i = 0; axis->log && i < *count; i++) e[i] = exp(e[i]);
  return HVI_OK;
}

/* In which part of the axis a point lies; on a logarithmic one the first steps are far apart. */
static size_t bucket_of(const hvi_points *p, size_t i, bool log_x) {
  const double first = p->at[0][1], last = p->at[0][p->count - 1], x = p->at[0][i];
  double share = (double)i / (double)p->count;
  if (log_x && first > 0 && last > first)
    share = x > first ? log(x / first) / log(last / first) : 0;
  return share >= 1 ? BUCKETS - 1 : share > 0 ? (size_t)(share * BUCKETS) : 0;
}

/* Leaves the ends and, of each part, the least and the greatest values of two columns; a part
 * without any leaves its first point, which is a gap. */
static void thin_out(hvi_points *p, bool path, bool log_x) {
  size_t kept = 0;
  for (size_t begin = 0, end; begin < p->count; begin = end) {
    const size_t bucket = bucket_of(p, begin, log_x);
    size_t best[4] = {begin, begin, begin, begin};
    for (end = begin; end < p->count && bucket_of(p, end, log_x) == bucket; end++)
      for (size_t k = 0; k < 4; k++) {
        const double *y = p->at[path ? k / 2 : 1 + k / 2];
        const double now = y[best[k]], x = y[end];
        if (isfinite(x) && (!isfinite(now) || (k % 2 ? x > now : x < now))) best[k] = end;
      }
    for (size_t i = begin; i < end; i++) {
      bool keep = i == 0 || i + 1 == p->count;
      for (size_t k = 0; k < 4; k++) keep = keep || i == best[k];
      for (size_t c = 0; keep && c < COLUMNS; c++) p->at[c][kept] = p->at[c][i];
      kept += keep;
    }
  }
  p->count = kept;
}

static void put_number(FILE *to, const char *before, double x) {
  fprintf(to, isfinite(x) ? "%s%.7g" : "%snull", before, x);
}

static void put_text(FILE *to, const char *before, const char *text) {
  fputs(before, to);
  hvi_value_write(to, &(hvi_value){.kind = HVI_TEXT, .text = text});
}

static void put_axis(FILE *to, const char *before, const hvi_axis *a) {
  const bool open = a->low == 0 && a->high == 0;
  fputs(before, to);
  put_text(to, "{\"label\":", a->label);
  fprintf(to, ",\"log\":%s", a->log ? "true" : "false");
  put_number(to, ",\"low\":", open ? NAN : a->low);
  put_number(to, ",\"high\":", open ? NAN : a->high);
  putc('}', to);
}

/* One column, as the script draws it: held at the end of its axis. */
static void put_column(FILE *to, const hvi_panel *panel, const hvi_series *s, const hvi_points *p,
                       size_t c) {
  const bool map = s->mark == HVI_MARK_MAP;
  const hvi_axis *y = map ? &panel->z : &panel->y;
  const bool held = c > map && hvi_series_held(s, y);
  fprintf(to, ",\"%s\":[", map && c == 2 ? "z" : members[c]);
  for (size_t i = 0; i < p->count; i++) {
    const double x = p->at[c][i];
    const char *comma = i ? "," : "";
    if (c == 0 && s->mark == HVI_MARK_BARS)
      put_text(to, comma, p->names[i]);
    else
      put_number(to, comma, held && x < y->low ? y->low : x);
  }
  putc(']', to);
}

static void put_series(FILE *to, const hvi_panel *panel, size_t i, hvi_points *p) {
  const hvi_series *s = &panel->series[i];
  const hvi_shape *shape = &p->shape;
  if (p->count > MOST_POINTS && s->mark != HVI_MARK_MAP && s->mark != HVI_MARK_BARS)
    thin_out(p, s->mark == HVI_MARK_PATH, panel->x.log);
  put_text(to, i ? ",\n{\"label\":" : "\n{\"label\":", s->label);
  const char *mark = hvi_mark_choices;
  for (size_t k = 0; k < s->mark; k++) mark = strchr(mark, '|') + 1;
  fprintf(to, ",\"mark\":\"%.*s\",\"style\":%zu,\"colour\":\"%s\"", (int)strcspn(mark, "|"), mark,
          s->style, hvi_series_colour(s));
  if (s->mark == HVI_MARK_VERTICAL) fprintf(to, ",\"x\":[%.7g],\"y\":[]", strtod(s->x, NULL));
  for (size_t c = 0; s->mark != HVI_MARK_VERTICAL && c < COLUMNS; c++)
    if (c < 2 || s->y2) put_column(to, panel, s, p, c);
  if (shape->diverged) fprintf(to, ",\"diverged\":[%.7g,%.7g]", shape->x, shape->y);
  putc('}', to);
}

static void put_panel(FILE *to, const hvi_panel *p, hvi_points *points) {
  put_text(to, "{\"title\":", p->title);
  put_axis(to, ",\"x\":", &p->x);
  put_axis(to, ",\"y\":", &p->y);
  if (p->z.label) put_axis(to, ",\"z\":", &p->z);
  fputs(",\"series\":[", to);
  for (size_t i = 0; i < p->series_count; i++) put_series(to, p, i, &points[i]);
  fputs(p->point ? "],\"point\":" : "],\"point\":null}", to);
  if (!p->point) return;
  put_text(to, "{\"label\":", p->point->label);
  put_number(to, ",\"x\":", p->point->x);
  put_number(to, ",\"y\":", p->point->y);
  fputs("}}", to);
}

hvi_status hvi_plot_json(const char *folder, const hvi_plot *plot, const hvi_plot_data *data,
                         hvi_error *err) {
  HVI_OWN char *path = hvi_path_join(folder, plot->name, ".json");
  HVI_OWN_BY(hvi_file_discard) hvi_file file = {0};
  if (!path) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_file_create(&file, path, err));
  FILE *to = file.stream;
  put_text(to, "{\"name\":", plot->name);
  put_text(to, ",\"title\":", plot->title);
  fprintf(to, ",\"columns\":%zu,\"panels\":[", plot->columns ? plot->columns : plot->panel_count);
  for (size_t i = 0; i < plot->panel_count; i++) {
    fputs(i ? ",\n" : "\n", to);
    put_panel(to, &plot->panels[i], hvi_plot_points(data, plot, i));
  }
  fputs("]}\n", to);
  return hvi_file_commit(&file, err);
}

/*
 * From a description to a gnuplot script. Everything is laid out here in pixels, because gnuplot's
 * own margins would let panels of one figure differ in size, and its terminals disagree about how
 * wide a text is. What is the same in all scripts stands in page/plot.gp and page/panel.gp.
 *
 *   title
 *   panel  panel  panel      each: margin for its axis, then the plotting area
 *   legend                   one for all panels, in columns; or one below each, where there are
 *                            panels that have nothing in common
 */
#include "base/base.h"
#include "base/embedded.h"
#include "report/plot_data.h"

/* Pixels of the SVG; the PNG has the same layout at twice the resolution. */
enum {
  LEFT = 102,
  RIGHT = 24,
  COLOURS = 92, /* a colour bar with its tics and label, beside a map */
  TOP = 40,
  TOP_BARE = 12, /* no panel has a title */
  BOTTOM = 64,
  TITLE = 36,
  TITLE_FONT = 17,
  FONT = 14,
  LINE = 19,      /* from one line of text to the next */
  SAMPLE = 36,    /* of a line, in the legend */
  LEGEND_GAP = 34 /* around an entry */
};

/* A plotting area, by how many stand side by side: nothing is wider than a page. */
static const struct {
  double width, height;
} areas[] = {{640, 300}, {400, 300}, {300, 260}, {230, 220}};

/* What stands in a legend: a series, or NULL for what diverged. */
typedef struct entry {
  const hvi_series *series;
  bool few; /* it has markers */
} entry;

typedef struct layout {
  size_t columns, rows;           /* of panels */
  double area_width, area_height; /* of one plotting area */
  double right, width, height;    /* right of an area; of the figure */
  double title, top, legend;      /* heights of the title, of a panel's title, of a legend */
  bool own;                       /* each panel has a legend */
  const hvi_plot_data *data;
  entry *entries; /* of the legend that is being drawn */
} layout;

/* Okabe and Ito's colours, told apart with any kind of colour vision, without the pale yellow;
 * dashes differ too, for print. */
static const struct {
  const char *colour, *dash;
} styles[] = {
    {"#0072B2", "solid"},      {"#D55E00", "solid"},     {"#009E73", "(14,4)"},
    {"#CC79A7", "solid"},      {"#E69F00", "(9,3,2,3)"}, {"#56B4E9", "solid"},
    {"#000000", "(5,3)"},      {"#7F7F7F", "(2,2.5)"},   {"#8C510A", "(12,3,2,3,2,3)"},
    {"#762A83", "(14,4,5,4)"},
};
enum { STYLE_COUNT = sizeof styles / sizeof *styles };

const char hvi_mark_choices[] = "line|solid|thin|dashed|points|cloud|path|band|bars|map|vertical";
/* Cells of a map that have no number. */
static const char MISSING[] = "#BDBDBD";

/* How gnuplot draws a mark, and how strongly. */
static const struct {
  const char *with, *weight;
} marks[] = {
    [HVI_MARK_LINE] = {"lines", ""},
    [HVI_MARK_SOLID] = {"lines", " dt solid"},
    [HVI_MARK_THIN] = {"lines", " lw 1"},
    [HVI_MARK_DASHED] = {"lines", " dt (9,6) lw 1.4"},
    [HVI_MARK_POINTS] = {"points", ""},
    [HVI_MARK_CLOUD] = {"points", " ps 0.3"},
    [HVI_MARK_PATH] = {"lines", ""},
    [HVI_MARK_BAND] = {"filledcurves", ""},
    [HVI_MARK_BARS] = {"boxes fs solid 0.85 noborder", ""},
    [HVI_MARK_MAP] = {"boxxyerror lc palette", ""},
    [HVI_MARK_VERTICAL] = {"lines", " dt (4,3) lw 1.4"},
};

const char *hvi_series_colour(const hvi_series *s) {
  return s->mark == HVI_MARK_MAP ? MISSING : styles[s->style % STYLE_COUNT].colour;
}

static bool is_bars(const hvi_panel *p) {
  return p->series_count && p->series[0].mark == HVI_MARK_BARS;
}

/* About as wide as DejaVu Sans writes a text, in pixels. */
static double text_width(const char *text, double font) {
  double em = 0;
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if ((c & 0xC0) == 0x80 || strchr("{}^_", c)) continue;
    em += strchr("ijl.,:;'|!I ", c)             ? 0.33
          : strchr("ftr()[]-/", c)              ? 0.41
          : strchr("mwMW@%=+<>~", c) || c > 127 ? 0.86
          : c >= 'A' && c <= 'Z'                ? 0.72
                                                : 0.63;
  }
  return em * font;
}

/* A text with line ends, so that no line is wider where a blank can prevent it. Returns the lines. */
static size_t wrap(char *out, size_t size, const char *text, double width, double font) {
  char *line = out, *blank = NULL;
  size_t lines = 1;
  snprintf(out, size, "%s", text);
  for (char *c = out;; c++) {
    if (*c != ' ' && *c) continue;
    const char kept = *c;
    *c = '\0';
    const bool over = text_width(line, font) > width;
    *c = kept;
    if (over && blank) *blank = '\n', line = blank + 1, lines++;
    blank = c;
    if (!kept) return lines;
  }
}

static bool share_a_label(const hvi_panel *a, const hvi_panel *b) {
  for (size_t i = 0; i < a->series_count; i++)
    for (size_t j = 0; j < b->series_count; j++) {
      const char *one = a->series[i].label, *two = b->series[j].label;
      if (one && two && strcmp(one, two) == 0) return true;
    }
  return false;
}

/* Whether two panels with legends have nothing in common. A panel with labels shares one with itself. */
static bool has_families(const hvi_plot *plot) {
  const hvi_panel *p = plot->panels, *end = p + plot->panel_count;
  for (const hvi_panel *a = p; a < end; a++)
    for (const hvi_panel *b = p; b < a; b++)
      if (share_a_label(a, a) && share_a_label(b, b) && !share_a_label(a, b)) return true;
  return false;
}

/* The entries of panels first to last: labels not seen before, then what diverged. */
static size_t gather(layout *l, const hvi_plot *plot, size_t first, size_t last) {
  const hvi_points *p = l->data->series;
  size_t count = 0;
  bool diverged = false;
  for (size_t i = 0; i <= last; i++)
    for (size_t j = 0; j < plot->panels[i].series_count; j++, p++) {
      const hvi_series *s = &plot->panels[i].series[j];
      bool seen = i < first || !s->label || is_bars(&plot->panels[i]);
      for (size_t k = 0; k < count && !seen; k++)
        seen = strcmp(l->entries[k].series->label, s->label) == 0;
      diverged |= i >= first && p->shape.diverged;
      if (!seen) l->entries[count++] = (entry){s, p->shape.few};
    }
  if (diverged) l->entries[count++] = (entry){NULL, false};
  return count;
}

static const char *entry_label(const entry *e) { return e->series ? e->series->label : "diverged"; }

/* Columns of a legend in so much room: as few rows as fit, filled evenly. */
static size_t legend_columns(const layout *l, size_t count, double room, double *width) {
  *width = 0;
  for (size_t k = 0; k < count; k++) {
    const double wide = SAMPLE + LEGEND_GAP + text_width(entry_label(&l->entries[k]), FONT);
    *width = fmax(*width, wide);
  }
  size_t columns = *width < room ? (size_t)(room / *width) : 1;
  const size_t rows = (count + columns - 1) / columns;
  return (count + rows - 1) / rows;
}

static double panel_width(const layout *l) { return LEFT + l->area_width + l->right; }

static void measure_legend(layout *l, const hvi_plot *plot) {
  double width;
  for (size_t i = 0; i < plot->panel_count; i++) {
    const size_t count = gather(l, plot, l->own ? i : 0, l->own ? i : plot->panel_count - 1);
    if (!count) continue;
    const size_t columns = legend_columns(l, count, l->own ? panel_width(l) : l->width, &width);
    l->legend = fmax(l->legend, (double)((count + columns - 1) / columns * LINE + 14));
  }
}

static hvi_status lay_out(layout *l, const hvi_plot *plot, hvi_error *err) {
  char text[1024];
  HVI_TRY(hvi_new(&l->entries, l->data->count + 1, "a figure", err));
  l->columns = plot->columns ? plot->columns : plot->panel_count;
  if (l->columns > plot->panel_count) l->columns = plot->panel_count;
  l->rows = (plot->panel_count + l->columns - 1) / l->columns;
  l->area_width = areas[l->columns > 4 ? 3 : l->columns - 1].width;
  l->area_height = areas[l->columns > 4 ? 3 : l->columns - 1].height;
  l->top = TOP_BARE;
  l->right = RIGHT;
  l->own = has_families(plot);
  for (size_t i = 0; i < plot->panel_count; i++) {
    const hvi_panel *p = &plot->panels[i];
    if (p->title)
      l->top = fmax(
          l->top,
          TOP + LINE * (double)(wrap(text, sizeof text, p->title, l->area_width + 60, FONT) - 1));
    if (p->z.label) l->right = RIGHT + COLOURS;
  }
  l->width = (double)l->columns * panel_width(l);
  if (plot->title)
    l->title = TITLE +
               LINE * (double)(wrap(text, sizeof text, plot->title, l->width - 20, TITLE_FONT) - 1);
  measure_legend(l, plot);
  l->height = l->title + (double)l->rows * (l->top + l->area_height + BOTTOM) +
              (l->own ? (double)l->rows : 1) * l->legend;
  return HVI_OK;
}

/* 'text' as gnuplot reads it, every byte kept. Quotes and what is no character stand between double
 * quotes, in octal: a doubled quote at the end of a text would not be read as one. */
static void add_quoted(hvi_text *t, const char *text) {
  hvi_text_add(t, "'");
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < ' ' || c == 0x7f || c == '\'')
      hvi_text_add(t, "'.\"\\%03o\".'", c);
    else
      hvi_text_pad(t, *text, 1);
  }
  hvi_text_add(t, "'");
}

/* A text in which '$' and '@' stand for the quoted names. A file beside the script is "'./'.$": one
 * whose name began with '<' would be run, one with '-' or '+' is no file. */
static void add_named(hvi_text *t, const char *text, const char *first, const char *second) {
  for (size_t plain; *text; text += *text != '\0') {
    plain = strcspn(text, "$@");
    hvi_text_add(t, "%.*s", (int)plain, text);
    text += plain;
    if (*text) add_quoted(t, *text == '$' ? first : second);
  }
}

/* A text, wrapped, whose first line is at a place in pixels from the corner. */
static void add_label(hvi_text *t, const layout *l, const char *text, double x, double y,
                      const char *how) {
  add_named(t, "  set label $", text, NULL);
  hvi_text_add(t, " at screen %.5f,%.5f %s\n", x / l->width, 1 - y / l->height, how);
}

static void add_title(hvi_text *t, const layout *l, const hvi_plot *plot) {
  char text[1024];
  if (!plot->title) return;
  wrap(text, sizeof text, plot->title, l->width - 20, TITLE_FONT);
  add_label(t, l, text, l->width / 2, 0.55 * TITLE,
            "center noenhanced font sprintf(',%g', format eq 'png' ? 12.75 : 17)");
}

static void add_preamble(hvi_text *t, const hvi_plot *plot, const layout *l) {
  hvi_text_add(t, HVI_SCRIPT_START);
  for (const char *c = plot->name; *c; c++) hvi_text_pad(t, (unsigned char)*c < ' ' ? '?' : *c, 1);
  hvi_text_add(t, ".gp\nwide = %.0f\nhigh = %.0f\nformats = '%s'\n", l->width, l->height,
               plot->format ? plot->format : "png svg");
  add_named(t, "if (!exists('stem')) stem = './'.$\n", plot->name, NULL);
  for (size_t i = 0; i < STYLE_COUNT; i++)
    hvi_text_add(t, "set linetype %zu lc rgb '%s' dt %s lw 2 pt 7 ps 0.7\n", i + 1,
                 styles[i].colour, styles[i].dash);
  hvi_text_add(t, "%s", hvi_embedded_find(hvi_embedded_page, "plot"));
}

/* Tics of a logarithmic axis on which there are not two powers of ten. */
static void add_tics(hvi_text *t, const char *name, const hvi_axis *axis) {
  static const char *const multiples[] = {"1 2 5", "1 1.5 2 2.5 3 4 5 6 7 8 9"};
  const double low = axis->low * (1 - 1e-9), high = axis->high * (1 + 1e-9);
  const double first = floor(log10(low)), last = floor(log10(high));
  if (!axis->log || !(axis->low > 0) || last - first >= 2 || pow(10, last - 1) >= low) return;
  size_t count = 0;
  for (size_t k = 0; k < 2 && count < 2; k++) {
    count = 0;
    hvi_text_add(t, "  set %stics (", name);
    for (double e = first; e <= last; e++) {
      double factors[12];
      size_t n;
      hvi_parse_list(factors, 12, &n, multiples[k]);
      for (size_t i = 0; i < n; i++) {
        const double x = factors[i] * pow(10, e);
        if (x < low || x > high) continue;
        hvi_text_add(t, fabs(e) < 4 ? "%s'%g' %.9g" : "%s'%g·10^{%g}' %.9g", count++ ? ", " : "",
                     fabs(e) < 4 ? x : factors[i], fabs(e) < 4 ? x : e, x);
      }
    }
    hvi_text_add(t, ")\n");
  }
}

static void add_range(hvi_text *t, const char *name, const hvi_axis *axis) {
  char low[HVI_NUMBER_SIZE] = "*", high[HVI_NUMBER_SIZE] = "*";
  if (axis->low != 0 || axis->high != 0) {
    hvi_number_format(low, axis->low);
    hvi_number_format(high, axis->high);
  }
  hvi_text_add(t, "  %s logscale %s\n", axis->log ? "set" : "unset", name);
  hvi_text_add(t, "  set format %s '%s'\n", name, axis->log ? "10^{%T}" : "%h");
  hvi_text_add(t, "  set %srange [%s:%s]\n", name, low, high);
  add_tics(t, name, axis);
}

/* The edge of a band that leaves a logarithmic axis below runs along its end, as does a line where
 * the axis says so; without that, gnuplot would drop the area, or the cell of a map. */
bool hvi_series_held(const hvi_series *s, const hvi_axis *y) {
  const bool always = s->mark == HVI_MARK_BAND || s->mark == HVI_MARK_MAP;
  return (always || y->floor) && y->log && y->low > 0;
}

static void add_column(hvi_text *t, const char *name, const hvi_axis *axis, const hvi_series *s) {
  char low[HVI_NUMBER_SIZE];
  const bool held = hvi_series_held(s, axis);
  add_named(t, held ? "(column($) <= " : "(column($))", name, NULL);
  if (!held) return;
  hvi_number_format(low, axis->low);
  hvi_text_add(t, "%s ? %s", low, low);
  add_named(t, " : column($))", name, NULL);
}

static size_t linetype(const hvi_series *s) { return s->style % STYLE_COUNT + 1; }

/* Cells between the edges that surround them. What has no number lets the ground show. */
static void add_map(hvi_text *t, const hvi_panel *p, const hvi_series *s) {
  add_named(t, "    './'.$ using (abs(column(@)) < 1e300 ? ", s->file, s->y2);
  add_named(t, "column($) : NaN):(column(@))", s->x, s->y);
  add_named(t, ":(edge(ex,column($),0)):(edge(ex,column($),1))", s->x, NULL);
  add_named(t, ":(edge(ey,column($),0)):(edge(ey,column($),1)):", s->y, NULL);
  add_column(t, s->y2, &p->z, s);
  hvi_text_add(t, " with boxxyerror lc palette notitle");
}

/* A series, and the start of a path on top of it. */
static void add_series(hvi_text *t, const hvi_panel *p, const hvi_series *s, bool few) {
  const bool bars = s->mark == HVI_MARK_BARS, spread = s->y2 != NULL;
  if (s->mark == HVI_MARK_VERTICAL) hvi_text_add(t, "    NaN notitle");
  if (s->mark == HVI_MARK_MAP) add_map(t, p, s);
  if (s->mark >= HVI_MARK_MAP) return;
  add_named(t, bars ? "    './'.$ using 0:" : "    './'.$ using (column(@)):", s->file, s->x);
  add_column(t, s->y, &p->y, s);
  if (spread && bars) {
    add_named(t, ":(0):(column($) - column(@)) with vectors nohead lc rgb '#222222' lw 1.6 notitle",
              s->y2, s->y);
    return;
  }
  if (spread) hvi_text_add(t, ":");
  if (spread) add_column(t, s->y2, &p->y, s);
  hvi_text_add(t, " with %s lt %zu%s notitle", few ? "linespoints" : marks[s->mark].with,
               linetype(s), marks[s->mark].weight);
  if (s->mark != HVI_MARK_PATH) return;
  add_named(t, ", \\\n    './'.$", s->file, NULL);
  add_named(t, " every ::0::0 using (column($)):(column(@)) with points", s->x, s->y);
  hvi_text_add(t, " lt %zu ps 1.2 notitle", linetype(s));
}

static void add_point(hvi_text *t, const hvi_mark_point *point) {
  char x[HVI_NUMBER_SIZE], y[HVI_NUMBER_SIZE];
  add_named(t, "  set label 2 $ at ", point->label ? point->label : "", NULL);
  hvi_text_add(t, "%s,%s point pt 3 ps 1.4 lc rgb '#000000' offset 0.8,0.8 front\n",
               hvi_number_format(x, point->x), hvi_number_format(y, point->y));
}

/* Before a map is drawn: the edges of its cells and, over the whole of it, the colour of what has no
 * number. */
static hvi_status prepare_map(hvi_text *t, const hvi_panel *p, const hvi_points *map,
                              hvi_error *err) {
  char text[HVI_NUMBER_SIZE];
  for (int y = 0; y < 2; y++) {
    const char name = y ? 'y' : 'x';
    HVI_OWN double *edges = NULL;
    size_t count;
    HVI_TRY(hvi_plot_edges(&edges, &count, map, y ? &p->y : &p->x, y, err));
    hvi_text_add(t, "  e%c = '", name);
    for (size_t i = 0; i < count; i++) hvi_text_add(t, "%s ", hvi_number_format(text, edges[i]));
    hvi_text_add(t, "'\n");
    if (count)
      hvi_text_add(t, "  set %crange [word(e%c,1):word(e%c,%zu)]\n", name, name, name, count);
  }
  add_range(t, "cb", &p->z);
  hvi_text_add(t,
               "  set object 1 rectangle from graph 0,0 to graph 1,1 fs solid 1 noborder fc rgb "
               "'%s' behind\n  unset grid\n  set style fill solid 1 noborder\n",
               MISSING);
  return HVI_OK;
}

/* A line across; what is outside of the axis would be drawn there. */
static void add_vertical(hvi_text *t, const hvi_axis *x, const hvi_series *s) {
  const double at = strtod(s->x, NULL);
  if ((x->low != 0 || x->high != 0) && (at < x->low || at > x->high)) return;
  hvi_text_add(t, "  set arrow from %.15g,graph 0 to %.15g,graph 1 nohead lt %zu%s front\n", at, at,
               linetype(s), marks[s->mark].weight);
}

/* Below each bar its name, as wide as there is room, and its value. */
static void name_bars(hvi_text *t, const layout *l, const hvi_points *p) {
  char text[256];
  hvi_text_add(t, "  set boxwidth 0.6\n  set offsets 0.1,0.1,0,0\n  set grid noxtics\n"
                  "  set xtics noenhanced (");
  for (size_t i = 0; i < p->count; i++) {
    wrap(text, sizeof text, p->names[i], l->area_width / (double)p->count - 8, FONT);
    hvi_append(text, sizeof text, "\n%.3g", p->at[1][i]);
    add_named(t, i ? ", $" : "$", text, NULL);
    hvi_text_add(t, " %zu", i);
  }
  hvi_text_add(t, ")\n");
}

/* One entry of a legend, its sample from x on. */
static void add_entry(hvi_text *t, const layout *l, const entry *e, double x, double y) {
  const hvi_series *s = e->series;
  const double left = x / l->width, right = (x + SAMPLE) / l->width, at = 1 - y / l->height;
  const bool points = !s || s->mark == HVI_MARK_POINTS || s->mark == HVI_MARK_CLOUD;
  if (s && s->mark == HVI_MARK_MAP)
    hvi_text_add(t,
                 "  set object rectangle from screen %.5f,%.5f to screen %.5f,%.5f fs solid 1 "
                 "border rgb '#444444' fc rgb '%s'\n",
                 left + 10 / l->width, at - 6 / l->height, right, at + 6 / l->height, MISSING);
  else if (!points)
    hvi_text_add(t, "  set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead lt %zu%s\n", left,
                 at, right, at, linetype(s), marks[s->mark].weight);
  if (points || e->few)
    hvi_text_add(t, "  set label '' at screen %.5f,%.5f point lt %zu pt %d ps %g%s\n",
                 (left + right) / 2, at, s ? linetype(s) : 7, s ? 7 : 2, s ? 0.7 : 1.1,
                 s ? "" : " lw 2");
  add_label(t, l, entry_label(e), x + SAMPLE + 8, y, "left noenhanced");
}

/* The legend of panels first to last, in a box; column by column. */
static void add_legend(hvi_text *t, layout *l, const hvi_plot *plot, size_t panel, double x,
                       double y) {
  const size_t last = plot->panel_count - 1;
  if (!l->own && panel != last) return;
  const size_t count = gather(l, plot, l->own ? panel : 0, panel);
  const double room = l->own ? panel_width(l) : l->width;
  double width;
  if (!count) return;
  const size_t columns = legend_columns(l, count, room, &width),
               rows = (count + columns - 1) / columns;
  const double left = x + fmax(0, room - (double)columns * width) / 2 + LEGEND_GAP / 2.0;
  for (size_t k = 0; k < count; k++)
    add_entry(t, l, &l->entries[k], left + width * (double)(k / rows),
              y + 4 + LINE * (0.5 + (double)(k % rows)));
}

/* Where a panel is, and the words around it. */
static void add_frame(hvi_text *t, layout *l, const hvi_plot *plot, size_t index) {
  const hvi_panel *p = &plot->panels[index];
  const double below = l->top + l->area_height + BOTTOM + (l->own ? l->legend : 0);
  const double x = (double)(index % l->columns) * panel_width(l), left = x + LEFT;
  const double top = l->title + (double)(index / l->columns) * below + l->top;
  const double bottom = top + l->area_height, middle = (top + bottom) / 2;
  char text[1024];
  hvi_text_add(t, "%s", hvi_embedded_find(hvi_embedded_page, "panel"));
  hvi_text_add(t,
               "  set lmargin at screen %.5f\n  set rmargin at screen %.5f\n"
               "  set tmargin at screen %.5f\n  set bmargin at screen %.5f\n"
               "  set colorbox user origin screen %.5f,%.5f size screen %.5f,%.5f noborder\n",
               left / l->width, (left + l->area_width) / l->width, 1 - top / l->height,
               1 - bottom / l->height, (left + l->area_width + 12) / l->width,
               1 - bottom / l->height, 14 / l->width, l->area_height / l->height);
  const double centre = left + l->area_width / 2;
  wrap(text, sizeof text, p->title ? p->title : "", l->area_width + 60, FONT);
  add_label(t, l, text, centre, top - l->top + 16, p->plain ? "center noenhanced" : "center");
  if (p->x.label) add_label(t, l, p->x.label, centre, bottom + 47, "center");
  if (p->y.label) add_label(t, l, p->y.label, x + 14, middle, "center rotate by 90");
  if (p->z.label)
    add_label(t, l, p->z.label, left + l->area_width + RIGHT + COLOURS - 18, middle,
              "center rotate by 90");
  add_legend(t, l, plot, index, l->own ? x : 0, l->own ? bottom + BOTTOM : l->height - l->legend);
}

static hvi_status add_panel(hvi_text *t, const hvi_plot *plot, layout *l, size_t index,
                            hvi_error *err) {
  const hvi_panel *p = &plot->panels[index];
  const hvi_points *data = hvi_plot_points(l->data, plot, index);
  add_frame(t, l, plot, index);
  add_range(t, "x", &p->x);
  add_range(t, "y", &p->y);
  if (is_bars(p)) name_bars(t, l, data);
  if (p->point) add_point(t, p->point);
  for (size_t i = 0; i < p->series_count; i++) {
    const hvi_series *s = &p->series[i];
    if (s->mark == HVI_MARK_MAP) HVI_TRY(prepare_map(t, p, &data[i], err));
    if (s->mark == HVI_MARK_VERTICAL) add_vertical(t, &p->x, s);
    if (data[i].shape.diverged)
      hvi_text_add(t, "  set label '' at %.9g,%.9g point lt %zu pt 2 ps 1.1 lw 2 front\n",
                   data[i].shape.x, data[i].shape.y, linetype(s));
  }
  hvi_text_add(t, "  plot \\\n");
  for (size_t i = 0; i < p->series_count; i++) {
    if (i) hvi_text_add(t, ", \\\n");
    add_series(t, p, &p->series[i], data[i].shape.few);
  }
  hvi_text_add(t, "\n  unset label\n  unset arrow\n  unset object\n");
  return HVI_OK;
}

hvi_status hvi_plot_script(hvi_text *t, const hvi_plot *plot, const hvi_plot_data *data,
                           hvi_error *err) {
  layout l = {.data = data};
  HVI_TRY(lay_out(&l, plot, err));
  HVI_OWN entry *entries = l.entries;
  add_preamble(t, plot, &l);
  add_title(t, &l, plot);
  for (size_t i = 0; i < plot->panel_count; i++) HVI_TRY(add_panel(t, plot, &l, i, err));
  hvi_text_add(t, "  unset multiplot\n  unset output\n}\n");
  return HVI_OK;
}

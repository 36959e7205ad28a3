/*
 * From a description to a gnuplot script. Everything is laid out here in pixels, because gnuplot's
 * own margins would let panels of one figure differ in size:
 *
 *   title
 *   panel  panel  panel      each: margin for its axis, then the plotting area
 *   legend                   one for all panels, in columns
 *
 * gnuplot runs as a program, without a shell and with its output captured.
 */
#define _GNU_SOURCE /* memfd_create */
#include "report/plot.h"

#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/number.h"
#include "report/plot_data.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a script begins; how every panel is framed. */
#define SCRIPT_START "# Redraw with: gnuplot "
#define GRID         " back lt -1 lc rgb '#E4E4E4' dt solid lw 1\n"
static const char FRAME[] = "  set border 3 lc rgb '#444444'\n"
                            "  set xtics nomirror\n  set ytics nomirror\n  set cbtics\n"
                            "  set tics nomirror out scale 0.6 tc rgb '#222222'\n"
                            "  unset mxtics\n  unset mytics\n  unset mcbtics\n"
                            "  set grid" GRID "  set style fill transparent solid 0.15 noborder\n";

/* Pixels of the SVG; the PNG has the same layout at twice the resolution. */
enum {
  AREA_WIDTH = 400,
  AREA_HEIGHT = 300,
  BAR_WIDTH = 640,
  LEFT = 92,
  RIGHT = 28,
  COLOURS = 92, /* a colour bar with its tics and label, beside a map */
  TOP = 40,
  TOP_BARE = 12, /* no panel has a title */
  BOTTOM = 62,
  TITLE = 34,
  LEGEND_ROW = 23,
  LEGEND_ENTRY = 68, /* a line sample and its margins */
  LETTER = 8
};

/* No axis goes below: what is smaller is rounding. */
static const double LOWEST = 1e-16;

typedef struct layout {
  size_t columns, rows;       /* of panels */
  double area, width, height; /* of one plotting area; of the figure */
  double right;               /* of a plotting area, to the next panel */
  double title, top;          /* height of the title strip; of a panel's title */
  size_t entries, per_row;    /* of the legend */
  size_t legend_width;        /* of its longest label, in letters */
  double legend;              /* height of the legend strip */
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
    [HVI_MARK_MAP] = {"boxes fs solid 1 noborder", " lc rgb '#BDBDBD'"}, /* in the legend */
    [HVI_MARK_VERTICAL] = {"lines", " dt (4,3) lw 1.4"},
};

const char *hvi_series_colour(const hvi_series *s) {
  return s->mark == HVI_MARK_MAP ? MISSING : styles[s->style % STYLE_COUNT].colour;
}

static bool is_bars(const hvi_panel *p) {
  return p->series_count && p->series[0].mark == HVI_MARK_BARS;
}

/* An entry of the legend is a label not seen before. */
static bool first_of_its_label(const hvi_plot *plot, size_t panel, size_t series) {
  const char *label = plot->panels[panel].series[series].label;
  if (!label || is_bars(&plot->panels[panel])) return false;
  for (size_t i = 0; i <= panel; i++)
    for (size_t j = 0; j < (i == panel ? series : plot->panels[i].series_count); j++) {
      const char *other = plot->panels[i].series[j].label;
      if (other && strcmp(other, label) == 0) return false;
    }
  return true;
}

static void measure_legend(layout *l, const hvi_plot *plot) {
  for (size_t i = 0; i < plot->panel_count; i++)
    for (size_t j = 0; j < plot->panels[i].series_count; j++) {
      if (!first_of_its_label(plot, i, j)) continue;
      size_t width = hvi_text_width(plot->panels[i].series[j].label);
      if (width > l->legend_width) l->legend_width = width;
      l->entries++;
    }
  double entry = (double)(LEGEND_ENTRY + LETTER * l->legend_width);
  l->per_row = (size_t)((l->width - 20) / entry);
  if (l->per_row == 0) l->per_row = 1;
  if (!l->entries) return;
  /* as few rows as fit, filled evenly */
  size_t rows = (l->entries + l->per_row - 1) / l->per_row;
  l->per_row = (l->entries + rows - 1) / rows;
  l->legend = (double)(rows * LEGEND_ROW + 12);
}

static layout lay_out(const hvi_plot *plot) {
  layout l = {0};
  l.columns = plot->columns ? plot->columns : plot->panel_count;
  if (l.columns > plot->panel_count) l.columns = plot->panel_count;
  l.rows = (plot->panel_count + l.columns - 1) / l.columns;
  l.area = plot->panel_count == 1 ? BAR_WIDTH : AREA_WIDTH;
  l.title = plot->title ? TITLE : 0;
  l.top = TOP_BARE;
  l.right = RIGHT;
  for (size_t i = 0; i < plot->panel_count; i++) {
    if (plot->panels[i].title) l.top = TOP;
    if (plot->panels[i].z.label) l.right = RIGHT + COLOURS;
  }
  l.width = (double)l.columns * (LEFT + l.area + l.right);
  measure_legend(&l, plot);
  l.height = l.title + (double)l.rows * (l.top + AREA_HEIGHT + BOTTOM) + l.legend;
  return l;
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
  hvi_text_fill(t, text, add_quoted, first, second);
}

static void add_preamble(hvi_text *t, const hvi_plot *plot, const layout *l) {
  hvi_text_add(t, SCRIPT_START);
  for (const char *c = plot->name; *c; c++) hvi_text_pad(t, (unsigned char)*c < ' ' ? '?' : *c, 1);
  hvi_text_add(t, ".gp\n"
                  "set encoding utf8\n"
                  "set datafile separator comma\n"
                  "set datafile columnheaders\n");
  for (size_t i = 0; i < STYLE_COUNT; i++)
    hvi_text_add(t, "set linetype %zu lc rgb '%s' dt %s lw 2 pt 7 ps 0.7\n", i + 1,
                 styles[i].colour, styles[i].dash);
  hvi_text_add(t,
               "set palette defined (0 '#440154', 1 '#472C7A', 2 '#3B518B', 3 '#2C718E', "
               "4 '#21908D', 5 '#27AD81', 6 '#5CC863', 7 '#AADC32', 8 '#FDE725')\n"
               "edge(e,x,up) = word(e, up + sum [i=1:words(e)] (x >= word(e,i))) + 0\n"
               "wide = %.0f\nhigh = %.0f\n",
               l->width, l->height);
  add_named(t, "if (!exists('stem')) stem = './'.$\n", plot->name, NULL);
  hvi_text_add(t, "do for [format in '%s'] {\n", plot->format ? plot->format : "png svg");
  hvi_text_add(t, "  if (format eq 'png') {\n"
                  "    set terminal pngcairo size 2*wide,2*high enhanced font 'DejaVu Sans,11' "
                  "fontscale 2 linewidth 2 pointscale 2 dashlength 1.2 background '#FFFFFF'\n"
                  "  } else {\n"
                  "    set terminal svg size wide,high enhanced font 'DejaVu Sans,14' "
                  "dashlength 1.2 background '#FFFFFF'\n"
                  "  }\n"
                  "  set output stem.'.'.format\n"
                  "  set multiplot\n");
  if (!plot->title) return;
  add_named(t, "  set label 1 $", plot->title, NULL);
  hvi_text_add(t, " at screen 0.5,%.4f center noenhanced font ',13'\n",
               1 - 0.55 * l->title / l->height);
}

static void add_axis(hvi_text *t, const char *name, const hvi_axis *axis) {
  char low[HVI_NUMBER_SIZE] = "*", high[HVI_NUMBER_SIZE] = "*";
  if (axis->low != 0 || axis->high != 0) {
    hvi_number_format(low, axis->low);
    hvi_number_format(high, axis->high);
  }
  hvi_text_add(t, "  set %slabel ", name);
  add_quoted(t, axis->label ? axis->label : "");
  hvi_text_add(t, "\n  %s logscale %s\n", axis->log ? "set" : "unset", name);
  hvi_text_add(t, "  set format %s '%s'\n", name, axis->log ? "10^{%T}" : "%h");
  hvi_text_add(t, "  set %srange [%s:%s]\n", name, low, high);
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

/* A series, and what goes on top of it: the start of a path, the value of a bar. */
static void add_series(hvi_text *t, const hvi_panel *p, const hvi_series *s) {
  const bool bars = s->mark == HVI_MARK_BARS;
  if (s->mark == HVI_MARK_VERTICAL) hvi_text_add(t, "    NaN notitle");
  if (s->mark == HVI_MARK_MAP) add_map(t, p, s);
  if (s->mark >= HVI_MARK_MAP) return;
  add_named(t,
            bars             ? "    './'.$ using 0:"
            : p->x.thousands ? "    './'.$ using (column(@)/1000):"
                             : "    './'.$ using (column(@)):",
            s->file, s->x);
  add_column(t, s->y, &p->y, s);
  if (s->mark == HVI_MARK_BAND) {
    hvi_text_add(t, ":");
    add_column(t, s->y2, &p->y, s);
  }
  if (bars) add_named(t, ":xtic(stringcolumn($))", s->x, NULL);
  hvi_text_add(t, " with %s lt %zu%s notitle", marks[s->mark].with, linetype(s),
               marks[s->mark].weight);
  if (bars || s->mark == HVI_MARK_PATH) add_named(t, ", \\\n    './'.$", s->file, NULL);
  if (bars)
    add_named(t,
              " using 0:(column($)):(sprintf('%.3g', column($))) with labels"
              " offset 0,0.6 tc rgb '#222222' notitle",
              s->y, NULL);
  if (s->mark != HVI_MARK_PATH) return;
  add_named(t, " every ::0::0 using (column($)):(column(@)) with points", s->x, s->y);
  hvi_text_add(t, " lt %zu ps 1.2 notitle", linetype(s));
}

static void add_margins(hvi_text *t, const layout *l, size_t index) {
  double column = (double)(index % l->columns), row = (double)(index / l->columns);
  double left = column * (LEFT + l->area + l->right) + LEFT;
  double top = l->title + row * (l->top + AREA_HEIGHT + BOTTOM) + l->top;
  hvi_text_add(t,
               "  set lmargin at screen %.5f\n  set rmargin at screen %.5f\n"
               "  set tmargin at screen %.5f\n  set bmargin at screen %.5f\n",
               left / l->width, (left + l->area) / l->width, 1 - top / l->height,
               1 - (top + AREA_HEIGHT) / l->height);
  hvi_text_add(t, "  set colorbox user origin screen %.5f,%.5f size screen %.5f,%.5f noborder\n",
               (left + l->area + 12) / l->width, 1 - (top + AREA_HEIGHT) / l->height, 14 / l->width,
               AREA_HEIGHT / l->height);
}

static void add_point(hvi_text *t, const hvi_mark_point *point) {
  char x[HVI_NUMBER_SIZE], y[HVI_NUMBER_SIZE];
  add_named(t, "  set label 2 $ at ", point->label ? point->label : "", NULL);
  hvi_text_add(t, "%s,%s point pt 3 ps 1.4 lc rgb '#000000' offset 0.8,0.8 front\n",
               hvi_number_format(x, point->x), hvi_number_format(y, point->y));
}

/* Before a map is drawn: the edges of its cells and, over the whole of it, the colour of what has no
 * number. */
static hvi_status prepare_map(hvi_text *t, const char *folder, const hvi_panel *p,
                              const hvi_series *s, hvi_error *err) {
  char text[HVI_NUMBER_SIZE];
  for (int y = 0; y < 2; y++) {
    const char name = y ? 'y' : 'x';
    HVI_OWN double *edges = NULL;
    size_t count;
    HVI_TRY(hvi_plot_edges(&edges, &count, folder, s, y ? &p->y : &p->x, y, err));
    hvi_text_add(t, "  e%c = '", name);
    for (size_t i = 0; i < count; i++) hvi_text_add(t, "%s ", hvi_number_format(text, edges[i]));
    hvi_text_add(t, "'\n");
    if (count)
      hvi_text_add(t, "  set %crange [word(e%c,1):word(e%c,%zu)]\n", name, name, name, count);
  }
  add_axis(t, "cb", &p->z);
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

static hvi_status add_panel(hvi_text *t, const char *folder, const hvi_plot *plot, const layout *l,
                            size_t index, hvi_error *err) {
  const hvi_panel *p = &plot->panels[index];
  hvi_text_add(t, "%s", FRAME);
  add_margins(t, l, index);
  add_named(t, "  set title $ offset 0,-0.3", p->title ? p->title : "", NULL);
  hvi_text_add(t, "%s\n", p->plain ? " noenhanced" : "");
  add_axis(t, "x", &p->x);
  add_axis(t, "y", &p->y);
  if (is_bars(p))
    hvi_text_add(t, "  set boxwidth 0.6\n  set offsets 0.2,0.2,0,0\n"
                    "  set xtics noenhanced\n  unset grid\n  set grid ytics" GRID);
  if (p->point) add_point(t, p->point);
  for (size_t i = 0; i < p->series_count; i++) {
    const hvi_series *s = &p->series[i];
    if (s->mark == HVI_MARK_MAP) HVI_TRY(prepare_map(t, folder, p, s, err));
    if (s->mark == HVI_MARK_VERTICAL) add_vertical(t, &p->x, s);
  }
  hvi_text_add(t, "  plot \\\n");
  for (size_t i = 0; i < p->series_count; i++) {
    if (i) hvi_text_add(t, ", \\\n");
    add_series(t, p, &p->series[i]);
  }
  hvi_text_add(t, "\n  unset label\n  unset arrow\n  unset object\n%s",
               p->plain ? "  set title enhanced\n" : "");
  return HVI_OK;
}

static void add_legend(hvi_text *t, const hvi_plot *plot, const layout *l) {
  if (!l->entries) return;
  hvi_text_add(t,
               "  unset border\n  unset tics\n  unset grid\n  unset title\n  unset xlabel\n"
               "  unset ylabel\n  unset logscale\n  set xrange [0:1]\n  set yrange [0:1]\n"
               "  set lmargin at screen 0\n  set rmargin at screen 1\n"
               "  set bmargin at screen 0\n  set tmargin at screen %.5f\n"
               "  set key at screen 0.5,%.5f center center horizontal maxcols %zu noenhanced "
               "Left reverse samplen 3 width 1\n"
               "  plot \\\n    NaN notitle",
               l->legend / l->height, 0.55 * l->legend / l->height, l->per_row);
  for (size_t i = 0; i < plot->panel_count; i++)
    for (size_t j = 0; j < plot->panels[i].series_count; j++) {
      if (!first_of_its_label(plot, i, j)) continue;
      const hvi_series *s = &plot->panels[i].series[j];
      hvi_text_add(t, ", \\\n    keyentry with %s lt %zu%s title ", marks[s->mark].with,
                   linetype(s), marks[s->mark].weight);
      add_quoted(t, s->label);
    }
  hvi_text_add(t, "\n");
}

hvi_axis hvi_axis_log(const char *label, double smallest, double largest) {
  hvi_axis axis = {.label = label, .log = true};
  if (!(smallest > 0) || !(largest >= smallest) || isinf(largest)) return axis;
  axis.low = pow(10, floor(log10(fmax(smallest, LOWEST))));
  axis.high = pow(10, ceil(log10(fmax(largest, LOWEST))));
  if (axis.high <= axis.low) axis.high = 10 * axis.low;
  return axis;
}

static const char *const endings[] = {".gp", ".png", ".svg", ".json"};
enum { ENDINGS = sizeof endings / sizeof *endings, PICTURES = 3 };

static bool draws(const char *format, const char *ending) {
  return !format || strcmp(format, ending + 1) == 0;
}

/* A script has its first line as a mark. Pictures have none: they are hvi's when a script of hvi's
 * stands beside them. */
hvi_status hvi_plot_check(const char *folder, const char *name, const char *format,
                          hvi_error *err) {
  bool script = false;
  for (size_t i = 0; i < ENDINGS; i++) {
    HVI_OWN char *path = hvi_path_join(folder, name, endings[i]);
    if (!path) return hvi_error_memory(err, "a path");
    if (i == 0) script = access(path, F_OK) == 0;
    if (i > 0 && !draws(format, endings[i])) continue;
    HVI_TRY(hvi_file_ours(path, i > 0 && script ? NULL : SCRIPT_START, err));
  }
  return HVI_OK;
}

hvi_status hvi_plot_write(const char *folder, const hvi_plot *plot, hvi_error *err) {
  if (!plot->panel_count) return hvi_error_argument(err, "a figure without panels");
  const layout l = lay_out(plot);
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  add_preamble(&t, plot, &l);
  for (size_t i = 0; i < plot->panel_count; i++) HVI_TRY(add_panel(&t, folder, plot, &l, i, err));
  add_legend(&t, plot, &l);
  hvi_text_add(&t, "  unset multiplot\n  unset output\n}\n");
  HVI_OWN char *path = hvi_path_join(folder, plot->name, ".gp");
  if (!plot->replace) HVI_TRY(hvi_plot_check(folder, plot->name, plot->format, err));
  return path ? hvi_text_write(&t, path, err) : hvi_error_memory(err, plot->name);
}

enum { NOT_FOUND = 127, NO_FOLDER = 126, STEM_SIZE = 48 };

/* The child: only calls that are safe after fork in a program with threads. The script's name
 * begins with "./", so that it is no option and no command. */
static void become_gnuplot(const char *folder, char *script, char *assign, int output) {
  char program[] = "gnuplot", defaults[] = "-d"; /* without the user's start-up file */
  char before[] = "-e";
  char *const argv[] = {program, defaults, before, assign, script, NULL};
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (chdir(folder) != 0) _exit(NO_FOLDER);
  execvp(program, argv);
  _exit(NOT_FOUND);
}

/* The first line that says something. */
static void find_complaint(char *complaint, size_t size, int said) {
  char text[4096], *rest = NULL;
  text[hvi_file_read_at(said, text, sizeof text - 1, 0)] = '\0';
  for (char *l = strtok_r(text, "\n", &rest); l && !*complaint; l = strtok_r(NULL, "\n", &rest))
    if (strstr(l, "line ")) snprintf(complaint, size, "%s", l);
}

static int wait_for(pid_t child) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* Runs the script. What it draws is called STEM.png and STEM.svg. */
static hvi_status run(const char *folder, char *script, const char *stem, char note[HVI_PLOT_NOTE],
                      hvi_error *err) {
  char assign[STEM_SIZE + 16], complaint[256] = "";
  const int said = memfd_create("gnuplot", MFD_CLOEXEC);
  snprintf(assign, sizeof assign, "stem='./%s'", stem);
  const pid_t child = said >= 0 ? fork() : -1;
  if (child == 0) become_gnuplot(folder, script, assign, said);
  const hvi_status status = child < 0 ? hvi_error_system(err, "start", "gnuplot") : HVI_OK;
  const int code = status ? 0 : wait_for(child);
  if (code) find_complaint(complaint, sizeof complaint, said);
  if (said >= 0) close(said);
  if (status) return status;
  if (code == NOT_FOUND)
    snprintf(note, HVI_PLOT_NOTE,
             "%s/%s is written but not drawn: gnuplot is not installed (Debian: gnuplot-nox)",
             folder, script + 2);
  if (code == 0 || code == NOT_FOUND) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_IO,
                       "%s/%s is written but not drawn: gnuplot ended with status %d%s%s", folder,
                       script + 2, code, *complaint ? ": " : "", complaint);
}

/* A picture's last bytes, blanks apart, say that it is whole. */
static bool is_whole(FILE *file, const char *ending) {
  static const char png_end[] = "\0\0\0\0IEND\xae\x42\x60\x82", svg_end[] = "</svg>";
  const bool png = strcmp(ending, ".png") == 0;
  const size_t size = png ? sizeof png_end - 1 : sizeof svg_end - 1;
  char end[16];
  if (fseek(file, -(long)sizeof end, SEEK_END) != 0) return false;
  size_t length = fread(end, 1, sizeof end, file);
  while (!png && length > 0 && end[length - 1] == '\n') length--;
  return length >= size && memcmp(end + length - size, png ? png_end : svg_end, size) == 0;
}

/* Puts a picture that is whole in its place, with the mode of the one that it replaces. */
static hvi_status settle(const char *from, const char *to, const char *ending, hvi_error *err) {
  struct stat old;
  FILE *file = fopen(from, "r");
  hvi_status status = file && is_whole(file, ending)
                          ? hvi_file_sync(fileno(file), to, err)
                          : hvi_error_set(err, HVI_ERROR_IO,
                                          "cannot write '%s': the picture is %s; is the disk full?",
                                          to, file ? "cut short" : "missing");
  if (file) fclose(file);
  if (status) return status;
  if (stat(to, &old) == 0) chmod(from, old.st_mode & 07777);
  return rename(from, to) == 0 ? hvi_folder_sync(to, err) : hvi_error_system(err, "create", to);
}

hvi_status hvi_plot_draw(const char *folder, const hvi_plot *plot, char note[HVI_PLOT_NOTE],
                         hvi_error *err) {
  const char *name = plot->name;
  char stem[STEM_SIZE];
  HVI_OWN char *script = hvi_path_join(".", name, ".gp");
  note[0] = '\0';
  const int start = snprintf(stem, sizeof stem, ".hvi-drawing-%08x-",
                             (unsigned)hvi_hash_bytes(HVI_HASH_START, name, strlen(name)));
  HVI_OWN char *left = hvi_path_join(folder, stem, "");
  if (left) hvi_file_sweep(left);
  snprintf(stem + start, sizeof stem - (size_t)start, "%lx", (unsigned long)getpid());
  hvi_status status = script ? run(folder, script, stem, note, err) : hvi_error_memory(err, name);
  for (size_t i = 1; i < PICTURES && !*note; i++) {
    HVI_OWN char *from = hvi_path_join(folder, stem, endings[i]);
    HVI_OWN char *to = hvi_path_join(folder, name, endings[i]);
    if (!status && draws(plot->format, endings[i]))
      status = from && to ? settle(from, to, endings[i], err) : hvi_error_memory(err, "a path");
    if (status && from) unlink(from);
  }
  return status;
}

hvi_status hvi_plot_make(const char *folder, const hvi_plot *plot, char note[HVI_PLOT_NOTE],
                         hvi_error *err) {
  HVI_TRY(hvi_plot_write(folder, plot, err));
  if (draws(plot->format, ".json")) HVI_TRY(hvi_plot_json(folder, plot, err));
  return hvi_plot_draw(folder, plot, note, err);
}

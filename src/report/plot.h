/*
 * Figures: a description, written as a gnuplot script that stands beside its data.
 *
 * The script names its files relative to its own folder, so the folder can be moved and the
 * picture redrawn or changed by hand with `gnuplot NAME.gp`. It makes NAME.png and NAME.svg.
 */
#pragma once

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* In the order of hvi_mark_choices. */
typedef enum hvi_mark {
  HVI_MARK_LINE,
  HVI_MARK_SOLID,  /* without the dashes of its style */
  HVI_MARK_THIN,   /* a thin line, where many cross */
  HVI_MARK_DASHED, /* a thin dashed line: a bound, a prediction */
  HVI_MARK_POINTS,
  HVI_MARK_CLOUD,   /* small points, where there are thousands */
  HVI_MARK_PATH,    /* a line with a dot where it starts */
  HVI_MARK_BAND,    /* the area between y and y2, pale */
  HVI_MARK_BARS,    /* y by name: x is a column of labels */
  HVI_MARK_MAP,     /* cells of a grid of x and y, coloured by z; those without a number in grey */
  HVI_MARK_VERTICAL /* a line across, at a number */
} hvi_mark;

/* Their names in files: "line|solid|..." */
extern const char hvi_mark_choices[];

/* One series. Columns are named as in the CSV's header. Series with the same style share a colour
 * and a dash, also across panels; only those with a label stand in the legend: that of a map is the
 * name of its cells without a number. */
typedef struct hvi_series {
  const char *label; /* NULL: not in the legend */
  const char *file;  /* CSV in the figure's folder */
  const char *x, *y; /* vertical: x is the number itself */
  const char *y2;    /* band: the other edge; map: the column that colours */
  hvi_mark mark;
  size_t style; /* 0, 1, 2, ... */
} hvi_series;

typedef struct hvi_axis {
  const char *label;
  bool log;
  double low, high; /* both 0: chosen from the data */
  bool floor;       /* of y: lines that leave a logarithmic axis below run along its end */
} hvi_axis;

/* A logarithmic axis from the decade below the smallest (but not below 1e-16) to the one above the
 * largest; left to gnuplot when these are no positive numbers. */
hvi_axis hvi_axis_log(const char *label, double smallest, double largest);

/* A point to mark on a panel, e.g. the solution. */
typedef struct hvi_mark_point {
  const char *label;
  double x, y;
} hvi_mark_point;

typedef struct hvi_panel {
  const char *title;
  hvi_axis x, y;
  hvi_axis z; /* colours of maps; no label: there is none */
  size_t series_count;
  const hvi_series *series;
  const hvi_mark_point *point; /* NULL: none */
  bool plain;                  /* the title is somebody's name: ^ and _ are characters in it */
} hvi_panel;

typedef struct hvi_plot {
  const char *name;  /* of the files */
  const char *title; /* above everything; NULL: none */
  size_t columns;    /* panels side by side; 0: all of them */
  size_t panel_count;
  const hvi_panel *panels;
  const char *format; /* "png" or "svg"; NULL: both */
  bool replace;       /* also pictures that hvi did not draw */
} hvi_plot;

enum { HVI_PLOT_NOTE = 400 };

/*
 * Writes folder/NAME.gp and has gnuplot draw NAME.png and NAME.svg, or the one that is asked for. Without
 * a format NAME.json has the same figure with its numbers, for pages. Text is plain UTF-8 except that
 * ^ and _ raise and lower the next {group}, as in gnuplot's enhanced mode.
 *
 * Names of files may hold anything: they are quoted, and data are named from "./" on, so that none
 * is read as a command. Pictures are drawn under other names and put in place when they are whole;
 * one that hvi did not draw is replaced only where the plot says so. That gnuplot is not installed is no error: data and
 * script are there, and the note, otherwise empty, says what to do.
 */
hvi_status hvi_plot_make(const char *folder, const hvi_plot *plot, char note[HVI_PLOT_NOTE],
                         hvi_error *err);

/* An error when a file under the figure's names is not hvi's: for those who ask before they work.
 * format as in the plot. */
hvi_status hvi_plot_check(const char *folder, const char *name, const char *format, hvi_error *err);
/* Its parts: the script and the JSON, and the drawing of a script that is there. */
hvi_status hvi_plot_write(const char *folder, const hvi_plot *plot, hvi_error *err);
hvi_status hvi_plot_draw(const char *folder, const hvi_plot *plot, char note[HVI_PLOT_NOTE],
                         hvi_error *err);

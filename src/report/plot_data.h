/* What is behind a figure: its data, read back from the CSV files, and the script that draws them. */
#pragma once

#include "report/plot.h"
#include "report/text.h"

#define HVI_SCRIPT_START "# Redraw with: gnuplot "

/* Adds the script; data are read for what the layout depends on. */
hvi_status hvi_plot_script(hvi_text *t, const char *folder, const hvi_plot *plot, hvi_error *err);

/* The columns of a series: x, y, and y2. A file that is not there has no points. */
typedef struct hvi_points {
  size_t count;
  double *at[3]; /* [count] */
  char **names;  /* [count] x as text: the names of bars */
  char *text;
} hvi_points;

hvi_status hvi_points_read(hvi_points *p, const char *folder, const hvi_series *s, hvi_error *err);
void hvi_points_clear(hvi_points *p);

/* What a picture shows beside a line: markers where points are few, and a cross at x, y where it
 * leaves the axis for good, where infinity follows, or where it has risen and ends before others. */
typedef struct hvi_shape {
  bool few, diverged, rose;
  double end; /* the last x that has a number */
  double x, y;
} hvi_shape;

/* shapes[series_count] */
hvi_status hvi_panel_look(hvi_shape *shapes, const char *folder, const hvi_panel *panel,
                          hvi_error *err);

/* '#RRGGBB'; of a map, that of the cells without a number. */
const char *hvi_series_colour(const hvi_series *s);
/* Whether what is below the axis of y runs along its end. */
bool hvi_series_held(const hvi_series *s, const hvi_axis *y);

/*
 * Edges of a map's cells along one of its axes: halfway between neighbouring levels, on a logarithmic
 * axis by their ratio. The first and the last are the ends of the axis. (hvi_free them.)
 */
hvi_status hvi_plot_edges(double **edges, size_t *count, const char *folder, const hvi_series *map,
                          const hvi_axis *axis, bool of_y, hvi_error *err);

/* Writes folder/NAME.json: panels, axes and series with their numbers. Series of more than 400
 * points are thinned: ends and extremes stay. What is not finite is null. */
hvi_status hvi_plot_json(const char *folder, const hvi_plot *plot, hvi_error *err);

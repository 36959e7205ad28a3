/* What is behind a figure: its data, read back from the CSV files, and the script that draws them. */
#pragma once

#include "io/csv_table.h"
#include "report/plot.h"
#include "report/text.h"

#define HVI_SCRIPT_START "# Redraw with: gnuplot "

/* What a picture shows beside a line: markers where points are few, and a cross at x, y where it
 * leaves the axis for good, where infinity follows, or where it has risen and ends before others. */
typedef struct hvi_shape {
  bool few, diverged, rose;
  double end; /* the last x that has a number */
  double x, y;
} hvi_shape;

/* A series as it was read: columns x, y and y2. A file that is not there has no points. */
typedef struct hvi_points {
  size_t count;
  double *at[3]; /* [count] */
  char **names;  /* [count] x as text: the names of bars */
  hvi_table table;
  hvi_shape shape;
} hvi_points;

/* All series of a plot, panel by panel, each file read once. */
typedef struct hvi_plot_data {
  size_t count;
  hvi_points *series; /* [count] */
} hvi_plot_data;
hvi_status hvi_plot_read(hvi_plot_data *data, const char *folder, const hvi_plot *plot,
                         hvi_error *err);
void hvi_plot_data_clear(hvi_plot_data *data);
/* The first series of a panel. */
hvi_points *hvi_plot_points(const hvi_plot_data *data, const hvi_plot *plot, size_t panel);

/* Adds the script. */
hvi_status hvi_plot_script(hvi_text *t, const hvi_plot *plot, const hvi_plot_data *data,
                           hvi_error *err);

/* '#RRGGBB'; of a map, that of the cells without a number. */
const char *hvi_series_colour(const hvi_series *s);
/* Whether what is below the axis of y runs along its end. */
bool hvi_series_held(const hvi_series *s, const hvi_axis *y);

/*
 * Edges of a map's cells along one of its axes: halfway between neighbouring levels, on a logarithmic
 * axis by their ratio. The first and the last are the ends of the axis. (hvi_free them.)
 */
hvi_status hvi_plot_edges(double **edges, size_t *count, const hvi_points *map,
                          const hvi_axis *axis, bool of_y, hvi_error *err);

/* Writes folder/NAME.json: panels, axes and series with their numbers. Series of more than 400
 * points are thinned, in place: ends and extremes stay. What is not finite is null. */
hvi_status hvi_plot_json(const char *folder, const hvi_plot *plot, const hvi_plot_data *data,
                         hvi_error *err);

/* What figures draw, read back from the CSV files that their scripts name. */
#pragma once

#include "report/plot.h"

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

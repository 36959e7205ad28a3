/*
 * The result of a piece as CSV: a row a measurement, with the columns of hvi_evaluation_column. It
 * is a file that hvi keeps for itself: comments come first, with a checksum, what it is the result
 * of, and how it ended.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "evaluate/columns.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char diverged_line[] = "# diverged";

hvi_status hvi_study_curve_write(const char *path, hvi_kept *head, const hvi_study_curve *curve,
                                 hvi_error *err) {
  hvi_text body = {0};
  char number[HVI_NUMBER_SIZE];
  hvi_text_add(&body, "%s\n", curve->diverged ? diverged_line : "# complete");
  for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++)
    hvi_text_add(&body, "%s%s", j ? "," : "", hvi_evaluation_column(j));
  for (size_t i = 0; i < curve->count; i++)
    for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++) {
      const double x = hvi_evaluation_cell(&curve->rows[i], j);
      hvi_text_add(&body, "%s%s", j ? "," : "\n", isnan(x) ? "" : hvi_number_format(number, x));
    }
  hvi_text_add(&body, "\n");
  const hvi_status status =
      body.failed ? hvi_error_memory(err, path) : hvi_kept_write_text(head, path, body.data, err);
  hvi_text_free(&body);
  return status;
}

/* The line at *at, without its end, and *at behind it; NULL at the end. */
static char *next_line(char **at) {
  char *line = *at, *end = strchr(line, '\n');
  if (!end) return NULL;
  *end = '\0';
  *at = end + 1;
  return line;
}

/* Costs are counts; a count must be one. */
static bool fits(size_t column, double x) {
  static const char *const counts[] = {"outer", "inner", "grad_evals", "model_passes", "env_steps"};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (strcmp(counts[i], hvi_evaluation_column(column)) == 0) return x >= 0.0 && x < 1e15;
  return true;
}

static bool read_row(hvi_evaluation_row *row, const char *line) {
  *row = (hvi_evaluation_row){0};
  for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++) {
    char *end;
    const bool empty = *line == ',' || *line == '\0';
    const double x = empty ? NAN : strtod(line, &end);
    if ((!empty && end == line) || !fits(j, x)) return false;
    if (!empty) line = end;
    hvi_evaluation_set_cell(row, j, x);
    if (*line != (j + 1 < HVI_EVALUATION_COLUMNS ? ',' : '\0')) return false;
    line++;
  }
  return true;
}

static bool read_rows(hvi_study_curve *curve, char *at) {
  size_t lines = 0;
  for (const char *c = at; *c; c++) lines += *c == '\n';
  curve->rows = hvi_alloc(lines, sizeof *curve->rows);
  if (!curve->rows) return false;
  for (char *line; (line = next_line(&at)); curve->count++)
    if (!read_row(&curve->rows[curve->count], line)) return false;
  return curve->count > 0;
}

hvi_status hvi_study_curve_read(hvi_study_curve *curve, const char *path, hvi_kept *head,
                                hvi_error *err) {
  char *text = NULL, *at = NULL, *line;
  *curve = (hvi_study_curve){0};
  hvi_status status = hvi_kept_read_text(&text, &at, head, path, err);
  if (status) return status;
  line = next_line(&at);
  curve->diverged = line && strcmp(line, diverged_line) == 0;
  if (!line || !next_line(&at) || !read_rows(curve, at)) {
    status = hvi_error_set(err, HVI_ERROR_INPUT, "'%s' is no table of measurements", path);
    hvi_free(curve->rows);
    *curve = (hvi_study_curve){0};
  }
  hvi_free(text);
  return status;
}

/*
 * The result of a piece as CSV: a row a measurement, with the columns of hvi_evaluation_column.
 * Two comments come first, what it is the result of and how it ended; a file whose first line is
 * another one belongs to other settings.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "evaluate/columns.h"
#include "experiments/value_study.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20 };
static const char diverged_line[] = "# diverged";

hvi_status hvi_study_curve_write(const char *path, const char *about, const hvi_study_curve *curve,
                                 hvi_error *err) {
  hvi_text header = {0};
  hvi_csv csv = {0};
  hvi_text_add(&header, "# %s\n%s\n", about, curve->diverged ? diverged_line : "# complete");
  for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++)
    hvi_text_add(&header, "%s%s", j ? "," : "", hvi_evaluation_column(j));
  hvi_status status =
      header.failed ? hvi_error_memory(err, path) : hvi_csv_open(&csv, path, header.data, err);
  hvi_text_free(&header);
  if (status) return status;
  for (size_t i = 0; i < curve->count; i++) {
    for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++)
      hvi_csv_number(&csv, hvi_evaluation_cell(&curve->rows[i], j));
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
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

bool hvi_study_curve_read(hvi_study_curve *curve, const char *path, const char *about) {
  char *text = NULL, *line;
  *curve = (hvi_study_curve){0};
  if (hvi_file_read_text(&text, path, MAX_BYTES, NULL) != HVI_OK) return false;
  char *at = text;
  bool good =
      (line = next_line(&at)) && strncmp(line, "# ", 2) == 0 && strcmp(line + 2, about) == 0;
  if (good && (line = next_line(&at))) curve->diverged = strcmp(line, diverged_line) == 0;
  good = good && next_line(&at) && read_rows(curve, at);
  hvi_free(text);
  if (!good) {
    hvi_free(curve->rows);
    *curve = (hvi_study_curve){0};
  }
  return good;
}

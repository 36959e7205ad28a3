/* A row as a table: for files, and for checkpoints. */
#include "evaluate/columns.h"

static const hvi_setting columns[HVI_EVALUATION_COLUMNS] = {
#define COUNT(member)                                                                              \
  { #member, HVI_SETTING_COUNT, .offset = offsetof(hvi_evaluation_row, member) }
#define REAL(member)                                                                               \
  { #member, HVI_SETTING_REAL, .offset = offsetof(hvi_evaluation_row, member) }
    COUNT(outer),
    COUNT(inner),
    REAL(loss0),
    REAL(loss),
    REAL(ratio),
    REAL(alpha),
    REAL(error),
    REAL(interval),
    REAL(clean),
    REAL(relative),
    REAL(relative_clean),
    REAL(gap),
    COUNT(grad_evals),
    COUNT(model_passes),
    COUNT(env_steps),
    REAL(seconds_collect),
    REAL(seconds_targets),
    REAL(seconds_inner),
    REAL(seconds_optimise),
    REAL(seconds),
    REAL(seconds_measure),
};

const char *hvi_evaluation_column(size_t column) {
  return column < HVI_EVALUATION_COLUMNS ? columns[column].name : NULL;
}

double hvi_evaluation_cell(const hvi_evaluation_row *row, size_t column) {
  const void *at = (const char *)row + columns[column].offset;
  return columns[column].kind == HVI_SETTING_COUNT ? (double)*(const size_t *)at
                                                   : *(const double *)at;
}

void hvi_evaluation_set_cell(hvi_evaluation_row *row, size_t column, double x) {
  void *at = (char *)row + columns[column].offset;
  if (columns[column].kind == HVI_SETTING_COUNT) {
    *(size_t *)at = (size_t)x;
  } else {
    *(double *)at = x;
  }
}

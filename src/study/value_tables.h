/* Inside the kind `value`: its columns, and what is worked out of the rows of all cells. */
#pragma once

#include "study/study.h"

/* Those of hvi_evaluation_column; the noise in `error`; the threshold alpha^2; whether it diverged. */
enum { HVI_VALUE_COLUMNS = 25 };
/* What a method is: it minimises surrogates (more than one inner step, or a threshold), does not, or
 * regresses on returns. The last column. */
typedef enum hvi_value_group {
  HVI_VALUE_SURROGATE,
  HVI_VALUE_OTHER,
  HVI_VALUE_OF_RETURNS
} hvi_value_group;
extern const hvi_column hvi_value_columns[];
/* The figure of a file that has none. */
extern const char hvi_value_figures[];

/*
 * Adds tables to the study:
 *   outer, seconds, gradients   the mean over the seeds of every measure, with the ends of its 95 %
 *                               interval, on that axis; a CSV for each environment and method
 *   thresholds                  where methods with a threshold ended
 *   levels                      horizontal lines: the lowest mean of all, and the test set's noise
 *   summary                     a row a method
 */
hvi_status hvi_value_derive(hvi_study *study, hvi_part *part, hvi_error *err);

#ifndef HVI_EVALUATE_COLUMNS_H
#define HVI_EVALUATE_COLUMNS_H

#include <hvi/evaluate.h>

enum { HVI_EVALUATION_COLUMNS = 21 };

/* The inverse of hvi_evaluation_cell. */
void hvi_evaluation_set_cell(hvi_evaluation_row *row, size_t column, double x);

#endif

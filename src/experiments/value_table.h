/* Tables of a study, as the figures read them. */
#ifndef HVI_EXPERIMENTS_VALUE_TABLE_H
#define HVI_EXPERIMENTS_VALUE_TABLE_H

#include "experiments/value_stats.h"

enum { HVI_STUDY_NAME = 128 };

/* ENVIRONMENT-METHOD-AXIS.csv: means over the seeds with the ends of their intervals. */
void hvi_study_curve_name(char name[HVI_STUDY_NAME], const hvi_study_results *r, size_t place,
                          size_t contender, hvi_study_axis axis);
hvi_status hvi_study_write_curve(const hvi_run *run, const hvi_study_results *r, size_t place,
                                 size_t contender, hvi_study_axis axis, hvi_error *err);
/* ENVIRONMENT-thresholds-MEASURE.csv: where the methods with a threshold ended. */
hvi_status hvi_study_write_thresholds(const hvi_run *run, const hvi_study_results *r, size_t place,
                                      hvi_study_measure measure, hvi_error *err);
/* Two horizontal lines from x[0] to x[1]; NaN: not there. */
hvi_status hvi_study_write_levels(const hvi_run *run, const char *name, const double x[2],
                                  double lowest, double noise, hvi_error *err);
/* summary.csv: a row a method. */
hvi_status hvi_study_write_summary(const hvi_run *run, const hvi_study_results *r, hvi_error *err);

#endif

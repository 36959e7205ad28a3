/*
 * The tasks of a study of kind value.
 *
 * Nothing that is missing is an error: the task is then not run, and its claims are not judged. Files
 * are looked for as named, under $HVI_DATA, under ./data, and beside the program: in ../data for one
 * built in a source tree, in ../share/hvi for one that is installed.
 */
#pragma once

#include "evaluate/task.h"
#include "study/study.h"

typedef struct hvi_study_task {
  hvi_study *study;
  const hvi_part *part;
  const hvi_value_environment *source;
  hvi_task task;     /* its probe has at most as many states as the size says */
  char missing[400]; /* what it needs to run; empty: nothing */
} hvi_study_task;

/* The discount at the size that is run. */
double hvi_part_gamma(const hvi_part *part);
/* A file of data in one of those places; NULL when it is nowhere. The caller frees it. */
char *hvi_study_find_file(const char *name);

/* A quick run without its test set makes one, or finds it, in OUT/testsets. */
hvi_status hvi_study_task_open(hvi_study_task *t, hvi_study *study, const hvi_part *part,
                               size_t index, hvi_error *err);

/*
 * The tasks of a study of kind value, and the transitions that its cells share.
 *
 * Nothing that is missing is an error: the task is then not run, and its claims are not judged. Files
 * are looked for as named, under $HVI_DATA, under ./data, and beside the program: in ../data for one
 * built in a source tree, in ../share/hvi for one that is installed.
 */
#pragma once

#include "evaluate/task.h"
#include "study/study.h"

#include <pthread.h>

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

/* Transitions of a seed that several cells read: simulated once, and each is charged for them. */
typedef struct hvi_shared_stream {
  pthread_mutex_t lock;
  hvi_collector *collector;      /* from the first reader on */
  size_t batch, batches, priced; /* batches there is room for; whose price is settled */
  double *price;                 /* [batches + 1] seconds of the first k batches */
} hvi_shared_stream;
/* Its readers are gone; others may come. */
void hvi_shared_stream_close(hvi_shared_stream *s);

/* One reader: its data set has as many rows as it has asked for. */
typedef struct hvi_stream_reader {
  hvi_shared_stream *stream;
  hvi_dataset data;
} hvi_stream_reader;
/* Of a stream with a lock; the first one says how long it may get. */
hvi_status hvi_stream_reader_open(hvi_stream_reader *reader, hvi_shared_stream *stream,
                                  const hvi_task *task, uint64_t seed, size_t batch, size_t rows,
                                  hvi_error *err);
/* The function `grow` of an hvi_stream; context is the reader. */
hvi_status hvi_stream_reader_grow(void *reader, size_t rows, double *seconds, hvi_error *err);

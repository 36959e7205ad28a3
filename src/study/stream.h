/* A stream of transitions that several cells read: simulated once, and each is charged for it. */
#ifndef HVI_STUDY_STREAM_H
#define HVI_STUDY_STREAM_H

#include "study/task.h"

typedef struct hvi_shared_stream hvi_shared_stream;
hvi_status hvi_shared_stream_new(hvi_shared_stream **stream, const hvi_task *task, uint64_t seed,
                                 size_t batch, size_t rows, hvi_error *err);
void hvi_shared_stream_free(hvi_shared_stream *s);

/* One reader: its data set has as many rows as it has asked for. */
typedef struct hvi_stream_reader {
  hvi_shared_stream *stream;
  hvi_dataset data;
} hvi_stream_reader;
void hvi_stream_reader_open(hvi_stream_reader *reader, hvi_shared_stream *stream);
/* The function `grow` of an hvi_stream; context is the reader. */
hvi_status hvi_stream_reader_grow(void *reader, size_t rows, double *seconds, hvi_error *err);

#endif

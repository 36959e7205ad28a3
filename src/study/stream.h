/*
 * Streams of a part of kind value: transitions of a seed, simulated once and read by several cells,
 * each of which is charged for them. Later parts and studies of the same run read them too.
 */
#pragma once

#include "evaluate/task.h"

#include <pthread.h>

/* What a run keeps for its later parts: tasks, and streams that have lost their readers. */
typedef struct hvi_stream_cache hvi_stream_cache;
/* NULL: no memory. */
hvi_stream_cache *hvi_stream_cache_new(void);
void hvi_stream_cache_free(hvi_stream_cache *cache);
/* hvi_task_open, or a copy of what an earlier call opened. Environment and policy are the cache's
 * where `kept` says so. */
hvi_status hvi_stream_cache_task(hvi_task *t, bool *kept, hvi_stream_cache *cache,
                                 const char *environment, const char *policy, hvi_error *err);

typedef struct hvi_shared_stream {
  struct hvi_streams *among;
  pthread_cond_t made; /* for readers: batches, or a failure */
  bool taken;          /* somebody has the collector */
  hvi_collector *collector;
  hvi_dataset data;      /* the collector's, without a row */
  size_t batch, batches; /* rows of a batch; batches there is room for */
  size_t wanted, priced; /* batches asked for so far; that are there, with their price */
  double *price;         /* [batches + 1] seconds of the first k batches */
  hvi_error failure;     /* why no more are made ahead */
} hvi_shared_stream;

/* All of a part. The lock is on everything here and in the streams, but for a collector, which
 * belongs to whoever has taken it. */
typedef struct hvi_streams {
  pthread_mutex_t lock;
  pthread_cond_t asked; /* for threads: a reader wants more, or it is the end */
  pthread_t *threads;   /* [thread_count] */
  size_t thread_count;
  bool ended;
  size_t readers; /* so far */
  double waited;  /* seconds of all readers, until what they wanted was made */
  size_t count;
  hvi_shared_stream *streams; /* [count] */
  hvi_stream_cache *cache;    /* where they are left when they are closed; NULL: nowhere */
} hvi_streams;

/* With so many threads that make batches ahead of readers; 0: readers make them. */
hvi_status hvi_streams_open(hvi_streams *all, size_t count, size_t threads, hvi_stream_cache *cache,
                            hvi_error *err);
/* When no cell runs. Fine on a zeroed one. */
void hvi_streams_close(hvi_streams *all);
/* Its readers are gone; others may come. */
void hvi_shared_stream_close(hvi_shared_stream *s);

/* One reader: its data set has as many rows as it has asked for. */
typedef struct hvi_stream_reader {
  hvi_shared_stream *stream;
  hvi_dataset data;
} hvi_stream_reader;
/* The first one says how long the stream may get. */
hvi_status hvi_stream_reader_open(hvi_stream_reader *reader, hvi_shared_stream *stream,
                                  const hvi_task *task, uint64_t seed, size_t batch, size_t rows,
                                  hvi_error *err);
/* The function `grow` of an hvi_stream; context is the reader. */
hvi_status hvi_stream_reader_grow(void *reader, size_t rows, double *seconds, hvi_error *err);

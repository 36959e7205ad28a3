/*
 * Transitions of a seed, simulated once and read by several threads.
 *
 * A collector's rows never move, so a reader needs no copy, only a data set of its own whose count
 * is what it has asked for. Collection is charged by batches: what the first k batches cost is
 * settled when they are made, and is the same for every reader.
 */
#include "study/stream.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <pthread.h>

struct hvi_shared_stream {
  pthread_mutex_t lock;
  hvi_collector *collector;
  size_t batch, batches, priced; /* batches there is room for; whose price is settled */
  double *price;                 /* [batches + 1] seconds of the first k batches */
};

hvi_status hvi_shared_stream_new(hvi_shared_stream **stream, const hvi_task *task, uint64_t seed,
                                 size_t batch, size_t rows, hvi_error *err) {
  hvi_shared_stream *s = *stream = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a stream");
  s->batch = batch;
  s->batches = (rows + batch - 1) / batch;
  s->price = hvi_alloc_doubles(s->batches + 1);
  if (!s->price || pthread_mutex_init(&s->lock, NULL) != 0) {
    hvi_free(s->price);
    hvi_free(s);
    *stream = NULL;
    return hvi_error_memory(err, "a stream");
  }
  const hvi_status status =
      hvi_collector_new(&s->collector, task->env, task->policy, seed, 1, s->batches * batch, err);
  if (status) {
    hvi_shared_stream_free(s);
    *stream = NULL;
  }
  return status;
}

void hvi_shared_stream_free(hvi_shared_stream *s) {
  if (!s) return;
  hvi_collector_free(s->collector);
  pthread_mutex_destroy(&s->lock);
  hvi_free(s->price);
  hvi_free(s);
}

void hvi_stream_reader_open(hvi_stream_reader *reader, hvi_shared_stream *stream) {
  pthread_mutex_lock(&stream->lock);
  *reader = (hvi_stream_reader){stream, *hvi_collector_data(stream->collector)};
  pthread_mutex_unlock(&stream->lock);
  reader->data.count = 0;
}

/* Prices of batches that are new, at the mean speed so far: episodes are made in groups, ahead of
 * what is asked for. */
static void settle(hvi_shared_stream *s, size_t batches) {
  const hvi_collector_cost cost = hvi_collector_spent(s->collector);
  const double each = cost.steps > 0 ? cost.seconds * (double)s->batch / (double)cost.steps : 0.0;
  for (; s->priced < batches; s->priced++) {
    s->price[s->priced + 1] = fmax(s->price[s->priced], each * (double)(s->priced + 1));
  }
}

hvi_status hvi_stream_reader_grow(void *context, size_t rows, double *seconds, hvi_error *err) {
  hvi_stream_reader *reader = context;
  hvi_shared_stream *s = reader->stream;
  const size_t batches = (rows + s->batch - 1) / s->batch;
  if (batches > s->batches)
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%zu rows of a stream of %zu", rows,
                         s->batches * s->batch);
  pthread_mutex_lock(&s->lock);
  hvi_status status = HVI_OK;
  if (batches > s->priced) status = hvi_collector_need(s->collector, batches * s->batch, err);
  if (!status) {
    settle(s, batches);
    *seconds = s->price[batches];
    if (rows > reader->data.count) reader->data.count = rows;
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

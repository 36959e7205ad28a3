/*
 * A collector's rows never move, so a reader needs no copy, only a data set of its own whose count
 * is what it has asked for. Collection is charged by batches: what the first k batches cost is
 * settled when they are made, and is the same for every reader.
 *
 * Whoever makes batches has taken the stream, and holds no lock meanwhile. That is the first reader
 * who needs them; or, where learning leaves the cores free, threads that run ahead: at the stream
 * that is least ahead of its furthest reader, and LEAD batches ahead at most. The rows are the same,
 * whoever and however many make them.
 * Episodes are made eight at a time: with LEAD above eight of the usual batches (an episode of 1,000
 * rows) the next eight are begun before the last ones are used up.
 */
#include "study/stream.h"

#include "base/base.h"

enum { LEAD = 16 };

/* A collector knows environment, policy and seed of its rows, so these tell which stream it is. */
typedef struct kept_stream {
  hvi_collector *collector;
  size_t batch, batches, priced;
  double *price;
  struct kept_stream *next;
} kept_stream;

typedef struct kept_task {
  char *environment, *policy; /* as asked for */
  hvi_task task;
  struct kept_task *next;
} kept_task;

struct hvi_stream_cache {
  kept_task *tasks;
  kept_stream *streams; /* the newest first */
};

hvi_stream_cache *hvi_stream_cache_new(void) { return hvi_alloc(1, sizeof(hvi_stream_cache)); }

static void free_stream(kept_stream *k) {
  hvi_collector_free(k->collector);
  hvi_free(k->price);
  hvi_free(k);
}

static void free_task(kept_task *k) {
  if (!k) return;
  hvi_task_close(&k->task);
  hvi_free(k->environment);
  hvi_free(k->policy);
  hvi_free(k);
}

void hvi_stream_cache_free(hvi_stream_cache *cache) {
  if (!cache) return;
  for (kept_stream *k = cache->streams, *next; k; k = next) next = k->next, free_stream(k);
  for (kept_task *k = cache->tasks, *next; k; k = next) next = k->next, free_task(k);
  hvi_free(cache);
}

hvi_status hvi_stream_cache_task(hvi_task *t, bool *kept, hvi_stream_cache *cache,
                                 const char *environment, const char *policy, hvi_error *err) {
  for (const kept_task *k = cache ? cache->tasks : NULL; k && policy; k = k->next)
    if (strcmp(k->environment, environment) == 0 && strcmp(k->policy, policy) == 0) {
      *t = k->task;
      *kept = true;
      return HVI_OK;
    }
  HVI_TRY(hvi_task_open(t, environment, policy, NULL, err));
  if (!cache || !policy) return HVI_OK;
  kept_task *k = hvi_alloc(1, sizeof *k);
  if (k) *k = (kept_task){hvi_copy_text(environment), hvi_copy_text(policy), *t, cache->tasks};
  *kept = k && k->environment && k->policy;
  if (*kept) {
    cache->tasks = k;
    return HVI_OK;
  }
  /* streams in the cache would outlive it */
  if (k) k->task = (hvi_task){0};
  free_task(k);
  return hvi_error_memory(err, "a task");
}

/* Bytes of a stream, and the most that are kept. */
static double bytes_of(const kept_stream *k) {
  const hvi_dataset *d = hvi_collector_data(k->collector);
  return (double)(k->batch * k->batches) * (4.0 * (double)(2 * d->obs + d->act + 1) + 10.0);
}
static double most_bytes(void) { return (double)hvi_memory_size() / 8.0; }

/* Into the cache; beyond its size the oldest go. False: it is not kept. */
static bool keep(hvi_shared_stream *s) {
  hvi_stream_cache *cache = s->among->cache;
  const bool good = cache && s->collector && !s->failure.status;
  kept_stream *k = good ? hvi_alloc(1, sizeof *k) : NULL;
  if (!k) return false;
  *k = (kept_stream){s->collector, s->batch, s->batches, s->priced, s->price, cache->streams};
  cache->streams = k;
  double bytes = 0.0;
  for (kept_stream **at = &cache->streams; *at;) {
    kept_stream *old = *at;
    bytes += bytes_of(old);
    if (bytes <= most_bytes()) {
      at = &old->next;
    } else {
      *at = old->next;
      free_stream(old);
    }
  }
  return true;
}

/* Out of the cache: a stream of this task and seed that is long enough, or false. */
static bool find(hvi_shared_stream *s, const hvi_task *task, uint64_t seed) {
  hvi_stream_cache *cache = s->among->cache;
  for (kept_stream **at = cache ? &cache->streams : NULL; at && *at; at = &(*at)->next) {
    kept_stream *k = *at;
    const hvi_provenance *o = &hvi_collector_data(k->collector)->origin;
    if (o->seed != seed || strcmp(o->environment, task->origin.environment) != 0 ||
        strcmp(o->fingerprint, task->origin.fingerprint) != 0 || k->batch != s->batch ||
        k->batches < s->batches)
      continue;
    s->collector = k->collector;
    s->batches = k->batches, s->priced = k->priced;
    s->price = k->price;
    *at = k->next;
    hvi_free(k);
    return true;
  }
  return false;
}

/* How many threads a stream is made by: where there are fewer streams than threads, several. */
static size_t makers(const hvi_streams *all) {
  const size_t share = all->thread_count / all->count;
  return share > 1 ? share : 1;
}

/* Prices of batches that are new, in seconds of one core, at the mean speed so far: episodes are made
 * in groups, ahead of what is asked for. */
static void settle(hvi_shared_stream *s, size_t batches) {
  const hvi_collector_cost cost = hvi_collector_spent(s->collector);
  const double seconds = cost.seconds * (double)makers(s->among);
  const double each = cost.steps > 0 ? seconds * (double)s->batch / (double)cost.steps : 0.0;
  for (; s->priced < batches; s->priced++)
    s->price[s->priced + 1] = fmax(s->price[s->priced], each * (double)(s->priced + 1));
}

/* While a stream is taken it is nobody else's, and the lock is free. */
static void take(hvi_shared_stream *s) {
  s->taken = true;
  pthread_mutex_unlock(&s->among->lock);
}

static void give_back(hvi_shared_stream *s) {
  pthread_mutex_lock(&s->among->lock);
  s->taken = false;
  pthread_cond_broadcast(&s->made);
}

static hvi_status make(hvi_shared_stream *s, size_t batches, hvi_error *err) {
  take(s);
  const hvi_status status = hvi_collector_need(s->collector, batches * s->batch, err);
  give_back(s);
  if (!status) settle(s, batches);
  return status;
}

/* The stream that a thread goes on with; NULL: all are far enough. */
static hvi_shared_stream *least_ahead(const hvi_streams *all) {
  hvi_shared_stream *best = NULL;
  ptrdiff_t least = LEAD;
  for (hvi_shared_stream *s = all->streams; s < all->streams + all->count; s++) {
    const ptrdiff_t ahead = (ptrdiff_t)s->priced - (ptrdiff_t)s->wanted;
    if (!s->collector || s->taken || s->failure.status || s->priced == s->batches) continue;
    if (ahead < least) best = s, least = ahead;
  }
  return best;
}

static void *run_ahead(void *argument) {
  hvi_streams *all = argument;
  pthread_mutex_lock(&all->lock);
  while (!all->ended) {
    hvi_shared_stream *s = least_ahead(all);
    hvi_error why = {HVI_OK, ""};
    if (!s)
      pthread_cond_wait(&all->asked, &all->lock);
    else if (make(s, s->priced + 1, &why))
      s->failure = why;
  }
  pthread_mutex_unlock(&all->lock);
  return NULL;
}

hvi_status hvi_streams_open(hvi_streams *all, size_t count, size_t threads, hvi_stream_cache *cache,
                            hvi_error *err) {
  *all = (hvi_streams){
      .lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER, .cache = cache};
  HVI_TRY(hvi_new(&all->streams, count, "streams of transitions", err));
  HVI_TRY(hvi_new(&all->threads, threads, "streams of transitions", err));
  for (; all->count < count; all->count++)
    all->streams[all->count] = (hvi_shared_stream){.among = all, .made = PTHREAD_COND_INITIALIZER};
  /* as many as the system allows */
  pthread_mutex_lock(&all->lock);
  while (all->thread_count < threads &&
         pthread_create(&all->threads[all->thread_count], NULL, run_ahead, all) == 0)
    all->thread_count++;
  pthread_mutex_unlock(&all->lock);
  return HVI_OK;
}

void hvi_streams_close(hvi_streams *all) {
  pthread_mutex_lock(&all->lock);
  all->ended = true;
  pthread_cond_broadcast(&all->asked);
  pthread_mutex_unlock(&all->lock);
  for (size_t i = 0; i < all->thread_count; i++) pthread_join(all->threads[i], NULL);
  for (size_t i = 0; i < all->count; i++) hvi_shared_stream_close(&all->streams[i]);
  hvi_free(all->threads);
  hvi_free(all->streams);
}

void hvi_shared_stream_close(hvi_shared_stream *s) {
  pthread_mutex_lock(&s->among->lock);
  while (s->taken) pthread_cond_wait(&s->made, &s->among->lock);
  if (!keep(s)) {
    hvi_collector_free(s->collector);
    hvi_free(s->price);
  }
  s->collector = NULL;
  s->price = NULL;
  s->wanted = s->priced = 0;
  s->failure.status = HVI_OK;
  pthread_mutex_unlock(&s->among->lock);
}

/* Room for the first reader's rows. */
static hvi_status make_collector(hvi_shared_stream *s, const hvi_task *task, uint64_t seed,
                                 size_t rows, hvi_error *err) {
  hvi_collector *c = NULL;
  take(s);
  double *price = hvi_alloc_doubles(s->batches + 1);
  hvi_status status = price ? HVI_OK : hvi_error_memory(err, "a stream");
  const size_t threads = makers(s->among);
  if (price) status = hvi_collector_new(&c, task->env, task->policy, seed, threads, rows, err);
  if (status) hvi_free(price);
  give_back(s);
  if (status) return status;
  s->collector = c;
  s->price = price;
  return HVI_OK;
}

static hvi_status begin(hvi_shared_stream *s, const hvi_task *task, uint64_t seed, hvi_error *err) {
  if (!find(s, task, seed)) HVI_TRY(make_collector(s, task, seed, s->batches * s->batch, err));
  s->data = *hvi_collector_data(s->collector);
  s->data.count = 0;
  return HVI_OK;
}

hvi_status hvi_stream_reader_open(hvi_stream_reader *reader, hvi_shared_stream *s,
                                  const hvi_task *task, uint64_t seed, size_t batch, size_t rows,
                                  hvi_error *err) {
  hvi_streams *all = s->among;
  hvi_status status = HVI_OK;
  pthread_mutex_lock(&all->lock);
  while (!s->collector && s->taken) pthread_cond_wait(&s->made, &all->lock);
  if (!s->collector) {
    s->batch = batch;
    s->batches = (rows + batch - 1) / batch;
    status = begin(s, task, seed, err);
  }
  if (!status) *reader = (hvi_stream_reader){s, s->data};
  all->readers++;
  pthread_mutex_unlock(&all->lock);
  return status;
}

/* Has the first batches made; with the lock. */
static hvi_status reach(hvi_shared_stream *s, size_t batches, hvi_error *err) {
  hvi_streams *all = s->among;
  if (batches > s->wanted) {
    s->wanted = batches;
    pthread_cond_signal(&all->asked);
  }
  while (s->priced < batches) {
    if (s->failure.status) return hvi_error_set(err, s->failure.status, "%s", s->failure.text);
    const double start = hvi_clock_now();
    if (s->taken || all->thread_count > 0)
      pthread_cond_wait(&s->made, &all->lock);
    else
      HVI_TRY(make(s, batches, err));
    all->waited += hvi_clock_now() - start;
  }
  return HVI_OK;
}

hvi_status hvi_stream_reader_grow(void *context, size_t rows, double *seconds, hvi_error *err) {
  hvi_stream_reader *reader = context;
  hvi_shared_stream *s = reader->stream;
  const size_t batches = (rows + s->batch - 1) / s->batch;
  if (batches > s->batches)
    return hvi_error_argument(err, "%zu rows of a stream of %zu", rows, s->batches * s->batch);
  pthread_mutex_lock(&s->among->lock);
  const hvi_status status = reach(s, batches, err);
  if (!status) *seconds = s->price[batches];
  pthread_mutex_unlock(&s->among->lock);
  if (!status && rows > reader->data.count) reader->data.count = rows;
  return status;
}

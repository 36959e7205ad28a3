#include "base/work.h"

#include "base/base.h"
#include "base/parallel.h"
#include "base/ranks.h"

#include <stdatomic.h>

/* A piece of work while it is handed out. */
typedef struct handout {
  const hvi_work *work;
  hvi_ranks *ranks;
  size_t threads;
  pthread_mutex_t lock; /* of what follows, of `next` and of `accept` */
  bool stopped;
  size_t ended;       /* other ranks that have nothing left to do */
  size_t failed_unit; /* the lowest */
  hvi_status status;  /* of it */
  hvi_error error;
  atomic_bool alone; /* the threads of the first rank have nothing left to do */
} handout;

static size_t take(handout *c, size_t worker) {
  return c->stopped || c->status ? HVI_WORK_NONE : c->work->next(c->work->context, worker);
}

static void fail(handout *c, size_t unit, hvi_status status, const char *text) {
  if (c->status && c->failed_unit <= unit) return;
  c->failed_unit = unit;
  c->status = hvi_error_set(&c->error, status, "%s", *text ? text : hvi_status_text(status));
}

/* What came of a unit. */
static void deliver(handout *c, size_t unit, hvi_status status, const hvi_bytes *bytes,
                    hvi_error *why) {
  if (!status && bytes->size == 0) c->stopped = true;
  if (!status && bytes->size > 0) status = c->work->accept(c->work->context, unit, bytes, why);
  if (status) fail(c, unit, status, why->text);
}

static hvi_status run_thread(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk, (void)err;
  handout *c = context;
  hvi_error why = {HVI_OK, ""};
  pthread_mutex_lock(&c->lock);
  for (size_t unit; (unit = take(c, worker)) != HVI_WORK_NONE;) {
    pthread_mutex_unlock(&c->lock);
    hvi_bytes bytes = {NULL, 0};
    const hvi_status status = c->work->run(c->work->context, unit, worker, &bytes, &why);
    pthread_mutex_lock(&c->lock);
    deliver(c, unit, status, &bytes, &why);
    hvi_free(bytes.data);
  }
  pthread_mutex_unlock(&c->lock);
  return HVI_OK;
}

/* Another rank: each of its threads brings what it has and waits for the next unit. */
static hvi_status run_remote(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk;
  handout *c = context;
  hvi_letter l = {.head.unit = HVI_WORK_NONE};
  for (;;) {
    HVI_OWN char *bytes = l.bytes;
    pthread_mutex_lock(&c->ranks->lock);
    hvi_status status = c->ranks->mpi->send(&l, err);
    if (!status) status = hvi_ranks_wait(c->ranks, &l, err);
    if (!status && l.head.stopped) c->stopped = true;
    pthread_mutex_unlock(&c->ranks->lock);
    if (status) return status;
    hvi_free(l.bytes);
    if (l.head.unit == HVI_WORK_NONE) return HVI_OK;
    hvi_error why = {HVI_OK, ""};
    hvi_bytes made = {NULL, 0};
    status = c->work->run(c->work->context, (size_t)l.head.unit, worker, &made, &why);
    if (status) {
      hvi_free(made.data);
      made = (hvi_bytes){hvi_copy_text(why.text), strlen(why.text)};
    }
    l.head.status = (uint64_t)status;
    l.bytes = made.data;
    l.size = made.data ? made.size : 0;
  }
}

/* The first rank: a thread beside those that compute answers the others. */
static hvi_status serve_one(handout *c, bool *found, hvi_error *err) {
  const hvi_ranks_functions *mpi = c->ranks->mpi;
  hvi_letter l = {0};
  HVI_TRY(mpi->receive(&l, found, err));
  HVI_OWN char *data = l.bytes;
  if (!*found) return HVI_OK;
  hvi_error why = {HVI_OK, ""};
  const hvi_status status = (hvi_status)l.head.status;
  if (status) hvi_error_set(&why, status, "rank %zu: %.*s", l.rank, (int)l.size, data);
  if (status && l.head.ends) return hvi_error_set(err, status, "%s", why.text);
  pthread_mutex_lock(&c->lock);
  c->ended += l.head.ends == HVI_LETTER_DONE;
  c->ranks->gone += l.head.ends == HVI_LETTER_BYE;
  if (l.head.unit != HVI_WORK_NONE)
    deliver(c, (size_t)l.head.unit, status, &(hvi_bytes){data, l.size}, &why);
  hvi_letter next = {.rank = l.rank};
  if (!l.head.ends) next.head.unit = take(c, c->threads + l.rank - 1);
  next.head.stopped = c->stopped;
  pthread_mutex_unlock(&c->lock);
  return l.head.ends ? HVI_OK : mpi->send(&next, err);
}

/* After an error or a signal nobody waits for units that are under way elsewhere. */
static bool is_over(handout *c) {
  pthread_mutex_lock(&c->lock);
  if (c->work->wait && !c->stopped) c->stopped = !c->work->wait(c->work->context);
  const bool over = c->alone && (c->ended == c->ranks->count - 1 || c->stopped || c->status);
  pthread_mutex_unlock(&c->lock);
  return over;
}

static void *serve(void *context) {
  handout *c = context;
  hvi_error why = {HVI_OK, ""};
  hvi_status status = HVI_OK;
  for (size_t empty = 0; !status;) {
    bool found = false;
    status = serve_one(c, &found, &why);
    empty = found ? 0 : empty + 1;
    if (empty % 16 == 1 && is_over(c)) break;
    hvi_ranks_rest(empty);
  }
  pthread_mutex_lock(&c->lock);
  if (status) fail(c, 0, status, why.text);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

size_t hvi_work_threads(const hvi_work *work, size_t threads) {
  if (threads == 0) threads = hvi_parallel_cores();
  return threads < work->most ? threads : work->most ? work->most : 1;
}

/* All begin together, so that nobody asks for units of other work. */
static hvi_status follow(handout *c, hvi_error *err) {
  hvi_letter end = {.head = {.unit = HVI_WORK_NONE, .ends = HVI_LETTER_DONE}};
  HVI_TRY(hvi_parallel_run(c->threads, c->threads, run_remote, c, err));
  return c->ranks->mpi->send(&end, err);
}

static hvi_status lead(handout *c, hvi_error *err) {
  const bool serves = c->ranks && c->ranks->count > 1;
  pthread_t server;
  if (serves && pthread_create(&server, NULL, serve, c) != 0)
    return hvi_error_memory(err, "a thread");
  hvi_parallel_run(c->threads, c->threads, run_thread, c, NULL);
  c->alone = true;
  if (serves) pthread_join(server, NULL);
  return c->status ? hvi_error_set(err, c->status, "%s", c->error.text) : HVI_OK;
}

hvi_status hvi_work_run(const hvi_work *work, size_t threads, hvi_ranks *ranks, bool *stopped,
                        hvi_error *err) {
  handout c = {.work = work, .ranks = ranks, .lock = PTHREAD_MUTEX_INITIALIZER};
  c.threads = hvi_work_threads(work, threads);
  if (ranks) HVI_TRY(hvi_ranks_share(ranks, &c.stopped, sizeof c.stopped, err));
  const hvi_status status = hvi_ranks_follows(ranks) ? follow(&c, err) : lead(&c, err);
  if (c.stopped) *stopped = true;
  return status;
}

#include "base/work.h"

#include "base/base.h"
#include "base/parallel.h"
#include "base/ranks.h"

#include <stdatomic.h>

/* Those who are at a piece of work. */
typedef struct crew {
  const hvi_work *work;
  hvi_ranks *ranks;
  size_t threads;
  pthread_mutex_t lock; /* of what follows, of `next` and of `accept` */
  bool stopped;
  size_t away;        /* units under way on other ranks */
  size_t failed_unit; /* the lowest */
  hvi_status status;  /* of it */
  hvi_error error;
  atomic_bool alone; /* the threads of the first rank have nothing left to do */
} crew;

static size_t take(crew *c, size_t worker) {
  return c->stopped || c->status ? HVI_WORK_NONE : c->work->next(c->work->context, worker);
}

static void fail(crew *c, size_t unit, hvi_status status, const char *text) {
  if (c->status && c->failed_unit <= unit) return;
  c->failed_unit = unit;
  c->status = hvi_error_set(&c->error, status, "%s", *text ? text : hvi_status_text(status));
}

/* What came of a unit. */
static void deliver(crew *c, size_t unit, hvi_status status, const hvi_bytes *bytes,
                    hvi_error *why) {
  if (!status && bytes->size == 0) c->stopped = true;
  if (!status && bytes->size > 0) status = c->work->accept(c->work->context, unit, bytes, why);
  if (status) fail(c, unit, status, why->text);
}

static hvi_status run_thread(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk, (void)err;
  crew *c = context;
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

static hvi_status bring(crew *c, hvi_ranks_message *m, const void *data, size_t size,
                        hvi_error *err) {
  hvi_ranks *r = c->ranks;
  size_t from, got;
  HVI_TRY(hvi_ranks_send(r, 0, m, data, size, err));
  for (size_t empty = 0;; empty++) {
    HVI_OWN void *nothing = NULL;
    bool found = false;
    HVI_TRY(hvi_ranks_poll(r, &found, &from, m, &nothing, &got, err));
    if (found) return HVI_OK;
    hvi_ranks_rest(empty);
  }
}

static hvi_status run_remote(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk;
  crew *c = context;
  const uint64_t round = c->ranks->round;
  hvi_ranks_message m = {.round = round, .unit = HVI_WORK_NONE};
  HVI_OWN_BY(hvi_free_owned) void *data = NULL;
  for (size_t size = 0;;) {
    pthread_mutex_lock(&c->ranks->lock);
    const hvi_status told = bring(c, &m, data, size, err);
    pthread_mutex_unlock(&c->ranks->lock);
    if (told) return told;
    if (m.stopped) c->stopped = true;
    if (m.unit == HVI_WORK_NONE) return HVI_OK;
    hvi_free(data);
    hvi_error why = {HVI_OK, ""};
    hvi_bytes bytes = {NULL, 0};
    m.round = round;
    m.status = (uint64_t)c->work->run(c->work->context, (size_t)m.unit, worker, &bytes, &why);
    if (m.status) {
      hvi_free(bytes.data);
      bytes = (hvi_bytes){hvi_copy_text(why.text), strlen(why.text)};
      if (!bytes.data) bytes.size = 0;
    }
    data = bytes.data;
    size = bytes.size;
  }
}

/* The first rank: a thread beside those that compute answers the others. */

static hvi_status answer(crew *c, size_t rank, bool of_now, hvi_error *err) {
  hvi_ranks_message m = {.round = c->ranks->round, .unit = HVI_WORK_NONE};
  pthread_mutex_lock(&c->lock);
  if (of_now) m.unit = take(c, c->threads + rank - 1);
  m.stopped = of_now && c->stopped;
  c->away += m.unit != HVI_WORK_NONE;
  pthread_mutex_unlock(&c->lock);
  return hvi_ranks_send(c->ranks, rank, &m, NULL, 0, err);
}

/* What a rank brings and asks for. Who asks for a later round waits for it. */
static hvi_status serve_one(crew *c, bool *found, hvi_error *err) {
  hvi_ranks *r = c->ranks;
  hvi_ranks_message m;
  HVI_OWN void *data = NULL;
  size_t from, size;
  HVI_TRY(hvi_ranks_poll(r, found, &from, &m, &data, &size, err));
  if (!*found) return HVI_OK;
  if (m.round == HVI_RANKS_BYE) return hvi_ranks_part(r, from, &m, data, err);
  if (m.round > r->round) {
    r->waiting[from] = m.round;
    return HVI_OK;
  }
  if (m.round == r->round && m.unit != HVI_WORK_NONE) {
    hvi_error why = {HVI_OK, ""};
    if (m.status)
      snprintf(why.text, sizeof why.text, "rank %zu: %s", from, data ? (char *)data : "");
    pthread_mutex_lock(&c->lock);
    c->away--;
    deliver(c, (size_t)m.unit, (hvi_status)m.status, &(hvi_bytes){data, size}, &why);
    pthread_mutex_unlock(&c->lock);
  }
  return answer(c, from, m.round == r->round, err);
}

/* After an error or a signal nobody waits for units that are away. */
static bool is_over(crew *c) {
  pthread_mutex_lock(&c->lock);
  if (c->work->wait && !c->stopped) c->stopped = !c->work->wait(c->work->context);
  const bool over = c->alone && (c->away == 0 || c->stopped || c->status);
  pthread_mutex_unlock(&c->lock);
  return over;
}

static void *serve(void *context) {
  crew *c = context;
  hvi_ranks *r = c->ranks;
  hvi_error why = {HVI_OK, ""};
  hvi_status status = HVI_OK;
  for (size_t k = 1; k < r->count && !status; k++) {
    if (r->waiting[k] != r->round) continue;
    r->waiting[k] = 0;
    status = answer(c, k, true, &why);
  }
  for (size_t empty = 0; !status;) {
    bool found = false;
    status = serve_one(c, &found, &why);
    empty = found ? 0 : empty + 1;
    if (!found && !status && empty % 16 == 1 && is_over(c)) break;
    if (!found && !status) hvi_ranks_rest(empty);
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

hvi_status hvi_work_run(const hvi_work *work, size_t threads, hvi_ranks *ranks, bool *stopped,
                        hvi_error *err) {
  crew c = {.work = work, .ranks = ranks, .lock = PTHREAD_MUTEX_INITIALIZER};
  hvi_status status = HVI_OK;
  pthread_t server;
  c.threads = hvi_work_threads(work, threads);
  if (ranks) ranks->round++;
  if (hvi_ranks_follows(ranks)) {
    status = hvi_parallel_run(c.threads, c.threads, run_remote, &c, err);
  } else {
    const bool serves = ranks && ranks->count > 1;
    if (serves && pthread_create(&server, NULL, serve, &c) != 0)
      return hvi_error_memory(err, "a thread");
    status = hvi_parallel_run(c.threads, c.threads, run_thread, &c, err);
    c.alone = true;
    if (serves) pthread_join(server, NULL);
  }
  if (c.stopped) *stopped = true;
  if (!status && c.status) status = hvi_error_set(err, c.status, "%s", c.error.text);
  return status;
}
